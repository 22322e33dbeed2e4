"""The record about itself that each exactly-once commit writes in its own transaction.

It follows the state in the partition's log of the group's snapshot topic, once delivery reports have said where the
outputs are. The same offset is sent to the group's coordinator in the same transaction; but the coordinator may answer
from half-loaded state (docs/decisions/0018), and a log cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.snapshot import Pointer
from driftway.worker.wire.codec import read_json, write_json


@dataclass(frozen=True)
class CommitRecord:
    """The record of one commit.

    Parameters
    ----------
    offset : int
        C: the next input offset to read.
    previous : int or None
        Offset of the previous commit: the outputs are for the rows from there to C. None: unknown.
    pointer : Pointer or None
        The newest snapshot; None: unknown.
    outputs : mapping
        Topic -> where this commit's outputs are; topics without any are left out.
    labels : str or None
        The label topic; None: labels are in the input.
    order : MergeOrder or None
        The merge order of events and labels since the newest snapshot; None: no label topic.
    rounds : int or None
        Exchange rounds so far; None: learners are not shared.
    set_aside_from : int
        See `driftway.worker.wire.decoder.Decoder.set_aside_from`. In a record of an earlier version, `offset`.
    """

    offset: int
    previous: int | None = None
    pointer: Pointer | None = None
    outputs: Mapping[str, OffsetRange] = field(default_factory=dict)
    labels: str | None = None
    order: MergeOrder | None = None
    rounds: int | None = None
    set_aside_from: int = 0

    def write(self) -> bytes:
        """The record's value."""
        return write_json(
            {
                "offset": self.offset,
                "previous": self.previous,
                "pointer": None if self.pointer is None else self.pointer.text(),
                "outputs": {topic: [span.first, span.last, span.count] for topic, span in self.outputs.items()},
                "set_aside_from": self.set_aside_from,
                **({} if self.order is None else {"labels": self.labels, "order": self.order.as_list()}),
                **({} if self.rounds is None else {"rounds": self.rounds}),
            }
        )

    @classmethod
    def read(cls, value: bytes | None) -> CommitRecord | None:
        """Parse a record's value; None if it cannot be read. In the earliest versions it was the offset alone."""
        try:
            fields = read_json(value or b"")
            if isinstance(fields, int):
                return cls(fields, set_aside_from=fields)
            outputs = {str(topic): OffsetRange(*map(int, span)) for topic, span in fields["outputs"].items()}
            previous = None if fields["previous"] is None else int(fields["previous"])
            order = MergeOrder.from_list(fields["order"]) if "order" in fields else None
            labels = fields.get("labels")
            rounds = fields.get("rounds", fields.get("meetings"))  # what earlier versions called them
            pointer = Pointer.parse(fields["pointer"])
            offset = int(fields["offset"])
            set_aside_from = int(fields.get("set_aside_from", offset))
            return cls(offset, previous, pointer, outputs, labels, order, rounds, set_aside_from)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

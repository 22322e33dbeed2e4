"""What each exactly-once commit says of itself, in a record of its own transaction.

It is written behind the state, in the partition's log of the group's snapshot topic, once the broker has said where the
outputs are. The group's coordinator is told the same offset, in the same transaction; but it may answer from half of
its memory (docs/decisions/0018), and a log cannot.
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
    """One commit.

    Parameters
    ----------
    offset : int
        C: the next input offset to read.
    previous : int or None
        That of the commit before: its outputs answer the rows from there to C. None: not known.
    pointer : Pointer or None
        The newest snapshot; None: not known.
    outputs : mapping
        Topic -> where this commit's outputs are; topics without any are left out.
    labels : str or None
        The topic of labels; None: they come with the events, or among them.
    order : MergeOrder or None
        In which order events and labels were taken since the newest snapshot.
    rounds : int or None
        Rounds so far with the learners of other partitions; None: they share nothing.
    """

    offset: int
    previous: int | None = None
    pointer: Pointer | None = None
    outputs: Mapping[str, OffsetRange] = field(default_factory=dict)
    labels: str | None = None
    order: MergeOrder | None = None
    rounds: int | None = None

    def write(self) -> bytes:
        """The record's value."""
        return write_json(
            {
                "offset": self.offset,
                "previous": self.previous,
                "pointer": None if self.pointer is None else self.pointer.text(),
                "outputs": {topic: [span.first, span.last, span.count] for topic, span in self.outputs.items()},
                **({} if self.order is None else {"labels": self.labels, "order": self.order.as_list()}),
                **({} if self.rounds is None else {"rounds": self.rounds}),
            }
        )

    @classmethod
    def read(cls, value: bytes | None) -> CommitRecord | None:
        """Read a record's value; None if it cannot be read. Before there was more to say, it was the offset alone."""
        try:
            told = read_json(value or b"")
            if isinstance(told, int):
                return cls(told)
            outputs = {str(topic): OffsetRange(*map(int, span)) for topic, span in told["outputs"].items()}
            previous = None if told["previous"] is None else int(told["previous"])
            order = MergeOrder.from_list(told["order"]) if "order" in told else None
            labels = told.get("labels")
            rounds = told.get("rounds", told.get("meetings"))  # what earlier versions called them
            pointer = Pointer.parse(told["pointer"])
            return cls(int(told["offset"]), previous, pointer, outputs, labels, order, rounds)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

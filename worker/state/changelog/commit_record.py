"""The record that each exactly-once commit writes about itself in its own transaction.

It is written to the partition's log in the group's snapshot topic, after delivery reports have said where the outputs
are. The same offset is sent to the group's coordinator in the same transaction. But the coordinator may answer from
partly loaded state (docs/decisions/0018), and a log cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.settings.option_values import CHAMPION_ONLY
from driftway.worker.state.changelog.emission import emitted_of
from driftway.worker.state.changelog.snapshot_pointer import AT_LEAST_ONCE_SUFFIX, Pointer
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.input_read import NOTHING_KNOWN, InputRead
from driftway.worker.state.plans.model_plan import FIRST
from driftway.worker.state.stored_fields import (
    LARGEST,
    Malformed,
    StoredFields,
    parse_stored,
    whole_number,
    whole_numbers,
)
from driftway.worker.wire.codec import write_json


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
    input_read : InputRead
        What the state at `offset` has read of its input.
    clocks : mapping
        How far stamps are apart, see `driftway.worker.stream.task.task.Task.clocks`; empty: labels are not delayed.
    set_aside_from : int
        See `driftway.worker.wire.decoder.Decoder.set_aside_from`. In a record of an earlier version, `offset`.
    plan : int
        Number of the plan of the models at `offset`.
    emit : str
        Whose predictions were written up to `offset`; see `driftway.worker.state.changelog.emission`.
    """

    offset: int
    previous: int | None = None
    pointer: Pointer | None = None
    outputs: Mapping[str, OffsetRange] = field(default_factory=dict)
    labels: str | None = None
    order: MergeOrder | None = None
    rounds: int | None = None
    input_read: InputRead = NOTHING_KNOWN
    clocks: Mapping[str, int] = field(default_factory=dict)
    set_aside_from: int = 0
    plan: int = FIRST
    emit: str = CHAMPION_ONLY

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
                **({} if self.input_read == NOTHING_KNOWN else {"read": self.input_read.as_dict()}),
                **({"clocks": self.clocks} if self.clocks else {}),
                **({} if self.plan == FIRST else {"plan": self.plan}),
                **({} if self.emit == CHAMPION_ONLY else {"emit": self.emit}),
            }
        )

    @classmethod
    def read(cls, value: bytes | None) -> CommitRecord | None:
        """As `parse`, but None for a record that cannot be read."""
        try:
            return cls.parse(value)
        except Malformed:
            return None

    @classmethod
    def parse(cls, value: bytes | None) -> CommitRecord:
        """Parse a record's value. In the earliest versions it was the offset alone.

        Raises
        ------
        Malformed
            It is no commit record.
        """
        plain = parse_stored(value, "it")
        if not isinstance(plain, dict):
            offset = whole_number(plain, "it")
            return cls(offset, set_aside_from=offset)
        fields = StoredFields(plain, "it")
        spans = {topic: whole_numbers(span, "outputs", 3) for topic, span in fields.object("outputs").plain.items()}
        if any(first > last for first, last, _ in spans.values()):
            raise Malformed("outputs end before they begin")
        clocks = fields.object("clocks").plain if fields.has("clocks") else {}
        rounds = next((name for name in ("rounds", "meetings") if fields.has(name)), None)  # the latter until 0.1
        return cls(
            fields.integer("offset"),
            fields.integer("previous") if fields.has("previous") else None,
            Pointer.parse(fields.text("pointer")) if fields.has("pointer") else None,
            {topic: OffsetRange(*span) for topic, span in spans.items()},
            fields.text("labels") if fields.has("labels") else None,
            MergeOrder.from_list(fields.items("order")) if fields.has("order") else None,
            None if rounds is None else fields.integer(rounds),
            InputRead.from_dict(plain.get("read")),
            {figure: whole_number(value, figure, -LARGEST) for figure, value in clocks.items()},
            fields.integer("set_aside_from" if fields.has("set_aside_from") else "offset"),
            fields.integer("plan", at_least=FIRST) if fields.has("plan") else FIRST,
            emitted_of(fields) if fields.has("emit") else CHAMPION_ONLY,
        )


def is_at_least_once(metadata: str | None) -> bool:
    """Whether an offset's metadata says that it was committed without a transaction, and so without a record."""
    return AT_LEAST_ONCE_SUFFIX in (metadata or "")


def last_read(record: CommitRecord | None, metadata: str | None) -> InputRead:
    """Return what the last commit had read: its record says so, or its offset's metadata if it has no record."""
    if record is not None and not is_at_least_once(metadata):
        return record.input_read
    return InputRead.parse((metadata or "").partition(AT_LEAST_ONCE_SUFFIX)[2])

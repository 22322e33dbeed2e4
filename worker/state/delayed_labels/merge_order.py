"""In which order the records of two topics were taken: events of the input, and labels out of a topic of their own.

A label is taken before an event, so that what stands before an input offset is one thing: the events before it, and the
labels before these. Which event that is follows from the times of the records, see
`driftway.worker.state.delayed_labels.label_merger`, and from which labels had arrived by then. Only the latter has to
be written down, and hardly ever: a step says that its labels were all there while its events were taken, and steps are
joined as long as the times alone give the same.

The steps since the last snapshot stand in each commit's position; those between two snapshots in a record beside the
second one, so that a whole history can be gone through again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from driftway.worker.wire.codec import read_json, write_json


class MergePosition(NamedTuple):
    """Between records: the next input offset, and the next one in the topic of labels."""

    offset: int
    label: int


@dataclass(frozen=True)
class MergeOrder:
    """The order of what was taken from one place to another.

    Parameters
    ----------
    begin : MergePosition
        Where it begins.
    steps : tuple of MergePosition
        The end of each step; both numbers rise or stay.
    """

    begin: MergePosition
    steps: tuple[MergePosition, ...] = ()

    @property
    def end(self) -> MergePosition:
        """Where it ends."""
        return self.steps[-1] if self.steps else self.begin

    def followed_by(self, step: MergePosition, joined: bool) -> MergeOrder:
        """With one step more; `joined`: the times alone make it part of the last one."""
        kept = self.steps[:-1] if joined else self.steps
        return MergeOrder(self.begin, (*kept, step))

    def as_list(self) -> list[Any]:
        """As JSON's values."""
        return [list(self.begin), [list(step) for step in self.steps]]

    def write(self) -> bytes:
        """A record's value."""
        return write_json(self.as_list())

    @classmethod
    def from_list(cls, plain: Any) -> MergeOrder:
        """Read what `plain` gave.

        Raises
        ------
        ValueError, TypeError
            It is something else.
        """
        begin, steps = plain
        return cls(_position(begin), tuple(map(_position, steps)))

    @classmethod
    def read(cls, value: bytes | None) -> MergeOrder | None:
        """Read a record's value; None if it cannot be read."""
        try:
            return cls.from_list(read_json(value or b""))
        except (ValueError, TypeError):
            return None


def _position(pair: Any) -> MergePosition:
    offset, label = pair
    return MergePosition(int(offset), int(label))


def concatenated(parts: Sequence[MergeOrder], offset: int) -> MergeOrder | None:
    """One order from an input offset on, out of those between snapshots; None: it does not begin at one of theirs.

    Parameters
    ----------
    parts : sequence of MergeOrder
        In whatever order, some perhaps twice; where one is missing the chain ends.
    offset : int
        Where a state stands.
    """
    by_begin = {part.begin: part for part in parts}
    begin = next((place for place in by_begin if place.offset == offset), None)
    if begin is None:
        return next((MergeOrder(part.end) for part in parts if part.end.offset == offset), None)
    steps, at = list[MergePosition](), begin
    while (part := by_begin.pop(at, None)) is not None:
        steps += part.steps
        at = part.end
    return MergeOrder(begin, tuple(steps))

"""The order in which the records of two topics were merged: events of the input, and labels from a separate topic.

Each label is merged before an event, so an input offset alone determines what precedes it: the events before it, and
the labels before these. Which event a label is merged before follows from the times of the records, see
`driftway.worker.state.delayed_labels.label_merger`, and from which labels had arrived by then. Only the latter has to
be recorded, and rarely: a step says that all its labels had arrived while its events were merged, and steps are
joined as long as the times alone give the same order.

The steps since the last snapshot are in each commit record; those between two snapshots are in a record beside the
second one, so that a whole history can be replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from driftway.worker.state.stored_fields import Malformed, parse_stored, whole_numbers
from driftway.worker.wire.codec import write_json


class MergePosition(NamedTuple):
    """A position between records: the next input offset, and the next offset in the label topic."""

    offset: int
    label: int


@dataclass(frozen=True)
class MergeOrder:
    """The merge order between two positions.

    Parameters
    ----------
    begin : MergePosition
        The first position.
    steps : tuple of MergePosition
        The end of each step; neither number ever decreases.
    """

    begin: MergePosition
    steps: tuple[MergePosition, ...] = ()

    @property
    def end(self) -> MergePosition:
        """The last position."""
        return self.steps[-1] if self.steps else self.begin

    def followed_by(self, step: MergePosition, joined: bool) -> MergeOrder:
        """Append a step; with `joined` it extends the last one, since the times alone give the same order."""
        kept = self.steps[:-1] if joined else self.steps
        return MergeOrder(self.begin, (*kept, step))

    def as_list(self) -> list[Any]:
        """Convert to JSON values."""
        return [list(self.begin), [list(step) for step in self.steps]]

    def write(self) -> bytes:
        """Serialise as a record's value."""
        return write_json(self.as_list())

    @classmethod
    def from_list(cls, plain: Any) -> MergeOrder:
        """Parse a result of `as_list`.

        Raises
        ------
        Malformed
            `plain` is something else.
        """
        if not isinstance(plain, list) or len(plain) != 2 or not isinstance(plain[1], list):
            raise Malformed("the order of labels is not a position and a list of positions")
        begin, steps = _position(plain[0]), tuple(map(_position, plain[1]))
        if any(after.offset < at.offset or after.label < at.label for at, after in pairwise((begin, *steps))):
            raise Malformed("the order of labels goes backwards")
        return cls(begin, steps)

    @classmethod
    def read(cls, value: bytes | None) -> MergeOrder | None:
        """Parse a record's value; None if it cannot be read."""
        try:
            return cls.from_list(parse_stored(value, "it"))
        except Malformed:
            return None


def _position(pair: Any) -> MergePosition:
    return MergePosition(*whole_numbers(pair, "a position in the order of labels", 2))


def concatenated(parts: Sequence[MergeOrder], offset: int) -> MergeOrder | None:
    """Chain the orders between snapshots, from an input offset on; None if no order begins or ends there.

    Parameters
    ----------
    parts : sequence of MergeOrder
        In any sequence, possibly with repetitions; where one is missing, the chain ends.
    offset : int
        Input offset of a state.
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

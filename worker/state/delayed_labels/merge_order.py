"""The order in which the records of two topics were merged: events of the input, and labels from a separate topic.

Each label is merged before an event, so an input offset alone determines what precedes it: the events before it, and
the labels before these. Which event a label is merged before follows from the times of the records, see
`driftway.worker.state.delayed_labels.label_merger`, and from which labels had arrived by then. Only the latter has to
be recorded, and rarely: a step says that all its labels had arrived while its events were merged, and steps are
joined as long as the times alone give the same order. Where a record's stamp is wrong, the time that was used instead
is recorded, too.

The steps since the last snapshot are in each commit record; those between two snapshots are in a record beside the
second one, so that a whole history can be replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from driftway.worker.state.stored_fields import LARGEST, Malformed, parse_stored, whole_number, whole_numbers
from driftway.worker.wire.codec import write_json

Corrections = tuple[tuple[int, int], ...]
"""Offsets of records whose stamps are wrong, ascending, and the times in ms that were used instead."""


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
    events, labels : Corrections
        Records of the input and of the label topic that were merged by other times than their stamps.
    """

    begin: MergePosition
    steps: tuple[MergePosition, ...] = ()
    events: Corrections = ()
    labels: Corrections = ()

    @property
    def end(self) -> MergePosition:
        """The last position."""
        return self.steps[-1] if self.steps else self.begin

    def followed_by(
        self, step: MergePosition, joined: bool, events: Corrections = (), labels: Corrections = ()
    ) -> MergeOrder:
        """Append a step; with `joined` it extends the last one, since the times alone give the same order."""
        kept = self.steps[:-1] if joined else self.steps
        return MergeOrder(self.begin, (*kept, step), self.events + events, self.labels + labels)

    def since(self, position: MergePosition) -> MergeOrder:
        """The order from a later position on."""
        return MergeOrder(
            position,
            tuple(step for step in self.steps if step.offset > position.offset),
            tuple(one for one in self.events if one[0] >= position.offset),
            tuple(one for one in self.labels if one[0] >= position.label),
        )

    def known_from(self, low: MergePosition, offset: int | None = None) -> MergePosition:
        """Return the position from which records are to be merged that begin at an input offset, or later if need be.

        Parameters
        ----------
        low : MergePosition
            The first offsets that the logs of both topics still hold.
        offset : int or None
            The input offset; None: the first one that the logs and the order have.
        """
        held = [one for one in (self.begin, *self.steps) if one.offset >= low.offset and one.label >= low.label]
        before = [one for one in held if offset is not None and one.offset <= offset]
        if before:
            return before[-1]
        return held[0] if held else self.end

    def as_list(self) -> list[Any]:
        """Convert to JSON values; without corrections, to those of versions that knew none."""
        corrections = [_deltas(self.events), _deltas(self.labels)] if self.events or self.labels else []
        return [list(self.begin), [list(step) for step in self.steps], *corrections]

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
        if not isinstance(plain, list) or len(plain) not in (2, 4) or not all(isinstance(one, list) for one in plain):
            raise Malformed("the order of labels is not a position, a list of positions, and lists of corrections")
        begin, steps = _position(plain[0]), tuple(map(_position, plain[1]))
        if any(after.offset < at.offset or after.label < at.label for at, after in pairwise((begin, *steps))):
            raise Malformed("the order of labels goes backwards")
        return cls(begin, steps, *map(_from_deltas, plain[2:]))

    @classmethod
    def read(cls, value: bytes | None) -> MergeOrder | None:
        """Parse a record's value; None if it cannot be read."""
        try:
            return cls.from_list(parse_stored(value, "it"))
        except Malformed:
            return None


def _position(pair: Any) -> MergePosition:
    return MergePosition(*whole_numbers(pair, "a position in the order of labels", 2))


def _deltas(corrections: Corrections) -> list[int]:
    """Offsets and times in turn, each as its difference from the one before, which is shorter."""
    flat, before = list[int](), (0, 0)
    for one in corrections:
        flat += [one[0] - before[0], one[1] - before[1]]
        before = one
    return flat


def _from_deltas(flat: list[Any]) -> Corrections:
    """Parse a result of `_deltas`; raise `Malformed` if it is something else."""
    deltas = [whole_number(one, "a correction of a time", -LARGEST) for one in flat]
    offsets, times = (tuple(accumulate(deltas[start::2])) for start in (0, 1))
    if len(offsets) != len(times) or max(map(abs, (*offsets, *times)), default=0) > LARGEST:
        raise Malformed("the corrections of times are not pairs of an offset and a time")
    return tuple(zip(offsets, times, strict=True))


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
    begin = next((one for one in by_begin if one.offset == offset), None)
    if begin is None:
        return next((MergeOrder(part.end) for part in parts if part.end.offset == offset), None)
    chain, at = list[MergeOrder](), begin
    while (part := by_begin.pop(at, None)) is not None:
        chain.append(part)
        at = part.end
    return _joined(chain)


def leading_to(parts: Sequence[MergeOrder], last: MergeOrder) -> MergeOrder:
    """Chain the orders between snapshots, as far back as they are known, that lead to where `last` begins, with it."""
    by_end = {part.end: part for part in parts if part.begin != part.end}
    chain = [last]
    while (part := by_end.pop(chain[-1].begin, None)) is not None:
        chain.append(part)
    return _joined(chain[::-1])


def _joined(chain: Sequence[MergeOrder]) -> MergeOrder:
    """Join orders each of which begins where the one before ends."""
    return MergeOrder(
        chain[0].begin,
        tuple(step for part in chain for step in part.steps),
        tuple(one for part in chain for one in part.events),
        tuple(one for part in chain for one in part.labels),
    )

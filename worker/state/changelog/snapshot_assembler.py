"""Snapshots put together again from their chunks, in the order in which these lie in their topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from driftway.worker.state.snapshot import Outline, chunk_key, outline

Chunk = TypeVar("Chunk")


@dataclass(frozen=True)
class Pile(Generic[Chunk]):
    """Chunks in a row; `whole` is what the first says of the snapshot, None if it says nothing or they are too long."""

    chunks: list[Chunk]
    nbytes: int
    whole: Outline | None


class Assembler(Generic[Chunk]):
    """Holds the chunks of one partition until they are a pile.

    Parameters
    ----------
    partition : int
        Whose.
    orphaned : callable
        Told of records that will not become part of a pile: compaction or at-least-once leaves such.
    """

    def __init__(self, partition: int, orphaned: Callable[[list[Chunk]], None] = lambda _: None) -> None:
        self._partition, self._orphaned = partition, orphaned
        self._held: list[Chunk] = []
        self._outline: Outline | None = None
        self._nbytes = 0

    def take(self, record: Chunk, key: bytes | None, value: bytes) -> Pile[Chunk] | None:
        """Take the next record, of whatever key, to be held as `record`; return the pile that it ends."""
        if key == chunk_key(self._partition, 0):
            self.give_up()
            self._outline = outline(value)
        elif not self._held or key != chunk_key(self._partition, len(self._held)):
            self.give_up()
            self._orphaned([record])
            return None
        self._held.append(record)
        self._nbytes += len(value)
        drawn, nbytes = self._outline, self._nbytes
        if drawn is not None and nbytes < drawn.nbytes:
            return None
        pile = Pile(self._held, nbytes, drawn if drawn is not None and nbytes == drawn.nbytes else None)
        self._held, self._nbytes = [], 0
        return pile

    def give_up(self) -> None:
        """What is held will not become whole any more."""
        if self._held:
            self._orphaned(self._held)
        self._held, self._nbytes = [], 0

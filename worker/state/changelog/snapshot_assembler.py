"""Snapshots put together again from their chunks, in the order in which these lie in their topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from driftway.worker.state.snapshot import SnapshotHeader, chunk_key, read_snapshot_header

Chunk = TypeVar("Chunk")


@dataclass(frozen=True)
class ChunkGroup(Generic[Chunk]):
    """Chunks in a row; `header` is what the first says of the snapshot, None where it cannot be read."""

    chunks: list[Chunk]
    nbytes: int
    header: SnapshotHeader | None


class SnapshotAssembler(Generic[Chunk]):
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
        self._chunks: list[Chunk] = []
        self._header: SnapshotHeader | None = None
        self._nbytes = 0

    def take(self, record: Chunk, key: bytes | None, value: bytes) -> ChunkGroup[Chunk] | None:
        """Take the next record, of whatever key, to be held as `record`; return the pile that it ends."""
        if key == chunk_key(self._partition, 0):
            self.discard()
            self._header = read_snapshot_header(value)
        elif not self._chunks or key != chunk_key(self._partition, len(self._chunks)):
            self.discard()
            self._orphaned([record])
            return None
        self._chunks.append(record)
        self._nbytes += len(value)
        drawn, nbytes = self._header, self._nbytes
        if drawn is not None and nbytes < drawn.nbytes:
            return None
        pile = ChunkGroup(self._chunks, nbytes, drawn if drawn is not None and nbytes == drawn.nbytes else None)
        self._chunks, self._nbytes = [], 0
        return pile

    def discard(self) -> None:
        """What is held will not become whole any more."""
        if self._chunks:
            self._orphaned(self._chunks)
        self._chunks, self._nbytes = [], 0

"""Reassembly of snapshots from their chunks, read in topic order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from driftway.worker.state.changelog.record_keys import chunk_key
from driftway.worker.state.snapshot import SnapshotHeader, read_snapshot_header

Chunk = TypeVar("Chunk")


@dataclass(frozen=True)
class ChunkGroup(Generic[Chunk]):
    """Consecutive chunks; `header` is from the first one, None if it is unreadable or says another size."""

    chunks: list[Chunk]
    nbytes: int
    header: SnapshotHeader | None


class SnapshotAssembler(Generic[Chunk]):
    """Collects the chunks of one partition into groups.

    Parameters
    ----------
    partition : int
        The partition.
    orphaned : callable
        Called with records that will not become part of a group: compaction or at-least-once leaves such.
    """

    def __init__(self, partition: int, orphaned: Callable[[list[Chunk]], None] = lambda _: None) -> None:
        self._partition, self._orphaned = partition, orphaned
        self._chunks: list[Chunk] = []
        self._header: SnapshotHeader | None = None
        self._nbytes = 0

    def take(self, record: Chunk, key: bytes | None, value: bytes) -> ChunkGroup[Chunk] | None:
        """Add the next record, with any key, kept as `record`; return the group that it completes, if any."""
        if key == chunk_key(self._partition, 0):
            self.discard()
            self._header = read_snapshot_header(value)
        elif not self._chunks or key != chunk_key(self._partition, len(self._chunks)):
            self.discard()
            self._orphaned([record])
            return None
        self._chunks.append(record)
        self._nbytes += len(value)
        header, nbytes = self._header, self._nbytes
        if header is not None and nbytes < header.nbytes:
            return None
        group = ChunkGroup(self._chunks, nbytes, header if header is not None and nbytes == header.nbytes else None)
        self._chunks, self._nbytes = [], 0
        return group

    def discard(self) -> None:
        """Give up the chunks held so far: their group will not be completed."""
        if self._chunks:
            self._orphaned(self._chunks)
        self._chunks, self._nbytes = [], 0

"""Which rows of a stream a replay sends, and their positions."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.stream import Block, Stream
from driftway.worker.wire.columns import BytesColumn


@dataclass(frozen=True)
class Selection:
    """Which rows to send: the stream `laps` times (None = for ever), without the first `skip`, at most `limit`."""

    skip: int = 0
    limit: int | None = None
    laps: int | None = 1

    def since(self, position: int) -> Selection:
        """The rest of this selection, from `position` on."""
        left = None if self.limit is None else self.skip + self.limit - position
        return dataclasses.replace(self, skip=position, limit=left)

    def ends_before(self, position: int) -> bool:
        """Whether the limit leaves no row from `position` on."""
        return self.limit is not None and position >= self.skip + self.limit


def select(stream: Stream | EventFile, selection: Selection, size: int) -> Iterator[tuple[int, Block | BytesColumn]]:
    """Yield the chosen rows as blocks with their first row's position.

    Positions count rows from 0 across all laps, skipped ones included. They are the ids and, modulo the number
    of partitions, the partitions; runs with ``--limit 1000`` and then ``--skip 1000`` equal a single run.
    """
    start = selection.skip
    end = math.inf if selection.limit is None else start + selection.limit
    position = 0
    laps = itertools.count() if selection.laps is None else range(selection.laps)
    for _ in laps:
        lap_start = position
        for block in stream.blocks(size):
            count = len(block.y) if isinstance(block, Block) else len(block)
            first, position = position, position + count
            low, high = max(start - first, 0), int(min(end - first, count))
            if low < high:
                yield first + low, _part(block, slice(low, high))
            if position >= end:
                return
        if position == lap_start:
            return


def _part(block: Block | BytesColumn, part: slice) -> Block | BytesColumn:
    return Block(block.X[part], block.y[part]) if isinstance(block, Block) else block[part]

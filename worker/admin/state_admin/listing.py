"""What the snapshot topic still holds of a partition: complete snapshots, and the marks between two histories.

Unlike `driftway.worker.state.changelog.snapshot_scan`, which looks for one snapshot that a restore can use, this lists
them all, damaged ones too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.kafka.log_reader.stream import MessageStream
from driftway.worker.settings import WorkerSettings
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.snapshot_assembler import SnapshotAssembler
from driftway.worker.state.changelog.snapshot_scan import read_mark
from driftway.worker.state.snapshot import BadSnapshot, Pointer, SnapshotHeader, is_mark_key
from driftway.worker.warm_start import WarmStart

PIECE = 64
"""Records that are held at a time: chunks are up to a megabyte each."""
Progress = Callable[[int], None]
"""Told how many records are done."""


@dataclass(frozen=True)
class StoredSnapshot:
    """A complete snapshot.

    Parameters
    ----------
    place : Pointer
        Where it lies, and the input offset that its state stands at.
    nbytes : int
        Of all its chunks.
    written : int
        When, in ms since 1970.
    rows : int or None
        Rows learned and predicted until then; None: damaged.
    learners : tuple of str
        Champion and challengers; empty: damaged.
    problem : str or None
        Why it cannot be used; None: it can.
    """

    place: Pointer
    nbytes: int
    written: int
    rows: int | None = None
    learners: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def state_offset(self) -> int:
        """S: rows before it have been learned."""
        return self.place.state_offset


@dataclass(frozen=True)
class HistoryMark:
    """Where a new history begins; see `driftway.worker.state.changelog.snapshot_scan`.

    Parameters
    ----------
    record : int
        Its offset in the snapshot topic.
    began : int or None
        The input offset at which the history began; None: a state that was imported or kept, or not readable.
    written : int
        When, in ms since 1970.
    """

    record: int
    began: int | None
    written: int


@dataclass(frozen=True)
class History:
    """One history of a partition.

    Parameters
    ----------
    mark : HistoryMark or None
        Where it begins; None: the topic's first.
    snapshots : tuple of Found
        The complete ones, in the order of writing.
    superseded : bool
        A newer one has begun behind it.
    """

    mark: HistoryMark | None
    snapshots: tuple[StoredSnapshot, ...]
    superseded: bool = False

    @property
    def began(self) -> int | None:
        """The input offset at which its learners began; a topic without marks says that this was 0. None: not known."""
        return 0 if self.mark is None else self.mark.began


@dataclass
class SnapshotList:
    """Everything of one partition, as it is found in the topic from its first record to its last.

    Parameters
    ----------
    partition : int
        Whose.
    """

    partition: int
    found: list[StoredSnapshot | HistoryMark] = field(default_factory=list)
    orphans: int = 0
    """Chunks that belong to no complete snapshot: compaction or at-least-once leaves such."""

    def __post_init__(self) -> None:
        self._assembler = SnapshotAssembler[Any](self.partition, self._orphaned)

    def take(self, message: Any) -> None:
        """Take the next record."""
        key, value = message.key(), message.value() or b""
        if is_mark_key(key, self.partition):
            self.finish()
            self.found.append(HistoryMark(message.offset(), read_mark(value), message.timestamp()[1]))
            return
        if not re.fullmatch(rb"%d\.[0-9]+" % self.partition, key or b""):
            return
        pile = self._assembler.take(message, key, value)
        if pile is not None and pile.header is not None:
            self._complete(pile.chunks, pile.header, pile.nbytes)
        elif pile is not None:
            self._orphaned(pile.chunks)

    def finish(self) -> None:
        """What was held will not become whole any more."""
        self._assembler.discard()

    def _orphaned(self, chunks: list[Any]) -> None:
        self.orphans += len(chunks)

    def present(self, pointer: Pointer | None) -> History:
        """The history that the snapshot which `pointer` names belongs to; the last one without a pointer."""
        mark, snapshots, over = None, list[StoredSnapshot](), False
        for one in self.found:
            if not isinstance(one, HistoryMark):
                snapshots.append(one)
            elif pointer is not None and one.record > pointer.first:
                over = True
                break
            else:
                mark, snapshots = one, []
        return History(mark, tuple(snapshots), over)

    def _complete(self, chunks: list[Any], drawn: SnapshotHeader, nbytes: int) -> None:
        place = Pointer(chunks[0].offset(), len(chunks), drawn.state_offset)
        written = chunks[-1].timestamp()[1]
        try:
            contents = snapshot.parse(b"".join(chunk.value() or b"" for chunk in chunks))
        except BadSnapshot as error:
            self.found.append(StoredSnapshot(place, nbytes, written, problem=str(error)))
            return
        identity = contents.identity
        champion, *challengers = identity["learners"]
        if identity.get("warm") is not None:
            champion = WarmStart("", identity["warm"], bool(identity.get("frozen"))).display_name(champion)
        self.found.append(StoredSnapshot(place, nbytes, written, contents.saved.rows, (champion, *challengers)))


def list_snapshots(
    settings: WorkerSettings, partition: int, end: int, progress: Progress = lambda _: None
) -> SnapshotList:
    """Go through a partition of the snapshot topic up to the record `end`.

    Raises
    ------
    Failure, Unreachable
        It cannot be read.
    """
    listing = SnapshotList(partition)
    with MessageStream(settings, settings.topics.snapshots, partition, end) as stream:
        while messages := stream.peek(PIECE):
            for message in messages:
                listing.take(message)
            stream.drop(len(messages))
            progress(len(messages))
    listing.finish()
    return listing

"""What the snapshot topic still holds of a partition: complete snapshots, and the marks between two histories.

Unlike `driftway.worker.state.changelog.snapshot_scan`, which looks for one snapshot that a restore can use, this lists
them all, damaged ones too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.kafka.log_reader.stream import Stream
from driftway.worker.settings import WorkerSettings
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.snapshot_assembler import Assembler
from driftway.worker.state.changelog.snapshot_scan import read_mark
from driftway.worker.state.snapshot import BadSnapshot, Outline, Pointer, mark_key
from driftway.worker.warm_start import WarmStart

PIECE = 64
"""Records that are held at a time: chunks are up to a megabyte each."""
Progress = Callable[[int], None]
"""Told how many records are done."""


@dataclass(frozen=True)
class Found:
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
class Mark:
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
    mark : Mark or None
        Where it begins; None: the topic's first.
    snapshots : tuple of Found
        The complete ones, in the order of writing.
    over : bool
        A newer one has begun behind it.
    """

    mark: Mark | None
    snapshots: tuple[Found, ...]
    over: bool = False

    @property
    def began(self) -> int | None:
        """The input offset at which its learners began; a topic without marks says that this was 0. None: not known."""
        return 0 if self.mark is None else self.mark.began


@dataclass
class Listing:
    """Everything of one partition, as it is found in the topic from its first record to its last.

    Parameters
    ----------
    partition : int
        Whose.
    """

    partition: int
    found: list[Found | Mark] = field(default_factory=list)
    orphans: int = 0
    """Chunks that belong to no complete snapshot: compaction or at-least-once leaves such."""

    def __post_init__(self) -> None:
        self._assembler = Assembler[Any](self.partition, self._orphaned)

    def take(self, message: Any) -> None:
        """Take the next record."""
        key, value = message.key(), message.value() or b""
        if key == mark_key(self.partition):
            self.give_up()
            self.found.append(Mark(message.offset(), read_mark(value), message.timestamp()[1]))
            return
        if not re.fullmatch(rb"%d\.[0-9]+" % self.partition, key or b""):
            return
        pile = self._assembler.take(message, key, value)
        if pile is not None and pile.whole is not None:
            self._complete(pile.chunks, pile.whole, pile.nbytes)
        elif pile is not None:
            self._orphaned(pile.chunks)

    def give_up(self) -> None:
        """What was held will not become whole any more."""
        self._assembler.give_up()

    def _orphaned(self, chunks: list[Any]) -> None:
        self.orphans += len(chunks)

    def present(self, pointer: Pointer | None) -> History:
        """The history that the snapshot which `pointer` names belongs to; the last one without a pointer."""
        mark, snapshots, over = None, list[Found](), False
        for one in self.found:
            if not isinstance(one, Mark):
                snapshots.append(one)
            elif pointer is not None and one.record > pointer.first:
                over = True
                break
            else:
                mark, snapshots = one, []
        return History(mark, tuple(snapshots), over)

    def _complete(self, chunks: list[Any], drawn: Outline, nbytes: int) -> None:
        place = Pointer(chunks[0].offset(), len(chunks), drawn.state_offset)
        written = chunks[-1].timestamp()[1]
        try:
            contents = snapshot.parse(b"".join(chunk.value() or b"" for chunk in chunks))
        except BadSnapshot as error:
            self.found.append(Found(place, nbytes, written, problem=str(error)))
            return
        identity = contents.identity
        champion, *challengers = identity["learners"]
        if identity.get("warm") is not None:
            champion = WarmStart("", identity["warm"], bool(identity.get("frozen"))).called(champion)
        self.found.append(Found(place, nbytes, written, contents.saved.rows, (champion, *challengers)))


def look(settings: WorkerSettings, partition: int, end: int, progress: Progress = lambda _: None) -> Listing:
    """Go through a partition of the snapshot topic up to the record `end`.

    Raises
    ------
    Failure, Unreachable
        It cannot be read.
    """
    listing = Listing(partition)
    with Stream(settings, settings.topics.snapshots, partition, end) as stream:
        while messages := stream.peek(PIECE):
            for message in messages:
                listing.take(message)
            stream.drop(len(messages))
            progress(len(messages))
    listing.give_up()
    return listing

"""List a partition's records in the snapshot topic: complete snapshots, and the marks that separate histories.

Unlike `driftway.worker.state.changelog.snapshot_scan`, which looks for one snapshot that a restore can use, this lists
all of them, including damaged ones.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.kafka.log_reader.stream import MessageStream
from driftway.worker.settings import WorkerSettings
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.record_keys import is_mark_key, is_plan_key
from driftway.worker.state.changelog.snapshot_assembler import SnapshotAssembler
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import read_mark
from driftway.worker.state.input_read import NOTHING_KNOWN, InputRead
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption
from driftway.worker.state.snapshot import BadSnapshot, SnapshotHeader
from driftway.worker.state.stored_fields import Malformed, StoredFields
from driftway.worker.warm_start import WarmStart

PIECE = 64
"""Records held in memory at a time; a chunk has up to a megabyte."""
Progress = Callable[[int], None]
"""Called with the number of records done since the last call."""


@dataclass(frozen=True)
class StoredSnapshot:
    """A complete snapshot.

    Parameters
    ----------
    pointer : Pointer
        Its location in the topic, and the input offset that its state stands at.
    nbytes : int
        Total size of its chunks.
    written : int
        Time of writing, in ms since 1970.
    rows : int or None
        Rows predicted and learned up to there; None if damaged.
    learners : tuple of str
        Champion and challengers; empty if damaged.
    problem : str or None
        Why it cannot be used; None if it can.
    read : InputRead
        What its state has read of the input.
    """

    pointer: Pointer
    nbytes: int
    written: int
    rows: int | None = None
    learners: tuple[str, ...] = ()
    problem: str | None = None
    read: InputRead = NOTHING_KNOWN

    @property
    def state_offset(self) -> int:
        """Input offset of the state: all rows before it have been learned."""
        return self.pointer.state_offset


@dataclass(frozen=True)
class HistoryMark:
    """The mark of a new history; see `driftway.worker.state.changelog.snapshot_scan`.

    Parameters
    ----------
    record : int
        Offset of the mark in the snapshot topic.
    began : int or None
        The input offset at which the history began; None if with an imported or kept state, or if it is unreadable.
    written : int
        Time of writing, in ms since 1970.
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
        The mark that begins it; None for the topic's first history.
    snapshots : tuple of StoredSnapshot
        Its complete snapshots, in the order of writing.
    superseded : bool
        Whether a newer history has begun after it.
    adoptions : tuple of PlanAdoption
        Where it adopted plans, in the order of their numbers.
    """

    mark: HistoryMark | None
    snapshots: tuple[StoredSnapshot, ...]
    superseded: bool = False
    adoptions: tuple[PlanAdoption, ...] = ()

    @property
    def began(self) -> int | None:
        """The input offset at which its learners started empty: 0 if the history has no mark; None if unknown."""
        return 0 if self.mark is None else self.mark.began


@dataclass
class SnapshotList:
    """The snapshots and marks of one partition, in the order of their records.

    Parameters
    ----------
    partition : int
        Partition of the input.
    """

    partition: int
    found: list[StoredSnapshot | HistoryMark | PlanAdoption] = field(default_factory=list)
    orphans: int = 0
    """Number of chunks that belong to no complete snapshot; compaction and at-least-once leave such chunks."""

    def __post_init__(self) -> None:
        self._assembler = SnapshotAssembler[Any](self.partition, self._orphaned)

    def take(self, message: Any) -> None:
        """Process the next record."""
        key, value = message.key(), message.value() or b""
        if is_mark_key(key, self.partition):
            self.finish()
            self.found.append(HistoryMark(message.offset(), read_mark(value), message.timestamp()[1]))
            return
        if is_plan_key(key, self.partition):
            with contextlib.suppress(Malformed):
                self.found.append(PlanAdoption.parse(value))
        if not re.fullmatch(rb"%d\.[0-9]+" % self.partition, key or b""):
            return
        group = self._assembler.take(message, key, value)
        if group is not None and group.header is not None:
            self._complete(group.chunks, group.header, group.nbytes)
        elif group is not None:
            self._orphaned(group.chunks)

    def finish(self) -> None:
        """Discard the chunks of an incomplete snapshot."""
        self._assembler.discard()

    def _orphaned(self, chunks: list[Any]) -> None:
        self.orphans += len(chunks)

    def present(self, pointer: Pointer | None) -> History:
        """The history that contains the snapshot at `pointer`; without a pointer, the last history."""
        mark, snapshots, over, adoptions = None, list[StoredSnapshot](), False, dict[int, PlanAdoption]()
        for one in self.found:
            if isinstance(one, StoredSnapshot):
                snapshots.append(one)
            elif isinstance(one, PlanAdoption):
                adoptions[one.plan.number] = one
            elif pointer is not None and one.record > pointer.first:
                over = True
                break
            else:
                mark, snapshots, adoptions = one, [], {}
        return History(mark, tuple(snapshots), over, tuple(adoptions[number] for number in sorted(adoptions)))

    def _complete(self, chunks: list[Any], drawn: SnapshotHeader, nbytes: int) -> None:
        pointer = Pointer(chunks[0].offset(), len(chunks), drawn.state_offset)
        written = chunks[-1].timestamp()[1]
        try:
            contents = snapshot.parse(b"".join(chunk.value() or b"" for chunk in chunks))
            plan = ModelPlan.of_header(StoredFields(contents.header, snapshot.HEADER))
            learners = _learners(StoredFields(contents.identity, "model"), 0 if plan is None else plan.warm_model)
        except (BadSnapshot, Malformed) as error:
            self.found.append(StoredSnapshot(pointer, nbytes, written, problem=str(error)))
            return
        self.found.append(StoredSnapshot(pointer, nbytes, written, contents.saved.rows, learners, read=drawn.read))


def _learners(identity: StoredFields, warm_model: int | None) -> tuple[str, ...]:
    """Names of a snapshot's learners; one may have begun with a file. Raises `Malformed` if they are not texts."""
    learners = identity.texts("learners")
    if not identity.has("warm"):
        return learners
    warm = WarmStart("", identity.text("warm"), identity.has("frozen") and identity.flag("frozen"))
    return tuple(warm.display_name(text) if i == warm_model else text for i, text in enumerate(learners))


def list_snapshots(
    settings: WorkerSettings, partition: int, end: int, progress: Progress = lambda _: None
) -> SnapshotList:
    """Read a partition of the snapshot topic up to, but excluding, offset `end`.

    Raises
    ------
    Failure, Unreachable
        The partition cannot be read.
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

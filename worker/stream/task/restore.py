"""From a committed offset back to a model: who owned the partition last decides nothing, the log decides all.

1. Acquire: fence the last owner, so that nothing can be committed behind our back.
2. Read what the last commit says of itself, once everything that was written until then is decided: the position. The
   group's coordinator is asked for the committed offset C too. Where it names another one, although a worker committed
   it, it is asked again for a while; then the position counts. An offset that somebody set by hand has no pointer.
3. See that the outputs of that commit are there; what is missing is written again
   (`driftway.worker.stream.task.output_repair`).
4. Seek to the snapshot that the pointer names, at S <= C, and load it; or keep what the task remembers, if that stands
   at C.
5. The loop then reads S..C once more, learning without emitting; from C on it emits.

A damaged snapshot is an accident: an older one of the same history, or the log itself where it still reaches back
to its first row, gives the same bits, and the restore says so in its note. Anything else (another learner, an offset
committed by hand, rows that retention has taken) is somebody's decision: it is refused (exit 4), naming the option
that chooses otherwise; a restore never turns into a cold start by itself.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace

from confluent_kafka import Consumer

from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut, TopicMissing, query
from driftway.worker.kafka.log_reader.reader import ANY, committed_offset, open_reader, watermarks
from driftway.worker.kafka.log_reader.visibility import await_stable, first_visible, log_ends
from driftway.worker.kafka.topics import grow_topics, partition_counts
from driftway.worker.settings import EARLIEST, LATEST, WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_scan import (
    SnapshotScan,
    commit_records,
    mark_new_history,
    merge_orders,
    read_partition,
    scan_snapshots,
)
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition, concatenated
from driftway.worker.state.model import Model
from driftway.worker.state.model_sharing.exchange_record import first_missing, read_record_header
from driftway.worker.state.snapshot import AT_LEAST_ONCE_SUFFIX, CLAIM_PARTITION, Pointer
from driftway.worker.stream.task.checkpoint import Checkpoint
from driftway.worker.stream.task.exactly_once import ExactlyOnceCheckpoint
from driftway.worker.stream.task.output_repair import UNDECIDED_SECONDS, HangingTransaction, MissingOutputs, OutputCheck
from driftway.worker.stream.task.restore_plan import RestorePlan, RestoreResult, SharingState

STALE_SECONDS = 2.0
"""How long a coordinator may name another offset than the log before it is not believed."""
MOVED_SECONDS = 10.0
"""How long before somebody must have set the group, or removed its offset: then a policy is asked for."""
STALE_WAIT_SECONDS = 0.2
GROWTH_SECONDS = 5.0
"""For an output that has been grown to be known so."""


def restore(
    settings: WorkerSettings,
    partition: int,
    checkpoint: Checkpoint,
    make_model: Callable[[], Model],
    deadline: Deadline,
    in_memory_offset: int | None = None,
) -> RestoreResult:
    """Acquire the partition and rebuild its model; blocks, so it runs beside the loop.

    Parameters
    ----------
    settings, partition, checkpoint
        Whose.
    make_model : callable
        Makes an empty one.
    deadline : Deadline
        For all of it; extended while records come.
    in_memory_offset : int or None
        The committed offset of which the task has the state in memory; None: of none.

    Raises
    ------
    CannotRestore
        A policy refuses.
    KafkaException, Setback
        To be judged by `driftway.worker.kafka.error_handling`.
    """
    checkpoint.acquire(deadline)
    with contextlib.closing(open_reader(settings)) as reader, contextlib.closing(open_reader(settings, ANY)) as witness:
        # As in `acquire`: metadata first, or the coordinator is looked for too late.
        query(lambda: reader.list_topics(settings.input, deadline.remaining()), deadline)
        rebuilding = _Restorer(settings, partition, checkpoint, (reader, witness), make_model, deadline)
        found = rebuilding.run(in_memory_offset)
        if found.history_start is not None:
            _begin_history(settings, partition, reader, found, deadline)
        if settings.label_topic:
            found = replace(found, merger=rebuilding.label_merger(found))
        return replace(found, start=first_visible(reader, settings.input, partition, found.position, deadline)[0])


def _begin_history(
    settings: WorkerSettings, partition: int, reader: Consumer, found: RestoreResult, deadline: Deadline
) -> None:
    """Mark that older snapshots are of another history; an empty topic says by itself that this one began at 0.

    One with a claim in it is as good as empty. What began at the log's end is marked always: the end moves on.
    """
    low, high = watermarks(reader, settings.topics.snapshots, partition, deadline)
    if found.history_start != 0 or settings.start == LATEST or high - low > (partition == CLAIM_PARTITION):
        mark_new_history(settings, partition, None if found.keeps_learned else found.history_start, deadline)


class _Restorer:
    """Steps 2 to 4 of the module's docstring, with the policies.

    Parameters
    ----------
    settings, partition, checkpoint, make_model, deadline
        As `restore`.
    readers : tuple
        One that is given committed records only, and one that is given all.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        partition: int,
        checkpoint: Checkpoint,
        readers: tuple[Consumer, Consumer],
        make_model: Callable[[], Model],
        deadline: Deadline,
    ) -> None:
        self.settings, self.partition = settings, partition
        self.reader, self._uncommitted_reader = self._readers = readers
        self.make_model, self.deadline = make_model, deadline
        # Only transactions have positions, and can be mended.
        self._checkpoint = checkpoint if isinstance(checkpoint, ExactlyOnceCheckpoint) else None
        self._output_check = OutputCheck(settings.topics, partition, readers, deadline)
        self._plan: RestorePlan
        self._last_record: CommitRecord | None = None
        """What the last commit says of itself."""

    def run(self, in_memory_offset: int | None) -> RestoreResult:
        """Find out where the partition stands, and bring a model there."""
        found = self._locate(in_memory_offset)
        return self._with_sharing(found) if self.settings.topics.shared else found

    def _locate(self, in_memory_offset: int | None) -> RestoreResult:
        """As `run`, without what other partitions share."""
        settings, partition, reader = self.settings, self.partition, self.reader
        self._last_record = last = self._last_commit()
        self._require_labels_of(last)
        (committed, metadata), note = _settled_offset(settings.input, partition, reader, last, self.deadline)
        low, high = watermarks(reader, settings.input, partition, self.deadline)
        pointer, plain = Pointer.parse(metadata), (metadata or "").endswith(AT_LEAST_ONCE_SUFFIX)
        self._plan = ways = RestorePlan(
            settings, partition, reader, self.make_model, self.deadline, committed or 0, low, high, pointer
        )
        if committed is None and last is not None:
            ways.committed = last.offset
            return ways.by_policy(f"the group's offset is gone (deleted, or expired); the last one was {last.offset}")
        if committed is None:
            begun = self._history_start(low, high)
            start = _first_offset(settings, partition, low, high) if begun is None else begun
            said = None if begun is None else f"beginning at offset {begun} as before: nothing was committed since"
            return RestoreResult(
                self.make_model(), start, start, None, said, history_start=start if begun is None else None
            )
        mend = None
        if self._checkpoint is not None and pointer is not None and not plain:
            if last is None:
                return ways.by_policy(f"offset {committed} was committed by a worker, but its own log does not say so")
            ways.committed, ways.pointer = last.offset, last.pointer or pointer
            mend = self._missing_outputs(last)
            if mend is not None and (shares := settings.topics.shares) in mend.present:
                return ways.by_policy(
                    f"what the learners combined with their own until offset {mend.until} is gone from {shares}"
                )
        if mend is not None:
            found = ways.before_lost_outputs(mend)
        elif pointer is not None and in_memory_offset == ways.committed:
            found = RestoreResult(None, in_memory_offset, in_memory_offset, ways.pointer)
        else:
            found = ways.from_pointer_or_fallback()
        if found.position < low or found.committed > high:
            return ways.by_offset_policy(found)
        return replace(found, note="; ".join(part for part in (note, found.note) if part) or None)

    def label_merger(self, found: RestoreResult) -> LabelMerger:
        """Where labels go in, from where a model was found to stand.

        Raises
        ------
        CannotRestore
            Their order is not known any more, or their log has lost some.
        """
        low, high = watermarks(self.reader, self.settings.label_topic, self.partition, self.deadline)
        last = None if self._last_record is None else self._last_record.order
        if found.model is None and last is not None:
            order, plan = last, tuple[MergePosition, ...]()
        else:
            known = self._order(found, last, low, high)
            order, plan = MergeOrder(known.begin), known.steps
        if order.end.label < low:
            raise CannotRestore(
                f"cannot restore {self.settings.input}/{self.partition}: labels from offset {order.end.label} of "
                f"{self.settings.label_topic} are needed, its log begins at {low}"
            )
        return LabelMerger(order, plan)

    def _order(self, found: RestoreResult, last: MergeOrder | None, low: int, high: int) -> MergeOrder:
        """In which order labels were taken from a model's position on, and are to be taken once more."""
        position, committed = found.position, found.committed
        if last is None:  # no label was taken yet
            begin = MergePosition(position, high if self.settings.start == LATEST else low)
            return MergeOrder(begin, (MergePosition(committed, begin.label),) if position < committed else ())
        known: MergeOrder | None = last
        if last.begin.offset != position:
            topic = self.settings.topics.snapshots
            known = concatenated(merge_orders(self.reader, topic, self.partition, self.deadline), position)
        if known is not None:
            return known
        if found.history_start is not None:
            return MergeOrder(MergePosition(position, last.end.label if position == committed else low))
        raise CannotRestore(
            f"cannot restore {self.settings.input}/{self.partition}: {self.settings.topics.snapshots} does not say in "
            f"which order labels were taken from offset {position} on"
        )

    def _with_sharing(self, found: RestoreResult, by_policy: bool = False) -> RestoreResult:
        """With what its learners combined, all of which must be there; `by_policy`: --if-unrestorable led here."""
        anew, talk = found.history_start is not None, None if found.model is None else found.model.exchange
        met, last = self._sharing_state(anew), None if self._last_record is None else self._last_record.rounds
        lacks = (
            None
            if anew or talk is None
            else first_missing([*map(read_record_header, met.log)], talk.round_number, found.position, last)
        )
        if lacks is None:
            return replace(found, sharing=met)
        reason = f"what the learners combined in round {lacks} is gone from {self.settings.topics.shares}"
        if by_policy:
            raise CannotRestore(f"cannot restore {self.settings.input}/{self.partition}: {reason}")
        return self._with_sharing(self._plan.by_policy(reason), by_policy=True)

    def _sharing_state(self, anew: bool) -> SharingState:
        """What the topic of shares says, `anew`: of a history of which nothing is to be repeated."""
        topic = self.settings.topics.shares
        end = watermarks(self._uncommitted_reader, topic, self.partition, self.deadline)[1]
        if not await_stable(self.reader, topic, self.partition, end, self.deadline, UNDECIDED_SECONDS):
            raise TimedOut(f"an open transaction hides the end of {topic}/{self.partition}")
        log = [value for _, value in read_partition(self.reader, topic, self.partition, self.deadline)]
        last = read_record_header(log[-1]) if log else None
        ends = {} if last is None else last.consumed
        return SharingState([] if anew else log, self._partitions(topic), ends | {self.partition: end})

    def _require_labels_of(self, last: CommitRecord | None) -> None:
        """Labels come out of the topic that they came out of."""
        before = "" if last is None else last.labels or ""
        if before and before != self.settings.label_topic:
            raise CannotRestore(
                f"cannot restore {self.settings.input}/{self.partition}: labels came out of topic {before}: "
                f"start with --label-topic {before}"
            )

    def _history_start(self, low: int, high: int) -> int | None:
        """Where the group has begun at the log's end, and died before its first commit; None: it has not."""
        if self.settings.start != LATEST:
            return None
        topic, search = self.settings.topics.snapshots, SnapshotScan(self.partition, 0, high)
        first, end = watermarks(self.reader, topic, self.partition, self.deadline)
        found = scan_snapshots(self.reader, topic, first, end, search, self.deadline)
        if found.history_start is None or found.candidates or not low <= found.history_start <= high:
            return None
        return found.history_start

    def _last_commit(self) -> CommitRecord | None:
        """The newest position of all that was in the log when nobody else could write any more; None: there is none."""
        topic = self.settings.topics.snapshots
        labels = (self.settings.label_topic,) if self.settings.label_topic else ()
        for name in (*self.settings.topics.outputs(), *labels):
            self._require_partition(name)
        if self._checkpoint is None:
            return None
        end = self._note_log_ends()[topic]
        if not await_stable(self.reader, topic, self.partition, end, self.deadline, UNDECIDED_SECONDS):
            self._abort_hanging(topic)
            if not await_stable(self.reader, topic, self.partition, end, self.deadline, self.deadline.left):
                raise TimedOut(f"an open transaction hides the end of {topic}/{self.partition}")
        found = commit_records(self.reader, topic, self.partition, self.deadline)
        if not found:
            self._require_readable()
        return next(iter(found), None)

    def _require_readable(self) -> None:
        """Whoever may not read what is written must learn it at the first start, not at the second."""
        for topic in self.settings.topics.outputs():
            end = watermarks(self.reader, topic, self.partition, self.deadline)[1]
            first_visible(self.reader, topic, self.partition, end, self.deadline)

    def _missing_outputs(self, last: CommitRecord) -> MissingOutputs | None:
        """Outputs of the last commits that are not visible."""
        while True:
            try:
                return self._output_check.find_missing(last)
            except HangingTransaction as error:
                hanging = error.topic
            self._abort_hanging(hanging)

    def _abort_hanging(self, topic: str) -> None:
        """Settle what hangs in a topic, and acquire anew."""
        assert self._checkpoint is not None  # noqa: S101
        self._checkpoint.abort_hanging(topic, self.deadline)
        self._checkpoint.acquire(self.deadline)
        self._output_check.resolved_topics.add(topic)
        self._note_log_ends()

    def _note_log_ends(self) -> dict[str, int]:
        """Where the logs of the outputs end now: what the new producer writes lies behind."""
        assert self._checkpoint is not None  # noqa: S101
        self._checkpoint.ends = log_ends(
            self._uncommitted_reader, self.settings.topics.outputs(), self.partition, self.deadline
        )
        return self._checkpoint.ends

    def _require_partition(self, topic: str) -> None:
        """See that an output has the partition; a reader that has no metadata would also wait a second for it."""
        settings, patience = self.settings, Deadline(GROWTH_SECONDS)
        count = self._partitions(topic)
        if 0 < count <= self.partition < (wanted := self._partitions(settings.input)):
            grow_topics(settings.bootstrap, settings.passthrough, [topic], wanted)
            while (count := self._partitions(topic)) <= self.partition and not patience.passed:
                time.sleep(STALE_WAIT_SECONDS)
        if count <= self.partition:
            raise TopicMissing(
                f"topic {topic} has {count} partitions, and none for partition {self.partition} of "
                f"{self.settings.input}: give it as many as the input has"
            )

    def _partitions(self, topic: str) -> int:
        """Of a topic, as both readers know it."""

        def count(reader: Consumer) -> int:
            found = query(lambda: reader.list_topics(topic, self.deadline.remaining()), self.deadline)
            return partition_counts(found).get(topic, 0)

        return min(map(count, self._readers))


def _first_offset(settings: WorkerSettings, partition: int, low: int, high: int) -> int:
    """Where a group without committed offsets starts in a log that holds low..high.

    Raises
    ------
    CannotRestore
        At an offset that the log does not hold.
    """
    if isinstance(settings.start, str):
        return low if settings.start == EARLIEST else high
    if not low <= settings.start <= high:
        raise CannotRestore(
            f"cannot start {settings.input}/{partition} at offset {settings.start}: the log holds {low} to {high}"
        )
    return settings.start


def _settled_offset(
    topic: str, partition: int, reader: Consumer, last: CommitRecord | None, deadline: Deadline
) -> tuple[tuple[int | None, str | None], str | None]:
    """The committed offset and its metadata, asked for until they fit the last commit; a note if they did not at once.

    A commit by hand has no metadata of ours, and one without a transaction has no position: these are what they are.
    """
    began = time.monotonic()
    answer = at_first = committed_offset(reader, topic, partition, deadline)

    def patience() -> float:
        offset, metadata = answer
        if last is None or offset == last.offset or (metadata or "").endswith(AT_LEAST_ONCE_SUFFIX):
            return 0.0
        return STALE_SECONDS if Pointer.parse(metadata) is not None else MOVED_SECONDS

    while time.monotonic() - began < patience() and not deadline.passed:
        time.sleep(STALE_WAIT_SECONDS)
        answer = committed_offset(reader, topic, partition, deadline)
    waited = time.monotonic() - began
    if patience() == STALE_SECONDS and last is not None:
        return answer, f"the broker says offset {answer[0]}, the log of the last commit {last.offset}, which counts"
    if answer == at_first:
        return answer, None
    return answer, f"the broker said offset {at_first[0]} first, and {answer[0]} after {waited:.1f} s"

"""Monitor whether the cluster answers, the loop runs and commits succeed, in a thread that nothing else blocks.

An outage is logged when it is noticed, every ten seconds after that, and when it ends. If the loop has not turned for
`STUCK_SECONDS`, the stacks of all threads are logged.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException

from driftway.worker.errors import Failure, Unreachable, file_shortage
from driftway.worker.kafka.client_config import base_properties, is_refusal, without_membership
from driftway.worker.kafka.error_handling import MISSING, message_of
from driftway.worker.kafka.log_reader.reader import READER_TUNING, standalone_consumer
from driftway.worker.kafka.log_reader.visibility import VisibleEnds
from driftway.worker.kafka.topics import grow_command, partition_counts
from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.observability.event_log import JSON, EventLog
from driftway.worker.stream.observability.open_transactions import PATIENCE_SECONDS, OpenTransactions, ends_of
from driftway.worker.stream.observability.uncaught import stacks

if TYPE_CHECKING:
    from driftway.worker.stream.task.task import Task

CHECK_SECONDS, ENDS_SECONDS, ANSWER_SECONDS = 0.5, 2.0, 3.0
"""Intervals between two requests for the cluster's brokers and between two for the ends of logs, and their timeout: an
outage is noticed after 5 s at most."""
ASKING_ERRORS = KafkaException, Failure
"""The cluster does not answer; or no client can be made, as while files are short or certificates are replaced."""
REPEAT_SECONDS = 10.0
"""Interval between two lines about the same outage."""
REFUSED_SECONDS = 30.0
"""How long a client's error counts that a broker refuses its login: for calls on the client it is then only silent."""
SHORTAGE_SECONDS = 5.0
"""How long a client's error that it cannot open files counts: it tries again every second or so."""
STARTING, JOINING, RUNNING, LEAVING = "starting", "joining", "running", "leaving"
"""What a worker does: checks topics and compiles kernels; waits for the group's first assignment; works; leaves."""
STUCK_SECONDS = 30.0
"""Longest turn of a healthy loop, whatever the poll interval is set to: a revocation may take 12 s."""
UNCOMMITTED_SECONDS = 120.0
"""Longest time that outputs wait for a commit, beyond the interval: a commit may take 45 s, and be retried."""
OUTSIDE_SECONDS = 600.0
"""Longest time outside the group while the cluster answers: a rebalance takes as long as `max.poll.interval.ms`, which
is seconds by default and 5 minutes in other clients. A client that has not joined by then may never do."""


class HealthMonitor:
    """Monitors the cluster and the loop.

    Parameters
    ----------
    settings : WorkerSettings
        Where the cluster is, and the input.
    event_log : EventLog
        Where outages and a stuck loop are logged.
    committed : callable
        Returns input partition -> its committed offset, for those whose log ends are queried.
    clock : callable
        Monotonic time in seconds.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        event_log: EventLog,
        committed: Callable[[], Mapping[int, int]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings, self.event_log, self._committed, self._clock = settings, event_log, committed, clock
        self.phase = STARTING
        self.input_partitions = 0
        """Number of partitions of the input; 0: not known yet."""
        self.ends: dict[int, int] = {}
        """Partition -> end of its log at the last query; its committed offset if there is no record from there on."""
        self._visible_ends = VisibleEnds(settings.input)
        self._label_partitions = 0
        self.shares_partitions = 0
        """Partitions of the shares topic at the last query; 0 if nothing is shared, or not queried yet."""
        self.broker_left_at = float("-inf")
        """When it was noticed that a broker had left the cluster, or had been declared dead."""
        self.open_transactions = OpenTransactions(settings, event_log, clock)
        self._ended = threading.Event()
        self._brokers: set[int] = set()
        self.ends_error: str | None = None
        """Why the last query of the ends failed; None if it did not."""
        self._thread: threading.Thread | None = None
        self._heartbeat_at = self._committed_at = clock()
        self._unreachable_since: float | None = None
        self._reported_at = 0.0
        self._short_of_files_at = self._throttled_until = self._refused_at = float("-inf")
        self._refusal = ""
        self._dumped = False
        self._outside_since: float | None = None
        """Since when the group does not have the member while the cluster answers; None if it has."""

    @property
    def reachable(self) -> bool:
        """Whether the cluster answered the last query."""
        return self._unreachable_since is None

    @property
    def idle_seconds(self) -> float:
        """Seconds since the loop last turned."""
        return self._clock() - self._heartbeat_at

    @property
    def uncommitted_seconds(self) -> float:
        """Seconds since a commit last succeeded, or nothing waited for one."""
        return self._clock() - self._committed_at

    @property
    def alive(self) -> bool:
        """Whether the loop turns, its outputs are committed, and the group has the member; an outage does not count.

        A worker that starts is alive: compiling may take longer than an orchestrator waits.
        """
        late = self.uncommitted_seconds > self.settings.commit_interval + UNCOMMITTED_SECONDS
        outside = self._outside_since is not None and self._clock() - self._outside_since > OUTSIDE_SECONDS
        waits = self.reachable and (late or outside)
        return self.phase == STARTING or (self.idle_seconds <= STUCK_SECONDS and not waits)

    def readiness(self, tasks: Collection[Task]) -> tuple[bool, dict[str, Any]]:
        """Whether every assigned task is running and the cluster answers, and the details of that.

        A worker without partitions is ready once the group has told it so. Rows that wait behind open transactions are
        named, but no worker could take them.
        """
        states = {str(task.partition): task.state.value for task in tasks}
        running = self.phase == RUNNING
        ready = running and self.reachable and all(state == "running" for state in states.values())
        held = {
            str(p): {"offset": one.offset, "offsets": one.waiting, "seconds": one.seconds}
            for p, one in self.open_transactions.found.items()
        }
        return ready, {
            "ready": ready,
            "state": self.phase,
            "standby": running and not tasks,
            "cluster": "answers" if self.reachable else "silent",
            "tasks": states,
            **({"behind_open_transactions": held} if held else {}),
        }

    def heartbeat(self, committed: bool) -> None:
        """Record a turn of the loop; `committed` if nothing waits for a commit, or one has just succeeded."""
        self._heartbeat_at = self._clock()
        self._dumped = False
        if committed:
            self._committed_at = self._heartbeat_at

    def require_reachable(self) -> None:
        """Raise if the cluster has been silent for too long.

        Raises
        ------
        Unreachable
            It has been silent for longer than --unavailable-timeout.
        """
        since = self._unreachable_since
        if since is not None and self._clock() - since > self.settings.unavailable_timeout:
            silent = f"no Kafka broker has answered at {self.settings.bootstrap} for "
            given = f"{self.settings.unavailable_timeout:g} s (--unavailable-timeout)"
            raise Unreachable(self.with_refusal(silent + given))

    def begin(self) -> None:
        """Start monitoring, when the worker joins the group."""
        self.phase = JOINING
        self.heartbeat(committed=True)
        brokers = CHECK_SECONDS, self._ask_for_brokers, self._record_brokers_answer
        threading.Thread(target=self._ask_repeatedly, args=brokers, name="health", daemon=True).start()
        logs = ENDS_SECONDS, self._ask_for_logs, self._record_logs_answer
        self._thread = threading.Thread(target=self._ask_repeatedly, args=logs, name="log ends", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop monitoring; with --stop-at-end, look for open transactions once more, however young they are."""
        self.phase = LEAVING
        self._ended.set()
        if self._thread is not None and self.settings.stop_at_end and self.reachable:
            self._thread.join(ANSWER_SECONDS)
            with contextlib.suppress(*ASKING_ERRORS):
                self._ask_for_ends(self._make_reader(), 0.0)

    def _ask_repeatedly(
        self, seconds: float, ask: Callable[[Consumer], None], record: Callable[[str | None], None]
    ) -> None:
        """Ask the cluster until the monitor ends, at such intervals, and record each error, or None.

        After an error another client asks. One that knows no broker any more would not ask at all, and one may ask a
        partition's old leader for as long as that is dead.
        """
        reader: Consumer | None = None
        while not self._ended.wait(seconds):
            try:
                reader = reader or self._make_reader()
                ask(reader)
            except ASKING_ERRORS as error:
                record(message_of(error))
                _close(reader)
                reader = None
            else:
                record(None)

    def _ask_for_brokers(self, reader: Consumer) -> None:
        found = reader.list_topics(self.settings.input, timeout=ANSWER_SECONDS)
        self.record_brokers(found.brokers)
        self.input_partitions = partition_counts(found).get(self.settings.input, 0)

    def _record_brokers_answer(self, error: str | None) -> None:
        if error is None:
            self.record_answer()
        else:
            self.record_unreachable(error)
        self.check_loop()

    def _ask_for_logs(self, reader: Consumer) -> None:
        """Ask for the ends of the input's logs, and for the partitions of the shares and of the label topic."""
        try:
            self._ask_for_ends(reader)
        except KafkaException as error:  # the consumer says that the input was deleted: the cluster does answer
            if error.args[0].code() not in MISSING:
                raise
        if self.settings.topics.shared:
            self.shares_partitions = _partitions_of(self.settings.topics.shares, reader)
        if self.settings.label_topic:
            self.record_label_partitions(_partitions_of(self.settings.label_topic, reader))

    def _record_logs_answer(self, error: str | None) -> None:
        late = self._clock() < self._throttled_until + ANSWER_SECONDS
        self.ends_error = None if late else error
        if error is not None:
            self.open_transactions.close()

    def _make_reader(self) -> Consumer:
        given = without_membership(base_properties(self.settings.bootstrap, self.settings.passthrough))
        return standalone_consumer(given, READER_TUNING)

    def _ask_for_ends(self, reader: Consumer, patience: float = PATIENCE_SECONDS) -> None:
        committed = self._committed()
        ends = self.open_transactions.ends(committed, ANSWER_SECONDS)
        stable = ends_of(reader, self.settings.input, committed, ANSWER_SECONDS)
        self.open_transactions.check(ends, stable, patience)
        self.ends = self._visible_ends.of(reader, stable, committed, ANSWER_SECONDS)

    def record_unreachable(self, error: str) -> None:
        """Record that the cluster did not answer."""
        now = self._clock()
        if self._unreachable_since is None:
            self._unreachable_since, self._reported_at = now, now - REPEAT_SECONDS
        if now - self._reported_at >= REPEAT_SECONDS:
            self._reported_at = now
            where, since = self.settings.bootstrap, now - self._unreachable_since
            self.event_log.error(
                "the cluster does not answer, asking again",
                bootstrap=where,
                seconds=round(since),
                unavailable_timeout=self.settings.unavailable_timeout,
                error=self.with_refusal(error),
            )

    def with_refusal(self, sentence: str) -> str:
        """Return a sentence about a silent broker, with the reason if one has just refused this worker's login."""
        recent = self._clock() - self._refused_at < REFUSED_SECONDS and self._refusal not in sentence
        return f"{sentence}; {self._refusal}" if recent else sentence

    def record_label_partitions(self, count: int) -> None:
        """Log, once for each number, that the label topic has more partitions than the input: nobody reads the rest."""
        if count > self.input_partitions > 0 and count != self._label_partitions:
            topic, labels = self.settings.input, self.settings.label_topic
            self.event_log.warning(
                "labels not read",
                topic=labels,
                partitions=count,
                input_partitions=self.input_partitions,
                error=f"each label must be in the partition of its event: {grow_command(topic, count)} gives the input "
                "as many, and what was written with other partitions must be written again",
            )
        self._label_partitions = count

    def record_brokers(self, brokers: Collection[int]) -> None:
        """Record the ids of the cluster's live brokers."""
        present = set(brokers)
        if self._brokers - present:
            self.broker_left_at = self._clock()
        self._brokers = present

    def record_membership(self, joined: bool) -> None:
        """Record whether the group has the member."""
        if joined or not self.reachable:
            self._outside_since = None
        elif self._outside_since is None:
            self._outside_since = self._clock()

    def record_client_error(self, error: KafkaError) -> None:
        """Record an error that a client of this process reported."""
        if os.strerror(errno.EMFILE) in error.str():
            self._short_of_files_at = self._clock()
        elif is_refusal(error):
            self._refused_at, self._refusal = self._clock(), error.str()

    def record_throttled(self, seconds: float) -> None:
        """Record that a broker delays its next answers by so long: while it does, a late answer is no outage."""
        self._throttled_until = max(self._throttled_until, self._clock() + seconds)

    def record_answer(self) -> None:
        """Record that the cluster answered; an outage all the same if no file can be opened or a log has no leader."""
        if self._clock() - self._short_of_files_at < SHORTAGE_SECONDS and (cause := file_shortage()):
            self.record_unreachable(cause)
        elif self.ends_error is not None:
            self.record_unreachable(self.ends_error)
        else:
            self.record_reachable()

    def record_reachable(self) -> None:
        """Record that the cluster answers."""
        if self._unreachable_since is not None:
            self.event_log.event("the cluster answers again", seconds=round(self._clock() - self._unreachable_since))
        self._unreachable_since = None

    def check_loop(self) -> None:
        """Log the stacks of all threads, once, if the loop does not turn."""
        if self.idle_seconds <= STUCK_SECONDS or self._dumped:
            return
        self._dumped = True
        seconds = round(self.idle_seconds)
        if self.event_log.form == JSON:
            self.event_log.error("the loop is stuck", seconds=seconds, stacks=stacks())
        else:
            self.event_log.error("the loop is stuck, stacks of all threads follow", seconds=seconds)
            dump_stacks()


def _partitions_of(topic: str, reader: Consumer) -> int:
    """Return how many partitions a topic has; 0 if it is not there."""
    return partition_counts(reader.list_topics(topic, timeout=ANSWER_SECONDS)).get(topic, 0)


def _close(reader: Consumer | None) -> None:
    """Close a client, if there is one."""
    if reader is not None:
        reader.close()


def dump_stacks() -> None:
    """Write the stacks of all threads to standard error, if it is a file."""
    try:
        faulthandler.dump_traceback(sys.stderr, all_threads=True)
    except (AttributeError, ValueError, io.UnsupportedOperation, OSError):
        return

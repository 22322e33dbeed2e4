"""Relearns models of plans in the background, with a limited share of a processor, one partition after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from driftway.worker.kafka.error_handling import message_of
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.stream.background.thread import BackgroundThread
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.relearning.log_rows import is_held, log_begins, order_before, rows_after, rows_from
from driftway.worker.stream.relearning.merged_rows import MergedRows
from driftway.worker.stream.relearning.relearner import Relearner
from driftway.worker.stream.task.task import Task

NEAR = 20_000
"""Offsets behind the task from which on the task hands over its rows."""
WAIT_SECONDS = 0.005
"""Between two looks whether the loop has handed over rows."""
RETRY_SECONDS = 2.0
"""Pause after an error of the client."""


class Relearners(BackgroundThread):
    """Relearns what the tasks of a worker want to have relearned, on a thread of its own.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    event_log : EventLog
        Where it is logged.
    """

    def __init__(self, settings: WorkerSettings, event_log: EventLog) -> None:
        super().__init__("relearners")
        self._settings, self._event_log = settings, event_log
        self._waiting: list[Relearner] = []
        """The next one first; only the loop's thread adds, only the other one removes."""
        self._wake = threading.Event()
        self._used = 0.0
        """Processor time of the thread when it last rested, in seconds."""

    def prepare(self, tasks: Iterable[Task]) -> None:
        """Take what tasks want to have relearned; called between two batches."""
        for task in tasks:
            task.prepare_relearning()
            one = task.relearning.relearner
            if one is not None and one not in self._waiting and not (one.over or one.failed):
                self._waiting.append(one)
                self._wake.set()
                self.begin()

    def close(self) -> None:
        """Stop, and wait for the client to be closed unless it is stuck."""
        self._over.set()  # before the thread wakes up
        self._wake.set()
        super().close()

    def _run(self) -> None:
        while not self._over.is_set():
            if not self._waiting:
                self._wake.wait()
                self._wake.clear()
                continue
            one = self._waiting[0]
            try:
                self._relearn(one)
            except Exception as error:  # whatever it is, predictions go on, and it may be over the next time
                self._log_error(one, message_of(error))
                self._over.wait(RETRY_SECONDS)
                self._waiting[:] = [*self._waiting[1:], one]  # one that is added meanwhile is added again
            if one.failed is not None:
                what = {"partition": one.partition, "plan": one.plan.number}
                self._event_log.warning("relearning failed", **what, error=one.failed)
            if one.over or one.failed is not None:
                self._waiting.remove(one)

    def _log_error(self, one: Relearner, sentence: str) -> None:
        """Log an error, unless it is the last one again."""
        if self._is_news(sentence):
            self._event_log.warning("relearning interrupted", partition=one.partition, error=sentence)

    def _relearn(self, one: Relearner) -> None:
        """Relearn until the models have joined, or nobody needs them any more.

        Raises
        ------
        Failure, KafkaException, TaskError
            The log cannot be read.
        """
        while not self._is_over(one):
            one.near = one.near or one.left <= NEAR
            if one.near and one.handed_from is None:
                self._over.wait(WAIT_SECONDS)
                continue
            end, order = one.log_end
            if (one.began is None or one.position < end) and not self._read(one, end, order):
                continue
            if one.handed_from == end:
                what = {"plan": one.plan.number, "learners": one.names}
                self._event_log.event("relearned", partition=one.partition, **what, offset=end)
            one.reached(end)
            if one.read:
                self._follow(one)

    def _read(self, one: Relearner, end: int, order: MergeOrder | None) -> bool:
        """Learn the log up to an offset; return whether that is done."""
        settings, begin = self._settings, one.merged
        if one.began is None or not is_held(begin, log_begins(settings, one.partition)):
            with rows_from(settings, one.partition, one.plan.relearn_from.get(one.partition), end, order) as found:
                one.begin(*found.begin)
                what = {"plan": one.plan.number, "learners": one.names}
                self._event_log.event("relearning", partition=one.partition, **what, offset=found.begin.offset, end=end)
                return self._learn(one, found.rows)
        before = order if order is None else order_before(settings, one.partition, order)
        with rows_after(settings, one.partition, begin, end, before) as rows:
            return self._learn(one, rows)

    def _learn(self, one: Relearner, rows: RecordStream | MergedRows) -> bool:
        """Learn rows of the log; return whether that is done."""
        while (records := rows.take(one.piece)) is not None:
            began = time.monotonic()
            one.learn(records)
            self._rest(began)
            if self._is_over(one):
                return False
        return True

    def _is_over(self, one: Relearner) -> bool:
        return one.over or one.failed is not None or self._over.is_set()

    def _follow(self, one: Relearner) -> None:
        """Learn the rows that the loop hands over, until the models join."""
        while one.read and not self._is_over(one):
            began = time.monotonic()
            if one.learn_handed():
                self._rest(began)
            else:
                self._over.wait(WAIT_SECONDS)

    def _rest(self, began: float) -> None:
        """Sleep after a piece that began at this moment: the thread takes no more than its share of a processor.

        The client's own threads, which fetch, come on top. Where other programs leave no processor free, a piece takes
        longer, and the loop needs what there is: then the thread rests longer, too.
        """
        used = max(time.thread_time() - self._used, time.monotonic() - began)
        self._over.wait(used * (1 / self._settings.relearn_share - 1))
        self._used = time.thread_time()

"""Notice, while nothing is committed, that an input topic was deleted, or deleted and recreated."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from confluent_kafka import KafkaException

from driftway.worker.errors import Failure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TaskError, TopicMissing
from driftway.worker.kafka.log_reader.topic_facts import UNKNOWN_IDS, TopicIdReader, TopicIds
from driftway.worker.stream.task.task import Task

WATCH_SECONDS = 5.0
"""Between two questions for the ids; each commit asks too."""
MAX_MISSING = 2
"""Answers in succession that a topic does not exist, after which it was deleted: a broker that has just started may not
know it yet."""


class InputWatch:
    """Asks for the ids of the input topics now and then, beside the loop.

    Parameters
    ----------
    ids : TopicIdReader
        Asks the broker.
    tasks : mapping
        Partition -> its task.
    """

    def __init__(self, ids: TopicIdReader, tasks: Mapping[int, Task]) -> None:
        self._ids, self._tasks = ids, tasks
        self._thread: threading.Thread | None = None
        self._answer: TopicIds | None = None
        self._missing = 0
        """Answers in succession that a topic does not exist."""
        self._gone = ""
        """What the last of them said."""

    def poll(self) -> dict[int, str]:
        """Return partition -> why it must be restored, for those whose topics were recreated.

        Raises
        ------
        Failure
            A topic was deleted.
        """
        if self._thread is not None:
            if self._thread.is_alive():
                return {}
            self._thread = None
            if self._missing >= MAX_MISSING:
                raise Failure(f"{self._gone}: it was deleted")
            return self._changed()
        if time.monotonic() - self._ids.asked_at > WATCH_SECONDS and any(
            t.accepts_records for t in self._tasks.values()
        ):
            self._thread = threading.Thread(target=self._ask, name="input topics", daemon=True)
            self._thread.start()
        return {}

    def _ask(self) -> None:
        self._answer, missing = None, 0
        try:
            self._answer = self._ids.ask(Deadline(WATCH_SECONDS))
        except TopicMissing as error:
            missing, self._gone = self._missing + 1, str(error)
        except (KafkaException, TaskError):  # a commit or the consumer says what is wrong
            pass
        self._missing = missing

    def _changed(self) -> dict[int, str]:
        topic, labels = self._answer or UNKNOWN_IDS
        running = {p: task.input_count.read for p, task in self._tasks.items() if task.accepts_records}
        found = {p: read.recreated(topic, labels) for p, read in running.items()}
        return {p: reason for p, reason in found.items() if reason is not None}

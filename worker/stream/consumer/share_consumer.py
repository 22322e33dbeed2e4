"""Where a worker hears what other partitions tell: a reader of the whole topic of shares, for all tasks together.

It is no member of the group. Up to where a partition has heard the others is written down with what it took in, and
whoever owns it next listens from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import CONSUMER_TUNING
from driftway.worker.kafka.client_factory import make_fetcher
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.error_handling import hopeless
from driftway.worker.kafka.interface import Fetcher, Problem
from driftway.worker.kafka.log_reader.reader import reader_properties
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.model_sharing.model_exchange import Talk
from driftway.worker.stream.observability.event_log import Journal
from driftway.worker.stream.task.task import Task


class ShareIntake:
    """Gives tasks what other partitions have told.

    Parameters
    ----------
    settings : WorkerSettings
        Topic and client properties.
    journal : Journal
        Where errors that pass by themselves are logged.
    tasks : mapping
        Partition -> its task.
    talking : callable
        How many partitions there are in the topic now, as far as it is known: the input may grow.
    """

    def __init__(
        self, settings: WorkerSettings, journal: Journal, tasks: Mapping[int, Task], talking: Callable[[], int]
    ) -> None:
        self._settings, self._journal, self._tasks, self._talking = settings, journal, tasks, talking
        self._fetcher: Fetcher | None = None
        self._hearing: list[Talk] = []
        """For whom is read."""
        self._places: set[int] = set()
        """What is read."""

    def take(self) -> None:
        """Hand over what has come, without waiting.

        Raises
        ------
        Failure
            The broker refuses this reader for good.
        """
        talks = [talk for task in self._tasks.values() if (talk := task.talk) is not None and talk.listens]
        if not talks and not self._hearing:
            return
        if self._fetcher is None:
            properties = reader_properties(self._settings, tuning=CONSUMER_TUNING)
            self._fetcher = make_fetcher(self._settings.client, properties, self._settings.topics.shares)
        for talk in talks:
            talk.grow(self._talking())
        places = {p for talk in talks for p in talk.everybody}
        if places != self._places or [*map(id, talks)] != [*map(id, self._hearing)]:
            self._fetcher.send_to({p: min(talk.next.get(p, 0) for talk in talks) for p in sorted(places)})
            self._hearing, self._places = talks, places
        readers = {talk.model: talk for talk in talks}
        taken = self._fetcher.take(BATCH_MESSAGES, 0.0)
        for records in taken.records:
            for i, (offset, time) in enumerate(zip(records.offsets.tolist(), records.timestamps, strict=True)):
                if (value := records.values[i]) is not None:
                    read = {model: talk.read(value) for model, talk in readers.items()}
                    for talk in talks:
                        talk.listen(records.partition, offset, read[talk.model], int(time))
        for problem in taken.problems:
            self._complain(problem)

    def close(self) -> None:
        """End the client."""
        if self._fetcher is not None:
            self._fetcher.close()

    def _complain(self, problem: Problem) -> None:
        """Sort an error that came in a message's place."""
        error, partition, _ = problem
        if error.code() == KafkaError._PARTITION_EOF:
            return
        if hopeless(error) or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise Failure(f"cannot read {self._settings.topics.shares}/{partition}: {error.str()}")
        self._journal.event("share reader error", error=error.str())

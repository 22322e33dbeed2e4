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
from driftway.worker.kafka.error_handling import is_permanent
from driftway.worker.kafka.interface import ClientError, Fetcher
from driftway.worker.kafka.log_reader.reader import reader_properties
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.model_sharing.model_exchange import ModelExchange
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.task.task import Task


class ShareConsumer:
    """Gives tasks what other partitions have told.

    Parameters
    ----------
    settings : WorkerSettings
        Topic and client properties.
    event_log : Event_log
        Where errors that pass by themselves are logged.
    tasks : mapping
        Partition -> its task.
    partition_count : callable
        How many partitions there are in the topic now, as far as it is known: the input may grow.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        event_log: EventLog,
        tasks: Mapping[int, Task],
        partition_count: Callable[[], int],
    ) -> None:
        self._settings, self._event_log, self._tasks, self._partition_count = (
            settings,
            event_log,
            tasks,
            partition_count,
        )
        self._fetcher: Fetcher | None = None
        self._subscribers: list[ModelExchange] = []
        """For whom is read."""
        self._partitions: set[int] = set()
        """What is read."""

    def poll(self) -> None:
        """Hand over what has come, without waiting.

        Raises
        ------
        Failure
            The broker refuses this reader for good.
        """
        talks = [talk for task in self._tasks.values() if (talk := task.exchange) is not None and talk.wants_records]
        if not talks and not self._subscribers:
            return
        if self._fetcher is None:
            properties = reader_properties(self._settings, tuning=CONSUMER_TUNING)
            self._fetcher = make_fetcher(self._settings.client, properties, self._settings.topics.shares)
        for talk in talks:
            talk.set_partition_count(self._partition_count())
        places = {p for talk in talks for p in talk.all_partitions}
        if places != self._partitions or [*map(id, talks)] != [*map(id, self._subscribers)]:
            self._fetcher.assign({p: min(talk.next_offsets.get(p, 0) for talk in talks) for p in sorted(places)})
            self._subscribers, self._partitions = talks, places
        readers = {talk.model_digest: talk for talk in talks}
        taken = self._fetcher.poll(BATCH_MESSAGES, 0.0)
        for records in taken.records:
            for i, (offset, time) in enumerate(zip(records.offsets.tolist(), records.timestamps, strict=True)):
                if (value := records.values[i]) is not None:
                    read = {model: talk.read(value) for model, talk in readers.items()}
                    for talk in talks:
                        talk.receive(records.partition, offset, read[talk.model_digest], int(time))
        for problem in taken.errors:
            self._handle_error(problem)

    def close(self) -> None:
        """End the client."""
        if self._fetcher is not None:
            self._fetcher.close()

    def _handle_error(self, problem: ClientError) -> None:
        """Sort an error that came in a message's place."""
        error, partition, _ = problem
        if error.code() == KafkaError._PARTITION_EOF:
            return
        if is_permanent(error) or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise Failure(f"cannot read {self._settings.topics.shares}/{partition}: {error.str()}")
        self._event_log.event("share reader error", error=error.str())

"""Read the shares topic, in which partitions send their model updates, for all tasks together.

The reader is not a member of the group. Each exchange round of a partition records how far it has read the others, and
the partition's next owner continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import CONSUMER_TUNING
from driftway.worker.kafka.client_factory import make_fetcher
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.error_handling import explained, is_permanent
from driftway.worker.kafka.interface import NO_BROKERS, ClientError, Fetcher
from driftway.worker.kafka.log_reader.reader import reader_properties
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.model_sharing.model_exchange import ModelExchange
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.task.task import Task


class ShareConsumer:
    """Passes other partitions' model updates to tasks.

    Parameters
    ----------
    settings : WorkerSettings
        Topic and client properties.
    event_log : EventLog
        Where transient errors are logged.
    tasks : mapping
        Partition -> its task.
    partition_count : callable
        Returns the topic's present number of partitions, as far as known: the input may grow.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        event_log: EventLog,
        tasks: Mapping[int, Task],
        partition_count: Callable[[], int],
    ) -> None:
        self._settings, self._event_log = settings, event_log
        self._tasks, self._partition_count = tasks, partition_count
        self._fetcher: Fetcher | None = None
        self._subscribers: list[ModelExchange] = []
        """Exchanges that get the records."""
        self._partitions: set[int] = set()
        """Partitions that are being read."""

    def poll(self) -> None:
        """Pass on records without waiting.

        Raises
        ------
        Failure
            The broker refuses this reader for good.
        """
        present = (task.exchange for task in self._tasks.values())
        exchanges = [exchange for exchange in present if exchange is not None and exchange.wants_records]
        if not exchanges and not self._subscribers:
            return
        if self._fetcher is None:
            properties = reader_properties(self._settings, tuning=CONSUMER_TUNING)
            self._fetcher = make_fetcher(self._settings.client, properties, self._settings.topics.shares)
        for exchange in exchanges:
            exchange.set_partition_count(self._partition_count())
        partitions = {p for exchange in exchanges for p in exchange.all_partitions}
        if partitions != self._partitions or [*map(id, exchanges)] != [*map(id, self._subscribers)]:
            starts = {p: min(exchange.next_offsets.get(p, 0) for exchange in exchanges) for p in sorted(partitions)}
            self._fetcher.assign(starts)
            self._subscribers, self._partitions = exchanges, partitions
        readers = {exchange.model_digest: exchange for exchange in exchanges}
        polled = self._fetcher.poll(BATCH_MESSAGES, 0.0)
        for records in polled.records:
            for i, (offset, time) in enumerate(zip(records.offsets.tolist(), records.timestamps, strict=True)):
                if (value := records.values[i]) is not None:
                    read = {model: exchange.read(value) for model, exchange in readers.items()}
                    for exchange in exchanges:
                        exchange.receive(records.partition, offset, read[exchange.model_digest], int(time))
        for problem in polled.errors:
            self._handle_error(problem)

    def close(self) -> None:
        """Close the client."""
        if self._fetcher is not None:
            self._fetcher.close()

    def _handle_error(self, problem: ClientError) -> None:
        """Handle an error that the client returned in place of a message."""
        error, partition, _ = problem
        if error.code() == KafkaError._PARTITION_EOF:
            return
        if is_permanent(error) or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise Failure(f"cannot read {self._settings.topics.shares}/{partition}: {explained(error)}")
        self._event_log.warning("share reader error", error=error.str())
        if error.str() == NO_BROKERS:
            self.close()
            self._fetcher, self._subscribers, self._partitions = None, [], set()

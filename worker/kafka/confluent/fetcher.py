"""A fetcher based on confluent-kafka's consumer."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import TopicPartition

from driftway.worker.kafka.confluent.consumer import WatchedConsumer, poll_records
from driftway.worker.kafka.interface import Fetcher, PollResult


class ConfluentFetcher(Fetcher):
    """See `driftway.worker.kafka.interface.Fetcher`.

    Parameters
    ----------
    consumer : WatchedConsumer
        The client.
    topic : str
        Topic to read.
    headers : bool
        Whether to read headers at once, and not only on access.
    """

    def __init__(self, consumer: WatchedConsumer, topic: str, headers: bool) -> None:
        self._consumer, self._topic, self._headers = consumer, topic, headers

    def assign(self, begins: Mapping[int, int]) -> None:
        self._consumer.assign([TopicPartition(self._topic, partition, begins[partition]) for partition in begins])

    def poll(self, max_messages: int, wait: float) -> PollResult:
        return poll_records(self._consumer, max_messages, wait, self._headers)

    def close(self) -> None:
        self._consumer.close()

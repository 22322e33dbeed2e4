"""A fetcher based on the C library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.worker.kafka.interface import Fetcher, PollResult
from driftway.worker.kafka.librdkafka.consumer_queue import ConsumerQueue
from driftway.worker.kafka.librdkafka.handle import Handle, TopicPartitionList
from driftway.worker.kafka.librdkafka.library import CONSUMER, Library


class LibrdkafkaFetcher(Fetcher):
    """See `driftway.worker.kafka.interface.Fetcher`.

    Parameters
    ----------
    library : Library
        The functions.
    properties : mapping
        Client properties.
    topic : str
        Topic to read.
    headers : bool
        Whether to read headers at once, and not only on access.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(self, library: Library, properties: Mapping[str, Any], topic: str, headers: bool) -> None:
        self._library, self._topic = library, topic
        self._handle = Handle(library, CONSUMER, properties)
        self._queue = ConsumerQueue(library, self._handle, lasting=True, headers=headers)

    def assign(self, begins: Mapping[int, int]) -> None:
        self._queue.drop()
        with TopicPartitionList(self._library, self._topic, begins.items()) as topic_partitions:
            self._library.require(self._library.assign(self._handle.address, topic_partitions))

    def poll(self, max_messages: int, wait: float) -> PollResult:
        return self._queue.poll(max_messages, wait)

    def close(self) -> None:
        if self._handle.address:
            self._queue.close()
            self._library.consumer_close(self._handle.address)
            self._handle.close()

"""A reader of one topic by the C library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.worker.kafka.interface import Fetcher, Taken
from driftway.worker.kafka.librdkafka.consumer_queue import Arrivals
from driftway.worker.kafka.librdkafka.handle import Handle, PlaceList
from driftway.worker.kafka.librdkafka.library import CONSUMER, Library


class NativeFetcher(Fetcher):
    """See `driftway.worker.kafka.interface.Fetcher`.

    Parameters
    ----------
    library : Library
        The functions.
    properties : mapping
        Of the client.
    topic : str
        What is read.
    headers : bool
        Whether records come with theirs.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(self, library: Library, properties: Mapping[str, Any], topic: str, headers: bool) -> None:
        self._library, self._topic = library, topic
        self._handle = Handle(library, CONSUMER, properties)
        self._arrivals = Arrivals(library, self._handle, lasting=True, headers=headers)

    def send_to(self, begins: Mapping[int, int]) -> None:
        with PlaceList(self._library, self._topic, begins.items()) as places:
            self._library.require(self._library.assign(self._handle.address, places))

    def take(self, most: int, wait: float) -> Taken:
        return self._arrivals.take(most, wait)

    def close(self) -> None:
        if self._handle.address:
            self._arrivals.close()
            self._library.consumer_close(self._handle.address)
            self._handle.close()

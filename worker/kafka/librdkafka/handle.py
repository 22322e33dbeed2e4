"""A client of librdkafka's own: made of properties, with its topics, ended once."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.kafka.librdkafka.library import ERROR_CB, STATS_CB, THROTTLE_CB, Library, MetadataStruct
from driftway.worker.kafka.librdkafka.message import WORD_BYTES, Pointers

REASON_BYTES = 512
WITHOUT_LEAVING = 8
"""Of `destroy_flags`: do not leave the group first; who wants to has called `consumer_close`."""
NOT_OF_THE_LIBRARY = frozenset(("logger", "error_cb", "throttle_cb", "stats_cb", "on_delivery"))
"""Properties that confluent-kafka makes of Python's objects."""


class Throttle(NamedTuple):
    """What a throttle callback is told, as confluent-kafka's events name it."""

    broker_name: str
    milliseconds: int

    @property
    def throttle_time(self) -> float:
        """Seconds."""
        return self.milliseconds / 1000


class Handle:
    """One client, for a ``with`` block.

    Parameters
    ----------
    library : Library
        The functions.
    kind : int
        PRODUCER or CONSUMER.
    properties : mapping
        As confluent-kafka takes them; those that are Python objects are left out.
    rebalance : REBALANCE or None
        Of a consumer.
    report : int or None
        Address of a delivery callback, which may run wherever the client is polled.
    opaque : int
        What callbacks are given as their last argument.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(
        self,
        library: Library,
        kind: int,
        properties: Mapping[str, Any],
        rebalance: Any = None,
        report: int | None = None,
        opaque: int = 0,
    ) -> None:
        self.library = library
        self._callbacks = [rebalance]  # the library has their bare addresses
        self._topics: dict[str, int] = {}
        conf, why = library.conf_new(), ctypes.create_string_buffer(REASON_BYTES)
        for key, value in properties.items():
            if key in NOT_OF_THE_LIBRARY:
                self._have_called(conf, key, value)
                continue
            if library.conf_set(conf, key.encode(), _text(value).encode(), why, len(why)):
                library.conf_destroy(conf)
                raise _invalid(why.value)
        if rebalance is not None:
            library.conf_set_rebalance_cb(conf, rebalance)
        if report is not None:
            library.conf_set_dr_msg_cb(conf, report)
        library.conf_set_opaque(conf, opaque)
        self.address: int = library.new(kind, conf, why, len(why)) or 0
        if not self.address:
            library.conf_destroy(conf)
            raise _invalid(why.value)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _have_called(self, conf: int, key: str, value: Any) -> None:
        """Let the library call what confluent-kafka takes as a property."""
        library = self.library
        if key == "logger":
            library.conf_set_log_cb(conf, None)  # nobody is told
        elif key == "error_cb":
            self._callbacks.append(ERROR_CB(lambda _handle, code, why, _opaque: value(KafkaError(code, _decoded(why)))))
            library.conf_set_error_cb(conf, self._callbacks[-1])
        elif key == "throttle_cb":
            self._callbacks.append(
                THROTTLE_CB(lambda _handle, name, id_, ms, _opaque: value(Throttle(_decoded(name), ms)))
            )
            library.conf_set_throttle_cb(conf, self._callbacks[-1])
        elif key == "stats_cb":

            def count(_handle: int, text: int, length: int, _opaque: int) -> int:
                value(ctypes.string_at(text, length).decode(errors="replace"))
                return 0

            self._callbacks.append(STATS_CB(count))
            library.conf_set_stats_cb(conf, self._callbacks[-1])

    def topic(self, name: str) -> int:
        """A topic of this client, by its address."""
        if name not in self._topics:
            self._topics[name] = self.library.topic_new(self.address, name.encode(), None)
        return self._topics[name]

    def known_topic(self, name: str, milliseconds: int) -> int:
        """A topic whose partitions the client has been told: a batch for one that it does not know would be lost.

        Raises
        ------
        KafkaException
            The broker did not tell in time.
        """
        self.partition_count(name, milliseconds)
        return self.topic(name)

    def partition_count(self, name: str, milliseconds: int) -> int:
        """How many partitions of a topic the broker tells the client of.

        Raises
        ------
        KafkaException
            The broker did not tell in time.
        """
        library, told = self.library, ctypes.POINTER(MetadataStruct)()
        library.require(library.metadata(self.address, 0, self.topic(name), ctypes.byref(told), milliseconds))
        try:
            return next((t.partition_count for t in told.contents.topics[: told.contents.topic_count]), 0)
        finally:
            library.metadata_destroy(told)

    def topic_at(self, address: int) -> str:
        """The name of a topic of this client."""
        return next((name for name, topic in self._topics.items() if topic == address), "")

    def close(self) -> None:
        """End the client; no thread may be inside a call of its. May be called twice."""
        for topic in self._topics.values():
            self.library.topic_destroy(topic)
        self._topics.clear()
        if self.address:
            self.library.destroy_flags(self.address, WITHOUT_LEAVING)
            self.address = 0


class TopicPartitionList:
    """Partitions and offsets as the library takes them, for a ``with`` block; with `metadata`, all have it."""

    def __init__(
        self, library: Library, topic: str = "", places: Iterable[tuple[int, int]] = (), metadata: str | None = None
    ) -> None:
        self._library = library
        self._list = library.topic_partition_list_new(0)
        for partition, offset in places:
            self.add(topic, partition, offset, metadata)

    def add(self, topic: str, partition: int, offset: int, metadata: str | None = None) -> None:
        """One more; of any topic."""
        library = self._library
        place = library.topic_partition_list_add(self._list, topic.encode(), partition).contents
        place.offset = offset
        if metadata is not None:
            text = metadata.encode() + b"\0"  # its size is given, and yet the library looks for its end
            place.metadata = library.mem_malloc(None, len(text))  # freed with the list
            ctypes.memmove(place.metadata, text, len(text))
            place.metadata_size = len(text)

    def __enter__(self) -> Any:
        return self._list

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.topic_partition_list_destroy(self._list)


def consume_batch(library: Library, queue: int, pointers: Pointers, seconds: float) -> int:
    """Fill pointers, i8[n], with messages that have arrived, after waiting for the first; how many there are.

    One timed call waits until as many are there as asked for: one is asked for, then what came with it.
    """
    start = pointers.ctypes.data
    n = library.consume_batch_queue(queue, math.ceil(1000 * seconds), start, 1)
    if n > 0 and len(pointers) > 1:
        n += max(0, library.consume_batch_queue(queue, 0, start + WORD_BYTES, len(pointers) - 1))
    return max(0, int(n))


def milliseconds(seconds: float) -> int:
    """As the library counts time; never less than none."""
    return max(0, int(1000 * seconds))


def partitions_of(places: Any) -> list[int]:
    """Partitions of a list that the library hands over."""
    return [places.contents.elements[i].partition for i in range(places.contents.count)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decoded(text: bytes | None) -> str:
    return (text or b"").decode(errors="replace")


def _invalid(why: bytes) -> KafkaException:
    return KafkaException(KafkaError(KafkaError._INVALID_ARG, why.decode(errors="replace")))

"""A librdkafka client handle with its topics, and topic-partition lists."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.kafka.client_config import knows_brokers
from driftway.worker.kafka.librdkafka.library import ERROR_CB, STATS_CB, THROTTLE_CB, Library, MetadataStruct
from driftway.worker.kafka.librdkafka.message import WORD_BYTES, Pointers

REASON_BYTES = 512
WITHOUT_LEAVING = 8
"""Flag of `destroy_flags`: do not leave the group; whoever wants to leave calls `consumer_close` before."""
NOT_OF_THE_LIBRARY = frozenset(("logger", "error_cb", "throttle_cb", "stats_cb", "on_delivery"))
"""Properties of confluent-kafka that are Python objects, which the library does not take."""


class Throttle(NamedTuple):
    """Argument of a throttle callback, with the attributes of confluent-kafka's throttle event."""

    broker_name: str
    milliseconds: int

    @property
    def throttle_time(self) -> float:
        """Throttle time in seconds."""
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
        As confluent-kafka takes them; `on_delivery` is ignored, and any `logger` turns logging off.
    rebalance : REBALANCE_CB or None
        Rebalance callback of a consumer.
    report : int or None
        Address of a delivery callback; it runs in any thread that polls the client.
    opaque : int
        Last argument of callbacks.

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
        self._callbacks = [rebalance]  # kept alive: the library only has their addresses
        self._bootstrap = _text(properties.get("bootstrap.servers", "")).encode()
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
        self._have_statistics(conf, properties.get("stats_cb", lambda _text: None))
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
        """Register a callback that confluent-kafka takes as a property."""
        library = self.library
        if key == "logger":
            library.conf_set_log_cb(conf, None)  # discards log lines
        elif key == "error_cb":
            self._callbacks.append(ERROR_CB(lambda _handle, code, why, _opaque: value(KafkaError(code, _decoded(why)))))
            library.conf_set_error_cb(conf, self._callbacks[-1])
        elif key == "throttle_cb":
            self._callbacks.append(
                THROTTLE_CB(lambda _handle, name, id_, ms, _opaque: value(Throttle(_decoded(name), ms)))
            )
            library.conf_set_throttle_cb(conf, self._callbacks[-1])

    def _have_statistics(self, conf: int, given: Callable[[str], None]) -> None:
        """Register what gets the statistics, if the client has an interval for them.

        A client that knows no broker any more is told where to find one (docs/kafka.md#client-facts).
        """

        def count(_handle: int, text: int, length: int, _opaque: int) -> int:
            statistics = ctypes.string_at(text, length).decode(errors="replace")
            if not knows_brokers(statistics):
                self.library.brokers_add(self.address, self._bootstrap)
            given(statistics)
            return 0

        self._callbacks.append(STATS_CB(count))
        self.library.conf_set_stats_cb(conf, self._callbacks[-1])

    def topic(self, name: str) -> int:
        """Return the address of the client's topic object, which is created on first use."""
        if name not in self._topics:
            self._topics[name] = self.library.topic_new(self.address, name.encode(), None)
        return self._topics[name]

    def known_topic(self, name: str, milliseconds: int) -> int:
        """Return a topic after fetching its metadata: a batch for a topic unknown to the client would be lost.

        Raises
        ------
        KafkaException
            The broker did not answer in time.
        """
        self.partition_count(name, milliseconds)
        return self.topic(name)

    def partition_count(self, name: str, milliseconds: int) -> int:
        """Fetch a topic's metadata from the broker and return its number of partitions.

        Raises
        ------
        KafkaException
            The broker did not answer in time.
        """
        library, metadata = self.library, ctypes.POINTER(MetadataStruct)()
        library.require(library.metadata(self.address, 0, self.topic(name), ctypes.byref(metadata), milliseconds))
        try:
            return next((t.partition_count for t in metadata.contents.topics[: metadata.contents.topic_count]), 0)
        finally:
            library.metadata_destroy(metadata)

    def topic_at(self, address: int) -> str:
        """Return the name of the client's topic at an address, or an empty text."""
        return next((name for name, topic in self._topics.items() if topic == address), "")

    def close(self) -> None:
        """Close the client; no thread may be inside one of its calls. May be called twice."""
        for topic in self._topics.values():
            self.library.topic_destroy(topic)
        self._topics.clear()
        if self.address:
            self.library.destroy_flags(self.address, WITHOUT_LEAVING)
            self.address = 0


class TopicPartitionList:
    """Partitions and offsets as a C list, for a ``with`` block; `metadata`, if given, is attached to each."""

    def __init__(
        self, library: Library, topic: str = "", offsets: Iterable[tuple[int, int]] = (), metadata: str | None = None
    ) -> None:
        self._library = library
        self._list = library.topic_partition_list_new(0)
        for partition, offset in offsets:
            self.add(topic, partition, offset, metadata)

    def add(self, topic: str, partition: int, offset: int, metadata: str | None = None) -> None:
        """Add a partition of any topic."""
        library = self._library
        topic_partition = library.topic_partition_list_add(self._list, topic.encode(), partition).contents
        topic_partition.offset = offset
        if metadata is not None:
            text = metadata.encode() + b"\0"  # the library expects the terminator in spite of metadata_size
            topic_partition.metadata = library.mem_malloc(None, len(text))  # freed with the list
            ctypes.memmove(topic_partition.metadata, text, len(text))
            topic_partition.metadata_size = len(text)

    def __enter__(self) -> Any:
        return self._list

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.topic_partition_list_destroy(self._list)


def consume_batch(library: Library, queue: int, pointers: Pointers, seconds: float) -> int:
    """Fill pointers, i8[n], with messages that have arrived, after waiting for the first; return their number.

    A timed call waits until all n have arrived. So it asks for one message, and an untimed call for what came with it.
    """
    start = pointers.ctypes.data
    n = library.consume_batch_queue(queue, math.ceil(1000 * seconds), start, 1)
    if n > 0 and len(pointers) > 1:
        n += max(0, library.consume_batch_queue(queue, 0, start + WORD_BYTES, len(pointers) - 1))
    return max(0, int(n))


def milliseconds(seconds: float) -> int:
    """Convert seconds to whole milliseconds, at least 0."""
    return max(0, int(1000 * seconds))


def partitions_of(topic_partitions: Any) -> list[int]:
    """Return the partition numbers of a C list."""
    return [topic_partitions.contents.elements[i].partition for i in range(topic_partitions.contents.count)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decoded(text: bytes | None) -> str:
    return (text or b"").decode(errors="replace")


def _invalid(why: bytes) -> KafkaException:
    return KafkaException(KafkaError(KafkaError._INVALID_ARG, why.decode(errors="replace")))

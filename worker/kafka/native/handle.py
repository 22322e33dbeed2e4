"""A client of librdkafka's own: made of properties, with its topics, ended once."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException

from worker.kafka.native.library import Library

REASON_BYTES = 512
WITHOUT_LEAVING = 8
"""Of `destroy_flags`: do not leave the group first; who wants to has called `consumer_close`."""
NOT_OF_THE_LIBRARY = frozenset(("logger", "error_cb", "throttle_cb", "stats_cb", "on_delivery"))
"""Properties that confluent-kafka makes of Python's objects."""


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
        self._rebalance = rebalance  # the library has its bare address
        self._topics: dict[str, int] = {}
        conf, why = library.conf_new(), ctypes.create_string_buffer(REASON_BYTES)
        for key, value in properties.items():
            if key in NOT_OF_THE_LIBRARY:
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
        topic, told = self.topic(name), ctypes.c_void_p()
        self.library.require(self.library.metadata(self.address, 0, topic, ctypes.byref(told), milliseconds))
        self.library.metadata_destroy(told)
        return topic

    def close(self) -> None:
        """End the client; no thread may be inside a call of its. May be called twice."""
        for topic in self._topics.values():
            self.library.topic_destroy(topic)
        self._topics.clear()
        if self.address:
            self.library.destroy_flags(self.address, WITHOUT_LEAVING)
            self.address = 0


class PlaceList:
    """Partitions and offsets as the library takes them, for a ``with`` block."""

    def __init__(self, library: Library, topic: str, places: Iterable[tuple[int, int]]) -> None:
        self._library = library
        found = list(places)
        self._list = library.topic_partition_list_new(len(found))
        for partition, offset in found:
            library.topic_partition_list_add(self._list, topic.encode(), partition).contents.offset = offset

    def __enter__(self) -> Any:
        return self._list

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.topic_partition_list_destroy(self._list)


def partitions_of(places: Any) -> list[int]:
    """Partitions of a list that the library hands over."""
    return [places.contents.elements[i].partition for i in range(places.contents.count)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _invalid(why: bytes) -> KafkaException:
    return KafkaException(KafkaError(KafkaError._INVALID_ARG, why.decode(errors="replace")))

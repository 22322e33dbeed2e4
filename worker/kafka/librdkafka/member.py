"""A group member based on the C library. Signal handlers run only after a library call returns: waits must be short."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref, c_int64
from typing import Any

from confluent_kafka import OFFSET_BEGINNING

from driftway.worker.kafka.interface import UNKNOWN_END, Member, Partitions, PollResult
from driftway.worker.kafka.librdkafka.consumer_queue import ConsumerQueue
from driftway.worker.kafka.librdkafka.handle import Handle, TopicPartitionList, partitions_of
from driftway.worker.kafka.librdkafka.library import ANY_PARTITION, ASSIGN, CONSUMER, REBALANCE_CB, Library

WITHOUT_END = -1
"""Infinite timeout in ms, for a call whose caller has a timeout of its own."""


class GroupMetadata:
    """Consumer group metadata; the C object is freed with this one."""

    def __init__(self, library: Library, handle: int) -> None:
        self._library, self.address = library, library.consumer_group_metadata(handle)

    def __del__(self) -> None:
        self._library.consumer_group_metadata_destroy(self.address)


class LibrdkafkaMember(Member):
    """See `driftway.worker.kafka.interface.Member`.

    Parameters
    ----------
    library : Library
        The functions.
    properties : mapping
        Client properties.
    topic : str
        Topic to subscribe to.
    incremental : bool
        Whether rebalances are incremental (``consumer`` protocol, or cooperative) instead of eager.
    headers : bool
        Whether to read headers at once, and not only on access.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(
        self, library: Library, properties: Mapping[str, Any], topic: str, incremental: bool, headers: bool = False
    ) -> None:
        self._library, self._topic, self._incremental = library, topic, incremental
        self._handle = Handle(library, CONSUMER, properties, rebalance=REBALANCE_CB(self._rebalance))
        self._queue = ConsumerQueue(library, self._handle, headers=headers)
        self._listeners: tuple[Partitions, Partitions, Partitions] | None = None
        self._callback_error: BaseException | None = None
        """Exception raised by a listener, which cannot pass through the library."""

    def subscribe(self, assigned: Partitions, revoked: Partitions, lost: Partitions) -> None:
        self._listeners = assigned, revoked, lost
        with TopicPartitionList(self._library, self._topic, [(ANY_PARTITION, 0)]) as topics:
            self._library.require(self._library.subscribe(self._handle.address, topics))

    def assign_paused(self, partitions: list[int]) -> None:
        # The real position is known only after the restore; until then nothing may be fetched.
        library, handle = self._library, self._handle.address
        self._queue.drop(partitions if self._incremental else None)
        with self._partition_list(partitions, OFFSET_BEGINNING) as topic_partitions:
            if self._incremental:
                library.check(library.incremental_assign(handle, topic_partitions))
            else:
                library.require(library.assign(handle, topic_partitions))
            library.require(library.pause_partitions(handle, topic_partitions))

    def unassign(self, partitions: list[int]) -> None:
        library, handle = self._library, self._handle.address
        self._queue.drop(partitions if self._incremental else None)
        if not self._incremental:
            library.require(library.assign(handle, None))
            return
        with self._partition_list(partitions) as topic_partitions:
            library.check(library.incremental_unassign(handle, topic_partitions))

    def poll(self, max_messages: int, wait: float) -> PollResult:
        taken = self._queue.poll(max_messages, wait)
        self._raise_callback_error()
        return taken

    def seek(self, partition: int, offset: int) -> None:
        self._queue.drop([partition])
        with self._partition_list([partition], offset) as topic_partitions:
            self._library.check(self._library.seek_partitions(self._handle.address, topic_partitions, WITHOUT_END))
            self._library.require(topic_partitions.contents.elements[0].err)

    def pause(self, partition: int) -> None:
        with self._partition_list([partition]) as topic_partitions:
            self._library.require(self._library.pause_partitions(self._handle.address, topic_partitions))

    def resume(self, partition: int) -> None:
        with self._partition_list([partition]) as topic_partitions:
            self._library.require(self._library.resume_partitions(self._handle.address, topic_partitions))

    def fetched_end(self, partition: int) -> int:
        topic, begin, end = self._topic.encode(), c_int64(), c_int64(UNKNOWN_END)
        self._library.get_watermark_offsets(self._handle.address, topic, partition, byref(begin), byref(end))
        return end.value  # unchanged after an error, as for a topic that was deleted

    def metadata(self) -> Any:
        return GroupMetadata(self._library, self._handle.address)

    def commit(self, partition: int, offset: int, metadata: str | None) -> None:
        with TopicPartitionList(self._library, self._topic, [(partition, offset)], metadata) as topic_partitions:
            self._library.require(self._library.commit(self._handle.address, topic_partitions, 0))
            self._library.require(topic_partitions.contents.elements[0].err)

    def close(self) -> None:
        if self._handle.address:
            self._queue.close()
            self._library.consumer_close(self._handle.address)  # may only repeat that the member is fenced
            self._handle.close()
        self._raise_callback_error()

    def _partition_list(self, partitions: list[int], offset: int = 0) -> TopicPartitionList:
        return TopicPartitionList(self._library, self._topic, [(partition, offset) for partition in partitions])

    def _raise_callback_error(self) -> None:
        error, self._callback_error = self._callback_error, None
        if error is not None:
            raise error

    def _rebalance(self, handle: int, code: int, topic_partitions: Any, _opaque: int) -> None:
        """Rebalance callback of the library; it must not raise."""
        try:
            assigned, revoked, lost = self._listeners or (_nothing,) * 3
            if code == ASSIGN:
                listener = assigned
            elif self._library.assignment_lost(handle):
                listener = lost
            else:
                listener = revoked
            listener(partitions_of(topic_partitions))
        except BaseException as error:
            self._callback_error = error


def _nothing(_partitions: list[int]) -> None:
    """Stand in for listeners before `subscribe`."""

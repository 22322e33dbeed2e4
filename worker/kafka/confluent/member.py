"""A group member based on confluent-kafka's consumer."""

from __future__ import annotations

import contextlib
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicPartition

from driftway.worker.kafka.confluent.consumer import WatchedConsumer, poll_records
from driftway.worker.kafka.interface import UNKNOWN_END, Member, Partitions, PollResult


class ConfluentMember(Member):
    """See `driftway.worker.kafka.interface.Member`.

    Parameters
    ----------
    consumer : WatchedConsumer
        The client.
    topic : str
        Topic to subscribe to.
    incremental : bool
        Whether rebalances are incremental (``consumer`` protocol, or cooperative) instead of eager.
    headers : bool
        Whether to read headers at once, and not only on access.
    """

    def __init__(self, consumer: WatchedConsumer, topic: str, incremental: bool, headers: bool = False) -> None:
        self._consumer, self._topic, self._incremental, self._headers = consumer, topic, incremental, headers

    def subscribe(self, assigned: Partitions, revoked: Partitions, lost: Partitions) -> None:
        def call(listener: Partitions) -> Any:
            return lambda _consumer, topic_partitions: listener([one.partition for one in topic_partitions])

        self._consumer.subscribe([self._topic], on_assign=call(assigned), on_revoke=call(revoked), on_lost=call(lost))

    def assign_paused(self, partitions: list[int]) -> None:
        # The real position is known only after the restore; until then nothing may be fetched.
        topic_partitions = [TopicPartition(self._topic, partition, OFFSET_BEGINNING) for partition in partitions]
        if self._incremental:
            self._consumer.incremental_assign(topic_partitions)
        else:
            self._consumer.assign(topic_partitions)
        if topic_partitions:
            self._consumer.pause(topic_partitions)

    def unassign(self, partitions: list[int]) -> None:
        if self._incremental:
            self._consumer.incremental_unassign(self._topic_partitions(partitions))
        else:
            self._consumer.unassign()

    def poll(self, max_messages: int, wait: float) -> PollResult:
        return poll_records(self._consumer, max_messages, wait, self._headers)

    def seek(self, partition: int, offset: int) -> None:
        self._consumer.seek(TopicPartition(self._topic, partition, offset))

    def pause(self, partition: int) -> None:
        self._consumer.pause(self._topic_partitions([partition]))

    def resume(self, partition: int) -> None:
        self._consumer.resume(self._topic_partitions([partition]))

    def fetched_end(self, partition: int) -> int:
        topic_partition = TopicPartition(self._topic, partition)
        with contextlib.suppress(KafkaException):  # the topic may have been deleted
            if (known := self._consumer.get_watermark_offsets(topic_partition, cached=True)) is not None:
                return int(known[1])
        return UNKNOWN_END

    def metadata(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def commit(self, partition: int, offset: int, metadata: str | None) -> None:
        topic_partition = TopicPartition(self._topic, partition, offset, metadata)
        (answer,) = self._consumer.commit(offsets=[topic_partition], asynchronous=False)
        if answer.error is not None:
            raise KafkaException(answer.error)

    def close(self) -> None:
        self._consumer.close()

    def _topic_partitions(self, partitions: list[int]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, partition) for partition in partitions]

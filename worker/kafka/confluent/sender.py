"""A sender based on confluent-kafka's producer. Only marked records have a callback: no Python call per message.

Records with headers are the exception, as the client takes them one by one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from driftway.worker.kafka.confluent.delivery_reports import DeliveryReports
from driftway.worker.kafka.error_handling import reported_fatal_error, with_topic
from driftway.worker.kafka.interface import OffsetRange, Offsets, Sender
from driftway.worker.wire.columns import BytesColumn
from driftway.worker.wire.headers import Headers


class ConfluentSender(Sender):
    """See `driftway.worker.kafka.interface.Sender`.

    Parameters
    ----------
    properties : mapping
        Client properties.
    partition : int
        Partition to produce to.
    every_report : bool
        Whether to notice a failed delivery of any record, not only of a commit's first and last ones.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(self, properties: Mapping[str, Any], partition: int, every_report: bool) -> None:
        self._reports = DeliveryReports()
        all_reports = {"on_delivery": self._reports.note_failure} if every_report else {}
        self._producer = Producer({**properties, **all_reports})
        self._partition = partition

    def __len__(self) -> int:
        return len(self._producer)

    def load_metadata(self, topic: str, seconds: float) -> None:
        with reported_fatal_error(self._producer):
            self._producer.list_topics(topic, seconds)

    def send(self, topic: str, values: BytesColumn, keys: BytesColumn, headers: Headers | None = None) -> None:
        with with_topic(topic), reported_fatal_error(self._producer):
            self._send(topic, values, keys, headers)

    def send_one(self, topic: str, value: bytes | None, key: bytes | None) -> None:
        with with_topic(topic), reported_fatal_error(self._producer):
            self._produce(topic, value, key, [])

    def _send(self, topic: str, values: BytesColumn, keys: BytesColumn, headers: Headers | None) -> None:
        if headers is not None:  # produce_batch cannot carry headers
            for value, key, own in zip(values, keys, headers, strict=True):
                self._produce(topic, value, key, list(own))
            return
        records: list[dict[str, Any]]
        if keys.all_none:
            records = [{"value": value} for value in values]
        else:
            pairs = zip(values, keys, strict=True)
            records = [{"value": value} if key is None else {"value": value, "key": key} for value, key in pairs]
        if not records:
            return
        self._reports.mark(topic, records)
        if self._producer.produce_batch(topic, records, partition=self._partition) != len(records):
            # The call itself does not raise, for example if the topic has fewer partitions than the input.
            raise KafkaException(next(record["_error"] for record in records if "_error" in record))

    def ranges(self, ends: Mapping[str, int]) -> dict[str, OffsetRange]:
        return self._reports.ranges(ends)

    def start_ranges(self) -> None:
        self._reports.clear()

    def poll(self, seconds: float) -> None:
        with reported_fatal_error(self._producer):
            self._producer.poll(seconds)

    def flush(self, seconds: float) -> int:
        with reported_fatal_error(self._producer):
            return int(self._producer.flush(seconds))

    def init_transactions(self, seconds: float) -> None:
        with reported_fatal_error(self._producer):
            self._producer.init_transactions(seconds)

    def begin_transaction(self) -> None:
        with reported_fatal_error(self._producer):
            self._producer.begin_transaction()

    def send_offsets(self, offsets: Offsets, member: Any, seconds: float) -> None:
        topic_partitions = []
        for topic, (offset, metadata) in offsets.items():
            given: Any = {} if metadata is None else {"metadata": metadata}  # must not be None
            topic_partitions.append(TopicPartition(topic, partition=self._partition, offset=offset, **given))
        with reported_fatal_error(self._producer):
            self._producer.send_offsets_to_transaction(topic_partitions, member, seconds)

    def commit_transaction(self, seconds: float) -> None:
        with reported_fatal_error(self._producer):
            self._producer.commit_transaction(seconds)

    def abort_transaction(self, seconds: float) -> None:
        with reported_fatal_error(self._producer):
            self._producer.abort_transaction(seconds)

    def drop(self) -> None:
        with contextlib.suppress(KafkaException, SystemError):  # a fenced producer raises even here
            self._producer.purge()

    def _produce(self, topic: str, value: bytes | None, key: bytes | None, headers: list[Any]) -> None:
        report, partition = self._reports.mark_one(topic), self._partition
        try:
            self._producer.produce(topic, value, key=key, partition=partition, on_delivery=report, headers=headers)
        except BufferError as error:  # as produce_batch and the C library say it
            raise KafkaException(KafkaError(KafkaError._QUEUE_FULL, str(error))) from None

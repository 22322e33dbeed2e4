"""What readers of a log are shown of it: where it ends, how far it is decided, and whether a record is there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka import admin as untyped

from worker.client import base_properties, quiet, without_membership
from worker.deadline import Deadline
from worker.history import watermarks
from worker.settings import WorkerSettings
from worker.verdicts import Unfinished, ask

api: Any = untyped  # its stubs do not export everything
STABLE_WAIT_SECONDS = 0.05
"""Between two looks at how far a log is decided; a transaction's markers follow its end within milliseconds."""


def log_ends(settings: WorkerSettings, topics: Sequence[str], partition: int, deadline: Deadline) -> dict[str, int]:
    """Where the partition's logs of `topics` end now, open transactions included.

    A read_committed reader is told the last stable offset instead, which an open transaction holds back.

    Raises
    ------
    KafkaException
        A topic or its partition does not exist, may not be described, or the broker does not answer in time.
    """
    client = api.AdminClient(quiet(without_membership(base_properties(settings.bootstrap, settings.passthrough))))
    asked = {TopicPartition(topic, partition): api.OffsetSpec.latest() for topic in topics}

    def ends() -> dict[str, int]:
        futures = client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=deadline.remaining()
        )
        return {place.topic: int(future.result().offset) for place, future in futures.items()}

    return ask(ends, deadline)


def stable(reader: Consumer, topic: str, partition: int, end: int, deadline: Deadline, patience: float) -> bool:
    """Whether everything before `end` is decided, committed or aborted, for a read_committed `reader` in `patience` s.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not answer in time.
    """
    until = time.monotonic() + min(patience, deadline.left)
    while watermarks(reader, topic, partition, deadline)[1] < end:
        if time.monotonic() >= until:
            return False
        time.sleep(STABLE_WAIT_SECONDS)
    return True


def first_from(reader: Consumer, topic: str, partition: int, offset: int, deadline: Deadline) -> tuple[int, bool]:
    """The offset of the first record at or behind `offset` that `reader` is given; or, and False, its log's end.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not deliver in time.
    """
    reader.assign([TopicPartition(topic, partition, offset)])
    while (message := reader.poll(min(1.0, deadline.remaining()))) is None:
        if deadline.passed:
            raise Unfinished(f"{topic}/{partition} was not delivered in time")
    error, place = message.error(), message.offset()
    if error is None or error.code() == KafkaError._PARTITION_EOF:
        return offset if place is None else place, error is None
    raise KafkaException(KafkaError(error.code(), f"{topic}/{partition} cannot be read: {error.str()}"))


def shown(reader: Consumer, topic: str, partition: int, offset: int, deadline: Deadline) -> bool:
    """Whether the record at `offset` is one that `reader` is given.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not deliver in time.
    """
    return first_from(reader, topic, partition, offset, deadline) == (offset, True)

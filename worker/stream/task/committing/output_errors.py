"""Why outputs could not be written: the cause of a broken transaction, and settings that refuse records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import Failure
from driftway.worker.kafka.cluster import (
    CLEANUP,
    COMPACTED_OUTPUT,
    DELETE,
    MAX_MESSAGE,
    set_command,
    settings_of_topics,
)
from driftway.worker.kafka.error_handling import RecordTooLarge, code_of, is_too_large
from driftway.worker.kafka.interface import Sender
from driftway.worker.kafka.topics import LARGEST_RECORD
from driftway.worker.settings import EXACTLY_ONCE, WorkerSettings
from driftway.worker.wire.rejections import SMALL_RECORD

Answer = TypeVar("Answer")
MESSAGE_MAX = "message.max.bytes"
"""The client's own limit."""


class OutputProducer(Protocol):
    """What is needed of a checkpoint."""

    settings: WorkerSettings
    partition: int
    open: bool
    passes_large: bool

    @property
    def sender(self) -> Sender: ...


def with_cause(checkpoint: OutputProducer, call: Callable[[], Answer]) -> Answer:
    """Call; if a transaction broke, raise its cause: an output refused for good must not be retried forever.

    Raises
    ------
    Failure
        Writing to an output is not authorized, or a setting of it refuses a record.
    RecordTooLarge
        The broker has refused a record for its size for the first time: the same rows may succeed with shorter
        rejections.
    KafkaException
        Whatever else broke the open transaction; to be classified by `driftway.worker.kafka.error_handling`.
    """
    failed: Exception
    try:
        return call()
    except Failure:
        raise
    except Exception as error:
        failed = error
    # Outside the handler: what the client raises while an exception is handled keeps that one alive forever, with all
    # that its frames hold (docs/upstream/confluent-kafka-kept-exceptions.md).
    if checkpoint.open and checkpoint.settings.guarantee == EXACTLY_ONCE:
        failed = _broken_by(checkpoint) or failed
    if is_too_large(failed) and checkpoint.passes_large:
        checkpoint.passes_large = False
        raise RecordTooLarge(
            "the broker refuses a record for its size: from here on only rejected events up to "
            f"{SMALL_RECORD} bytes are written whole ({failed})"
        )
    raise _refused_by_setting(checkpoint, failed) or failed


def _refused_by_setting(checkpoint: OutputProducer, failed: Exception) -> Failure | None:
    """Say which setting of which output refuses a record; None if none is known to."""
    code = code_of(failed)
    if code not in (KafkaError.INVALID_RECORD, KafkaError.MSG_SIZE_TOO_LARGE):
        return None
    settings, topics = checkpoint.settings, checkpoint.settings.topics
    found = settings_of_topics(settings.bootstrap, settings.passthrough, topics.outputs())
    where = f"{topics.input}/{checkpoint.partition}"
    for topic, config in found.items():
        policy, most = config[CLEANUP], int(config[MAX_MESSAGE])
        if code == KafkaError.INVALID_RECORD and "compact" in policy and topic not in (topics.snapshots, topics.shares):
            way_out = f"{set_command(topic, CLEANUP, DELETE)} sets another"
            return Failure(f"{where}: {topic} has cleanup.policy {policy}: {COMPACTED_OUTPUT}; {way_out}")
        if code == KafkaError.MSG_SIZE_TOO_LARGE and most < LARGEST_RECORD and topic in str(failed):
            way_out = f"{set_command(topic, MAX_MESSAGE, str(LARGEST_RECORD))} raises it"
            return Failure(f"{where}: {topic} takes batches of {most:,} bytes only, its {MAX_MESSAGE}: {way_out}")
    own = settings.passthrough.get(MESSAGE_MAX)
    if code == KafkaError.MSG_SIZE_TOO_LARGE and own is not None:
        return Failure(f"{where}: the client accepts no record of more than {own} bytes: leave out -X {MESSAGE_MAX}")
    return None


def _broken_by(checkpoint: OutputProducer) -> KafkaException | None:
    """Return a broken transaction's cause, found by beginning again, which fails with _STATE if it is sound."""
    try:
        checkpoint.sender.begin_transaction()
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            where = f"{checkpoint.settings.topics.input}/{checkpoint.partition}"
            outputs, why = ", ".join(checkpoint.settings.topics.outputs()), error.args[0].str()
            raise Failure(f"{where}: no permission to write to one of {outputs}: {why}") from None
        return error if code != KafkaError._STATE else None
    return None

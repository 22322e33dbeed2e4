"""Why an output could not be written: the broker's refusal, from behind the client's "erroneous state"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from confluent_kafka import KafkaError, KafkaException

from worker.errors import Failure
from worker.settings import EXACTLY_ONCE

if TYPE_CHECKING:
    from worker.checkpoint import Checkpoint


Answer = TypeVar("Answer")


def explained(checkpoint: Checkpoint, call: Callable[[], Answer]) -> Answer:
    """Call, and let a failure to write be known by its cause: an output refused for good must not be tried for ever.

    Raises
    ------
    Failure
        An output may not be written.
    KafkaException
        Whatever else broke the open transaction; to be judged by `worker.verdicts`.
    """
    try:
        return call()
    except Failure:
        raise
    except Exception as error:
        failed = error
    # Not in the handler: what the client raises while an exception is handled keeps that one for ever, with all that
    # its frames hold (docs/upstream/confluent-kafka-kept-exceptions.md).
    if checkpoint.open and checkpoint.settings.guarantee == EXACTLY_ONCE:
        _require_sound(checkpoint)
    raise failed


def _require_sound(checkpoint: Checkpoint) -> None:
    """Ask by beginning again: refused as out of place in a sound transaction, with the cause in a broken one."""
    try:
        checkpoint.producer.begin_transaction()
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            topics = checkpoint.topics
            raise Failure(
                f"{topics.input}/{checkpoint.partition}: one of {', '.join(topics.outputs())} may not be written: "
                f"{error.args[0].str()}"
            ) from None
        if code != KafkaError._STATE:
            raise

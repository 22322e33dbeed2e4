"""What a failure means for a task: all errors of the client and of deliveries are classified here and only here."""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import Failure, Fenced, Unreachable, with_file_shortage
from driftway.worker.kafka.client_config import scrubbed
from driftway.worker.kafka.deadline import Deadline

if TYPE_CHECKING:
    from driftway.worker.kafka.client_config import ClientConfig

Answer = TypeVar("Answer")
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 0.5
"""Between two attempts; the broker has just said that it cannot answer yet."""


class TransactionalProducer(Protocol):
    """What a producer must have to be asked for its fatal error: a sender's, or confluent-kafka's own."""

    def begin_transaction(self) -> None:
        """Open a transaction."""


class ErrorAction(enum.Enum):
    """What to do about a failed call on a task's producer or consumer.

    FENCED      another owner has taken over: release the partition, and check later who owns it
    ABORT       the transaction cannot commit: create a new producer, which aborts it, and restore the last commit
    RETRY       nothing has happened yet: call again within the deadline
    UNKNOWN     it may or may not have taken effect: create a new producer, and restore what the log shows as committed
    FATAL       no retry helps: stop with the error's message
    """

    FENCED = "fenced"
    ABORT = "abort"
    RETRY = "retry"
    UNKNOWN = "unknown"
    FATAL = "fatal"


FENCED = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.FENCED_INSTANCE_ID,
}
STALE_MEMBER = {
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.FENCED_MEMBER_EPOCH,
    KafkaError.STALE_MEMBER_EPOCH,
}
REFUSED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError._UNSUPPORTED_FEATURE,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError._INVALID_ARG,
}

MISSING = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
}
"""Errors for a topic that was deleted, and for any topic from a broker that has just started."""

UNREADABLE = {
    KafkaError._BAD_COMPRESSION,
    KafkaError._BAD_MSG,
    KafkaError._NOT_IMPLEMENTED,
    KafkaError.INVALID_MSG,
    KafkaError.MSG_SIZE_TOO_LARGE,
}
"""Errors for a batch in the log that no retry makes readable; the client's message names its offset."""


UNTIMELY = {KafkaError.INVALID_TIMESTAMP, KafkaError.INVALID_RECORD}
"""Errors for a record whose timestamp the topic does not allow; the second has other causes, too."""


class TaskError(Exception):
    """A failure that the client does not report as a call's error, but after which no task may go on."""

    action = ErrorAction.UNKNOWN


class TimedOut(TaskError):
    """A call did not finish within its deadline; whether it took effect is unknown."""


class UnconfirmedDelivery(TaskError):
    """The client reported a delivery, but the reported offsets show that it did not happen."""

    action = ErrorAction.ABORT


class TopicMissing(TaskError):
    """The broker does not know a topic, or not all of its partitions: for a moment after its start, or for good."""

    action = ErrorAction.RETRY


class DeliveryFailed(TaskError):
    """A record was refused; the transaction's own error hides this behind "erroneous state".

    Parameters
    ----------
    topic : str
        Topic of the record.
    error : KafkaError
        Error of the delivery report.
    """

    def __init__(self, topic: str, error: KafkaError) -> None:
        super().__init__(f"{topic} cannot be written: {refusal(error)}")
        self.error = error
        found = classify(error)
        self.action = found if found in (ErrorAction.FENCED, ErrorAction.FATAL) else ErrorAction.ABORT


class RecordTooLarge(TaskError):
    """The broker refused a record for its size; the same rows can be written with shorter rejections."""

    action = ErrorAction.ABORT


def refusal(error: KafkaError) -> str:
    """Return the message of a delivery that failed; for a timestamp that is not allowed with the way out."""
    if error.code() not in UNTIMELY:
        return error.str()
    return (
        f"{error.str()}; a timestamp that is too old or too far ahead, as by a wrong clock, is accepted if the topic's "
        "message.timestamp.before.max.ms or message.timestamp.after.max.ms is raised (before Kafka 3.6: "
        "message.timestamp.difference.max.ms)"
    )


def code_of(failure: Exception) -> int | None:
    """Return the client's code of a failure to write; None if it has none."""
    error = failure.args[0] if failure.args else None
    if isinstance(failure, DeliveryFailed):
        error = failure.error
    return error.code() if isinstance(error, KafkaError) else None


def with_right(sentence: str, failure: Exception, group: str, topic: str = "") -> str:
    """Return what a broker has refused with the right that is missing, where the client does not name its object.

    `topic` is the one that was read; without it, the client's message names the topic.
    """
    rights = {
        **({KafkaError.TOPIC_AUTHORIZATION_FAILED: f"READ on topic {topic}"} if topic else {}),
        KafkaError.GROUP_AUTHORIZATION_FAILED: f"READ on group {group}",
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: f"WRITE on the transactional ids that begin with {group}/",
    }
    right = rights.get(code_of(failure) or 0)
    return sentence if right is None else f"{sentence.rstrip('.')}; this principal needs {right}"


def is_too_large(failure: Exception) -> bool:
    """Return whether a record was refused for its size."""
    return code_of(failure) == KafkaError.MSG_SIZE_TOO_LARGE


def classify(error: KafkaError) -> ErrorAction:
    """Decide what to do about an error.

    A stale member means that the group has moved on: its generation is as good a fence as the producer's epoch. But
    where members keep partitions through a rebalance, it only means that the rebalance came during a commit. Then the
    transaction is aborted and its rows come again; if the partition is lost, the group says so.
    """
    code = error.code()
    if code in FENCED or (code in STALE_MEMBER and not error.txn_requires_abort()):
        return ErrorAction.FENCED
    if code in REFUSED:
        return ErrorAction.FATAL
    if error.txn_requires_abort():
        return ErrorAction.ABORT
    if code in (KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError._STATE):
        return ErrorAction.UNKNOWN
    if error.retriable() or code in MISSING | UNREADABLE:
        return ErrorAction.RETRY
    return ErrorAction.UNKNOWN


def with_context(what: str, error: KafkaError) -> KafkaException:
    """Return the client's error with `what` in front of its message, for errors that do not name their subject."""
    text = f"{what}: {explained(error)}"
    return KafkaException(KafkaError(error.code(), text, error.fatal(), error.retriable(), error.txn_requires_abort()))


def fatal_error(producer: TransactionalProducer) -> KafkaError | None:
    """Return the fatal error of a transactional producer that no call has reported, or None.

    Every transactional call fails with it, and inside a transaction `begin_transaction` has no other effect.
    """
    try:
        producer.begin_transaction()
    except KafkaException as error:
        return error.args[0] if error.args[0].fatal() else None
    except SystemError:
        pass
    return None


@contextlib.contextmanager
def reported_fatal_error(producer: TransactionalProducer) -> Iterator[None]:
    """Raise the fatal error of a transactional producer from calls that hide it.

    `produce` says only that there was one. And confluent-kafka runs callbacks while a fatal error's exception is still
    set: the call then raises a SystemError with that exception as its cause, or without a cause if a callback has
    cleared it.
    """
    try:
        yield
    except (KafkaException, SystemError) as error:
        if isinstance(error.__cause__, KafkaException):
            raise error.__cause__ from None
        hidden = isinstance(error, SystemError) or error.args[0].code() == KafkaError._FATAL
        reason = fatal_error(producer) if hidden else None
        if reason is None:
            raise
        raise KafkaException(reason) from None


@contextlib.contextmanager
def with_topic(topic: str) -> Iterator[None]:
    """Name the topic to which a call may not produce: after a first refused record, calls fail at once and without it.

    Raises
    ------
    DeliveryFailed
        The broker has refused an earlier record of the topic for its rights.
    """
    try:
        yield
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise
        raise DeliveryFailed(topic, error.args[0]) from None


def is_permanent(error: KafkaError) -> bool:
    """Return whether a reader can stop waiting: its client reports a missing topic only after retrying for long."""
    return error.fatal() or error.code() in MISSING | UNREADABLE or classify(error) is ErrorAction.FATAL


def explained(error: KafkaError) -> str:
    """Return a reader's error message; for an unreadable batch with the way past it."""
    if error.code() not in UNREADABLE:
        return error.str()
    return (
        f"{error.str()}; if the batch is sound, raise -X receive.message.max.bytes (at most 2147483647), else remove "
        "it from the topic (docs/how-to/recover.md)"
    )


def classify_failure(failure: KafkaException | TaskError) -> tuple[ErrorAction, str]:
    """Return what to do about a failure, and its message."""
    if isinstance(failure, TaskError):
        return failure.action, with_file_shortage(str(failure))
    return classify(failure.args[0]), with_file_shortage(refusal(failure.args[0]))


def message_of(failure: Exception) -> str:
    """Return the message of any failure, as `classify_failure` returns that of a task's."""
    return classify_failure(failure)[1] if isinstance(failure, KafkaException | TaskError) else str(failure)


def retry(call: Callable[[], Any], deadline: Deadline) -> None:
    """Repeat a transactional call while its error means that nothing has happened yet and time is left."""
    while True:
        try:
            call()
        except KafkaException as error:
            if classify(error.args[0]) is not ErrorAction.RETRY or deadline.passed:
                raise
        else:
            return


def query(question: Callable[[], Answer], deadline: Deadline) -> Answer:
    """Repeat a query until it succeeds, time is up, or the broker will never answer it; queries have no side effects.

    The client marks hardly any error of a query as retriable, not even that of a coordinator that is still loading.

    Raises
    ------
    KafkaException
        The last error.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return question()
        except KafkaException as error:
            if classify(error.args[0]) is ErrorAction.FATAL or deadline.passed:
                raise
        time.sleep(min(pause, deadline.remaining()))
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


@contextlib.contextmanager
def translated_errors(config: ClientConfig) -> Iterator[None]:
    """Translate the client's errors to those of the worker.

    Raises
    ------
    Fenced
        Another owner has taken over.
    Unreachable
        The broker does not answer in time.
    Failure
        The broker refuses.
    """
    try:
        yield
    except KafkaException as error:
        verdict, sentence = classify(error.args[0]), scrubbed(error.args[0].str(), config.passthrough)
        if verdict is ErrorAction.FENCED:
            raise Fenced(f"another worker of group {config.group} has taken over meanwhile: {sentence}") from None
        if verdict in (ErrorAction.UNKNOWN, ErrorAction.RETRY):
            silent = f"the broker at {config.bootstrap} does not answer: {sentence}"
            raise Unreachable(with_file_shortage(silent)) from None
        raise Failure(with_right(f"the broker refused: {sentence}", error, config.group)) from None
    except TimedOut as error:
        raise Unreachable(str(error)) from None

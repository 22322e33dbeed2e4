"""What a failure means for a task: errors of the client, and of what it has done, are sorted here and nowhere else."""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import Failure, Fenced, Unreachable, UsageFailure
from driftway.worker.kafka.deadline import Deadline

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from driftway.worker.kafka.client_config import ClientConfig

Answer = TypeVar("Answer")
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 0.5
"""Between two askings; the broker has just said that it cannot answer yet."""


class ErrorAction(enum.Enum):
    """What to do about a failed call on a task's producer or consumer.

    FENCED      another owner has taken over: let the partition go, and look later whose it is
    ABORT       the transaction cannot commit: a new producer, whose takeover aborts it, and back to the last commit
    RETRY       nothing happened yet: call again inside the deadline
    UNKNOWN     it may or may not have happened: a new producer, and back to what the log says was committed
    FATAL       no retry helps: stop with the error's sentence
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
"""Said of a topic that was deleted, and of any topic by a broker that has just begun."""


class TaskError(Exception):
    """Something that the client does not call an error, or not of a call, but that no task may go on after."""

    action = ErrorAction.UNKNOWN


class TimedOut(TaskError):
    """A call did not finish inside its deadline: whether it took effect is not known."""


class UnconfirmedDelivery(TaskError):
    """The client says that it has delivered, and where; the place shows that it has not."""

    action = ErrorAction.ABORT


class TopicMissing(TaskError):
    """The broker does not know a topic, or not that many partitions: for a moment after its start, or for good."""

    action = ErrorAction.RETRY


class DeliveryFailed(TaskError):
    """A record was refused; what the transaction's own error hides behind "erroneous state".

    Parameters
    ----------
    topic : str
        Where it should have gone.
    error : KafkaError
        The delivery report's.
    """

    def __init__(self, topic: str, error: KafkaError) -> None:
        super().__init__(f"{topic} cannot be written: {error.str()}")
        found = classify(error)
        self.action = found if found in (ErrorAction.FENCED, ErrorAction.FATAL) else ErrorAction.ABORT


def classify(error: KafkaError) -> ErrorAction:
    """Sort an error.

    A stale member means that the group has moved on: its generation is as good a fence as the producer's epoch. But
    where members keep partitions through a rebalance it only says that a commit began before it and ended after: the
    transaction is aborted, and its rows come again. Who has lost the partition is told so by the group.
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
    if error.retriable() or code in MISSING:
        return ErrorAction.RETRY
    return ErrorAction.UNKNOWN


def with_context(what: str, error: KafkaError) -> KafkaException:
    """The client's error, with what it is about, where the client does not name that."""
    told = f"{what}: {error.str()}"
    return KafkaException(KafkaError(error.code(), told, error.fatal(), error.retriable(), error.txn_requires_abort()))


def fatal_error(producer: Producer) -> KafkaError | None:
    """The fatal error of a transactional producer, which no call has told; None: there is none.

    Any call in a transaction is refused with it; to begin another does nothing else.
    """
    try:
        producer.begin_transaction()
    except KafkaException as error:
        return error.args[0] if error.args[0].fatal() else None
    except SystemError:
        pass
    return None


def is_permanent(error: KafkaError) -> bool:
    """Whether a reader that is told so need not wait: its client reports a missing topic after asking for long."""
    return error.fatal() or error.code() in MISSING or classify(error) is ErrorAction.FATAL


def classify_failure(failure: KafkaException | TaskError) -> tuple[ErrorAction, str]:
    """What a failure means, and its sentence."""
    if isinstance(failure, TaskError):
        return failure.action, str(failure)
    return classify(failure.args[0]), failure.args[0].str()


def retry(call: Callable[[], Any], deadline: Deadline) -> None:
    """Repeat a call of a transaction while its error says that nothing happened yet and time is left."""
    while True:
        try:
            call()
        except KafkaException as error:
            if classify(error.args[0]) is not ErrorAction.RETRY or deadline.passed:
                raise
        else:
            return


def query(question: Callable[[], Answer], deadline: Deadline) -> Answer:
    """Ask until there is an answer, time is up, or the broker will never give one: asking again changes nothing.

    The client calls hardly any error of a question retriable, not even that of a coordinator which is still loading.

    Raises
    ------
    KafkaException
        The last one.
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
    """Make a sentence of what the client raises.

    Raises
    ------
    Fenced
        Another owner has taken over.
    Unreachable
        The broker does not answer in time.
    Failure
        It refuses.
    """
    try:
        yield
    except KafkaException as error:
        verdict, sentence = classify(error.args[0]), error.args[0].str()
        if verdict is ErrorAction.FENCED:
            raise Fenced(f"another worker of group {config.group} has taken over meanwhile: {sentence}") from None
        if verdict in (ErrorAction.UNKNOWN, ErrorAction.RETRY):
            raise Unreachable(f"the broker at {config.bootstrap} does not answer: {sentence}") from None
        raise Failure(f"the broker refused: {sentence}") from None
    except TimedOut as error:
        raise Unreachable(str(error)) from None


@contextlib.contextmanager
def refused_properties() -> Iterator[None]:
    """Make a sentence of a client's refusal to be made.

    Raises
    ------
    UsageFailure
        A property is not valid.
    """
    try:
        yield
    except KafkaException as error:
        raise UsageFailure(f"client property refused: {error.args[0].str()}") from None

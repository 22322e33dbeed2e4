"""What a client error means for a task: errors are sorted here and nowhere else."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from worker.deadline import Deadline


class Verdict(enum.Enum):
    """What to do about a failed call on a task's producer or consumer.

    FENCED      another owner has taken over: close the task without commit
    ABORT       the transaction cannot commit: abort it and rewind the learner
    RETRY       nothing happened yet: call again inside the deadline
    UNKNOWN     it may or may not have happened: throw the producer away, restore from what was committed
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
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError._UNSUPPORTED_FEATURE,
    KafkaError.UNSUPPORTED_VERSION,
}


def judge(error: KafkaError) -> Verdict:
    """Sort an error.

    A stale member means that the group has moved on: its generation is as good a fence as the producer's epoch. But
    where members keep partitions through a rebalance it only says that a commit began before it and ended after: the
    transaction is aborted, and its rows come again. Who has lost the partition is told so by the group.
    """
    code = error.code()
    if code in FENCED or (code in STALE_MEMBER and not error.txn_requires_abort()):
        return Verdict.FENCED
    if code in REFUSED:
        return Verdict.FATAL
    if error.txn_requires_abort():
        return Verdict.ABORT
    if code in (KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError._STATE):
        return Verdict.UNKNOWN
    if error.retriable():
        return Verdict.RETRY
    return Verdict.UNKNOWN


def insist(call: Callable[[], Any], deadline: Deadline) -> None:
    """Repeat a call while its error says that nothing happened yet and time is left."""
    while True:
        try:
            call()
        except KafkaException as error:
            if judge(error.args[0]) is not Verdict.RETRY or deadline.passed:
                raise
        else:
            return

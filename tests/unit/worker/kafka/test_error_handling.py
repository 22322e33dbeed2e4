"""What each client error means for a task: the complete table."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import (
    ErrorAction,
    TaskError,
    TimedOut,
    UnconfirmedDelivery,
    classify,
    classify_failure,
    query,
)

STALE_MEMBER = (
    "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH",
)  # fmt: skip
TABLE = {
    ErrorAction.FENCED: (
        "_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "FENCED_INSTANCE_ID", *STALE_MEMBER,
    ),
    ErrorAction.FATAL: (
        "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED", "_AUTHENTICATION",
        "MSG_SIZE_TOO_LARGE", "_UNSUPPORTED_FEATURE", "UNSUPPORTED_VERSION", "_INVALID_ARG",
    ),
    ErrorAction.RETRY: ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"),
    ErrorAction.UNKNOWN: (
        "_TIMED_OUT", "REQUEST_TIMED_OUT", "_STATE", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_MSG_TIMED_OUT",
        "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "UNKNOWN", "_PURGE_QUEUE",
    ),
}  # fmt: skip
ROWS = [(name, verdict) for verdict, names in TABLE.items() for name in names]


@pytest.mark.parametrize(("name", "verdict"), ROWS, ids=[name for name, _ in ROWS])
def test_each_error_code_without_flags_has_its_action(name: str, verdict: ErrorAction) -> None:
    assert classify(KafkaError(getattr(KafkaError, name))) is verdict


@pytest.mark.parametrize("name", [name for name, verdict in ROWS if verdict is ErrorAction.UNKNOWN])
def test_a_transaction_that_must_abort_is_aborted_even_after_a_timeout(name: str) -> None:
    error = KafkaError(getattr(KafkaError, name), "x", txn_requires_abort=True)
    assert classify(error) is ErrorAction.ABORT


@pytest.mark.parametrize("name", STALE_MEMBER)
def test_a_commit_interrupted_by_a_rebalance_is_aborted(name: str) -> None:
    """A member that keeps the partition continues; one that does not is told so by the group."""
    assert classify(KafkaError(getattr(KafkaError, name), "x", txn_requires_abort=True)) is ErrorAction.ABORT


CERTAIN = [
    name for name, verdict in ROWS if verdict in (ErrorAction.FENCED, ErrorAction.FATAL) and name not in STALE_MEMBER
]


@pytest.mark.parametrize("name", CERTAIN)
def test_a_fence_or_a_refusal_is_not_hidden_by_a_flag(name: str) -> None:
    plain = classify(KafkaError(getattr(KafkaError, name)))
    for flags in ({"txn_requires_abort": True}, {"retriable": True}):
        assert classify(KafkaError(getattr(KafkaError, name), "x", **flags)) is plain


def test_retriable_is_retried_but_a_timeout_never_is() -> None:
    """After a timeout it is unknown whether the commit happened; calling again could commit twice."""
    assert classify(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE, "x", retriable=True)) is ErrorAction.RETRY
    assert classify(KafkaError(KafkaError._TRANSPORT, "x", retriable=True)) is ErrorAction.RETRY
    for code in (KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError._STATE):
        assert classify(KafkaError(code, "x", retriable=True)) is ErrorAction.UNKNOWN


def test_a_fatal_client_error_is_never_retried() -> None:
    assert classify(KafkaError(KafkaError._FATAL, "x", fatal=True)) is not ErrorAction.RETRY


def failing(*codes: int):
    """Return a query that fails with these codes, one after the other, and then succeeds."""
    remaining = list(codes)

    def question() -> str:
        if remaining:
            raise KafkaException(KafkaError(remaining.pop(0)))
        return "an answer"

    return question


@pytest.mark.parametrize(
    "name",
    ["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "_TIMED_OUT", "_TRANSPORT", "NOT_LEADER_FOR_PARTITION"],
)
def test_a_query_is_repeated_whatever_the_client_calls_retriable(name: str) -> None:
    error = KafkaError(getattr(KafkaError, name))
    assert not error.retriable()
    assert query(failing(error.code(), error.code()), Deadline(10)) == "an answer"


def test_a_query_is_not_repeated_forever_nor_after_a_refusal() -> None:
    with pytest.raises(KafkaException):
        query(failing(*[KafkaError._TIMED_OUT] * 100), Deadline(0.2))
    with pytest.raises(KafkaException) as caught:
        query(failing(KafkaError.TOPIC_AUTHORIZATION_FAILED), Deadline(10))
    assert caught.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_each_failure_has_its_action() -> None:
    assert classify_failure(TimedOut("late")) == (ErrorAction.UNKNOWN, "late")
    assert classify_failure(UnconfirmedDelivery("not there")) == (ErrorAction.ABORT, "not there")
    assert classify_failure(TaskError("x"))[0] is ErrorAction.UNKNOWN
    error = KafkaError(KafkaError._FENCED, "fenced")
    assert classify_failure(KafkaException(error)) == (ErrorAction.FENCED, "fenced")

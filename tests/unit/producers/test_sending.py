"""The sender when no broker answers: the real client, nothing listening. Every undelivered message is counted."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

from driftway.producers.messages import Messages
from driftway.producers.sinks import kafka as sending
from driftway.producers.sinks.confluent import ConfluentSink
from driftway.producers.sinks.kafka import KafkaSink
from driftway.producers.sinks.librdkafka import LibrdkafkaSink
from driftway.producers.sinks.sink import StopRequest

pytestmark = pytest.mark.timeout(300)
"""As by default: tests with a limit start first. These mostly wait, and `make test` checks types meanwhile."""
NOWHERE = "127.0.0.1:1"
Made = Callable[..., tuple[KafkaSink, StopRequest]]


def messages(first: int, values: list[bytes], keys: list[bytes] | None = None) -> Messages:
    return Messages(first, len(values), values, keys)


@pytest.fixture(params=[ConfluentSink, LibrdkafkaSink])
def way(request: pytest.FixtureRequest) -> type[KafkaSink]:
    chosen: type[KafkaSink] = request.param
    return chosen


@pytest.fixture
def make(way: type[KafkaSink]) -> Made:
    def made(**properties: str) -> tuple[KafkaSink, StopRequest]:
        stop = StopRequest()
        given = {key.replace("_", "."): value for key, value in properties.items()}
        return way(NOWHERE, given, "nowhere", 2, stop), stop

    return made


def test_messages_that_time_out_are_counted(make: Made) -> None:
    sender, _ = make(message_timeout_ms="300")
    sender.send(messages(0, [b"row"] * 101))
    sender.finish()
    assert sender.errors == 101
    assert sender.first_error is not None
    assert "timed out" in sender.first_error


@pytest.mark.parametrize("keys", [None, [b"k"] * 101])
def test_messages_abandoned_at_the_second_signal_are_counted(make: Made, keys: list[bytes] | None) -> None:
    sender, stop = make()
    sender.send(messages(0, [b"row"] * 101, keys))
    stop(signal.SIGTERM)
    stop(signal.SIGTERM)
    sender.finish()
    assert sender.errors == 101
    assert sender.first_error == "101 messages were given up when stopped"
    assert stop.signal == signal.SIGTERM


def test_a_stopped_replay_waits_for_a_limited_time(make: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "STOP_SECONDS", 0.3)
    sender, stop = make()
    sender.send(messages(0, [b"row"] * 7))
    stop(signal.SIGINT)
    sender.finish()
    assert sender.errors == 7


def test_sending_waits_for_a_full_queue_until_a_stop(make: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "QUEUE_ROWS", 100)
    sender, stop = make(message_timeout_ms="500")
    assert sender.wait_for_capacity(60, 3)
    sender.send(messages(0, [b"row"] * 60))
    assert sender.wait_for_capacity(40, 3)
    assert sender.wait_for_capacity(60, 3), "room appears when the first rows have timed out"
    assert sender.errors == 60
    sender.send(messages(60, [b"row"] * 60))
    stop(signal.SIGINT)
    assert not sender.wait_for_capacity(60, 3)
    sender.finish()
    assert sender.errors == 120


def test_more_labels_at_one_row_than_the_queue_holds_are_accepted(make: Made) -> None:
    sender, _ = make(message_timeout_ms="300")
    many = sending.QUEUE_ROWS + 1
    assert sender.wait_for_capacity(many, 3)
    sender.send(messages(0, [b"row"] * many))
    sender.finish()
    assert sender.errors == many
    assert sender.first_error is not None
    assert "timed out" in sender.first_error


def test_rows_of_many_features_get_a_shorter_queue(make: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "QUEUE_BYTES", 1000)
    sender, stop = make(message_timeout_ms="400")
    sender.send(messages(0, [b"row" * 100] * 3))
    assert sender.wait_for_capacity(2, 300), "waits until the three rows of 300 bytes are gone"
    assert sender.errors == 3
    stop(signal.SIGINT)
    assert not sender.wait_for_capacity(1, 1)


def test_a_row_too_large_for_the_client_is_counted_at_once_and_the_others_stay(make: Made) -> None:
    sender, stop = make(message_max_bytes="2000")
    sender.send(messages(0, [b"small", b"x" * 3000, b"small"]))
    assert sender.errors == 1
    stop(signal.SIGINT)
    stop(signal.SIGINT)
    sender.finish()
    assert sender.errors == 3


@pytest.mark.parametrize("stopped", [False, True])
def test_a_position_is_not_saved_before_the_broker_has_answered(
    way: type[KafkaSink], monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    monkeypatch.setattr(sending, "KEEP_SECONDS", 0.0)
    monkeypatch.setattr(sending, "STOP_SECONDS", 0.1)
    kept: list[int] = []
    stop = StopRequest()
    sender = way(NOWHERE, {"message.timeout.ms": "600"}, "nowhere", 2, stop, keep=kept.append)
    sender.send(messages(0, [b"row"] * 101))
    if stopped:
        stop(signal.SIGTERM)
    sender.sent_until(101)
    sender.idle(0.0)
    sender.finish()
    assert kept == []
    assert sender.errors == 101


class ProducerWithLostError:
    """A producer whose flush ends as the client's does when a callback has cleared a fatal error."""

    def __init__(self, producer: Any) -> None:
        self._producer = producer

    def __len__(self) -> int:
        return len(self._producer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def flush(self, seconds: float) -> int:
        self._producer.purge()
        self._producer.flush(seconds)
        raise SystemError("<method 'flush' of 'cimpl.Producer' objects> returned NULL without setting an exception")


def test_an_unexplained_failure_of_the_client_ends_the_replay_and_its_messages_are_counted() -> None:
    sender = ConfluentSink(NOWHERE, {}, "nowhere", 2, StopRequest())
    sender._producer = ProducerWithLostError(sender._producer)  # type: ignore[assignment]
    sender.send(messages(0, [b"row"] * 7))
    sender.finish()
    assert sender.fatal
    assert sender.errors == 7
    assert sender.first_error
    assert not sender.wait_for_capacity(1, 1)

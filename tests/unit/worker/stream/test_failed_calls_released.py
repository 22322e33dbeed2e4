"""Failed calls are released: an exception kept by the client would keep a task, its model and its producer."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from driftway.worker.kafka.confluent.sender import ConfluentSender
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.settings import EXACTLY_ONCE
from driftway.worker.stream.task.committing.checkpoint import discard
from driftway.worker.stream.task.committing.output_errors import with_cause


class Referenced:
    """An object that a frame refers to."""


def sender(**properties: Any) -> ConfluentSender:
    return ConfluentSender({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **properties}, 0, every_report=False)


def checkpoint() -> Any:
    """Return a checkpoint whose transaction is broken: the client raises when it is asked for the cause."""
    settings = SimpleNamespace(guarantee=EXACTLY_ONCE)
    return SimpleNamespace(open=True, settings=settings, sender=sender(**{"transactional.id": "t"}))


def kept(call: Callable[[Referenced], Any]) -> bool:
    """Return whether an object passed to a failing call is still alive afterwards."""
    large = Referenced()
    seen = weakref.ref(large)
    with pytest.raises(TimedOut):
        call(large)
    del large
    gc.collect()
    return seen() is not None


def fail(_held: Referenced) -> None:
    raise TimedOut("the broker did not confirm the outputs in time")


def test_a_failed_commit_is_released_after_its_cause_was_requested() -> None:
    assert not kept(lambda large: with_cause(checkpoint(), lambda: fail(large)))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from Python 3.12 on the client keeps no exception")
def test_this_test_detects_an_exception_that_is_kept() -> None:
    def ask_in_the_handler(large: Referenced) -> None:
        try:
            fail(large)
        except TimedOut:
            with pytest.raises(Exception, match="_STATE"):
                checkpoint().sender.begin_transaction()
            raise

    assert kept(ask_in_the_handler)


def test_delivery_reports_of_a_discarded_producer_are_released() -> None:
    large, one = Referenced(), sender()
    seen = weakref.ref(large)
    for _ in range(5):
        one._producer.produce("t", b"", partition=0, on_delivery=lambda *_, held=large: None)
    senders = [one]
    del one, large
    discard(senders)
    gc.collect()
    assert senders == []
    assert seen() is None

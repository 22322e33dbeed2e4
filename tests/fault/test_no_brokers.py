"""A cluster that names no broker for a moment, as one does whose controller has just fenced all of them."""

from __future__ import annotations

import time

import pytest

from driftway.worker.kafka.client_config import NATIVE, PYTHON
from tests.support.delayed_labels import late_stream
from tests.support.kafka import await_until, create_topic, produce, read_all, unique
from tests.support.process import Driftway, driftway
from tests.support.proxy import METADATA, Proxy

ROWS, HIDDEN_SECONDS = 600, 2.0
FORGETFUL = (
    # librdkafka drops its brokers then, and finds them again by itself only if it wins a race between two of its
    # threads. This makes it lose, every time.
    "-X", "metadata.recovery.strategy=none",
    "-X", "topic.metadata.refresh.interval.ms=200",
    "-X", "statistics.interval.ms=500",
)  # fmt: skip


@pytest.mark.parametrize("client", [NATIVE, pytest.param(PYTHON, marks=pytest.mark.slow)])
def test_a_worker_goes_on_once_brokers_are_named_again(kafka: str, client: str) -> None:
    """Its group member, its reader of labels, its producers and what watches the cluster: all forget the brokers."""
    topic, labels, group = create_topic(kafka, unique("events")), create_topic(kafka, unique("labels")), unique("group")
    stream = late_stream(ROWS, seed=1)
    half = len(stream) // 2
    where = ("--input", topic, "--label-topic", labels, "--group", group)

    def feed(first: int, last: int) -> None:
        produce(kafka, topic, [value for value in stream[first:last] if b'"x"' in value])
        produce(kafka, labels, [value for value in stream[first:last] if b'"x"' not in value])
        wanted = sum(b'"x"' in value for value in stream[:last])
        await_until(lambda: len(read_all(kafka, f"{topic}.{group}.predictions")) == wanted, 60, "predictions")

    with Proxy(kafka) as proxy:
        work = ("worker", *where, "--label-wait", "200", "--client", client, "--learner", "pa1", *FORGETFUL)
        with Driftway(*work, "--bootstrap", proxy.bootstrap) as worker:
            worker.await_text("running partition=0")
            feed(0, half)
            proxy.hide_brokers(replies=1000)
            time.sleep(HIDDEN_SECONDS)
            proxy.forget()
            assert proxy.failed[METADATA] >= 3
            feed(half, len(stream))
            worker.terminate()
            assert worker.wait() == 0, worker.story()
    checked = driftway("audit", *where, "--bootstrap", kafka, "--label-wait", "200", "--learner", "pa1")
    assert checked.code == 0, checked

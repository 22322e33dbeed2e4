"""A cluster whose metadata lists no broker for a moment, as when its controller has just fenced all of them."""

from __future__ import annotations

import contextlib
import time

import pytest

from driftway.worker.admin.watch.topic_tail import TopicTail
from driftway.worker.errors import Unreachable
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from tests.support.delayed_labels import late_stream
from tests.support.kafka import await_until, create_topic, produce, read_all, unique
from tests.support.process import Driftway, driftway
from tests.support.proxy import METADATA, Proxy

ROWS, HIDDEN_SECONDS = 600, 2.0
FORGETFUL = {
    # librdkafka drops its brokers then, and finds them again by itself only if it wins a race between two of its
    # threads. This makes it lose, every time.
    "metadata.recovery.strategy": "none",
    "topic.metadata.refresh.interval.ms": "200",
    "statistics.interval.ms": "500",
}


@pytest.mark.parametrize("client", [NATIVE, pytest.param(PYTHON, marks=pytest.mark.slow)])
def test_a_worker_continues_once_brokers_are_listed_again(kafka: str, client: str) -> None:
    """All its clients forget the brokers: the group member, the label reader, the producers and the cluster watcher."""
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
        properties = [word for key, value in FORGETFUL.items() for word in ("-X", f"{key}={value}")]
        work = ("worker", *where, "--label-wait", "200", "--client", client, "--learner", "pa1", *properties)
        with Driftway(*work, "--bootstrap", proxy.bootstrap) as worker:
            worker.await_text("running partition=0")
            feed(0, half)
            proxy.hide_brokers(replies=1000)
            time.sleep(HIDDEN_SECONDS)
            proxy.forget()
            assert proxy.failed[METADATA] >= 3
            feed(half, len(stream))
            worker.terminate()
            assert worker.wait() == 0, worker.summary()
    checked = driftway("audit", *where, "--bootstrap", kafka, "--label-wait", "200", "--learner", "pa1")
    assert checked.code == 0, checked


def test_the_group_watcher_reports_that_its_client_no_longer_works(kafka: str) -> None:
    topic = create_topic(kafka, unique("points"))
    with Proxy(kafka) as proxy, contextlib.closing(TopicTail(proxy.bootstrap, FORGETFUL, {topic: 1})) as tail:
        produce(kafka, topic, [b"{}"])
        assert await_until(lambda: tail.poll(0.1), 20, "a record")
        proxy.hide_brokers(replies=1000)

        def watch() -> None:
            for _ in range(100):
                tail.poll(0.1)

        with pytest.raises(Unreachable, match="has lost all brokers"):
            watch()

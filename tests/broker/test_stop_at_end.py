"""``--stop-at-end`` where producers never pause."""

from __future__ import annotations

import json
import threading

import pytest
from confluent_kafka import Producer

from driftway.worker.kafka.client_config import quiet
from tests.support.kafka import create_topic, produce, read_all
from tests.support.process import Driftway

pytestmark = pytest.mark.broker

EVENT = b'{"x":[1,2],"y":1}'
PAUSE_SECONDS = 0.004
"""Between two events: much shorter than the commit interval, so that some event is never committed."""


@pytest.mark.slow
def test_a_worker_ends_although_its_topic_is_written_without_a_pause(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 2)
    for partition in (0, 1):
        produce(kafka, topic, [EVENT] * 50, partition=partition)
    producer, ended = Producer(quiet({"bootstrap.servers": kafka, "linger.ms": 0})), threading.Event()

    def write() -> None:
        while not ended.wait(PAUSE_SECONDS):
            for partition in (0, 1):
                producer.produce(topic, EVENT, partition=partition)
            producer.poll(0)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    arguments = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1", "--stop-at-end"
    try:
        with Driftway("worker", *arguments) as worker:
            assert worker.wait(120) == 0, worker.stderr
        assert writer.is_alive()
    finally:
        ended.set()
        writer.join()
        producer.flush(10)
    for partition in (0, 1):
        found = [r for r in read_all(kafka, f"{topic}.{group}.predictions") if r.partition == partition]
        offsets = [json.loads(r.value or b"")["offset"] for r in found]
        assert len(offsets) >= 50
        assert offsets == list(range(len(offsets)))

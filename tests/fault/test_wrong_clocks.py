"""One in twenty records has a timestamp up to an hour off, and workers are killed: no label is lost."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from driftway.worker.kafka.client_config import quiet
from tests.support.kafka import await_until, create_topic, read_all, unique
from tests.support.process import Driftway, driftway

HOUR, APART, DELAY = 3_600_000, 100, 50
EVENTS, TAIL, PIECE = 4000, 100, 40
"""Events with labels, later events, which let the last labels be used, and how many are sent at once."""


class Stream:
    """Events followed immediately by their labels, in one topic or two, for one partition."""

    def __init__(self, draw: random.Random, began: int) -> None:
        self.events, self.labels = list[tuple[bytes, int]](), list[tuple[bytes, int]]()
        for i in range(EVENTS + TAIL):
            due, wrong = began + i * APART, [0, 0] if i >= EVENTS else [self._wrong(draw), self._wrong(draw)]
            x = [draw.gauss(0.0, 1.0), draw.gauss(0.0, 1.0)]
            self.events.append((json.dumps({"id": i, "x": x}).encode(), due + wrong[0]))
            if i < EVENTS:
                self.labels.append((b'{"id":%d,"y":%d}' % (i, x[0] > 0), due + DELAY + wrong[1]))

    @staticmethod
    def _wrong(draw: random.Random) -> int:
        return draw.randint(2000, HOUR) * draw.choice([-1, 1]) if draw.random() < 0.05 else 0

    def feed(self, producer: Producer, topic: str, labels: str, partition: int, first: int, end: int) -> None:
        """Send some events, and their labels."""
        events, late = self.events[first:end], self.labels[first:end]
        if labels == topic:
            both = [one for pair in zip(events, late, strict=False) for one in pair] + events[len(late) :]
            self._send(producer, topic, partition, both)
            return
        self._send(producer, topic, partition, events)
        self._send(producer, labels, partition, late)

    @staticmethod
    def _send(producer: Producer, topic: str, partition: int, records: list[tuple[bytes, int]]) -> None:
        for value, stamp in records:
            producer.produce(topic, value, partition=partition, timestamp=stamp)
        assert producer.flush(30) == 0


@contextmanager
def fed(kafka: str, topic: str, labels: str, streams: list[Stream], seconds: float) -> Iterator[threading.Thread]:
    """Send the streams in pieces, over about this many seconds."""
    producer = Producer(quiet({"bootstrap.servers": kafka, "enable.idempotence": True, "linger.ms": 2}))

    def send() -> None:
        for first in range(0, EVENTS + TAIL, PIECE):
            for partition, stream in enumerate(streams):
                stream.feed(producer, topic, labels, partition, first, first + PIECE)
            time.sleep(seconds * PIECE / EVENTS)  # no condition to wait for: the pace of the streams

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    yield sender
    sender.join(300)


@pytest.mark.parametrize(
    ("separate", "wait", "kills"),
    [
        pytest.param(True, "2000", 20, marks=pytest.mark.slow),
        (True, "30m/3000", 5),
        pytest.param(False, "30m", 5, marks=pytest.mark.slow),
    ],
)
@pytest.mark.timeout(550)
@pytest.mark.slow
def test_no_label_is_lost_to_wrong_timestamps_and_kills(kafka: str, separate: bool, wait: str, kills: int) -> None:
    seed = int(os.environ.get("DRIFTWAY_FAULT_SEED", random.randrange(2**32)))
    print(f"DRIFTWAY_FAULT_SEED={seed} replays this schedule")
    draw = random.Random(seed)
    topic, group = unique("events"), unique("group")
    labels = f"{topic}-labels" if separate else topic
    for name in {topic, labels}:
        create_topic(kafka, name, 2)
    began = round(1000 * time.time()) - (EVENTS + TAIL) * APART
    streams = [Stream(draw, began) for _ in range(2)]
    place = ("--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1", "--label-wait", wait)
    place += ("--label-topic", labels) if separate else ()
    place += ("--accuracy-every", "100")
    work = ("worker", *place, "--commit-interval", "0.05", "--snapshot-rows", "500", "-X", "group.instance.id=one")

    def predicted() -> int:
        return len(read_all(kafka, f"{topic}.{group}.predictions"))

    with fed(kafka, topic, labels, streams, 3.0 * kills) as sender:
        for _ in range(kills):
            with Driftway(*work) as worker:
                worker.await_text("running partition=1")
                before = predicted()
                await_until(lambda before=before: not sender.is_alive() or predicted() > before, 60, "progress")
                time.sleep(draw.uniform(0.0, 0.5))  # no condition to wait for: the schedule sets the time
                worker.kill()
    with Driftway(*work, "--stop-at-end") as worker:
        assert worker.wait(120) == 0, worker.summary()
    assert predicted() == 2 * (EVENTS + TAIL)
    assert [dict(one.headers)["reason"] for one in read_all(kafka, f"{topic}.{group}.rejected")] == []
    points = [json.loads(one.value or b"") for one in read_all(kafka, f"{topic}.{group}.accuracy")]
    for partition in range(2):
        last = max((one for one in points if one["partition"] == partition), key=lambda one: one["rows"])
        assert (last["rows"], last["labels"], last["never_labelled"]) == (EVENTS + TAIL, EVENTS, 0)
    audited = driftway("audit", *place)
    assert audited.code == 0, audited
    watched = driftway("watch", "--input", topic, "--group", group, "--bootstrap", kafka, "--once", "--json")
    assert watched.code == 0, watched
    assert any(row["clocks"] for row in json.loads(watched.stdout))

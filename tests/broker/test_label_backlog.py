"""A backlog of events whose labels take longer to read: memory is bounded, and outputs equal those of one partition."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer

from driftway.learners import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON, quiet
from driftway.worker.kafka.consumer_columns import TURN_MESSAGES
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.delayed_labels import label_merger
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.stream.consumer import backpressure, label_consumer
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.worker import Worker
from tests.support.kafka import create_topic, read_all, unique
from tests.support.process import driftway

EVENTS, EACH, MOST, PIECE = 2000, 4, 300, 100
"""Events, labels of each, events that may wait, and labels that a turn of the loop reads."""
TIME = 1_700_000_000_000


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let events wait for labels on any machine, however slow."""
    for name in ("MAX_IDLE_SECONDS", "FIRST_MAX_IDLE_SECONDS"):
        monkeypatch.setattr(label_merger, name, 60.0)


def backlog(kafka: str, events: int, each: int, older: int) -> tuple[str, str, str]:
    """Write events with `each` labels, and `older` labels of events that are deleted; return topics and group."""
    topic, labels = create_topic(kafka, unique("events")), create_topic(kafka, unique("labels"))
    producer = Producer(quiet({"bootstrap.servers": kafka}))
    for i in range(-older, events):
        if i >= 0:
            event = json.dumps({"id": i, "x": [i % 7, i % 3]})
            producer.produce(topic, event, partition=0, timestamp=TIME + i)
        for _ in range(each):
            producer.produce(labels, json.dumps({"id": i, "y": i % 2}), partition=0, timestamp=TIME + i)
    assert producer.flush(30) == 0
    return topic, labels, unique("group")


def worker_of(kafka: str, topic: str, labels: str, group: str, client: str) -> Worker:
    model = ModelSettings((Spec.parse("pa1"),), wait=LabelWait.parse("100"))
    settings = WorkerSettings(kafka, topic, group, model, label_topic=labels, stop_at_end=True, client=client)
    return Worker(settings, EventLog(), WorkerMetrics(group, topic))


def require_audit(kafka: str, topic: str, labels: str, group: str) -> None:
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "--label-topic", labels
    assert driftway("audit", *place, "--learner", "pa1", "--label-wait", "100").code == 0


@pytest.mark.parametrize(("client", "begins_late"), [(NATIVE, False), (PYTHON, True)])
def test_the_number_of_events_that_wait_for_labels_is_bounded(
    kafka: str, monkeypatch: pytest.MonkeyPatch, client: str, begins_late: bool
) -> None:
    """Also if all waiting events become ready at once, because the label topic's reader begins late."""
    topic, labels, group = backlog(kafka, EVENTS, EACH, 0)
    monkeypatch.setattr(backpressure, "MAX_WAITING_EVENTS", MOST)
    monkeypatch.setattr(label_consumer, "TURN_MESSAGES", TURN_MESSAGES if begins_late else PIECE)
    worker, waiting, largest = worker_of(kafka, topic, labels, group, client), [0], [0]
    step, fetch = worker.step, worker._labels._fetch

    def fetch_late(wanted: dict[int, LabelMerger]) -> None:
        if not begins_late or max(waiting) >= MOST:
            fetch(wanted)

    def watched() -> None:
        before, size = sum(task.position for task in worker.tasks.values()), worker.consumer.batch_size.rows
        step()
        taken = sum(task.position for task in worker.tasks.values()) - before
        assert taken <= size, "handling all waiting events would keep the loop from polling in time"
        waiting.extend(task.merger.waiting_events for task in worker.tasks.values() if task.merger is not None)
        largest.append(size)

    worker.step, worker._labels._fetch = watched, fetch_late  # type: ignore[method-assign]
    worker.run()
    assert MOST <= max(waiting) < MOST + max(largest)
    assert len(read_all(kafka, f"{topic}.{group}.predictions")) == EVENTS
    require_audit(kafka, topic, labels, group)


def test_labels_older_than_all_events_do_not_delay_later_labels(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when events have a shorter retention: more labels than may wait come before the first event."""
    topic, labels, group = backlog(kafka, 500, 1, older := 600)
    monkeypatch.setattr(label_consumer, "MAX_WAITING_LABELS", 100)
    monkeypatch.setattr(label_consumer, "TURN_MESSAGES", 50)
    worker_of(kafka, topic, labels, group, PYTHON).run()
    set_aside = read_all(kafka, f"{topic}.{group}.rejected")
    assert [json.loads(one.value)["id"] for one in set_aside] == list(range(-older, 0))
    require_audit(kafka, topic, labels, group)

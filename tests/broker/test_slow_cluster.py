"""A cluster that accepts less than a worker writes: all rows are predicted, and not relearned endlessly."""

from __future__ import annotations

import json
import re
from contextlib import closing

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.log_reader.reader import open_reader
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import read_partition
from driftway.worker.stream import worker as loop
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.worker import Worker
from driftway.worker.wire.codec import encode_events
from tests.support.kafka import create_topic, produce, read_all
from tests.support.process import driftway
from tests.support.quotas import set_quota

ROWS, BYTES_PER_SECOND, SECONDS = 2000, 15_000, 2.0
"""Their outputs are 400 kB: in one request, the broker would answer the next one 17 s later."""
FETCHED, FETCHED_BYTES_PER_SECOND = 4000, 5000
LARGE, READ_BYTES_PER_SECOND = 900_000, 15_000


@pytest.mark.slow
@pytest.mark.parametrize("client", [NATIVE, PYTHON])
def test_a_throttled_worker_makes_progress_with_smaller_transactions(
    kafka: str, topic: str, group: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], client: str
) -> None:
    X = np.random.default_rng(5).normal(size=(ROWS, 3))
    create_topic(kafka, topic)
    produce(kafka, topic, encode_events(X, (X[:, 0] > 0).astype(float), 0))
    monkeypatch.setattr(loop, "COMMIT_SECONDS", SECONDS)
    monkeypatch.setattr(loop, "LONGEST_COMMIT_SECONDS", 2 * SECONDS)
    model, slow = ModelSettings((Spec.parse("pa1"),)), {"client.id": f"slow-{topic}"}
    settings = WorkerSettings(kafka, topic, group, model, stop_at_end=True, client=client, passthrough=slow)
    metrics = WorkerMetrics(group, topic)
    set_quota(kafka, slow["client.id"], "producer_byte_rate", BYTES_PER_SECOND)
    try:
        Worker(settings, EventLog(), metrics).run()
    finally:
        set_quota(kafka, slow["client.id"], "producer_byte_rate", None)
    taken = metrics.records.labels(group, topic, "0")._value.get()
    limits = [int(rows) for rows in re.findall(r"smaller transactions .*rows=(\d+)", capsys.readouterr().err)]
    assert limits, "nothing was throttled"
    assert limits[0] < ROWS / 2
    assert taken < 4 * ROWS, "rows are learned again after a commit has timed out"
    assert len(read_all(kafka, f"{topic}.{group}.predictions")) == ROWS
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1"
    assert driftway("audit", *place).code == 0


@pytest.mark.slow
def test_a_throttled_consumer_is_no_outage(kafka: str, topic: str, group: str) -> None:
    """The broker answers, but answers to a client above its quota are late by seconds."""
    create_topic(kafka, topic)
    for first in range(0, FETCHED, 100):  # no batch is larger than what the quota allows at once
        produce(
            kafka, topic, [json.dumps({"x": [i % 7, i % 3], "y": i % 2}).encode() for i in range(first, first + 100)]
        )
    slow = f"slow-{topic}"
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1"
    set_quota(kafka, slow, "consumer_byte_rate", FETCHED_BYTES_PER_SECOND)
    try:
        ended = driftway("worker", *place, "--stop-at-end", "-X", f"client.id={slow}", seconds=180)
    finally:
        set_quota(kafka, slow, "consumer_byte_rate", None)
    assert ended.code == 0, ended
    assert "throttled" in ended.stderr
    assert "does not answer" not in ended.stderr


@pytest.mark.slow
def test_a_batch_that_a_quota_never_lets_through_is_explained(kafka: str, topic: str) -> None:
    """Instead of a batch larger than its quota allows within some ten seconds, a broker sends nothing, every time."""
    create_topic(kafka, topic)
    produce(kafka, topic, [bytes(LARGE)])
    model, slow = ModelSettings((Spec.parse("pa1"),)), {"client.id": f"slow-{topic}"}
    settings = WorkerSettings(kafka, topic, "nobody", model, passthrough=slow)
    set_quota(kafka, slow["client.id"], "consumer_byte_rate", READ_BYTES_PER_SECOND)
    words = "not delivered in time; a quota delays the broker's answers, last by [1-9][0-9]* s, and a batch larger"
    try:
        with closing(open_reader(settings)) as reader, pytest.raises(TimedOut, match=words):
            read_partition(reader, topic, 0, Deadline(10.0))
    finally:
        set_quota(kafka, slow["client.id"], "consumer_byte_rate", None)

"""A hundred thousand Debezium changes of a table, processed by a worker that is killed in between."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

from driftway.worker.stream.task.committing.checkpoint import Step
from tests.broker.test_endpoint import event, log_of, metrics
from tests.support.audit import Auditor, Scores, expected_scores
from tests.support.crash import CrashingDriftway
from tests.support.debezium import DELETED, OPTIONS, TOMBSTONE, UNKNOWN, Change, ChangeGenerator, learned
from tests.support.kafka import create_topic, produce, read_all
from tests.support.process import Driftway, driftway

pytestmark = pytest.mark.slow

CHANGES, PARTITIONS, PIECE = 100_000, 3, 2_000
DIES_AT = 24
"""Commit at which the worker dies; the commit is lost. Each piece takes at least one commit per partition, so it
is reached after eight pieces at the latest."""
LEARNER = "arow"
LEAST_RIGHT = 0.85
"""Least share of right predictions among labelled ones; the larger class has two thirds."""

Placed = dict[tuple[int, int], Change]


def written(kafka: str, topic: str, stream: dict[int, list[Change]], first: int, last: int | None = None) -> int:
    """Produce the records between two offsets of every partition; return how many."""
    pieces = {partition: changes[first:last] for partition, changes in stream.items()}
    for partition, piece in pieces.items():
        produce(kafka, topic, [change.value for change in piece], partition, [change.key for change in piece])
    return sum(map(len, pieces.values()))


def scores_of(stream: dict[int, list[Change]]) -> Scores:
    """Expected scores: the learner run over the rows of `tests.support.debezium`, without parsing events."""
    rows = {partition: learned(changes) for partition, changes in stream.items()}
    found = expected_scores(LEARNER, {partition: (X, y) for partition, (X, y, _) in rows.items()})
    return {(partition, rows[partition][2][row]): score for (partition, row), score in found.items()}


def require_records(kafka: str, prefix: str, placed: Placed) -> None:
    """Check key, id and label of predictions, that most are right, and that rejections have the original bytes."""
    right, known = 0, 0
    for record in read_all(kafka, f"{prefix}.predictions", seconds=90):
        prediction = json.loads(record.value or b"")
        change = placed[prediction["partition"], prediction["offset"]]
        assert (record.key, prediction["id"]) == (change.key, change.id)
        assert prediction["y"] == (None if np.isnan(change.y) else change.y)
        known += prediction["y"] is not None
        right += prediction["y"] == prediction["prediction"]
    assert right / known > LEAST_RIGHT
    for record in read_all(kafka, f"{prefix}.rejected", seconds=90):
        headers = {name: (value or b"").decode() for name, value in record.headers}
        change = placed[int(headers["partition"]), int(headers["offset"])]
        assert (record.key, record.value, headers["reason"]) == (change.key, change.value, change.reason)


@pytest.mark.timeout(400)
def test_every_change_is_predicted_or_rejected_once_and_as_documented(kafka: str, topic: str, group: str) -> None:
    stream = ChangeGenerator(seed=7).records(CHANGES, PARTITIONS)
    placed = {(p, offset): change for p, changes in stream.items() for offset, change in enumerate(changes)}
    reasons = {place: change.reason for place, change in placed.items() if change.reason and not change.row}
    labels = {place: change.reason for place, change in placed.items() if change.reason and change.row}
    assert len(labels) > 10
    for reason in {*reasons.values(), *labels.values()} - {DELETED, TOMBSTONE}:
        assert reason.split()[0] in ("amount", "visits", "country", "merchant", "created_at", "label")
    prefix = f"{topic}.{group}"
    for name in (topic, *(f"{prefix}.{output}" for output in ("predictions", "accuracy", "rejected"))):
        create_topic(kafka, name, PARTITIONS)
    usual = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", LEARNER, *OPTIONS
    worker = ("worker", *usual, "-X", "group.instance.id=one", "--unknown-fields", "count")
    with Auditor(kafka, prefix) as auditor:
        with CrashingDriftway(Step.FLUSHED, DIES_AT, *worker) as victim:
            first, so_far = 0, 0
            while not victim.ended:
                assert first * PARTITIONS < len(placed) / 2, "it should have died in the first half"
                so_far += written(kafka, topic, stream, first, first + PIECE)
                first += PIECE
                victim.await_condition(lambda n=so_far: victim.ended or auditor.seen >= n, "them predicted, or its end")
            assert victim.wait() == -signal.SIGKILL, victim.summary()
            auditor.await_all(1)
            assert auditor.seen < so_far, "a transaction was left open"
        with Driftway(*worker, "--http-port", "0", "--log-format", "json") as successor:
            written(kafka, topic, stream, first)
            successor.await_condition(lambda: auditor.seen >= len(placed), "everything predicted or rejected", 240)
            value = metrics(event(successor, "listening")["port"])
            committed = {
                line["partition"]: line["committed"] for line in log_of(successor) if line["event"] == "restored"
            }
            for field in UNKNOWN:
                emitted = [change for (p, offset), change in placed.items() if offset >= committed[p]]
                wanted = sum(field in change.unknown for change in emitted)
                assert value("unknown_fields_total", field=field) == wanted > 0
            successor.terminate()
            assert successor.wait() == 0, successor.summary()
    auditor.require(scores_of(stream))
    assert auditor.rejected == reasons
    assert sorted(auditor.set_aside) == sorted((*place, reason) for place, reason in labels.items())
    require_records(kafka, prefix, placed)
    audited = driftway("audit", *usual, "--json", seconds=240)
    assert audited.code == 0, audited
    accounts = json.loads(audited.stdout)["partitions"]
    assert sum(account["predictions"] for account in accounts) == len(placed) - len(reasons)
    assert sum(account["rejections"] for account in accounts) == len(reasons)
    assert sum(account["set_aside"] for account in accounts) == len(labels)

"""An unusable label is set aside and its event is predicted: also after kills, and after an earlier version."""

from __future__ import annotations

import json
import signal
from typing import Any

import numpy as np
import pytest

from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.codec import encode_events
from tests.support.crash import CrashingDriftway
from tests.support.earlier_labels import EarlierDriftway
from tests.support.kafka import committed_offset, create_topic, produce, read_all, unique
from tests.support.process import driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

ROWS = 2000
BAD_EVENTS = dict.fromkeys(range(110, ROWS, 500), b"?")


def events(seed: int) -> list[bytes]:
    """Events of which every 40th has an invalid label, and some are entirely unusable."""
    X = np.random.default_rng(seed).normal(size=(ROWS, 3))
    values = encode_events(X, (X[:, 0] > 0).astype(float), 0)
    values[::40] = [value.replace(b'"y":0', b'"y":7').replace(b'"y":1', b'"y":"up"') for value in values[::40]]
    return [BAD_EVENTS.get(i, value) for i, value in enumerate(values)]


def outputs(kafka: str, prefix: str) -> tuple[list[int], list[int], list[int]]:
    """Input offsets of predictions, of rejections, and of labels set aside, in their order."""
    predicted = [json.loads(one.value or b"")["offset"] for one in read_all(kafka, f"{prefix}.predictions")]
    headers: list[dict[str, Any]] = [dict(one.headers) for one in read_all(kafka, f"{prefix}.rejected")]
    events = [int(one["offset"]) for one in headers if "set-aside" not in one]
    return predicted, events, [int(one["offset"]) for one in headers if one.get("set-aside") == b"label"]


@pytest.mark.parametrize("step", slow_but([Step.OFFSETS_SENT], [Step.OUTPUTS_PRODUCED, Step.OFFSETS_SENT]))
def test_each_event_is_predicted_or_rejected_once_and_the_audit_counts_the_labels(kafka: str, step: Step) -> None:
    topic, group = create_topic(kafka, unique("aside")), unique("group")
    values, fed = events(1), 0
    options = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "auto"
    with CrashingDriftway(step, 3, "worker", *options, "--commit-interval", "0.02") as worker:
        while not worker.ended and fed < ROWS:  # each piece is a commit of its own
            produce(kafka, topic, values[fed : fed + 200])
            fed += 200
            worker.await_condition(
                lambda end=fed: worker.ended or committed_offset(kafka, group, topic)[0] == end, "committed, or killed"
            )
        assert worker.wait() == -signal.SIGKILL, worker.summary()
    produce(kafka, topic, values[fed:])
    done = driftway("worker", *options, "--stop-at-end")
    assert done.code == 0, done
    predicted, rejected, labels = outputs(kafka, f"{topic}.{group}")
    assert rejected == list(BAD_EVENTS)
    assert labels == list(range(0, ROWS, 40))
    assert predicted == [i for i in range(ROWS) if i not in BAD_EVENTS]
    audited = driftway("audit", *options, "--json")
    assert audited.code == 0, audited
    (account,) = json.loads(audited.stdout)["partitions"]
    found = account["predictions"], account["rejections"], account["set_aside"], account["rejected"]
    assert found == (len(predicted), len(rejected), len(labels), {"not-json": len(rejected)})
    shown = driftway("audit", *options)
    assert "50 labels were set aside" in shown.stdout
    watched = driftway("watch", *options[:6], "--once")
    assert "rejected lately: not-json 4; labels set aside lately: label 50 (driftway rejected" in watched.stdout
    listed = driftway("rejected", *options[:6])
    assert "label: 50 (50 labels set aside)" in listed.stdout.splitlines()


@pytest.mark.slow
def test_a_group_of_an_earlier_version_continues_and_passes_the_audit(kafka: str) -> None:
    """That version rejected every such event. It is killed, so that the new version learns some of its rows again."""
    topic, group = create_topic(kafka, unique("earlier")), unique("group")
    values, half = events(2), ROWS // 2
    options = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "auto"
    produce(kafka, topic, values[: half - 300])
    with EarlierDriftway("worker", *options, "--snapshot-interval", "1000", "--snapshot-rows", "100000") as worker:
        worker.await_condition(lambda: committed_offset(kafka, group, topic)[0] == half - 300, "the first committed")
        produce(kafka, topic, values[half - 300 : half])
        worker.await_condition(lambda: committed_offset(kafka, group, topic)[0] == half, "the rest, without a snapshot")
        worker.kill()
    produce(kafka, topic, values[half:])
    for _ in range(2):  # from the earlier version's snapshot, and from its own
        done = driftway("worker", *options, "--stop-at-end")
        assert done.code == 0, done
    predicted, rejected, labels = outputs(kafka, f"{topic}.{group}")
    assert labels == list(range(half, ROWS, 40))
    assert rejected == sorted({*BAD_EVENTS, *range(0, half, 40)})
    assert sorted([*predicted, *rejected]) == list(range(ROWS))
    audited = driftway("audit", *options, "--json")
    assert audited.code == 0, audited
    (account,) = json.loads(audited.stdout)["partitions"]
    assert (account["set_aside"], account["unchecked"]) == (len(labels), [])
    for at in (half - 1, half + 41):
        shown = driftway("snapshot", "show", *options[:6], "--partition", "0", "--at", str(at))
        assert shown.code == 0, shown

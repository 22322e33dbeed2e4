"""Rejections are shown in the log, the summary and `driftway rejected`, which can send them again."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.worker.wire.codec import encode_events
from tests.support.kafka import create_topic, produce, read_all, unique
from tests.support.process import Finished, driftway

pytestmark = pytest.mark.broker


def events(n: int) -> list[bytes]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    return encode_events(X, (X[:, 0] > 0).astype(float), 0)


def worker(kafka: str, topic: str, group: str, *more: str) -> Finished:
    return driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end", *more)


def test_events_of_the_wrong_shape_are_reported_with_what_was_expected(kafka: str) -> None:
    """Once, 2,000 such events were rejected without a line in the log."""
    topic, group = create_topic(kafka, unique("shape")), unique("group")
    produce(kafka, topic, [b'{"user":%d,"amount":3.5}' % i for i in range(900)])
    done = worker(kafka, topic, group)
    assert done.code == 1, done
    lines = [line.split(" ", 1)[1] for line in done.stderr.splitlines()]
    first = next(line for line in lines if line.startswith("rejected kind="))
    assert first == f'rejected kind=no-x at={topic}/0@0 reason=no x example={{"user":0,"amount":3.5}}'
    nothing = next(line for line in lines if line.startswith("nothing usable "))
    assert 'expected={"x": [number, ..] or {"name": number, ..}, "y": 0 or 1 or null}' in nothing
    summary = next(line for line in lines if line.startswith("summary "))
    assert "rows=900" in summary
    assert "rejected=900" in summary
    assert "reasons=no-x 900" in summary
    assert len(lines) < 20, "not one line for each"
    produce(kafka, topic, events(1))
    assert worker(kafka, topic, group).code == 0
    where = ("--input", topic, "--group", group, "--bootstrap", kafka)
    audited = driftway("audit", *where)
    assert audited.code == 0, "each event has its rejection"
    assert "Rejected: no-x 900; driftway rejected shows them." in audited.stdout
    watched = driftway("watch", *where, "--once")
    assert "rejected lately: no-x 900" in watched.stdout


def test_kinds_of_rejections_are_listed_with_samples_and_selected_ones_sent_again(kafka: str) -> None:
    topic, group = create_topic(kafka, unique("again"), 2), unique("group")
    good = events(300)
    spoilt = [good[0], *(one.replace(b'"y":1', b'"y":"up"').replace(b'"y":0', b'"y":"down"') for one in good[1:])]
    produce(kafka, topic, spoilt, 0, [b"k%d" % i for i in range(300)])
    produce(kafka, topic, [good[0], b"?", b'{"a":1}', None], 1)
    assert worker(kafka, topic, group, "--rejected-headers", "kafka-streams").code == 0
    (found,) = (one for one in read_all(kafka, f"{topic}.{group}.rejected") if one.value == b"?")
    assert found.headers[-6:] == [
        ("__streams.errors.exception", b"driftway.RejectedEvent: not JSON"),
        ("__streams.errors.message", b"not JSON"),
        ("__streams.errors.stacktrace", b"driftway.RejectedEvent: not JSON"),
        ("__streams.errors.topic", topic.encode()),
        ("__streams.errors.partition", b"1"),
        ("__streams.errors.offset", b"1"),
    ]
    assert driftway("audit", *("--input", topic, "--group", group, "--bootstrap", kafka)).code == 0
    options = ("--input", topic, "--bootstrap", kafka)
    listed = driftway("rejected", *options)
    assert listed.code == 0, listed
    assert [line for line in listed.stdout.splitlines() if not line.startswith(" ")] == [
        "label: 299 (299 labels set aside)", "not-json: 1", "no-x: 1", "null: 1",
    ]  # fmt: skip
    report = json.loads(driftway("rejected", *options, "--kind", "label", "--samples", "3", "--json").stdout)
    assert list(report["kinds"]) == ["label"]
    assert report["kinds"]["label"]["count"] == report["kinds"]["label"]["labels_set_aside"] == 299
    assert [sample["offset"] for sample in report["kinds"]["label"]["samples"]] == [1, 2, 3]
    sent = driftway("rejected", *options, "--kind", "label", "--send-again")
    assert (sent.code, sent.stderr) == (0, "sent 299 events back to the topics they came from\n")
    again = read_all(kafka, topic)[-303:]
    back = [record for record in again if dict(record.headers).get("driftway-again")]
    assert [record.value for record in back] == spoilt[1:]
    assert [record.key for record in back] == [b"k%d" % i for i in range(1, 300)]
    assert {record.partition for record in back} == {0}
    assert dict(back[0].headers)["driftway-again"] == f"{topic}/0@1".encode()
    assert not any(name.startswith("__streams") for record in back for name, _ in record.headers)
    learned = worker(kafka, topic, unique("group"), "--labels", "down,up")
    assert learned.code == 0
    assert "rejected=" in learned.stderr


def test_nothing_is_sent_again_without_a_selection(kafka: str) -> None:
    topic, group = create_topic(kafka, unique("clean")), unique("group")
    produce(kafka, topic, events(50))
    assert worker(kafka, topic, group).code == 0
    done = driftway("rejected", "--input", topic, "--bootstrap", kafka, "--send-again")
    assert done.code == 2
    assert done.stderr.startswith("driftway: --send-again needs at least one --kind; ")
    done = driftway("rejected", "--input", topic, "--bootstrap", kafka)
    assert (done.code, done.stdout) == (0, f"nothing in {topic}.{group}.rejected\n")
    done = driftway("rejected", "--input", topic, "--bootstrap", kafka, "--kind", "missing")
    assert (done.code, done.stdout) == (0, f"nothing of kind missing in {topic}.{group}.rejected\n")
    done = driftway("rejected", "--input", topic, "--bootstrap", kafka, "--kind", "mising")
    assert done.code == 2
    assert "there is no kind 'mising'; there are " in done.stderr

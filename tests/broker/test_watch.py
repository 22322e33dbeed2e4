"""`driftway watch` and `driftway plot` on the outputs of a real worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from driftway.worker.errors import no_topic
from driftway.worker.wire.codec import read_json
from tests.support.kafka import create_topic, produce, read_all, unique
from tests.support.process import Driftway, driftway

pytestmark = pytest.mark.broker

LEARNERS = ("pa1", "arow")


@pytest.fixture(scope="module")
def learned(kafka: str) -> str:
    """An input of 2 x 1500 rows, read to its end by a worker with two learners."""
    topic = unique("watched")
    sent = driftway("replay", "sea:rows=3000", "--to", topic, "--partitions", "2", "--bootstrap", kafka)
    assert sent.code == 0, sent.stderr
    chosen = [word for learner in LEARNERS for word in ("--learner", learner)]
    options = ("--metric-window", "200", "--accuracy-every", "100", "--stop-at-end", "--bootstrap", kafka)
    done = driftway("worker", "--input", topic, "--group", topic, *chosen, *options)
    assert done.code == 0, done.stderr
    return topic


def once(kafka: str, topic: str) -> list[dict[str, Any]]:
    done = driftway("watch", "--input", topic, "--bootstrap", kafka, "--once", "--json")
    assert done.code == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_watch_once_json_has_the_newest_values_of_each_partition_and_learner(kafka: str, learned: str) -> None:
    """The lag counts records that are not processed yet."""
    rows = once(kafka, learned)
    assert [(row["partition"], row["learner"]) for row in rows] == [(p, name) for p in (0, 1) for name in LEARNERS]
    for row in rows:
        assert (row["offsets"], row["lag"], row["labels"], row["offset"]) == (1500, 0, 1500, 1499)
        assert 0.7 < row["window_accuracy"] <= 1
        assert row["accuracy"] > row["no_change_accuracy"]
        assert {"majority_accuracy", "kappa_temporal", "rows_per_second"} <= set(row)
    names = "precision,recall,auc,log-loss"
    asked = driftway("watch", "--input", learned, "--bootstrap", kafka, "--once", "--json", "--metric", names)
    for row in json.loads(asked.stdout):
        if row["learner"] != LEARNERS[0]:
            assert "window_auc" not in row
            continue
        predictions = [read_json(one.value or b"") for one in read_all(kafka, f"{learned}.{learned}.predictions")]
        last = [one for one in predictions if one["partition"] == row["partition"]][-1000:]
        hits = sum(one["prediction"] == one["y"] == 1 for one in last)
        assert row["window_precision"] == hits / sum(one["prediction"] == 1 for one in last)
        assert row["window_recall"] == hits / sum(one["y"] == 1 for one in last)
        assert row["window_auc"] > 0.8
        assert row["window_calibrated_log_loss"] > 0
    refused = driftway("watch", "--input", learned, "--bootstrap", kafka, "--once", "--metric", "fscore")
    assert refused.code == 2
    assert refused.stderr.startswith("driftway: there is no metric fscore; there are accuracy, auc, ")
    produce(kafka, learned, [b"{}"] * 7, partition=1)
    assert {row["partition"]: row["lag"] for row in once(kafka, learned)} == {0: 0, 1: 7}


def test_labels_that_came_after_the_last_event_are_no_lag(kafka: str, topic: str) -> None:
    create_topic(kafka, topic, 1)
    produce(kafka, topic, [b'{"id":%d,"x":[1,%d]}' % (i, i % 3) for i in range(20)])
    produce(kafka, topic, [b'{"id":%d,"y":%d}' % (i, i % 2) for i in range(20)])
    named = "--input", topic, "--group", "late", "--bootstrap", kafka
    assert driftway("worker", *named, "--label-wait", "100", "--stop-at-end").code == 0
    (row,) = json.loads(driftway("watch", *named, "--once", "--json").stdout)
    assert (row["offsets"], row["lag"]) == (40, 0)


def test_aborted_records_behind_the_last_event_are_no_lag(kafka: str, topic: str) -> None:
    """Each partition is looked at; a look that waits at the log's end would be too late for some of them."""
    partitions = 12
    create_topic(kafka, topic, partitions)
    for partition in range(partitions):
        produce(kafka, topic, [b'{"x":[1,%d],"y":%d}' % (i % 3, i % 2) for i in range(5)], partition=partition)
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for partition in range(partitions):
        producer.produce(topic, b"{}", partition=partition)
    producer.flush(30)
    producer.abort_transaction(30)
    named = "--input", topic, "--group", "aborts", "--bootstrap", kafka
    assert driftway("worker", *named, "--learner", "pa1", "--stop-at-end").code == 0
    rows = json.loads(driftway("watch", *named, "--once", "--json").stdout)
    assert [row["lag"] for row in rows] == [0] * partitions


def test_plain_lines_are_printed_until_stopped(kafka: str, learned: str) -> None:
    with Driftway("watch", "--input", learned, "--bootstrap", kafka, "--interval", "0.2", "--from", "start") as child:
        child.await_condition(lambda: child.stdout.count("partition 1  arow") >= 2, "two refreshes")
        child.terminate()
        assert child.wait(20) == 0
        assert "kappa-temporal" in child.stdout
        assert child.stderr == ""


def test_plot_draws_what_was_learned(kafka: str, learned: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, start in (("accuracy.svg", b"<?xml"), ("accuracy.html", b"<!doctype html>")):
        out = str(tmp_path / name)
        done = driftway("plot", "--input", learned, "--out", out, "--stream", "sea:rows=3000", "--bootstrap", kafka)
        assert done.code == 0, done.stderr
        assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("value", [b"junk", b'{"note":1}', b"[3]"])
def test_a_record_that_no_worker_wrote_is_reported_in_one_sentence(kafka: str, value: bytes, tmp_path: Path) -> None:
    """No worker runs: the names of the topics are sufficient."""
    topic = create_topic(kafka, unique("watched"))
    for kind in ("predictions", "accuracy", "rejected"):
        create_topic(kafka, f"{topic}.g.{kind}")
    produce(kafka, f"{topic}.g.accuracy", [value])
    place = ("--input", topic, "--group", "g", "--bootstrap", kafka)
    for command in (("watch", *place, "--once"), ("plot", *place, "--out", str(tmp_path / "plot.svg"))):
        done = driftway(*command)
        assert done.code == 1, done
        assert f"{topic}.g.accuracy/0 at 0 is not an accuracy point: " in done.stderr, done.stderr


def test_missing_topics_are_reported_in_one_sentence(kafka: str, topic: str) -> None:
    for command in (("watch",), ("plot", "--out", "unused.png")):
        done = driftway(*command, "--input", topic, "--bootstrap", kafka)
        assert (done.code, done.stderr) == (2, f"driftway: {no_topic(topic)}\n")
    create_topic(kafka, topic)
    done = driftway("watch", "--input", topic, "--bootstrap", kafka)
    assert done.code == 2
    assert done.stderr.startswith(f"driftway: no worker has run on {topic} yet, or this principal may not describe ")
    assert "--group" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unreachable_broker_ends_with_exit_code_5() -> None:
    done = driftway("watch", "--input", "EVENTS", "--bootstrap", "127.0.0.1:1", "--once")
    assert done.code == 5
    assert done.stderr.startswith("driftway: no Kafka broker answered")
    assert done.stderr.count("\n") == 1

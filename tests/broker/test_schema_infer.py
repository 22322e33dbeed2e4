"""`driftway schema infer` on a real topic."""

from __future__ import annotations

import json
import tomllib

import pytest
from confluent_kafka import Producer

from driftway.worker.admin.schema.topic import first_records
from driftway.worker.errors import no_topic
from tests.support.kafka import create_topic, produce, unique
from tests.support.process import Finished, driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker


def event(i: int) -> bytes:
    row = {"id": i, "amount": i * 7 % 31 / 2, "country": ["de", "fr", "it"][i % 3], "label": ["no", "yes"][i % 2]}
    return json.dumps({"before": None, "after": row, "op": "c", "ts_ms": 1_790_000_000_000 + i}).encode()


def infer(kafka: str, topic: str, *more: str) -> Finished:
    return driftway("schema", "infer", topic, "--bootstrap", kafka, *more)


@pytest.mark.parametrize("client", slow_but(["auto"], ["auto", "python"]))
def test_a_schema_is_inferred_from_all_partitions_of_a_topic(kafka: str, client: str) -> None:
    topic = create_topic(kafka, unique("infer"), 4)
    produce(kafka, topic, [event(i) for i in range(5)], 0)
    produce(kafka, topic, [event(i) for i in range(5, 505)], 1)
    produce(kafka, topic, [None, b"{", *(event(i) for i in range(505, 1003))], 3)
    done = infer(kafka, topic, "--rows", "205", "--client", client)
    assert done.code == 0, done
    table = tomllib.loads(done.stdout)["event"]
    assert table == {
        "envelope": "debezium",
        "label": "label",
        "id": "id",
        "time": "@envelope.ts_ms",
        "feature": ["amount", "country:one-of=de|fr|it"],
    }
    assert "# 205 events read, 2 of them no JSON object\n" in done.stdout
    assert "# rejected by this schema: 2: 1 null value; 1 not JSON\n" in done.stdout
    assert done.stdout.startswith('labels = "no,yes"\n[event]\n')
    assert "which become 4 columns" in done.stderr
    report = json.loads(infer(kafka, topic, "--json", "--client", client).stdout)
    assert report["events"]["seen"] == 1000
    assert report["events"]["read"] == 998


def test_a_topic_with_only_tombstones_is_refused_as_such(kafka: str) -> None:
    topic = create_topic(kafka, unique("infer"), 1)
    produce(kafka, topic, [None, None, None], 0)
    done = infer(kafka, topic)
    said = f"none of the 3 records that were read from {topic} has a value: all are tombstones; --rows N reads more"
    assert (done.code, done.stderr) == (1, f"driftway: {said}\n")


def test_a_label_that_no_event_has_may_have_a_topic_of_its_own(kafka: str) -> None:
    topic = create_topic(kafka, unique("infer"), 1)
    produce(kafka, topic, [json.dumps({"order": i, "amount": i * 7 % 31}).encode() for i in range(50)], 0)
    done = infer(kafka, topic, "--label", "returned", "--id", "order")
    assert done.code == 0, done
    assert "has the field returned; --rows N reads more; if labels have a topic of their own, " in done.stderr
    assert "give workers --label-topic and --labels\n" in done.stderr


def test_each_partition_contributes_equally_many_values_in_order(kafka: str) -> None:
    topic = create_topic(kafka, unique("infer"), 3)
    for partition, n in enumerate((40, 3, 50)):
        produce(kafka, topic, [b"%d/%d" % (partition, i) for i in range(n)], partition)
    first = [b"0/%d" % i for i in range(9)], [b"1/%d" % i for i in range(3)], [b"2/%d" % i for i in range(9)]
    sample = first_records(kafka, {}, "python", topic, 21)
    assert sample.values == [value for values in first for value in values]
    assert len(first_records(kafka, {}, "python", topic, 1).values) == 1
    assert len(first_records(kafka, {}, "python", topic, 1000).values) == 93


def test_what_rises_in_each_partition_is_a_counter_and_a_rising_time(kafka: str) -> None:
    topic = create_topic(kafka, unique("infer"), 3)
    for partition in range(3):
        numbers = range(partition, 900, 3)
        rows = [{"xid": 7 * i, "at": 1_790_000_000 + i, "amount": i * 7 % 31 / 2, "y": i % 2} for i in numbers]
        produce(kafka, topic, [json.dumps(row).encode() for row in rows], partition)
    done = infer(kafka, topic, "--rows", "600")
    assert done.code == 0, done
    table = tomllib.loads(done.stdout)["event"]
    assert table == {"label": "y", "time": "at:unit=s", "feature": ["at:time=hour|weekday,unit=s", "amount"]}
    assert '# left out: "xid" (whole number, increases with every event)' in done.stdout
    assert "# s since 1970, rising\n" in done.stdout


@pytest.mark.parametrize("client", slow_but(["auto"], ["auto", "python"]))
def test_attributes_of_cloud_events_are_read_from_headers(kafka: str, client: str) -> None:
    topic = create_topic(kafka, unique("infer"), 1)
    producer = Producer({"bootstrap.servers": kafka})
    for i in range(60):
        headers = {"ce_specversion": "1.0", "ce_id": f"e{i}", "ce_type": "ab"[i % 2], "ce_source": "/shop"}
        value = json.dumps({"amount": i * 7 % 31 / 2, "y": i % 2})
        producer.produce(topic, value, headers=list(headers.items()))
    producer.flush()
    done = infer(kafka, topic, "--client", client)
    assert done.code == 0, done
    table = tomllib.loads(done.stdout)["event"]
    assert table == {"label": "y", "id": "@header.ce_id", "feature": ["amount", "@header.ce_type:one-of=a|b"]}
    assert "rejected" not in done.stdout


def test_a_missing_topic_is_reported_in_one_sentence(kafka: str) -> None:
    empty = create_topic(kafka, unique("infer"), 2)
    done = infer(kafka, empty)
    assert (done.code, done.stdout, done.stderr) == (1, "", f"driftway: there is nothing in {empty} yet\n")
    done = infer(kafka, "nowhere-at-all")
    assert (done.code, done.stderr) == (
        2,
        f"driftway: {no_topic('nowhere-at-all')}; there is no file of that name, either\n",
    )

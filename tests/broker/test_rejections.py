"""No silent loss: a thousand unusable records among a hundred thousand good ones, on two partitions."""

from __future__ import annotations

import json
import math
import random
import struct
from collections import Counter

import numpy as np
import pytest

from driftway.worker.settings import AT_LEAST_ONCE, GUARANTEES
from driftway.worker.wire.codec import encode_events, read_json
from driftway.worker.wire.packed import encode_events as encode_packed
from tests.support.audit import Scores, expected_scores
from tests.support.kafka import admin, committed_offset, create_topic, produce, read_all
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

LEARNER = "dfop:mu=0.01"
PARTITIONS, GOOD, BAD = 2, 50_000, 500
LARGE = 900_000

Odd = tuple[bytes | None, str]
"""(record value, reason of its rejection)."""


def malformed(chance: random.Random) -> Odd:
    """Draw one of many kinds of unusable records, for d = 4."""
    n = chance.randrange(10**6)
    good = f"[{n},0.5,1e-3,-2]"
    kinds: list[tuple[bytes | None, str]] = [
        (None, "null value"),
        (b"", "not JSON: it is empty"),
        (b"%d,1,2,3" % n, "not JSON"),
        (f'{{"x":{good},"y":1'.encode(), "not JSON"),
        (f'{{"x":[NaN,{n},2,3],"y":1}}'.encode(), "not JSON: it has NaN or Infinity, which JSON does not have"),
        (f'{{"x":{good},"id":"'.encode() + b"\xff\xfe" + b'"}', "not JSON: its text is not UTF-8"),
        (b"[%d]" % n, "not a JSON object"),
        (b"%d" % n, "not a JSON object"),
        (b'{"id":%d}' % n, "no x"),
        (b'{"id":%d,"y":1}' % n, "late label: no event waits for one, see --label-wait"),
        (b'{"x":%d,"y":1}' % n, "x is neither a list nor an object"),
        (b'{"x":[%d,2,3],"y":1}' % n, "x has 3 features, expected 4"),
        (b'{"x":{"a":%d},"y":1}' % n, "x is an object, expected a list of 4 features"),
        (b'{"x":[1,2,"%d",4],"y":1}' % n, "x[2] is not a number"),
        (b'{"x":[1,null,%d,4],"y":1}' % n, "x[1] is not a number"),
        (f'{{"x":{good},"y":1,"id":'.encode() + b"[" * 300 + b"]" * 300 + b"}", "id is nested too deeply"),
        (encode_packed(np.array([[n, 1.0, 2.0, 3.0]]), np.array([1.0]))[0], "not JSON: its text is not UTF-8"),
    ]
    return chance.choice(kinds)


def packed_malformed(chance: random.Random) -> Odd:
    n = chance.randrange(10**6)
    row = struct.pack("<4d", n, 1, 2, 3)
    kinds: list[tuple[bytes | None, str]] = [
        (None, "null value"),
        (b"\x01", "packed: 1 bytes are less than its head"),
        (struct.pack("<BBd", 2, 8, 1.0) + row, "packed: version 2 is not 1"),
        (struct.pack("<BBd", 1, 2, 1.0) + row, "packed: 2 bytes per feature, expected 4 or 8"),
        (struct.pack("<BBd", 1, 8, 1.0) + row[:-1], "packed: 41 bytes are not a whole number of features"),
        (struct.pack("<BBd", 1, 8, 1.0) + row[:-8], "x has 3 features, expected 4"),
        (struct.pack("<BBd", 1, 8, 1.0) + struct.pack("<4d", n, math.nan, 2, 3), "x[1] is not finite"),
    ]
    return chance.choice(kinds)


class Mixed:
    """Records of a partition: a good row, which sets d, then good rows with bad records at random positions."""

    def __init__(self, chance: random.Random, seed: int, good: int, odd: list[Odd], packed: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(good, 4))
        self.y = (self.X[:, 0] + rng.normal(0, 0.5, good) > 0).astype(float)
        self.y[::29] = math.nan
        n = good + len(odd)
        self.bad = dict(zip(sorted(chance.sample(range(1, n), len(odd))), odd, strict=True))
        events = iter(encode_packed(self.X, self.y) if packed else encode_events(self.X, self.y, 0))
        self.values = [self.bad[offset][0] if offset in self.bad else next(events) for offset in range(n)]
        self.keys: list[bytes | None] = [None if o % 3 == 0 else b"key-%d" % o for o in range(n)]
        self.good = [offset for offset in range(n) if offset not in self.bad]


def fill_topic(kafka: str, topic: str, mixed: list[Mixed]) -> Scores:
    """Fill the topic; return the scores of an offline run over only the good rows, by partition and offset."""
    create_topic(kafka, topic, len(mixed))
    for partition, share in enumerate(mixed):
        produce(kafka, topic, share.values, partition, share.keys)
    bare = expected_scores(LEARNER, {p: (share.X, share.y) for p, share in enumerate(mixed)})
    return {(p, mixed[p].good[row]): score for (p, row), score in bare.items()}


def require_outputs(kafka: str, topic: str, group: str, mixed: list[Mixed], expected: Scores) -> None:
    """Check that bad records are in the rejected topic unchanged, with reasons, and good ones have offline scores."""
    stamps = {record[:2]: record for record in read_all(kafka, topic)}
    rejected = read_all(kafka, f"{topic}.{group}.rejected")
    assert [record.partition for record in rejected] == [p for p, share in enumerate(mixed) for _ in share.bad]
    expected_rejections = [(p, offset, *bad) for p, share in enumerate(mixed) for offset, bad in share.bad.items()]
    for record, (partition, offset, value, reason) in zip(rejected, expected_rejections, strict=True):
        headers = dict(record.headers)
        assert (headers["reason"] or b"").decode() == reason
        assert headers["topic"] == topic.encode()
        assert (headers["partition"], headers["offset"]) == (b"%d" % partition, b"%d" % offset)
        assert int(headers["timestamp"] or b"0") > 1_600_000_000_000
        assert record.value == value
        assert record.key == mixed[partition].keys[offset] == stamps[partition, offset].key
    found: Scores = {}
    for record in read_all(kafka, f"{topic}.{group}.predictions"):
        prediction = read_json(record.value or b"")
        place = prediction["partition"], prediction["offset"]
        assert place not in found
        assert record.partition == place[0]
        assert record.key == mixed[place[0]].keys[place[1]]
        found[place] = prediction["score"]
    assert found.keys() == expected.keys()
    assert found == expected


def test_a_thousand_malformed_records_are_rejected_and_change_no_score(kafka: str, topic: str, group: str) -> None:
    chance = random.Random(31)
    mixed = []
    for partition in range(PARTITIONS):
        odd = [malformed(chance) for _ in range(BAD)]
        odd[7] = b'{"x":"' + b"z" * LARGE + b'"}', "x is neither a list nor an object"
        odd[100] = json.dumps({"x": {"n" * LARGE: 1}}).encode(), "x is an object, expected a list of 4 features"
        odd[200] = b"\xff" * LARGE, "not JSON: its text is not UTF-8"
        mixed.append(Mixed(chance, partition, GOOD, odd))
    kinds = Counter(reason for share in mixed for _, reason in share.bad.values())
    assert len(kinds) >= 11
    expected = fill_topic(kafka, topic, mixed)
    done = driftway(
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", LEARNER, "--stop-at-end"
    )
    assert done.code == 0, done.stderr
    require_outputs(kafka, topic, group, mixed, expected)


def test_malformed_packed_records_are_rejected_and_change_no_score(kafka: str, topic: str, group: str) -> None:
    """The first rows have no label, as with delayed labels."""
    chance = random.Random(32)
    mixed = [Mixed(chance, 9, 5000, [packed_malformed(chance) for _ in range(300)], packed=True)]
    expected = fill_topic(kafka, topic, mixed)
    done = driftway(
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", LEARNER, "--stop-at-end",
        "--format", "packed",
    )  # fmt: skip
    assert done.code == 0, done.stderr
    require_outputs(kafka, topic, group, mixed, expected)


def test_very_long_feature_names_do_not_stop_the_worker(kafka: str, topic: str, group: str) -> None:
    """The names are in the reason, a header of the rejected record; the record must fit the message size."""
    create_topic(kafka, topic, 1)
    long = "n" * LARGE
    values = [b'{"x":{"a":1,"b":2},"y":1}', json.dumps({"x": {long: 1}}).encode(), b'{"x":{"b":4,"a":3},"y":0}']
    produce(kafka, topic, values)
    done = driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end")
    assert done.code == 0, done.stderr
    (record,) = read_all(kafka, f"{topic}.{group}.rejected")
    assert record.value == values[1]
    assert dict(record.headers)["reason"] == b"x lacks a, b and has unknown " + b"n" * 40 + b"..."
    offsets = [read_json(record.value or b"")["offset"] for record in read_all(kafka, f"{topic}.{group}.predictions")]
    assert offsets == [0, 2]


@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], GUARANTEES))
@pytest.mark.slow
def test_a_topic_with_only_bad_records_is_reported_and_nothing_is_committed(
    kafka: str, topic: str, group: str, guarantee: str
) -> None:
    create_topic(kafka, topic, 1)
    produce(kafka, topic, [None, b"?", b"{}"] * 50)
    options = "--input", topic, "--group", group, "--bootstrap", kafka, "--guarantee", guarantee
    for _ in range(2):
        done = driftway("worker", *options, "--stop-at-end")
        assert done.code == 1, done.stderr
        last = done.stderr.splitlines()[-1]
        assert last.startswith(
            f"driftway: all 150 events of {topic} were rejected (null 50, not-json 50, no-x 50), the "
        )
        assert f"first one {topic}/0@0: null value: null; expected" in last
        assert "`driftway schema infer" in last
        assert committed_offset(kafka, group, topic)[0] < 0
        assert guarantee == AT_LEAST_ONCE or read_all(kafka, f"{topic}.{group}.rejected") == []
    produce(kafka, topic, [b'{"x":[1,2],"y":1}'])
    done = driftway("worker", *options, "--stop-at-end")
    assert done.code == 0, done.stderr
    assert committed_offset(kafka, group, topic)[0] == 151
    assert guarantee == AT_LEAST_ONCE or len(read_all(kafka, f"{topic}.{group}.rejected")) == 150
    produce(kafka, topic, [b"?"] * 1500)  # it is no longer a new group
    done = driftway("worker", *options, "--stop-at-end")
    assert done.code == 0, done.stderr


@pytest.mark.slow
def test_a_thousand_rejections_over_all_partitions_stop_a_new_group(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 2)
    for partition in range(2):
        produce(kafka, topic, [b'{"amount":%d,"fraud":1}' % i for i in range(600)], partition)
    options = "--input", topic, "--group", group, "--bootstrap", kafka
    with Driftway("worker", *options) as worker:
        assert worker.wait(60) == 1, worker.summary()
        assert "events of " in worker.stderr.splitlines()[-1]
        assert "were rejected (no-x 1," in worker.stderr.splitlines()[-1]
    assert read_all(kafka, f"{topic}.{group}.rejected") == []
    done = driftway("worker", *options, "--feature", "amount", "--label", "fraud", "--stop-at-end")
    assert done.code == 0, done.stderr
    assert len(read_all(kafka, f"{topic}.{group}.predictions")) == 1200


@pytest.mark.slow
def test_rejections_of_a_slow_new_stream_are_committed(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 1)
    produce(kafka, topic, [b"?"] * 3)
    with Driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka) as worker:
        worker.await_condition(lambda: committed_offset(kafka, group, topic)[0] == 3, "the rejections committed")
        produce(kafka, topic, [b"?"] * 2000)
        worker.await_condition(lambda: committed_offset(kafka, group, topic)[0] == 2003, "the others too")
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    assert accounted(kafka, topic, group) == list(range(2003))


def set_topic(bootstrap: str, topic: str, name: str, value: str) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    client = admin(bootstrap)  # keep a reference: a collected client never answers
    client.incremental_alter_configs([resource])[resource].result(timeout=20)


def good_events(n: int = 3000, seed: int = 3) -> list[bytes | None]:
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return list(encode_events(X, (X[:, 0] > 0).astype(float), 0))


def accounted(kafka: str, topic: str, group: str) -> list[int]:
    """Input offsets of partition 0 that have a prediction or a rejection, sorted."""
    predicted = [read_json(record.value or b"")["offset"] for record in read_all(kafka, f"{topic}.{group}.predictions")]
    rejected = [int(dict(record.headers)["offset"] or b"") for record in read_all(kafka, f"{topic}.{group}.rejected")]
    return sorted(predicted + rejected)


def test_too_many_rejections_stop_the_worker_with_everything_committed(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 1)
    values = good_events()
    values[2000:2100] = [b"?"] * 100
    values[2200:2900] = [b'{"x":[1]}' if i % 2 else values[i] for i in range(2200, 2900)]
    produce(kafka, topic, values)
    arguments = (
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end",
        "--max-rejected", "0.25/400",
    )  # fmt: skip
    done = driftway(*arguments)
    assert done.code == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "driftway: partition 0: 101 of its last 400 events were rejected, more than --max-rejected 0.25/400 allows; "
        "the latest, at offset 2201: x has 1 features, expected 4"
    )
    committed, pointer = committed_offset(kafka, group, topic)
    assert committed > 2201
    assert pointer
    assert accounted(kafka, topic, group) == list(range(committed))
    produce(kafka, topic, good_events(500))
    done = driftway(*arguments[:-2])  # the worker resumes where it stopped
    assert done.code == 0, done.stderr
    assert accounted(kafka, topic, group) == list(range(3500))


@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], GUARANTEES))
def test_a_rejection_that_its_topic_refuses_is_not_skipped(kafka: str, topic: str, group: str, guarantee: str) -> None:
    create_topic(kafka, topic, 1)
    create_topic(kafka, f"{topic}.{group}.rejected", 1, max_message_bytes="20000")
    values = good_events()
    values[1500] = b"?" * 50_000
    arguments = (
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end", "--guarantee", guarantee,
    )  # fmt: skip
    produce(kafka, topic, values[:1000])
    assert driftway(*arguments).code == 0
    produce(kafka, topic, values[1000:])
    for _ in range(2):  # a restart does not help
        done = driftway(*arguments)
        assert done.code == 1, done.stderr
        assert "Traceback" not in done.stderr
        assert f"{topic}.{group}.rejected" in done.stderr.splitlines()[-1]
        assert committed_offset(kafka, group, topic)[0] <= 1500
        assert read_all(kafka, f"{topic}.{group}.rejected") == []
    set_topic(kafka, f"{topic}.{group}.rejected", "max.message.bytes", "100000")
    done = driftway(*arguments)
    assert done.code == 0, done.stderr
    found = accounted(kafka, topic, group)
    assert sorted(set(found)) == list(range(3000))
    assert guarantee == AT_LEAST_ONCE or len(found) == 3000


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_deleted_rejected_topic_is_created_again(kafka: str, topic: str, group: str, guarantee: str) -> None:
    create_topic(kafka, topic, 1)
    values = good_events(1000)
    produce(kafka, topic, values)
    with Driftway(
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--guarantee", guarantee,
        "--unavailable-timeout", "10",
    ) as worker:  # fmt: skip
        worker.await_condition(lambda: committed_offset(kafka, group, topic)[0] == 1000, "1000 rows committed")
        client = admin(kafka)
        client.delete_topics([f"{topic}.{group}.rejected"])[f"{topic}.{group}.rejected"].result(timeout=20)
        produce(kafka, topic, [values[0], b"?", values[1]])
        worker.await_condition(lambda: committed_offset(kafka, group, topic)[0] == 1003, "all rows committed")
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        assert f"created {topic}.{group}.rejected again: somebody had deleted it" in worker.stderr
    found = accounted(kafka, topic, group)
    assert sorted(set(found)) == list(range(1003))
    assert guarantee == AT_LEAST_ONCE or len(found) == 1003

"""Modes of `driftway replay` that need Kafka: partitions of messages, their visibility, and kills."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.messages import Encoding
from driftway.producers.poison import Poison
from driftway.producers.row_random import POISON, RowRandom
from driftway.producers.streams import open_stream
from driftway.worker.kafka.client_config import quiet
from driftway.worker.kafka.cluster import settings_of_topics
from tests.broker.test_replay import by_partition, expected_json, replay, report
from tests.support.kafka import create_topic, read_all, unique
from tests.support.process import Driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker


def ids(kafka: str, topic: str, committed: bool = True) -> list[int]:
    return [json.loads(record.value or b"")["id"] for record in read_all(kafka, topic, committed)]


def position(path: Path) -> int:
    return int(json.loads(path.read_text())["position"]) if path.exists() else 0


@pytest.mark.parametrize("key", slow_but([("--key", "x1")], [(), ("--key", "x1")]))
def test_a_poison_record_comes_before_its_row_in_the_same_partition(
    kafka: str, topic: str, key: tuple[str, ...]
) -> None:
    done = replay(kafka, topic, "sea:rows=3000", "--partitions", "3", "--poison", "0.1", "--seed", "7", *key)
    found = report(done)
    stream = open_stream("sea", rows=3000, seed=7)
    made = Poison(0.1, 7, stream, Encoding()).kinds
    draws, wanted = RowRandom(7, POISON, 2).uniforms(0, 3000), expected_json("sea", 3000, seed=7)
    poisoned = np.flatnonzero(draws[:, 0] < 0.1).tolist()
    assert (found["rows"], found["poison"]) == (3000, len(poisoned))
    before = {row: made[int(draws[row, 1] * len(made))](wanted[row]) for row in poisoned}
    shares = by_partition(read_all(kafka, topic))
    assert sum(map(len, shares.values())) == 3000 + len(poisoned)
    where = {record.value: record for records in shares.values() for record in records}
    for partition, records in shares.items():
        rows = [row for row in range(3000) if where[wanted[row]].partition == partition]
        if not key:
            assert rows == list(range(partition, 3000, 3))
        expected = [value for row in rows for value in ([before[row]] if row in before else []) + [wanted[row]]]
        assert [record.value for record in records] == expected


@pytest.mark.parametrize("more", slow_but([("--key", "x1")], [(), ("--key", "x1")]))
def test_an_explicit_partition_gets_all_rows(kafka: str, topic: str, more: tuple[str, ...]) -> None:
    report(replay(kafka, topic, "sea:rows=500", "--partitions", "3", "--partition", "2", *more))
    records = read_all(kafka, topic)
    assert [record.value for record in records] == expected_json("sea", 500)
    assert {record.partition for record in records} == {2}
    assert all((record.key is not None) == bool(more) for record in records)


def test_a_partition_that_does_not_exist_is_refused_and_no_topic_created(kafka: str, topic: str) -> None:
    done = replay(kafka, topic, "sea", "--partition", "1")
    assert done.code == 2
    assert done.stderr == f"driftway: topic {topic} has no partition 1: it has 1, counted from 0 (--partitions)\n"
    create_topic(kafka, topic, 3)
    assert replay(kafka, topic, "sea", "--partition", "3").code == 2
    assert read_all(kafka, topic) == []


def timestamps(kafka: str, topic: str) -> list[tuple[int, int]]:
    """(timestamp type, ms) of the records of partition 0."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(quiet({"bootstrap.servers": kafka, "group.id": "nobody"}))
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.timestamp() for message in consumer.consume(200, timeout=20)]
    finally:
        consumer.close()


@pytest.mark.parametrize("form", ["json", "packed"])
def test_records_have_the_timestamps_of_their_events(kafka: str, topic: str, tmp_path: Path, form: str) -> None:
    from confluent_kafka import TIMESTAMP_CREATE_TIME

    now = int(time.time() * 1000) - 100_000
    times = [now + 97 * i for i in range(200)]
    path = tmp_path / "trips.csv"
    path.write_text("v,at,y\n" + "".join(f"{i},{t},1\n" for i, t in enumerate(times)))
    timing = ("--time-column", "at", "--speed", "40", "--latency")
    found = report(replay(kafka, topic, str(path), *timing, "--format", form))
    assert timestamps(kafka, topic) == [(TIMESTAMP_CREATE_TIME, t) for t in times]
    assert found["seconds"] >= 199 * 97 / 40 / 1000  # type: ignore[operator]
    assert found["latency_ms"]["messages"] == 200  # type: ignore[index]
    if form == "json":
        assert [json.loads(record.value or b"")["t"] for record in read_all(kafka, topic)] == times


def test_a_topic_that_keeps_old_timestamps_is_created_and_another_is_warned_about(
    kafka: str, topic: str, tmp_path: Path
) -> None:
    """Kafka deletes records by their timestamps, those of a recording within minutes."""
    path, kept = tmp_path / "trips.csv", unique("kept")
    path.write_text("v,at,y\n" + "".join(f"{i},{831_427_200_000 + i},1\n" for i in range(20)))
    timing = ("--time-column", "at")
    done = replay(kafka, kept, str(path), *timing)
    assert (done.code, "delete" in done.stderr) == (0, False)
    assert settings_of_topics(kafka, {}, [kept])[kept]["retention.ms"] == "-1"
    create_topic(kafka, topic, 1, retention_ms="604800000")
    done = replay(kafka, topic, str(path), *timing)
    assert done.code == 0
    assert (
        "driftway: Kafka may delete these rows at once: their timestamps begin at 1996-05-07, and topic "
        f"{topic} keeps records for 7 d. `kafka-configs.sh --alter --entity-type topics --entity-name {topic} "
        "--add-config retention.ms=-1` keeps them\n"
    ) in done.stderr
    for config in ({"message_timestamp_type": "LogAppendTime"}, {"cleanup_policy": "compact"}):
        keeping = create_topic(kafka, unique("keeping"), 1, retention_ms="604800000", **config)
        assert "delete" not in replay(kafka, keeping, str(path), *timing, "--key", "v").stderr
    strict = create_topic(kafka, unique("strict"), 1, retention_ms="-1", message_timestamp_before_max_ms="60000")
    done = replay(kafka, strict, str(path), *timing)
    assert (done.code, "message.timestamp.before.max.ms" in done.stderr) == (1, True)


PACES = "sine:low=1000,high=20000,period=1", "burst:every=0.5,rows=4000"


@pytest.mark.parametrize("pace", slow_but(PACES[:1], PACES))
def test_latency_percentiles_are_ordered_and_include_every_message(kafka: str, topic: str, pace: str) -> None:
    poison = ("--poison", "0.01", "--partitions", "2")
    done = replay(kafka, topic, "sea:rows=15000", "--load-profile", pace, "--latency", *poison)
    found = report(done)
    latency = found["latency_ms"]
    assert isinstance(latency, dict)
    assert latency["messages"] == len(read_all(kafka, topic)) == 15_000 + found["poison"]  # type: ignore[operator]
    percentiles = [latency[name] for name in ("p50", "p95", "p99", "p99.9", "largest")]
    assert percentiles == sorted(percentiles)
    assert percentiles[0] > 0
    assert latency["largest"] >= found["late_seconds"] * 1000 * 0.999  # type: ignore[operator]
    assert "due to acknowledged in ms: p50 " in done.stderr


def test_failed_rows_are_counted_if_latency_is_measured(kafka: str, topic: str, tmp_path: Path) -> None:
    create_topic(kafka, topic, 1, max_message_bytes="600")
    path = tmp_path / "wide.csv"
    columns = ",".join(f"c{i}" for i in range(100))
    path.write_text(f"{columns},y\n" + "".join(",".join([f"{row}.123456789"] * 100) + ",0\n" for row in range(3)))
    done = replay(kafka, topic, str(path), "--rate", "100", "--latency")
    assert done.code == 1
    found = json.loads(done.stdout)
    assert (found["delivery_errors"], found["latency_ms"]["messages"]) == (3, 0)


def test_transactions_are_visible_completely_or_not_at_all(kafka: str, topic: str) -> None:
    create_topic(kafka, topic, 2)
    name = unique("loader")

    def sent() -> int:
        return len(read_all(kafka, topic, committed=False))

    def inside_a_transaction(child: Driftway) -> bool:
        """Freeze the child and check; on a slow machine it would otherwise commit before the kill."""
        time.sleep(1.03)  # the backlog after a freeze is sent in full transactions
        child.freeze()
        if sent() % 300:
            return True
        child.thaw()
        return False

    arguments = ("sea", "--rate", "1000", "--transactional-id", f"{name}:300", "--bootstrap", kafka, "--to", topic)
    with Driftway("replay", *arguments) as child:
        child.await_condition(lambda: sent() > 1000, "rows of a fourth transaction")
        child.await_condition(lambda: inside_a_transaction(child), "a partly sent transaction")
        child.kill()
    # The next owner of the id aborts the open transaction of the killed one.
    found = report(replay(kafka, topic, "sea:rows=50", "--skip", "49", "--transactional-id", name))
    assert found["rows"] == 1
    seen = [json.loads(record.value or b"")["id"] for record in read_all(kafka, topic)]
    seen.remove(49)
    complete = len(seen) // 300
    assert sorted(seen) == list(range(300 * complete))
    assert complete >= 3
    assert len(read_all(kafka, topic, committed=False)) > len(seen) + 1


def test_a_transactional_replay_delivers_all_rows_in_order(kafka: str, topic: str) -> None:
    found = report(
        replay(kafka, topic, "sea:rows=20001", "--partitions", "3", "--transactional-id", f"{unique('l')}:999")
    )
    assert found["rows"] == 20_001
    wanted = expected_json("sea", 20_001)
    assert {p: [r.value for r in rs] for p, rs in by_partition(read_all(kafka, topic)).items()} == {
        p: wanted[p::3] for p in range(3)
    }


def test_a_transaction_with_a_failed_row_is_aborted_completely(kafka: str, topic: str, tmp_path: Path) -> None:
    create_topic(kafka, topic, 1, max_message_bytes="1200")  # size of a compressed batch
    path = tmp_path / "wide.csv"
    columns = ",".join(f"c{i}" for i in range(300))
    plain, random = ",".join(["1"] * 300), ",".join(map(repr, np.random.default_rng(1).uniform(size=300).tolist()))
    path.write_text(f"{columns},y\n" + f"{plain},0\n" * 50 + f"{random},0\n" + f"{plain},0\n" * 9)
    kept = tmp_path / "position.json"
    way = ("--transactional-id", f"{unique('l')}:20", "--resume", str(kept), "-X", "compression.type=gzip")
    done = replay(kafka, topic, str(path), *way)
    assert done.code == 1
    found = json.loads(done.stdout)
    assert found["delivery_errors"] == 20
    assert "too large" in found["first_error"]
    assert ids(kafka, topic) == list(range(40))
    assert position(kept) == 40


@pytest.mark.parametrize("transaction", [False, True], ids=["at least once", "exactly once"])
def test_a_killed_replay_continues_where_delivery_ended(
    kafka: str, topic: str, tmp_path: Path, transaction: bool
) -> None:
    create_topic(kafka, topic, 2)
    kept = tmp_path / "position.json"
    more = ("--transactional-id", f"{unique('loader')}:600") if transaction else ()
    same = ("sea:rows=12000", "--shuffle", "--resume", str(kept), *more)
    for number in (1, 2):
        with Driftway("replay", *same, "--rate", "2500", "--bootstrap", kafka, "--to", topic) as child:
            child.await_condition(lambda goal=2000 * number: position(kept) > goal, "a stored position")
            child.kill()
    reached = position(kept)
    found = report(replay(kafka, topic, *same))
    seen = ids(kafka, topic)
    assert set(seen) == set(range(12_000)), "nothing is lost"
    assert found["first_id"] >= reached  # type: ignore[operator]
    assert found["next_id"] == position(kept) == 12_000
    if transaction:
        assert len(seen) == 12_000, "nothing is repeated"
    else:
        assert found["first_id"] == reached
    again = report(replay(kafka, topic, *same))
    assert again["rows"] == 0
    assert len(ids(kafka, topic)) == len(seen)
    other = replay(kafka, topic, "sea:rows=12001", "--shuffle", "--resume", str(kept), *more)
    assert other.code == 2
    assert 'belongs to a replay with stream "sea:rows=12000", not "sea:rows=12001"' in other.stderr


def test_a_transactional_replay_reads_its_position_from_the_transaction_not_the_file(
    kafka: str, topic: str, tmp_path: Path
) -> None:
    """After a crash between the commit and the write of the file, the file is older than the commit."""
    kept = tmp_path / "position.json"
    same = ("sea:rows=1000", "--transactional-id", f"{unique('loader')}:100", "--resume", str(kept))
    report(replay(kafka, topic, *same, "--limit", "500"))
    content = json.loads(kept.read_text())
    assert content["position"] == 500
    kept.write_text(json.dumps({**content, "position": 100}))
    assert report(replay(kafka, topic, *same, "--limit", "500"))["rows"] == 0
    kept.write_text(json.dumps({**content, "position": 100, "run": "another"}))
    assert report(replay(kafka, topic, *same, "--limit", "500"))["rows"] == 400


def test_an_interrupted_replay_keeps_its_last_position(kafka: str, topic: str, tmp_path: Path) -> None:
    kept = tmp_path / "position.json"
    same = ("sea:rows=100000", "--resume", str(kept), "--rate", "3000")
    with Driftway("replay", *same, "--bootstrap", kafka, "--to", topic, "--json") as child:
        child.await_condition(lambda: position(kept) > 0, "a first position")
        child.terminate()
        assert child.wait() == 143
        found = json.loads(child.stdout)
    assert position(kept) == found["next_id"] == found["rows"]
    assert ids(kafka, topic) == list(range(found["rows"]))


def test_a_second_replay_of_the_same_transactional_id_fences_the_first(kafka: str, topic: str, tmp_path: Path) -> None:
    create_topic(kafka, topic, 1)
    name, kept = unique("loader"), tmp_path / "position.json"
    way = ("--rate", "200", "--transactional-id", f"{name}:50", "--resume", str(kept))
    with Driftway("replay", "sea", *way, "--bootstrap", kafka, "--to", topic) as child:
        child.await_condition(lambda: position(kept) > 0, "a first transaction")
        report(replay(kafka, topic, "sea:rows=50", "--transactional-id", name))
        assert child.wait() == 3
        assert f"another replay has taken over the transactional id {name}" in child.stderr
        assert "Traceback" not in child.stderr

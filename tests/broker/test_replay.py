"""`driftway replay` against a real Kafka: content, partition, order and rate of messages, and failures."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.wire import packed
from driftway.worker.wire.codec import encode_events
from tests.support.kafka import Record, create_topic, read_all
from tests.support.process import Driftway, Finished, driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker


@pytest.fixture(params=slow_but(["native"], ["python", "native"]))
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The Kafka client that the replay uses."""
    monkeypatch.setenv("DRIFTWAY_CLIENT", request.param)
    return str(request.param)


def replay(kafka: str, topic: str, *arguments: str) -> Finished:
    return driftway("replay", *arguments, "--bootstrap", kafka, "--to", topic, "--json")


def report(done: Finished) -> dict[str, object]:
    assert done.code == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    assert found["delivery_errors"] == 0
    return found


def by_partition(records: list[Record]) -> dict[int, list[Record]]:
    shares = defaultdict(list)
    for record in records:
        shares[record.partition].append(record)
    return dict(shares)


def expected_json(name: str, rows: int, seed: int = 1) -> list[bytes]:
    values: list[bytes] = []
    for X, y in open_stream(name, rows=rows, seed=seed).blocks(97):
        values += encode_events(X, y, len(values))
    return values


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("rate", [(), ("--rate", "20000")])
def test_row_i_arrives_in_partition_i_mod_n_in_order_with_the_expected_bytes(
    kafka: str, topic: str, rate: tuple[str, ...]
) -> None:
    done = replay(kafka, topic, "sea:rows=20001", "--partitions", "3", "--seed", "5", *rate)
    found = report(done)
    assert found["rows"] == 20_001
    assert found["client"] == os.environ["DRIFTWAY_CLIENT"]
    wanted = expected_json("sea", 20_001, seed=5)
    shares = by_partition(read_all(kafka, topic))
    assert {p: [r.value for r in records] for p, records in shares.items()} == {p: wanted[p::3] for p in range(3)}
    assert {record.key for records in shares.values() for record in records} == {None}


@pytest.mark.usefixtures("client")
def test_packed_events_arrive_packed(kafka: str, topic: str) -> None:
    report(replay(kafka, topic, "sea:rows=500", "--format", "packed"))
    block = next(iter(open_stream("sea", rows=500).blocks()))
    assert [record.value for record in read_all(kafka, topic)] == packed.encode_events(block.X, block.y)


def test_limit_and_skip_continue_where_the_first_run_stopped_exactly(kafka: str, topic: str) -> None:
    sent = report(replay(kafka, topic, "sea:rows=1000", "--partitions", "3", "--limit", "400"))
    assert (sent["rows"], sent["next_id"]) == (400, 400)
    report(replay(kafka, topic, "sea:rows=1000", "--skip", "400"))  # the topic keeps its partitions
    wanted = expected_json("sea", 1000)
    for partition, records in by_partition(read_all(kafka, topic)).items():
        assert [record.value for record in records] == wanted[partition::3]


@pytest.mark.usefixtures("client")
def test_loop_continues_ids_and_repeats_rows(kafka: str, topic: str) -> None:
    assert report(replay(kafka, topic, "sea:rows=1001", "--loop", "3"))["next_id"] == 3003
    events = [json.loads(record.value or b"") for record in read_all(kafka, topic)]
    assert [event["id"] for event in events] == list(range(3003))
    once = [(event["x"], event["y"]) for event in events[:1001]]
    assert [(event["x"], event["y"]) for event in events] == once * 3


def test_loop_without_a_number_continues_until_the_limit(kafka: str, topic: str) -> None:
    assert report(replay(kafka, topic, "sea:rows=100", "--limit", "2550", "--loop"))["rows"] == 2550


def murmur2(data: bytes) -> int:
    """Kafka's Java murmur2, from its definition; the reference for partitions of keys."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = (0x9747B28C ^ len(data)) & mask
    for at in range(0, len(data) - len(data) % 4, 4):
        k = (int.from_bytes(data[at : at + 4], "little") * m) & mask
        k = ((k ^ (k >> 24)) * m) & mask
        h = ((h * m) & mask) ^ k
    tail = data[len(data) - len(data) % 4 :]
    if tail:
        h = ((h ^ int.from_bytes(tail, "little")) * m) & mask
    h = ((h ^ (h >> 13)) * m) & mask
    return h ^ (h >> 15)


@pytest.mark.usefixtures("client")
def test_a_key_is_the_columns_text_and_its_hash_selects_the_partition(kafka: str, topic: str, tmp_path: Path) -> None:
    keys = np.random.default_rng(1).integers(0, 50, 3000)
    path = tmp_path / "shop.csv"
    path.write_text("customer,v,bought\n" + "".join(f"{k},{i},{k % 2}\n" for i, k in enumerate(keys)))
    report(replay(kafka, topic, str(path), "--label", "bought", "--key", "customer", "--partitions", "4"))
    records = read_all(kafka, topic)
    assert len(records) == 3000
    assert len({record.partition for record in records}) == 4
    for records_of_one in by_partition(records).values():
        ids = [json.loads(record.value or b"")["id"] for record in records_of_one]
        assert ids == sorted(ids)
    for record in records:
        event = json.loads(record.value or b"")
        assert record.key == str(int(event["x"][0])).encode()
        assert record.partition == (murmur2(record.key) & 0x7FFFFFFF) % 4


@pytest.mark.slow  # needs a machine without other load
@pytest.mark.parametrize(("rate", "rows"), [(1000, 3000), (10_000, 40_000), (50_000, 200_000)])
def test_the_rate_is_kept_within_one_percent(kafka: str, topic: str, rate: int, rows: int) -> None:
    sent = report(replay(kafka, topic, f"hyperplane_staged:d=8,rows={rows}", "--rate", str(rate)))
    assert sent["rows"] == rows
    assert sent["rate"] == pytest.approx(rate, rel=0.01)


@pytest.mark.usefixtures("client")
def test_more_rows_than_the_queue_holds_arrive_once_and_in_order(kafka: str, topic: str) -> None:
    rows = 400_000  # three times the size of the client's queue
    report(replay(kafka, topic, f"sea:rows={rows}", "--format", "packed", "--partitions", "2"))
    stream = open_stream("sea", rows=rows)
    wanted = [value for X, y in stream.blocks() for value in packed.encode_events(X, y)]
    shares = by_partition(read_all(kafka, topic))
    assert all([r.value for r in shares[p]] == wanted[p::2] for p in range(2))


@pytest.mark.usefixtures("client")
def test_a_failed_delivery_is_counted_and_ends_with_exit_code_1(kafka: str, topic: str, tmp_path: Path) -> None:
    """The client accepts the rows but the broker rejects them; only delivery reports reveal it."""
    create_topic(kafka, topic, 1, max_message_bytes="600")
    path = tmp_path / "wide.csv"
    columns = [f"c{i}" for i in range(100)]
    rows = "".join(",".join([f"{row}.123456789"] * 100) + ",0\n" for row in range(3))
    path.write_text(",".join(columns) + ",y\n" + rows)
    done = replay(kafka, topic, str(path))
    assert done.code == 1
    found = json.loads(done.stdout)
    assert (found["rows"], found["delivery_errors"]) == (3, 3)
    assert "too large" in found["first_error"]
    assert "3 delivery errors (first: " in done.stderr
    assert read_all(kafka, topic) == []


@pytest.mark.usefixtures("client")
def test_a_row_that_the_client_refuses_is_counted_too(kafka: str, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    columns = ",".join(f"c{i}" for i in range(300))
    wide, narrow = ",".join(["0.123456789012345"] * 300), ",".join(["1"] * 300)
    path.write_text(f"{columns},y\n{narrow},0\n{wide},0\n{narrow},1\n")
    done = replay(kafka, topic, str(path), "-X", "message.max.bytes=3000")
    assert done.code == 1
    assert json.loads(done.stdout)["delivery_errors"] == 1
    assert [json.loads(record.value or b"")["id"] for record in read_all(kafka, topic)] == [0, 2]


def test_another_partition_count_is_refused_in_one_sentence(kafka: str, topic: str) -> None:
    create_topic(kafka, topic, 3)
    done = replay(kafka, topic, "sea", "--partitions", "2")
    assert done.code == 2
    assert done.stderr == f"driftway: topic {topic} has 3 partitions, not 2\n"
    assert read_all(kafka, topic) == []


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("number", slow_but([signal.SIGINT], [signal.SIGINT, signal.SIGTERM]))
def test_an_interrupted_replay_delivers_and_reports_what_it_queued(
    kafka: str, topic: str, number: signal.Signals
) -> None:
    create_topic(kafka, topic, 2)
    arguments = ("replay", "sea", "--loop", "--rate", "2000", "--bootstrap", kafka, "--to", topic, "--json")
    with Driftway(*arguments) as child:
        child.await_condition(lambda: read_all(kafka, topic), "a first record")
        with contextlib.suppress(ProcessLookupError):
            child.process.send_signal(number)
        assert child.wait() == 128 + number
        found = json.loads(child.stdout)
    assert found["stopped"] is True
    assert found["delivery_errors"] == 0
    ids = sorted(json.loads(record.value or b"")["id"] for record in read_all(kafka, topic))
    assert ids == list(range(found["rows"]))


def test_a_replay_without_a_broker_ends_with_exit_code_5() -> None:
    done = driftway("replay", "sea", "--bootstrap", "127.0.0.1:1")
    assert done.code == 5
    assert done.stderr.count("\n") == 1
    assert "no Kafka broker answered at 127.0.0.1:1" in done.stderr

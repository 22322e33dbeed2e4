"""`driftway replay --label-topic` against a real Kafka: both topics have exactly the expected records."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.row_random import LABELS, RowRandom
from driftway.producers.streams import open_stream
from driftway.worker.wire.codec import encode_events
from tests.broker.test_replay import by_partition, murmur2, replay, report
from tests.broker.test_replay_modes import position
from tests.support.kafka import Record, admin, create_topic, read_all, unique
from tests.support.process import Driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker


@pytest.fixture(params=slow_but(["native"], ["python", "native"]))
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The Kafka client that the replay uses."""
    monkeypatch.setenv("DRIFTWAY_CLIENT", request.param)
    return str(request.param)


@pytest.fixture
def labels() -> str:
    return unique("labels")


def sea_in_laps(rows: int, laps: int, withheld: float = 0.0) -> tuple[list[bytes], dict[int, int]]:
    """Messages of the rows, and the labels that are not withheld."""
    (block,) = open_stream("sea", rows=rows).blocks()
    X, y = np.tile(block.X, (laps, 1)), np.tile(block.y, laps)
    kept = RowRandom(1, LABELS, 1).uniforms(0, rows * laps)[:, 0] >= withheld
    values = encode_events(X, np.full(len(y), np.nan), 0)
    return values, {row: int(y[row]) for row in np.flatnonzero(kept).tolist()}


def values(records: list[Record]) -> dict[int, list[bytes | None]]:
    return {partition: [record.value for record in share] for partition, share in by_partition(records).items()}


def label(row: int, y: int) -> bytes:
    return b'{"id":%d,"y":%d}' % (row, y)


@pytest.mark.parametrize("pace", slow_but([()], [(), ("--rate", "20000")]), ids=["at once", "paced"])
def test_labels_are_sent_to_the_partitions_of_their_rows(
    kafka: str, topic: str, labels: str, client: str, pace: tuple[str, ...]
) -> None:
    late = ("--label-delay", "37", "--label-topic", labels, "--missing-labels", "0.2")
    done = replay(kafka, topic, "sea:rows=700", "--loop", "2", "--partitions", "3", *late, *pace)
    found = report(done)
    rows, known = sea_in_laps(700, 2, 0.2)
    assert values(read_all(kafka, topic)) == {p: rows[p::3] for p in range(3)}
    due = [row for row in known if row + 37 < 1400]
    assert values(read_all(kafka, labels)) == {
        p: [label(row, known[row]) for row in due if row % 3 == p] for p in range(3)
    }
    counts = [found[name] for name in ("rows", "poison", "labels_withheld", "delayed_labels", "waiting_labels")]
    assert counts == [1400, 0, 1400 - len(known), len(due), len(known) - len(due)]
    assert (found["client"], found["label_topic"]) == (client, labels)


@pytest.mark.usefixtures("client")
def test_labels_have_the_keys_of_their_rows_and_are_sent_at_the_time_in_a_column(
    kafka: str, topic: str, labels: str, tmp_path: Path
) -> None:
    draw = np.random.default_rng(2)
    customers, waits = draw.integers(0, 30, 900).tolist(), draw.integers(0, 200, 900).tolist()
    path = tmp_path / "shop.csv"
    lines = (f"{customers[i]},{waits[i]},{i}.5,{i % 2}\n" for i in range(900))
    path.write_text("customer,wait,v,bought\n" + "".join(lines))
    late = ("--label-delay", "column:wait", "--label-topic", labels)
    report(replay(kafka, topic, str(path), "--label", "bought", "--key", "customer", "--partitions", "4", *late))
    keys = [str(customer).encode() for customer in customers]
    where = [(murmur2(key) & 0x7FFFFFFF) % 4 for key in keys]
    events = [b'{"id":%d,"x":[%.1f,%d.5],"y":null}' % (i, customers[i], i) for i in range(900)]
    in_time = sorted((i + waits[i], i) for i in range(900) if i + waits[i] < 900)
    for name, ids, written in (
        (topic, range(900), events),
        (labels, [i for _, i in in_time], [label(i, i % 2) for i in range(900)]),
    ):
        assert {
            partition: [(record.key, record.value) for record in share]
            for partition, share in by_partition(read_all(kafka, name)).items()
        } == {p: [(keys[i], written[i]) for i in ids if where[i] == p] for p in range(4)}


def test_latency_includes_labels_and_one_partition_may_have_all_of_them(kafka: str, topic: str, labels: str) -> None:
    late = ("--label-delay", "9", "--label-topic", labels, "--rate", "20000", "--latency")
    found = report(replay(kafka, topic, "sea:rows=300", "--partitions", "2", "--partition", "1", *late))
    assert found["latency_ms"]["messages"] == 300 + 291  # type: ignore[index]
    rows, known = sea_in_laps(300, 1)
    assert values(read_all(kafka, topic)) == {1: rows}
    assert values(read_all(kafka, labels)) == {1: [label(row, known[row]) for row in range(291)]}


def test_a_label_topic_with_another_number_of_partitions_is_refused(kafka: str, topic: str, labels: str) -> None:
    create_topic(kafka, labels, 2)
    done = replay(kafka, topic, "sea", "--partitions", "3", "--label-delay", "5", "--label-topic", labels)
    assert done.code == 2
    assert done.stderr == (
        f"driftway: topic {labels} has 2 partitions, but {topic} has 3: "
        "labels go to the partition of their row, so both need the same number (--partitions)\n"
    )
    assert topic not in admin(kafka).list_topics(timeout=10).topics
    done = replay(kafka, topic, "sea:rows=9", "--partitions", "2", "--label-delay", "5", "--label-topic", labels)
    assert report(done)["delayed_labels"] == len(read_all(kafka, labels)) == 4


def test_a_resumed_replay_repeats_in_both_topics_from_one_row_on(
    kafka: str, topic: str, labels: str, tmp_path: Path
) -> None:
    """As after a crash, the position in the file is older than the delivered messages."""
    kept = tmp_path / "position.json"
    late = ("--label-delay", "37", "--label-topic", labels)
    same = ("sea:rows=400", "--resume", str(kept), "--partitions", "2", *late)
    report(replay(kafka, topic, *same))
    content = json.loads(kept.read_text())
    assert content["position"] == 400
    kept.write_text(json.dumps({**content, "position": 250}))
    again = report(replay(kafka, topic, *same))
    assert [again[name] for name in ("rows", "delayed_labels", "waiting_labels")] == [150, 150, 37]
    rows, known = sea_in_laps(400, 1)
    sent, due = [*range(400), *range(250, 400)], [*range(363), *range(250 - 37, 363)]
    assert values(read_all(kafka, topic)) == {p: [rows[row] for row in sent if row % 2 == p] for p in range(2)}
    assert values(read_all(kafka, labels)) == {
        p: [label(row, known[row]) for row in due if row % 2 == p] for p in range(2)
    }
    other = replay(kafka, topic, *same, "--label-delay", "38")
    assert other.code == 2
    assert 'belongs to a replay with label-delay "37", not "38"' in other.stderr


def test_a_killed_transactional_replay_continues_exactly_once_in_both_topics(
    kafka: str, topic: str, labels: str, tmp_path: Path
) -> None:
    kept = tmp_path / "position.json"
    late = ("--label-delay", "137", "--label-topic", labels)
    same = ("sea:rows=3000", "--resume", str(kept), "--transactional-id", f"{unique('loader')}:50", *late)
    with Driftway("replay", *same, "--rate", "500", "--bootstrap", kafka, "--to", topic) as child:
        child.await_condition(lambda: position(kept) >= 150, "a third transaction")
        child.kill()
    found = report(replay(kafka, topic, *same))
    assert 150 <= found["first_id"] < found["next_id"] == 3000  # type: ignore[operator]
    rows, known = sea_in_laps(3000, 1)
    assert values(read_all(kafka, topic)) == {0: rows}
    assert values(read_all(kafka, labels)) == {0: [label(row, known[row]) for row in range(3000 - 137)]}


def test_labels_of_an_aborted_transaction_are_not_visible(kafka: str, topic: str, labels: str, tmp_path: Path) -> None:
    create_topic(kafka, topic, 1, max_message_bytes="1200")  # size of a compressed batch
    path = tmp_path / "wide.csv"
    columns = ",".join(f"c{i}" for i in range(300))
    plain, random = ",".join(["1"] * 300), ",".join(map(repr, np.random.default_rng(1).uniform(size=300).tolist()))
    path.write_text(f"{columns},y\n" + f"{plain},0\n" * 50 + f"{random},0\n" + f"{plain},0\n" * 9)
    way = ("--transactional-id", f"{unique('l')}:20", "-X", "compression.type=gzip")
    done = replay(kafka, topic, str(path), "--label-delay", "5", "--label-topic", labels, *way)
    assert done.code == 1
    assert json.loads(done.stdout)["delivery_errors"] == 40
    assert len(read_all(kafka, topic)) == 40
    assert [record.value for record in read_all(kafka, labels)] == [label(row, 0) for row in range(35)]

"""Reproducible predictions of user-defined events: a worker that reads a file's rows from a topic by a schema, and
`driftway evaluate` of the same file with the same options, compute the same bits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from driftway.worker.state import model_file
from driftway.worker.wire.codec import read_json
from tests.support.audit import Scores, bits, placed_score
from tests.support.kafka import read_all, unique
from tests.support.process import driftway

pytestmark = pytest.mark.broker

ROWS, PARTITIONS = 3000, 2
SCHEMA = (
    "--feature", "amount", "--feature", "visits", "--feature", "member", "--feature", "country:one-of=de|fr|*",
    "--feature", "shop:hash=8", "--feature", "when:time=hour-circle|weekday|age", "--time", "sent",
    "--label", "bought", "--labels", "no,yes", "--missing-indicators",
)  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A CSV file with text, times, booleans and numbers, some missing, some invalid."""
    chosen = random.Random(20)
    lines = ["id,when,sent,country,shop,amount,visits,member,bought"]
    for i in range(ROWS):
        amount, visits, member = chosen.gauss(50, 20), chosen.randrange(10), chosen.random() < 0.5
        word = "yes" if amount + 5 * visits + 20 * member > 80 else "no"
        day, hour = 1 + i // 150, i % 24
        row = [
            str(i),
            "" if chosen.random() < 0.1 else f"2026-11-{day:02d} {hour:02d}:{i % 60:02d}:00",
            f"2026-11-{day:02d}T23:59:59Z",
            chosen.choice(["de", "fr", "us", "NA"]),
            f'"shop {chosen.randrange(40)}, street"',
            "much" if i % 500 == 7 else "" if chosen.random() < 0.2 else f"{amount:.4f}",
            "" if chosen.random() < 0.1 else str(visits),
            str(member),
            "maybe" if i % 700 == 3 else "" if chosen.random() < 0.1 else word,
        ]
        lines.append(",".join(row))
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def worker_scores(kafka: str, topic: str, *options: str) -> tuple[Scores, int]:
    """Scores of a worker with these options on a topic, and how many events it rejects."""
    group = unique("group")
    done = driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end", *options)
    assert done.code == 0, done
    found = [placed_score(record.value or b"") for record in read_all(kafka, f"{topic}.{group}.predictions")]
    unused = [dict(record.headers) for record in read_all(kafka, f"{topic}.{group}.rejected")]
    return dict(found), sum("set-aside" not in headers for headers in unused)


def evaluated_scores(path: Path, tmp_path: Path, *options: str, partitions: int = PARTITIONS) -> tuple[Scores, int]:
    """The same for an evaluation, which distributes rows over partitions as a replay does."""
    out = tmp_path / "scores.jsonl"
    words = "--partitions", str(partitions), "--scores", str(out), "--json"
    done = driftway("evaluate", str(path), *words, *options)
    assert done.code == 0, done
    lines = [read_json(line) for line in out.read_bytes().splitlines()]
    scores = {(line["row"] % partitions, line["row"] // partitions): line["score"] for line in lines}
    return scores, sum(one["rejected"] for one in read_json(done.stdout.encode()))


def require_same(got: tuple[Scores, int], wanted: tuple[Scores, int]) -> None:
    assert got[1] == wanted[1]
    assert got[0].keys() == wanted[0].keys()
    assert [place for place, score in wanted[0].items() if bits(score) != bits(got[0][place])] == []


def replayed(kafka: str, topic: str, path: Path, *options: str, partitions: int = PARTITIONS) -> None:
    where = "--bootstrap", kafka, "--to", topic, "--partitions", str(partitions)
    done = driftway("replay", str(path), *where, "--quiet", *options)
    assert done.code == 0, done


def test_complete_rows_give_the_bits_of_an_evaluation(kafka: str, shop: Path, tmp_path: Path) -> None:
    topic = unique("SHOP")
    replayed(kafka, topic, shop, "--raw")
    learned = *SCHEMA, "--missing", "mean", "--learner", "arow"
    wanted = evaluated_scores(shop, tmp_path, *learned)
    assert wanted[1] == len(range(7, ROWS, 500)), "a wrong value of `bought` invalidates only the label"
    assert len(wanted[0]) == ROWS - wanted[1]
    require_same(worker_scores(kafka, topic, *learned), wanted)
    dry = tmp_path / "shop.jsonl"
    assert driftway("replay", str(shop), "--raw", "--dry-run", str(dry), "--quiet").code == 0
    require_same(evaluated_scores(dry, tmp_path, *learned), wanted)


def test_missing_numbers_are_filled_in_as_by_an_evaluation(kafka: str, shop: Path, tmp_path: Path) -> None:
    numbers = shop.with_name("numbers.csv")
    cells = [line.split(",") for line in shop.read_text().replace(", street", "").splitlines()]
    chosen = [[row[6], row[5], row[8]] for row in cells if row[5] != "much" and row[8] != "maybe"]
    numbers.write_text("\n".join(map(",".join, chosen)) + "\n")
    topic, labels = unique("NUMBERS"), ("--labels", "no,yes")
    replayed(kafka, topic, numbers, "--label", "bought", *labels)
    for policy in ("last", "mean", "reject"):
        learned = *labels, "--missing", policy, "--learner", "arow"
        wanted = evaluated_scores(numbers, tmp_path, *learned, "--label", "bought")
        assert (wanted[1] == 0) == (policy != "reject")
        require_same(worker_scores(kafka, topic, *learned), wanted)


@pytest.mark.slow
def test_a_worker_continues_where_training_on_the_same_events_ended(kafka: str, shop: Path, tmp_path: Path) -> None:
    topic, trained = unique("SHOP"), 1500
    replayed(kafka, topic, shop, "--raw", partitions=1)
    of_file, of_topic = tmp_path / "file.driftway", tmp_path / "topic.driftway"
    learned = *SCHEMA, "--missing", "mean"
    here = "--limit", str(trained), "--out", str(of_file)
    there = "--topic", topic, "--bootstrap", kafka, "--to", str(trained), "--out", str(of_topic)
    assert driftway("train", str(shop), *learned, *here).code == 0
    assert driftway("train", *learned, *there).code == 0
    file, from_topic = model_file.load(of_file), model_file.load(of_topic)
    assert file.contents.identity == from_topic.contents.identity
    assert file.warm_start().state == from_topic.warm_start().state
    assert file.warm_start().filling == from_topic.warm_start().filling != b""
    begin = "--warm-start", str(of_file), "--learner", "arow"
    wanted = evaluated_scores(shop, tmp_path, *begin[:2], "--skip", str(trained), partitions=1)
    require_same(worker_scores(kafka, topic, *begin, "--start", str(trained)), wanted)

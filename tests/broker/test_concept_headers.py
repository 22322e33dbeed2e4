"""`driftway replay --concept-headers` against a real Kafka: every message carries its row's concept in all modes."""

from __future__ import annotations

import json

import pytest

from driftway.producers.streams import open_stream
from tests.support.kafka import read_all
from tests.support.process import driftway
from tests.support.selection import slow_but
from tests.unit.producers.injected import read

pytestmark = pytest.mark.broker

INJECT = ("gradual:at=700,width=200,to=sea:rows=900,noise=0", "label_flip:at=1200", "missing:share=0.05")


def arguments() -> list[str]:
    return [word for text in INJECT for word in ("--inject", text)]


def concept_of(k: int, row: int, points: tuple[int, ...]) -> list[tuple[str, bytes]]:
    changed = max([0, *(point for point in points if point <= row)])
    return [("concept", str(k).encode()), ("changed", str(changed).encode())]


def sent(kafka: str, topic: str, *more: str) -> list[tuple[int, dict[str, object], list[tuple[str, bytes | None]]]]:
    """(partition, event, headers) of every record, sorted by id."""
    done = driftway("replay", "sea:rows=2000", "--seed", "3", "--bootstrap", kafka, "--to", topic, "--json", *more)
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["delivery_errors"] == 0
    found = [(record.partition, json.loads(record.value or b""), record.headers) for record in read_all(kafka, topic)]
    return sorted(found, key=lambda record: int(record[1]["id"]))


WAYS = (), ("--transactional-id", "truth-loader:500"), ("--rate", "20000"), ("--key", "x2")


@pytest.mark.parametrize("more", slow_but(WAYS[:2], WAYS))
def test_every_message_has_the_concept_of_its_row(kafka: str, topic: str, more: tuple[str, ...]) -> None:
    stream = open_stream("sea:rows=2000", seed=3, inject=INJECT)
    X, y, concept = read(stream)
    records = sent(kafka, topic, "--concept-headers", "--partitions", "3", *arguments(), *more)
    assert [event["id"] for _, event, _ in records] == list(range(len(y)))
    points = stream.drift_points
    assert [headers for _, _, headers in records] == [
        concept_of(k, row, points) for row, k in enumerate(concept.tolist())
    ]
    assert len({*concept.tolist()}) > 3 < len(points)
    assert [event["y"] for _, event, _ in records] == y.tolist()
    assert [event["x"] for _, event, _ in records] == [[None if v != v else v for v in row] for row in X.tolist()]
    if "--key" not in more:
        assert [partition for partition, _, _ in records] == [row % 3 for row in range(len(y))]


def test_shuffled_rows_keep_their_concept(kafka: str, topic: str) -> None:
    stream = open_stream("sea:rows=2000", seed=3)
    X, _, concept = read(stream)
    known = {tuple(x): (k, row) for row, (x, k) in enumerate(zip(X.tolist(), concept.tolist(), strict=True))}
    records = sent(kafka, topic, "--concept-headers", "--shuffle")
    order = [known[tuple(event["x"])] for _, event, _ in records]  # type: ignore[arg-type]
    assert order != sorted(order)
    assert [headers for _, _, headers in records] == [concept_of(k, row, (500, 1000, 1500)) for k, row in order]


def test_messages_have_no_header_if_the_concept_is_unknown(kafka: str, topic: str) -> None:
    records = sent(kafka, topic, *arguments())
    assert {len(headers) for _, _, headers in records} == {0}
    y = read(open_stream("sea:rows=2000", seed=3, inject=INJECT))[1]
    assert [event["y"] for _, event, _ in records] == y.tolist()

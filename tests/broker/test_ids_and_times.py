"""Ids that are equal as float64, and times in a unit, on real topics: labels match their events, dates are exact."""

from __future__ import annotations

import datetime as dt
import json
import re
import struct

import pytest

from tests.support.kafka import create_topic, produce, read_all
from tests.support.process import driftway
from tests.support.selection import slow_but

PLAIN, OWN = ('{"x":[%d,1],"id":%s}', '{"id":%s,"y":%d}'), ('{"amount":%d,"order":%s}', '{"order":%s,"fraud":%d}')
FORMS = {
    "plain": (PLAIN, "%s", ()),
    "in an object": (PLAIN, '{"k":%s}', ()),
    "schema": (OWN, "%s", ("--feature", "amount", "--id", "order", "--label", "fraud")),
    "in a list": (OWN, "[%s]", ("--feature", "amount", "--id", "order", "--label", "fraud")),
}


@pytest.mark.parametrize("form", slow_but(["in a list"], FORMS))
def test_labels_match_events_whose_ids_are_equal_as_float64(form: str, kafka: str, topic: str, group: str) -> None:
    (event, label), wrap, options = FORMS[form]
    names = [wrap % f"12345678901234567890123456789{k}" for k in range(4)]
    create_topic(kafka, topic)
    rows = [event % (k, name) for k, name in enumerate(names)] + [label % (name, k % 2) for k, name in enumerate(names)]
    produce(kafka, topic, [row.encode() for row in rows])
    common = ("--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "arow", "--label-wait", "100",
              "--accuracy-every", "1", *options)  # fmt: skip
    done = driftway("worker", *common, "--stop-at-end")
    assert done.code == 0, done.stderr
    assert read_all(kafka, f"{topic}.{group}.rejected") == []
    predictions = [one.value.decode() for one in read_all(kafka, f"{topic}.{group}.predictions")]
    assert [re.match(r'\{"id":(.*),"partition"', one).group(1) for one in predictions] == names  # type: ignore[union-attr]
    assert json.loads(read_all(kafka, f"{topic}.{group}.accuracy")[-1].value)["rows"] == len(names)
    assert driftway("audit", *common).code == 0
    explained = driftway("explain", "--input", topic, "--group", group, "--partition", "0", "--offset", "1", "--json",
                         "--bootstrap", kafka)  # fmt: skip
    assert f'"id":{names[1]},' in explained.stdout, explained.stderr


def test_labels_match_events_by_keys_that_are_binary_numbers(kafka: str, topic: str, group: str) -> None:
    """As Java's LongSerializer writes them: most bytes of 128 or more are not UTF-8."""
    numbers = range(100, 160)
    keys = [struct.pack(">q", number) for number in (*numbers, *reversed(numbers))]
    rows = [b'{"amount":%d}' % number for number in numbers] + [b'{"fraud":%d}' % (n % 2) for n in reversed(numbers)]
    create_topic(kafka, topic)
    produce(kafka, topic, rows, keys=keys)
    common = ("--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "arow", "--label-wait", "100",
              "--accuracy-every", "1", "--feature", "amount", "--label", "fraud", "--id", "@key")  # fmt: skip
    done = driftway("worker", *common, "--stop-at-end")
    assert done.code == 0, done.stderr
    assert read_all(kafka, f"{topic}.{group}.rejected") == []
    predictions = read_all(kafka, f"{topic}.{group}.predictions")
    assert len({json.loads(one.value)["id"] for one in predictions}) == len(numbers)
    assert json.loads(read_all(kafka, f"{topic}.{group}.accuracy")[-1].value)["rows"] == len(numbers)
    audit = driftway("audit", *common)
    assert audit.code == 0
    assert "60 events have exactly one prediction or rejection each" in audit.stdout
    assert "60 other records are labels" in audit.stdout


BORN = ("1950-01-15", "1966-06-15", "1968-02-15", "1970-01-10", "1971-07-15", "1973-02-15", "1974-02-15", "1990-05-15")


@pytest.mark.parametrize(
    ("unit", "micros"),
    [
        pytest.param("days", 86_400_000_000, marks=pytest.mark.slow),
        pytest.param("s", 10**6, marks=pytest.mark.slow),
        ("ms", 1000),
        pytest.param("us", 1, marks=pytest.mark.slow),
    ],
)
def test_dates_of_birth_are_read_in_one_unit(unit: str, micros: int, kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic)
    days = [(dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days for text in BORN]
    produce(kafka, topic, [
        json.dumps({"born": day * 86_400_000_000 // micros, "n": 1, "y": i % 2, "id": i}).encode()
        for i, day in enumerate(days)
    ])  # fmt: skip
    proposed = driftway("schema", "infer", topic, "--label", "y", "--bootstrap", kafka, "--json")
    assert f",unit={unit}" in proposed.stdout, proposed.stderr
    common = ("--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "arow", "--no-standardize")
    without = driftway("worker", *common, "--feature", "born:time=seconds", "--stop-at-end")
    reasons = [dict(one.headers)["reason"].decode() for one in read_all(kafka, f"{topic}.{group}.rejected")]
    if without.code == 0:
        assert set(reasons) == {"born is a number without a unit: write unit=s, ms, us, ns or days into the schema"}
        assert len(reasons) == len(BORN)
    done = driftway("worker", *common, "--group", f"{group}u", "--feature", f"born:time=seconds,unit={unit}",
                    "--stop-at-end")  # fmt: skip
    assert done.code == 0, done.stderr
    for i, day in enumerate(days):
        told_of = driftway("explain", "--input", topic, "--group", f"{group}u", "--partition", "0", "--offset", str(i),
                           "--json", "--bootstrap", kafka)  # fmt: skip
        (feature,) = json.loads(told_of.stdout)["features"]
        assert feature["value"] == day * 86_400

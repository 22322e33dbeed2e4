"""How values are converted: numbers, categories, hashes, labels, and parts of a record other than its value."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Target
from driftway.worker.wire.scanner import NO_TIME
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.examples import examples
from tests.unit.worker.rows import STAMP
from tests.unit.worker.wire.schema.reading import decoded, row, schema_of

FAST = examples(200)


def column(values: Sequence[Any], feature: str) -> list[list[float]]:
    """Return the columns of one feature `a`, event by event."""
    batch = decoded([json.dumps({"a": value}, ensure_ascii=False).encode() for value in values], schema_of(feature))
    assert batch.rejected == []
    rows: list[list[float]] = batch.X.tolist()
    return rows


@FAST
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_in_text_are_read_bit_for_bit(numbers: list[float]) -> None:
    expected = np.array(numbers).tobytes()
    assert np.array(column(numbers, "a")).tobytes() == expected
    assert np.array(column([repr(number) for number in numbers], "a")).tobytes() == expected
    assert np.array(column([f" {number!r}\n" for number in numbers], "a")).tobytes() == expected


def test_other_spellings_of_numbers_than_jsons_are_read() -> None:
    assert column(["+1", ".5", "1.", "007", "1E+2", "-.5e-1", "\u00a01"], "a") == [
        [1],
        [0.5],
        [1],
        [7],
        [100],
        [-0.05],
        [1],
    ]
    assert column([True, False, 10**30, -0.0], "a") == [[1], [0], [1e30], [0]]


@pytest.mark.parametrize(
    ("value", "k"),
    [
        ("red", 0), ("grün", 1), ("7", 2), (7, 2), (7.0, 2), ("7.0", 4), (True, 3), ("true", 3), (False, 4), ("Red", 4),
        ("re", 4), ("redd", 4), ("", 4), (0.5, 4), ("*", 4), ("a longer text than a word", 4),
    ],
)  # fmt: skip
def test_a_value_sets_the_column_of_its_category(value: Any, k: int) -> None:
    hot = [float(k == j) for j in range(5)]
    assert column([value], "a:one-of=red|grün|7|true|*") == [hot]
    assert column([value], "a:one-of=red|grün|7|true") == [hot[:4]]


SPELLINGS = [
    [False, "false", "False", "FALSE", "f", "F", "no", "No", "NO", "n", "N", "off", "Off", "fALSE"],
    [True, "true", "True", "TRUE", "t", "T", "yes", "Yes", "YES", "y", "Y", "on", "ON", "tRUE"],
]
"""Of false, and of true."""


@pytest.mark.parametrize("truth", [0, 1])
@pytest.mark.parametrize(
    "names", ["false|true", "False|True", "FALSE|TRUE", "n|y", "No|Yes", "f|t", "F|T", "off|on", "no|true"]
)
def test_categories_of_two_truth_words_are_those_of_any_spelling(names: str, truth: int) -> None:
    other_way = "|".join(reversed(names.split("|")))
    for value in SPELLINGS[truth]:
        hot = [float(truth == k) for k in range(2)]
        assert column([value], f"a:one-of={names}") == [hot]
        assert column([value], f"a:one-of={other_way}") == [hot[::-1]]
        assert column([value], f"a:one-of={names}|*") == [[*hot, 0.0]]


@pytest.mark.parametrize("value", ["", "tru", "truee", "yess", "0", "1", 0, 1, "о", "t\0", "no "])
def test_other_texts_are_not_truth_values(value: Any) -> None:
    assert column([value], "a:one-of=No|Yes") == [[0.0, 0.0]]


@pytest.mark.parametrize("names", ["True|False|unknown", "True|true|False", "yes", "True|yes", "a|b"])
def test_truth_words_among_other_categories_are_plain_text(names: str) -> None:
    words = names.split("|")
    for value in [*SPELLINGS[0], *SPELLINGS[1]]:
        text = str(value).lower() if isinstance(value, bool) else value
        assert column([value], f"a:one-of={names}") == [[float(text == word) for word in words]]


def test_a_schema_from_before_units_compares_texts_as_they_are() -> None:
    old = EventSchema.of_dict({"features": ["a:one-of=True|False", "b:one-of=true|false"]})
    values = [b'{"a":true,"b":true}', b'{"a":"true","b":"True"}', b'{"a":"True","b":"true"}']
    assert decoded(values, old).X.tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]]


def test_texts_are_distinguished_at_every_length() -> None:
    texts = ["x" * n for n in range(1, 26)] + ["x" * n + "y" for n in range(25)]
    texts = list(dict.fromkeys(texts))
    rows = column(texts, f"a:one-of={'|'.join(texts)}")
    assert rows == np.eye(len(texts)).tolist()


def digits_or_bits(text: str) -> Iterable[int]:
    """Return what is hashed of a number: its bits up to 2^53, beyond it its digits, power of ten and sign."""
    sign, digits, power = Decimal(text).as_tuple()
    assert isinstance(power, int)
    if abs(Decimal(text)) == 2**53 or abs(float(text)) < 2**53:
        return b"\1" + np.array([float(text) + 0.0]).tobytes()
    short = "".join(map(str, digits)).rstrip("0")
    return [2, *map(int, short), power + len(digits) - len(short) + 2**40, sign]


def fnv(value: Any, width: int) -> int:
    """Return the column of a hash, computed in plain Python."""
    data: Iterable[int]
    if isinstance(value, bool):
        data = bytes([4 if value else 3])
    elif isinstance(value, str):
        data = value.encode()
    else:
        data = digits_or_bits(json.dumps(value))
    return fnv_of(data, width)


def fnv_of(data: Iterable[int], width: int) -> int:
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return (h ^ (h >> 32)) % width


GOLDEN: dict[str, tuple[Any, int]] = {
    "empty": ("", 945),
    "text": ("corner shop", 654),
    "beyond ascii": ("München", 686),
    "number": (17, 441),
    "text of a number": ("17", 774),
    "zero": (0, 320),
    "negative zero": (-0.0, 320),
    "true": (True, 327),
    "false": (False, 78),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_hashes_never_change(name: str) -> None:
    """Learners' weights belong to columns, so a changed hash would make every snapshot useless."""
    value, k = GOLDEN[name]
    (hot,) = column([value], "a:hash=1000")
    assert (hot.index(1), sum(hot)) == (k, 1)


@FAST
@given(st.lists(st.one_of(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()), min_size=1))
def test_hashes_equal_fnv(values: list[Any]) -> None:
    assert column(values, "a:hash=13") == [[float(j == fnv(value, 13)) for j in range(13)] for value in values]


@FAST
@given(
    st.lists(
        st.one_of(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.integers(-3, 1003)),
        min_size=1,
    )
)
def test_ids_are_whole_numbers_unchanged_or_hashes_of_other_values(values: list[Any]) -> None:
    def index(value: Any) -> float:
        is_id = not isinstance(value, str | bool) and value in range(1000)
        return float(value if is_id else fnv(value, 1000))

    assert column(values, "a:index=1000") == [[index(value)] for value in values]


BIG = st.integers(2**53 - 3, 2**53 + 3) | st.integers(2**63, 2**70) | st.integers(10**30, 10**30 + 9)


@FAST
@given(st.lists(BIG | BIG.map(lambda n: -n), min_size=1))
def test_numbers_that_share_a_float64_are_distinguished(numbers: list[int]) -> None:
    buckets = [fnv(n, 1009) for n in numbers]
    assert column(numbers, "a:hash=1009") == [[float(j == bucket) for j in range(1009)] for bucket in buckets]
    assert column(numbers, "a:index=1009") == [[float(bucket)] for bucket in buckets]
    listed = sorted(set(numbers))[:9]
    assert column(numbers, f"a:one-of={'|'.join(map(str, listed))}") == [
        [float(n == one) for one in listed] for n in numbers
    ]


@FAST
@given(BIG, st.integers(0, 12), st.booleans())
def test_a_number_is_the_same_however_it_is_written(number: int, shift: int, fraction: bool) -> None:
    digits = str(number)
    texts = [digits, f"{digits}e0", f"{digits}.0", f"{digits}.000E+00", f"{digits}{'0' * shift}e-{shift}",
             f"{digits[0]}.{digits[1:]}e{len(digits) - 1}", f"0.{digits}e{len(digits)}"]  # fmt: skip
    schema = schema_of("a:index=100000", f"a:one-of={number}|{number + 1},as=b")
    batch = decoded([b'{"a":%s}' % text.encode() for text in texts], schema)
    assert batch.X.tolist() == [[float(fnv(number, 100_000)), 1.0, 0.0]] * len(texts)


def test_a_large_record_timestamp_is_read_by_its_bits() -> None:
    batch = decoded([b"{}"], schema_of("@timestamp:index=1000,as=a"), timestamps=np.array([2**62]))
    assert batch.X[0, 0] == fnv_of(b"\1" + np.array([2.0**62]).tobytes(), 1000)


def test_a_missing_id_is_rejected_or_imputed() -> None:
    schema = schema_of("a:index=10", "b:index=10,missing=-1")
    found = [row([event], schema) for event in (b'{"b": 1}', b'{"a": [], "b": 1}', b'{"a": null, "b": 1}')]
    assert found == ["a is missing", "a is no id", "a is missing"]
    (read,) = decoded([b'{"a": 7}'], schema).X.tolist()
    assert read[0] == 7.0
    assert math.isnan(read[1]), "what stands for it is the model's to say"


def labels(values: Sequence[Any], target: Target) -> list[Any]:
    """Return the class index of each label, None if it is unknown, or why it is refused."""
    found = [row([json.dumps({"a": 1, "y": value}).encode()], schema_of("a"), target) for value in values]
    return [one if isinstance(one, str) else one[1] for one in found]


def test_labels_of_all_types_are_read() -> None:
    given: list[Any] = [0, 1, 1.0, "1", "0", True, False, None, -0.0]
    assert labels(given, Target()) == [0, 1, 1, 1, 0, 1, 0, None, 0]
    assert labels([0, 2, "2", None], Target("classification", 3)) == [0, 2, 2, None]
    assert labels(["DOWN", "UP"], Target("classification", 2, ("DOWN", "UP"))) == [0, 1]
    assert labels([-1, 1, "-1", "1", 1.0], Target("classification", 2, ("-1", "1"))) == [0, 1, 0, 1, 1]
    assert labels([True, "true", False], Target("classification", 2, ("true", "false"))) == [0, 0, 1]
    assert labels([1.5, "2.5", True, None, ""], Target("regression", 0)) == [1.5, 2.5, 1.0, None, None]


@pytest.mark.parametrize("names", [("False", "True"), ("no", "yes"), ("N", "Y"), ("off", "on"), ("false", "true")])
def test_labels_of_two_truth_words_are_those_of_any_spelling(names: tuple[str, str]) -> None:
    for target, index in (Target("classification", 2, names), 1), (Target("classification", 2, names[::-1]), 0):
        assert labels(SPELLINGS[1], target) == [index] * len(SPELLINGS[1])
        assert labels(SPELLINGS[0], target) == [1 - index] * len(SPELLINGS[0])


def test_other_labels_are_set_aside_with_a_reason() -> None:
    reason = "is not one of"
    assert labels([2, "2", "", "yes", [], {}, 0.5], Target()) == [
        *(f"label {given} {reason} 0, 1" for given in ("2", '"2"', '""', '"yes"')),
        *[f"label given {reason} 0, 1: it is a list or an object"] * 2,
        f"label 0.5 {reason} 0, 1",
    ]
    assert labels([True], Target("classification", 3)) == [f"label true {reason} 0, 1, 2"]
    assert labels([True, 1, "down"], Target("classification", 2, ("DOWN", "UP"))) == [
        f'label {given} {reason} "DOWN", "UP"' for given in ("true", "1", '"down"')
    ]
    assert labels(["x", "*"], Target("classification", 2, ("*", "y"))) == [f'label "x" {reason} "*", "y"', 0]
    assert labels(["x", "1e999", [1]], Target("regression", 0)) == [
        'label "x" is not a number',
        'label "1e999" is not finite',
        "label given is not a number",
    ]
    (long,) = labels(["x" * 1000], Target())
    assert len(long) < 100


def test_key_headers_and_timestamp_of_a_record_are_read() -> None:
    schema = schema_of(
        "@key.a:missing=0", "@key.b:one-of=x,missing=0", "@header.n:missing=0", "@timestamp:time=age",
        "@timestamp:as=ms", label="@header.label", id="@key", time="@timestamp",
    )  # fmt: skip
    keys = ListColumn([b'{"a":5,"b":"x"}', b"k1", None, b'{"a":null}'])
    headers = [
        [("n", b"7"), ("label", b"1"), ("n", b"8")],
        [("label", b"0")],
        [],
        [("n", None), ("n", b""), ("label", b"")],
    ]
    batch = decoded([b"{}"] * 4, schema, keys=keys, headers=headers)
    assert [bad.reason for bad in batch.rejected] == []
    nan = math.nan
    np.testing.assert_equal(
        batch.X.tolist(),
        [[5, 1, 8, 0, STAMP], *([nan, nan, nan, 0, STAMP + i] for i in (1, 2, 3))],
    )
    np.testing.assert_equal(batch.y.tolist(), [1, 0, nan, nan])
    text, (starts, ends) = batch.ids
    names = [text[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]
    assert names == [json.dumps('{"a":5,"b":"x"}').encode(), b'"k1"', b"null", json.dumps('{"a":null}').encode()]
    assert batch.t.tolist() == [STAMP + i for i in range(4)]


def test_keys_and_headers_that_are_not_utf_8_are_distinguished() -> None:
    """Keys of Java's LongSerializer, say: a label would find the wrong event if two of them became one id."""
    schema = schema_of("@key:hash=64", "@header.n:hash=64,as=n,missing=0", id="@key")
    numbers = [struct.pack(">q", number) for number in range(120, 260)]
    keys = [*numbers, "é\\n".encode(), b"\xff\xfe"]
    batch = decoded([b"{}"] * len(keys), schema, keys=ListColumn(keys), headers=[[("n", key)] for key in keys])
    text, (starts, ends) = batch.ids
    names = [json.loads(text[a:b].tobytes()) for a, b in zip(starts, ends, strict=True)]
    assert len(set(names)) == len(keys)
    assert names[:1] + names[8:9] + names[-2:] == ["\0" * 7 + "x", "\0" * 7 + "\\x80", "é\\n", r"\xff\xfe"]
    assert len({row.tobytes() for row in batch.X[:, :64]}) > 50
    np.testing.assert_array_equal(batch.X[:, :64], batch.X[:, 64:])


def test_a_record_without_a_timestamp_has_missing_times() -> None:
    """Kafka's -1: clients before 0.10 wrote none, and some still do."""
    schema = schema_of("a:time=age|hour,missing=0", "@timestamp:as=now,missing=0", id="@timestamp", time="@timestamp")
    value = b'{"a":"2026-11-24T12:00:00Z"}'
    batch = decoded([value, value], schema, timestamps=[-1, 1795521600500])
    nan = math.nan
    np.testing.assert_array_equal(batch.X, [[nan, 12, nan], [0.5, 12, 1795521600500]])
    assert batch.t.tolist() == [NO_TIME, 1795521600500]
    text, (starts, ends) = batch.ids
    assert [text[a:b].tobytes() for a, b in zip(starts, ends, strict=True)] == [b"null", b"1795521600500"]
    assert row([value], schema_of("@timestamp:time=hour"), timestamps=[-1]) == "@timestamp is missing"


def test_headers_that_were_not_read_are_missing() -> None:
    assert row([b"{}"], schema_of("@header.n")) == "@header.n is missing"
    assert row([b'{"a":1}'], schema_of("a", label="@header.n"))[1] is None


def test_a_timestamp_as_label_is_refused_in_words() -> None:
    assert row([b'{"a":1}'], schema_of("a", label="@timestamp")) == f"label {STAMP} is not one of 0, 1"


def test_missing_words_mean_missing_values() -> None:
    schema = schema_of("a:missing-words=NA|-,missing=-1", "b:one-of=NA|x,missing-words=NA|-,missing=0", "c:hash=1")
    values = [b'{"a":"%s","b":"%s","c":"NA"}' % (word, word) for word in (b"NA", b"-", b"7", b"n/a")]
    batch = decoded([*values[:3], rb'{"a":"N\u0041","b":"\u002d","c":1}'], schema)
    nan = math.nan
    expected = [[nan, 1, 0, 1], [nan, nan, nan, 1], [7, 0, 0, 1], [nan, nan, nan, 1]]
    np.testing.assert_array_equal(batch.X, expected)
    assert row([values[3]], schema) == "a is not a number"
    assert row([values[0]], schema_of("a:missing-words=NA")) == "a is missing"


def test_missing_words_do_not_apply_to_labels() -> None:
    schema = schema_of("a:hash=2,missing-words=NA|-,missing=0", label="a")
    target = Target("classification", 2, ("NA", "x"))
    assert [row([b'{"a":"%s"}' % word], schema, target)[1] for word in (b"NA", b"x", b"-")] == [0, 1, None]

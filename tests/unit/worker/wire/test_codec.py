"""The wire format: what decodes to what, what is rejected with which reason, what is written."""

from __future__ import annotations

import gzip
import json
import math
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.wire import packed
from driftway.worker.wire.codec import (
    PACKED,
    encode_events,
    encode_point,
    encode_predictions,
    read_json,
    write_events,
    write_json,
)
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import MAX_FEATURES, SHOWN_CHARACTERS, Batch, Schema, Target
from driftway.worker.wire.json_tokens.text_values import as_number
from driftway.worker.wire.scanner import NO_TIME
from tests.support.examples import examples
from tests.unit.worker.rows import reason, records, tabled

BINARY = Target()
DIRECTIONS = Target("classification", 2, ("DOWN", "UP"))
SIGNS = Target("classification", 2, ("-1", "1"))
TRUTHS = Target("classification", 2, ("False", "True"))
NUMBER = Target("regression", 0)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null value"),
        (b"", "not JSON: it is empty"),
        (b" \n", "not JSON: it is empty"),
        (b'\xef\xbb\xbf{"x":[1,2]}', "not JSON: it begins with a byte order mark"),
        (b'{"x":[1,NaN]}', "not JSON: it has NaN or Infinity, which JSON does not have"),
        (b'{"x":[1,2],"t": -Infinity }', "not JSON: it has NaN or Infinity, which JSON does not have"),
        (b'{"x":["NaN",2}', "not JSON"),
        (b"{'x':[1,2]}", "not JSON: it has single quotes, as Python prints objects"),
        ('{"x":[1,2]}'.encode("utf-16"), "not JSON: it is UTF-16, JSON is UTF-8"),
        ('{"x":[1,2]}'.encode("utf-16-le"), "not JSON: it is UTF-16, JSON is UTF-8"),
        ('{"x":[1,2]}'.encode("utf-16-be"), "not JSON: it is UTF-16, JSON is UTF-8"),
        (gzip.compress(b'{"x":[1,2]}', mtime=0), "not JSON: it is compressed with gzip"),
        (
            b'\0\0\0\0\5{"x":[1,2]}',
            "not JSON: it begins with byte 0, as the formats of a schema registry do, see --format",
        ),
        (b'{"x":[1,2]}\0', "not JSON: byte 0 follows it, as it does strings in C"),
        (b'{"x":[1,2]}\n{"x":[3,4]}\n', "not JSON: it has several objects, and a message is one event"),
        (b'{"x":[1,2]}{"x":[3,4]} {}', "not JSON: it has several objects, and a message is one event"),
        (b'{"x":[1,2]}{"x":', "not JSON"),
        (b'{"x":[1,2],"s":"} {"', "not JSON"),
        (b"{", "not JSON"),
        (b'{"x":[1,2]', "not JSON"),
        (b'{"x":[1,2]}}', "not JSON"),
        (b'{"x":[1,1e999]}', "not JSON: it has a number that is too large for 64 bits, 1e999"),
        (b'{"x":[-1.5E+400,1]}', "not JSON: it has a number that is too large for 64 bits, -1.5E+400"),
        (b'{"x":[1e100,1],}', "not JSON"),
        (b'{"x":[1,' + b"9" * 400 + b"]}", f"not JSON: it has a number that is too large for 64 bits, {'9' * 40}"),
        (b'{"x":[01,2]}', "not JSON"),
        (b'{"x":[1,2],}', "not JSON"),
        (b'{"x":[1,2],"id":"\xe9"}', "not JSON: its text is not UTF-8"),
        (b'{"x":[1,2],"id":"\xed\xa0\x80"}', "not JSON: its text is not UTF-8"),
        (b'{"x":[1,2],"id":"\\ud800"}', "not JSON: it has half of a character, \\ud800, as in a cut text"),
        (b'{"x":[1,2],"id":"\\\\ud800",}', "not JSON"),
        (b'{"x":[1,2],"id":"\\ud83d\\ude00",}', "not JSON"),
        (b"[1,2]", "not a JSON object"),
        (b"17", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'"x"', "not a JSON object"),
        (b'"{\\"x\\":[1,2]}"', "not a JSON object: it is text that holds one, so it was encoded twice"),
        (b'[{"x":[1,2]}]', "not a JSON object: it is a list of objects, and a message is one event"),
        (b"[]", "not a JSON object"),
        (b"{}", "no x"),
        (b'{"X":[1,2],"y":1}', "no x"),
        (b'{"id":7}', "no x"),
        (b'{"id":7,"y":1}', "late label: no event waits for one, see --label-wait"),
        (b'{"x":null}', "x is neither a list nor an object"),
        (b'{"x":"1,2"}', "x is neither a list nor an object"),
        (b'{"x":3}', "x is neither a list nor an object"),
        (b'{"x":[1,"2"]}', "x[1] is not a number"),
        (b'{"x":[null,2]}', "x[0] is not a number"),
        (b'{"x":[true,2]}', "x[0] is not a number"),
        (b'{"x":[1,[2]]}', "x[1] is not a number"),
        (b'{"x":[1,2],"y":2}', "label 2 is not one of 0, 1"),
        (b'{"x":[1,2],"y":-1}', "label -1 is not one of 0, 1"),
        (b'{"x":[1,2],"y":0.5}', "label 0.5 is not one of 0, 1"),
        (b'{"x":[1,2],"y":true}', "label true is not one of 0, 1"),
        (b'{"x":[1,2],"y":"1"}', 'label "1" is not one of 0, 1'),
        (b'{"x":[1,2],"y":[1]}', "label given is not one of 0, 1: it is a list or an object"),
        (b'{"x":[1,2],"id":' + b"[" * 300 + b"]" * 300 + b"}", "id is nested too deeply"),
        (b'{"x":' + b"[" * 3000 + b"]" * 3000 + b"}", "not JSON: it is nested more than 1,024 levels deep"),
        (b'{"x":"' + b"[" * 3000 + b'\\"' + b"[" * 3000 + b'"', "not JSON"),
        (b'{"x":' + b"[" * 1000 + b"1", "not JSON"),
    ],
)  # fmt: skip
def test_malformed_event_is_rejected_with_its_reason(value: bytes | None, words: str) -> None:
    assert reason(value) == words


@pytest.mark.parametrize(
    ("value", "schema", "words"),
    [
        (b'{"x":[1]}', Schema(2), "x has 1 features, expected 2"),
        (b'{"x":[]}', Schema(2), "x has 0 features, expected 2"),
        (b'{"x":[1,2,3]}', Schema(2), "x has 3 features, expected 2"),
        (b'{"x":{"a":1}}', Schema(2), "x is an object, expected a list of 2 features"),
        (b'{"x":[1,2]}', Schema(2, ("a", "b")), "x is a list, expected an object of 2 named features"),
        (b'{"x":{"a":1}}', Schema(2, ("a", "b")), "x lacks b"),
        (b'{"x":{"a":1,"b":2,"c":3}}', Schema(2, ("a", "b")), "x has unknown c"),
        (b'{"x":{"B":1,"a":2}}', Schema(2, ("a", "b")), "x lacks b and has unknown B"),
        (b'{"x":{}}', Schema(5, tuple("abcde")), "x lacks a, b, c and 2 more"),
        (b'{"x":{"a":1,"b":"2"}}', Schema(2, ("a", "b")), "x[b] is not a number"),
        (b'{"x":{"a":1,"b":2},"y":3}', Schema(2, ("a", "b")), "label 3 is not one of 0, 1"),
    ],
)
def test_event_of_another_shape_is_rejected_with_the_difference(value: bytes, schema: Schema, words: str) -> None:
    assert reason(value, schema=schema) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b'{"x":[]}', "x is empty"),
        (b'{"x":{}}', "x is empty"),
        (b'{"x":[' + b"0," * MAX_FEATURES + b"0]}", f"x has {MAX_FEATURES + 1} features, more than {MAX_FEATURES}"),
    ],
)
def test_first_event_that_fixes_no_schema_is_rejected(value: bytes, words: str) -> None:
    decoder = Decoder(BINARY)
    assert decoder.decode(records([value])).rejected[0].reason == words
    assert decoder.schema is None


def test_a_reason_is_short_however_long_the_names_are() -> None:
    """It is sent as a header next to the event itself, and both must fit into one record."""
    long = "n" * 900_000
    for value in (json.dumps({"x": {long: 1}}), json.dumps({"x": {"a": 1, long: 1}})):
        words = reason(value.encode(), schema=Schema(1, ("a",)))
        assert words is not None
        assert len(words) < 3 * SHOWN_CHARACTERS
    words = Decoder(BINARY).decode(records([json.dumps({"x": {long: "1"}}).encode()])).rejected[0].reason
    assert len(words) < 2 * SHOWN_CHARACTERS
    assert len(reason(json.dumps({"x": [1, 2], "y": long}).encode()) or long) < 3 * SHOWN_CHARACTERS


def test_first_good_event_fixes_the_schema_and_bad_ones_before_it_do_not() -> None:
    decoder = Decoder(BINARY)
    batch = decoder.decode(
        records([b"?", b'{"x":[1,"2"],"y":1}', b'{"x":[1,2,"3"]}', b'{"x":[4,5]}', b'{"x":[1,2,3]}'])
    )
    assert decoder.schema == Schema(2)
    assert batch.X.tolist() == [[4, 5]]
    assert [bad.offset for bad in batch.rejected] == [0, 1, 2, 4]
    assert batch.next_offset == 5


def test_named_features_are_mapped_by_sorted_name() -> None:
    decoder = Decoder(BINARY)
    values = [b'{"x":{"b":2,"a":1,"\\u00e9":3}}', b'{"x":{"\xc3\xa9":6,"b":5,"a":4}}']
    assert decoder.decode(records(values)).X.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert decoder.schema == Schema(3, ("a", "b", "\u00e9"))


@pytest.mark.parametrize(
    ("target", "given", "index", "words"),
    [
        (BINARY, ["0", "1", "1.0", "1e0", "-0", "null"], [0, 1, 1, 1, 0, None], ["0", "1"]),
        (Target("classification", 3), ["2", "0"], [2, 0], ["0", "1", "2"]),
        (DIRECTIONS, ['"DOWN"', '"UP"', r'"U\u0050"', "null"], [0, 1, 1, None], ['"DOWN"', '"UP"']),
        (SIGNS, ["-1", "1", "-1.0", "1e0"], [0, 1, 0, 1], ["-1", "1"]),
        (TRUTHS, ["true", "false", '"True"', '"true"', '"FALSE"', '"n"'], [1, 0, 1, 1, 0, 0], ['"False"', '"True"']),
        (
            Target("classification", 3, ("true", "no", "x")),
            ["true", '"no"', '"x"'],
            [0, 1, 2],
            ['"true"', '"no"', '"x"'],
        ),
        (Target("classification", 2, ("2.5", "b")), ["2.5", '"b"', "25e-1"], [0, 1, 0], ["2.5", '"b"']),
        (Target("classification", 2, ("inf", "nan")), ['"inf"', '"nan"'], [0, 1], ['"inf"', '"nan"']),
        (Target("classification", 2, ("1_0", "\u0663")), ['"1_0"', '"\u0663"'], [0, 1], ['"1_0"', '"\\u0663"']),
        (NUMBER, ["1.5", "-3", "null", "1e300"], [1.5, -3, None, 1e300], []),
    ],
)
def test_labels_are_read_and_written_in_the_users_words(
    target: Target, given: list[str], index: list[Any], words: list[str]
) -> None:
    whole = records([f'{{"x":[1],"y":{label}}}'.encode() for label in given])
    assert [row[1] for row in tabled(Decoder(target), [whole]).values()] == index
    assert target.class_json() == words


@pytest.mark.parametrize(
    ("target", "label", "words"),
    [
        (DIRECTIONS, "1", 'label 1 is not one of "DOWN", "UP"'),
        (DIRECTIONS, '"up"', 'label "up" is not one of "DOWN", "UP"'),
        (SIGNS, "0", "label 0 is not one of -1, 1"),
        (TRUTHS, "1", 'label 1 is not one of "False", "True"'),
        (TRUTHS, '"tru"', 'label "tru" is not one of "False", "True"'),
        (
            Target("classification", 2, ("False", "maybe")),
            "false",
            'label false is not one of "False", "maybe"',
        ),
        (SIGNS, '"1"', 'label "1" is not one of -1, 1'),
        (NUMBER, '"1"', "label is not a number"),
        (NUMBER, "true", "label is not a number"),
    ],
)
def test_label_of_another_target_is_rejected(target: Target, label: str, words: str) -> None:
    assert reason(f'{{"x":[1,2],"y":{label}}}'.encode(), target) == words


@examples(150)
@given(st.data())
def test_encoded_events_decode_back_bit_for_bit(data: st.DataObject) -> None:
    n, d = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    number = st.floats(allow_nan=False, allow_infinity=False)
    X = np.array(data.draw(st.lists(number, min_size=n * d, max_size=n * d))).reshape(n, d)
    y = np.array(data.draw(st.lists(st.one_of(number, st.just(math.nan)), min_size=n, max_size=n)))
    names = [f"f{j}" for j in range(d)]
    first = data.draw(st.integers(0, 10**12))
    for values, form, ids in (
        (encode_events(X, y, first), "json", True),
        (encode_events(X, y, first, names), "json", True),
        (packed.encode_events(X, y), PACKED, False),
    ):
        batch = Decoder(NUMBER, form=form).decode(records(values))
        assert not batch.rejected
        assert batch.X.tobytes() == X.tobytes()
        assert batch.y.tobytes() == y.tobytes()
        text, (starts, ends) = batch.ids
        found = [text[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]
        assert found == ([b"%d" % i for i in range(first, first + n)] if ids else [b"null"] * n)


def one_event(row: Any, label: float, name: int, names: list[str] | None, labels: tuple[str, ...] | None) -> bytes:
    """Return what `encode_events` should write for a row, from its description."""
    short = label.is_integer() and abs(label) < 2**53 and math.copysign(1.0, label) * (label == 0.0) >= 0.0
    y: Any = None if math.isnan(label) else int(label) if short else label
    if labels is not None and y is not None:
        y = as_number(labels[y])
    x = row.tolist() if names is None else dict(zip(names, row.tolist(), strict=True))
    return orjson.dumps({"id": name, "x": x, "y": y})


@examples(200)
@given(st.data())
@pytest.mark.parametrize("labels", [None, ("DOWN", "UP"), ("-1", "0.5", "1e3"), ('q"', "\u00e9", "nan")])
def test_events_are_those_that_orjson_writes_one_by_one(labels: tuple[str, ...] | None, data: st.DataObject) -> None:
    n, d = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 4))
    X = np.array(data.draw(st.lists(st.floats(), min_size=n * d, max_size=n * d)), np.float64).reshape(n, d)
    classes = st.integers(0, len(labels or "12345") - 1).map(float)
    wild = st.one_of(st.floats(), st.sampled_from([-0.0, 2.0**53, 2.0**53 - 1, -1.0, 1e300, math.inf]))
    chosen = classes if labels is not None or data.draw(st.booleans()) else wild
    y = np.array(data.draw(st.lists(st.one_of(chosen, st.just(math.nan)), min_size=n, max_size=n)), np.float64)
    names = data.draw(st.one_of(st.none(), st.lists(st.text(max_size=4), min_size=d, max_size=d, unique=True)))
    first = data.draw(st.integers(0, 10**12))
    written = write_events(X, y, first, names, labels)
    assert list(written) == [one_event(X[i], float(y[i]), first + i, names, labels) for i in range(n)]
    assert encode_events(X, y, first, names, labels) == list(written)
    packs = packed.write_events(X, y)
    assert list(packs) == packed.encode_events(X, y)
    assert list(packs[1:]) == packed.encode_events(X, y)[1:]


def batch_of(values: list[bytes], target: Target) -> Batch:
    batch = Decoder(target).decode(records(values, first=40))
    assert not batch.rejected
    return batch


IDS = [
    b"17",
    b'"order 17"',
    b"null",
    b"1.5",
    b"true",
    b'{"a":[1,null]}',
    b'"\xc3\xa9\\n"',
    b"-0.0",
    b"18446744073709551615",
]
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@examples(80)
@given(st.data())
@pytest.mark.parametrize(
    ("target", "k"), [(BINARY, 1), (SIGNS, 1), (DIRECTIONS, 1), (Target("classification", 3), 3), (NUMBER, 1)]
)
def test_predictions_parse_with_exact_scores_and_ids_as_they_came(target: Target, k: int, data: st.DataObject) -> None:
    words = [*map(json.loads, target.class_json()), None]
    labels = [f"{w}" for w in (1.5, -2, "null")] if target.task == "regression" else [json.dumps(w) for w in words]
    rows = data.draw(st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(labels)), min_size=1, max_size=6))
    batch = batch_of([b'{"id":%b,"x":[1],"y":%b,"t":5}' % (name, y.encode()) for name, y in rows], target)
    n = len(rows)
    score = np.array(data.draw(st.lists(FLOATS, min_size=n * k, max_size=n * k))).reshape(n, k)
    chosen = data.draw(st.lists(st.integers(0, max(1, target.n_classes) - 1), min_size=n, max_size=n))
    predicted = score[:, 0] if target.task == "regression" else np.array(chosen)
    written = encode_predictions(batch, score, predicted, target, 'a "learner":p=1')
    for i, value in enumerate(written):
        found = json.loads(value)
        assert list(found) == ["id", "partition", "offset", "prediction", "score", "y", "learner", "t"]
        assert (found["partition"], found["offset"], found["t"]) == (3, 40 + i, 5)
        assert np.array(found["score"], np.float64).tobytes() == score[i].tobytes()
        assert isinstance(found["score"], list) is (k > 1)
        assert found["id"] == json.loads(rows[i][0])
        assert found["y"] == json.loads(rows[i][1])
        assert found["prediction"] == (score[i, 0] if target.task == "regression" else words[chosen[i]])
        assert found["learner"] == 'a "learner":p=1'


def test_an_event_without_a_whole_t_has_no_time() -> None:
    values = [b'{"x":[1]}', b'{"x":[1],"t":null}', b'{"x":[1],"t":"5"}', b'{"x":[1],"t":true}', b'{"x":[1],"t":1.5}']
    values += [b'{"x":[1],"t":9223372036854775808}', b'{"x":[1],"t":-9223372036854775808}', b'{"x":[1],"t":-7}']
    batch = Decoder(BINARY).decode(records(values))
    assert batch.t.tolist() == [NO_TIME] * 7 + [-7]
    written = encode_predictions(batch, np.zeros((8, 1)), np.zeros(8), BINARY, "dfop")
    assert [json.loads(value)["t"] for value in written] == [None] * 7 + [-7]


def test_empty_batch_writes_nothing() -> None:
    batch = Decoder(BINARY, Schema(1)).decode(records([b"?"]))
    assert encode_predictions(batch, np.empty((0, 1)), np.empty(0), BINARY, "dfop") == []


def test_points_and_json_have_exact_numbers() -> None:
    point = json.loads(
        encode_point({"accuracy": 0.1 + 0.2, "kappa": None}, 3, 41, "dfop", 99, {"group": "g", "model": "m"})
    )
    place = {"partition": 3, "offset": 41, "learner": "dfop", "t": 99, "group": "g", "model": "m"}
    assert point == {**place, "accuracy": 0.1 + 0.2, "kappa": None, "drift": None}
    assert read_json(write_json({"b": np.array([0.1, 1e300]), "a": 1})) == {"a": 1, "b": [0.1, 1e300]}
    assert write_json({"b": 1, "a": 2}) == b'{"a":2,"b":1}'


@pytest.mark.parametrize("names", [("DOWN", "UP"), ("-1", "1"), ("0.5", "lot", "none")])
def test_labels_written_by_a_replay_are_those_that_a_worker_reads(names: tuple[str, ...]) -> None:
    y = np.array([1.0, 0.0, np.nan, len(names) - 1.0])
    values = encode_events(np.ones((4, 2)), y, 0, labels=names)
    assert [json.loads(value)["y"] for value in values][2] is None
    batch = Decoder(Target(n_classes=len(names), labels=names)).decode(records(values))
    assert batch.rejected == []
    np.testing.assert_array_equal(batch.y, y)

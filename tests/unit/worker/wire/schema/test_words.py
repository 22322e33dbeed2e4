"""Lists of words, and the names of an object's fields, in hashed columns."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.errors import UsageFailure
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Target
from driftway.worker.wire.schema.conversion.word_counts import count_words
from driftway.worker.wire.schema.feature import Feature
from driftway.worker.wire.schema.paths import Path
from tests.support.examples import examples
from tests.unit.worker.rows import pieces, records
from tests.unit.worker.wire.schema.reading import assert_same, decoded, plain, reader_of, row, schema_of, tabled
from tests.unit.worker.wire.schema.test_convert import fnv

FAST = examples(200)
SCALARS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["w1", "good", "é", 'a "quote"', "\n", "\\"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.none(),
)
AMOUNTS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 2**60), st.floats(-1e6, 1e6), st.just("text"), st.just([1])
)


def counted(pairs: list[tuple[Any, float]], width: int) -> list[float]:
    """Return the sums per column, in plain Python."""
    sums = [0.0] * width
    for word, number in pairs:
        sums[fnv(word, width)] += number
    return sums


@FAST
@given(st.lists(st.lists(SCALARS, max_size=8), min_size=1, max_size=4), st.booleans(), st.lists(st.integers(0, 9)))
def test_words_of_a_list_are_counted(lists: list[list[Any]], in_ascii: bool, cuts: list[int]) -> None:
    schema = schema_of("w:hash=13", "n:missing=0")
    events: list[bytes | None] = [json.dumps({"w": one, "n": 1}, ensure_ascii=in_ascii).encode() for one in lists]
    expected = [[*counted([(word, 1.0) for word in one if word is not None], 13), 1] for one in lists]
    batch = decoded(events, schema)
    assert (batch.rejected, batch.X.tolist()) == ([], expected)
    whole = records(events)
    assert tabled(reader_of(schema, Target(), True), pieces(whole, cuts)) == assert_same(schema, whole)


@FAST
@given(st.lists(st.dictionaries(st.text(max_size=9), AMOUNTS, max_size=8), min_size=1, max_size=4))
def test_values_are_summed_by_the_names_of_their_fields(objects: list[dict[str, Any]]) -> None:
    events: list[bytes | None] = [json.dumps({"a": {"w": one}}, ensure_ascii=False).encode() for one in objects]

    def amount(value: Any) -> float:
        return float(value) if isinstance(value, int | float) else 1.0

    expected = [counted([(k, amount(v)) for k, v in one.items() if v is not None], 13) for one in objects]
    schema = schema_of("a.w.*:hash=13")
    batch = decoded(events, schema)
    assert (batch.rejected, batch.X.tolist()) == ([], expected)
    assert_same(schema, records(events))


def test_words_are_counted_by_a_kernel() -> None:
    """Otherwise the comparisons of the two paths would never use it."""
    values: list[bytes | None] = [b'{"w":["a",1,true,null],"o":{"a":1,"b":{"c":"d"}}}', b'{"w":[[1]],"o":[]}']
    assert plain(schema_of("w:hash=2", "o.*:hash=2"), values) == [True, True]


def test_a_repeated_name_counts_once() -> None:
    """As everywhere in JSON, the last one counts."""
    schema = schema_of("w.*:hash=4")
    events: list[bytes | None] = [b'{"w":{"a":1,"b":2,"a":5}}', b'{"w":{"a":5,"b":2}}']
    rows = decoded(events, schema).X.tolist()
    assert rows[0] == rows[1] == counted([("a", 5.0), ("b", 2.0)], 4)
    assert_same(schema, records(events))


@pytest.mark.parametrize(
    ("feature", "value", "says"),
    [
        ("w:hash=3", '{"a":1}', "w is no category"),
        ("w:hash=3", '["a",["b"]]', "w is no category"),
        ("w:hash=3", '["a",{}]', "w is no category"),
        ("w:index=3", '["a"]', "w is no id"),
        ("w:one-of=a", '["a"]', "w is no category"),
        ("w.*:hash=3", '["a"]', "w is no category"),
        ("w.*:hash=3", '"a"', "w is no category"),
        ("w.*:hash=3", "7", "w is no category"),
        ("w.*:hash=3", "null", "w is missing"),
        ("w.*:hash=1", '{"a":1e308,"b":1e308}', "w is not finite"),
        ("w.*:hash=3", "[]", "w is no category"),
    ],
)
def test_values_without_words_are_rejected_with_a_reason(feature: str, value: str, says: str) -> None:
    event = b'{"w":%s}' % value.encode()
    schema = schema_of(feature)
    assert row([event], schema) == says
    assert_same(schema, records([event]))


def test_empty_lists_and_objects_give_zeros() -> None:
    assert row([b'{"w":[],"o":{}}'], schema_of("w:hash=2", "o.*:hash=2"))[0] == [0, 0, 0, 0]
    assert row([b'{"w":[null],"o":{"a":null}}'], schema_of("w:hash=2", "o.*:hash=2"))[0] == [0, 0, 0, 0]


def test_names_may_be_hashed_beside_single_fields_and_in_keys() -> None:
    schema = schema_of("o.*:hash=2", "o.a:missing=0", "@key.w:hash=2,as=key")
    batch = decoded([b'{"o":{"a":3,"b":1}}'], schema, keys=ListColumn([b'{"w":["x","x"]}']))
    expected = [*counted([("a", 3.0), ("b", 1.0)], 2), 3.0, *counted([("x", 2.0)], 2)]
    assert batch.X.tolist() == [expected]


def test_a_quoted_star_is_a_field_and_not_all_names() -> None:
    names, quoted = Feature.parse("a.*:hash=2"), Feature.parse('a."*":hash=2')
    assert (names.path, names.names, names.columns) == (Path(("a",)), True, ("a.*#0", "a.*#1"))
    assert (quoted.path, quoted.names) == (Path(("a", "*")), False)
    assert [Feature.parse(str(one)) for one in (names, quoted)] == [names, quoted]
    assert row([b'{"a":{"*":"x"}}'], schema_of('a."*":hash=1', "a.*:hash=1,as=b"))[0] == [1, 1]
    assert row([b'{"*":"x","a":{"*":2}}'], schema_of("*:hash=1", "a.*"))[0] == [1, 2]
    with pytest.raises(UsageFailure, match="two features make a column"):
        schema_of("a.*:hash=2", "a.*:hash=4")


def test_columns_do_not_depend_on_how_words_are_written() -> None:
    schema = schema_of("w:hash=64")
    texts = [[f"w{i * k % 17}" for k in range(i % 9)] for i in range(300)]
    values: list[bytes | None] = [
        json.dumps({"w": one, "é": "\\u0041"[: i % 2]}).encode() for i, one in enumerate(texts)
    ]
    np.testing.assert_array_equal(decoded(values, schema).X, [counted([(w, 1.0) for w in one], 64) for one in texts])


def test_objects_of_more_fields_than_the_table_holds_are_read() -> None:
    wide = {f"w{i}": i for i in range(5000)}
    values: list[bytes | None] = [json.dumps({"o": one}).encode() for one in ({"a": 1}, wide, {"a": 2})]
    rows = [counted([(name, float(value)) for name, value in one.items()], 7) for one in ({"a": 1}, wide, {"a": 2})]
    assert decoded(values, schema_of("o.*:hash=7")).X.tolist() == rows


def test_a_first_list_waits_for_no_compiler() -> None:
    schema = schema_of("w:hash=2,missing=0")
    decoded([b"{}"], schema)
    compiled = list(count_words.signatures)  # type: ignore[attr-defined]
    decoded([b'{"w":["a"]}', b'{"w":["\\u0061"]}'], schema)
    assert list(count_words.signatures) == compiled != []  # type: ignore[attr-defined]

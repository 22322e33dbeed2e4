"""Features that may be missing: kernel and orjson agree, and ordinary events are read by the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Schema, Target
from driftway.worker.wire.scanner import Names, scan
from tests.support.examples import BYTES, examples
from tests.unit.worker.rows import one_by_one, pieces, records, tabled
from tests.unit.worker.wire.test_scanner import EVENTS, HOSTILE, SPACE, joined
from tests.unit.worker.wire.test_scanner_names import SOME, named_events, spelled

FAST = examples(200)


def lenient(schema: Schema) -> Decoder:
    return Decoder(Target(), schema, lenient=True)


def assert_same(schema: Schema, whole: Records, cuts: list[int] | None = None) -> None:
    expected = one_by_one(lenient(schema), whole)
    assert tabled(lenient(schema), [whole]) == expected
    assert tabled(lenient(schema), pieces(whole, cuts or [])) == expected


def plain(values: list[bytes], schema: Schema, may_lack: bool = True) -> list[bool]:
    names = Names.of(schema.names or ())
    flags: list[bool] = scan(ListColumn(values), schema.n_features, names, may_lack)[-1].tolist()
    return flags


@st.composite
def nullable_events(draw: Any, names: list[str] | None) -> bytes:
    """Draw events whose features are partly null and, if they have names, partly missing or repeated."""
    values = st.sampled_from(["null", "null", "1", "-2.5", "nul", "0", "-0.0", "nulll", "true"])
    space = draw(SPACE)
    if names is None:
        x = f"[{space}" + f"{space},{space}".join(draw(st.lists(values, min_size=2, max_size=4))) + f"{space}]"
    else:
        order = draw(st.lists(st.sampled_from(names), max_size=len(names) + 1, unique=draw(st.booleans())))
        x = joined([(draw(spelled(name)), draw(values)) for name in order], space).strip()
    pairs = [('"x"', x), ('"y"', draw(st.sampled_from(["0", "1", "null"])))]
    return joined(draw(st.permutations(pairs)), space).encode("utf-8", "surrogatepass")


@FAST
@given(
    st.lists(st.one_of(nullable_events(None), nullable_events(None), EVENTS), min_size=1, max_size=8),
    st.lists(st.integers(0, 99), max_size=4),
)
def test_lists_are_read_as_orjson_reads_them(values: list[bytes | None], cuts: list[int]) -> None:
    assert_same(Schema(3), records(values), cuts)


@FAST
@given(st.data(), st.lists(st.sampled_from([*SOME, 'quo"te']), min_size=1, max_size=5, unique=True))
def test_named_features_are_read_as_orjson_reads_them(data: Any, names: list[str]) -> None:
    names = sorted(names)
    events = st.one_of(nullable_events(names), nullable_events(names), named_events(names))
    values = data.draw(st.lists(events, min_size=1, max_size=8))
    assert_same(Schema(len(names), tuple(names)), records(values), data.draw(st.lists(st.integers(0, 99), max_size=3)))


LISTS = [b'{"x":[null,2,3]}', b'{"x":[1,null,3]}', b'{"x":[null,null,null],"y":1}', b'{"x" : [ 1 , null , null ] }']
NAMED = [
    b'{"x":{"a":1,"b":null}}', b'{"x":{"a":1}}', b'{"x":{"b":1}}', b'{"x":{}}', b'{"x" : { } ,"y":1}',
    b'{"x":{"b":null}}', b'{"x":{"b":2,"a":1}}', b'{"x":{"a":null,"a":2}}',
]  # fmt: skip


def test_nulls_and_missing_names_take_the_fast_path_if_allowed() -> None:
    three, two = Schema(3), Schema(2, ("a", "b"))
    for schema, values in ((three, LISTS), (two, NAMED)):
        assert_same(schema, records(values))
        assert all(plain(values, schema))
    assert not any(plain(LISTS, three, may_lack=False))
    assert plain(NAMED, two, may_lack=False) == [b'"b":2' in value for value in NAMED]
    rows = [[1, None], [1, None], [None, 1], [None, None], [None, None], [None, None], [1, 2], [2, None]]
    batch = lenient(two).decode(records(NAMED))
    assert [[None if np.isnan(v) else v for v in row] for row in batch.X.tolist()] == rows


@pytest.mark.random_cases
@pytest.mark.parametrize(
    ("schema", "places"),
    [
        (Schema(3), ['"x":[1,{},3]', '"x":[{},null,3]', '"x":{}', '"x":[1,2,null{}]']),
        (Schema(2, ("a", "b")), ['"x":{"a":{}}', '"x":{"b":null,"a":{}}', '"x":{"a":null,{}:3}', '"x":{"a":1{}}']),
    ],
)
def test_hostile_values_and_changed_bytes_are_read_as_orjson_reads_them(schema: Schema, places: list[str]) -> None:
    for place in places:
        assert_same(schema, records([f"{{{place.replace('{}', value)}}}".encode() for value in HOSTILE]))
    for value in LISTS[:2] + NAMED[:2]:
        for at in range(len(value)):
            assert_same(schema, records([value[:at] + bytes([byte]) + value[at + 1 :] for byte in BYTES]))
            assert_same(schema, records([value[:at], value[at:], value[at:], value[:at]]))

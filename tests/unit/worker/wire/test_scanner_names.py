"""Features with names: in one kernel call or by orjson, in any order and spelling, with the same result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.wire import scanner
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Reject, Schema, Target
from driftway.worker.wire.scanner import Names, scan
from tests.support.examples import BYTES, examples
from tests.unit.worker.rows import one_by_one, pieces, records, tabled
from tests.unit.worker.wire.test_scanner import FLOATS, HOSTILE, SCALARS, SPACE, joined

FAST = examples(300)
SOME = ["a", "ab", "b", "", "seven77", "eight888", "nine99999", "a name of more than two words", "x", "y", "größe", "🌡"]
ODD = ['quo"te', "back\\slash", "new\nline", "\x00", "\x7f"]
NAMES = st.lists(st.one_of(st.sampled_from(SOME), st.sampled_from(ODD), st.text(max_size=9)), min_size=1, max_size=5)


@st.composite
def spelled(draw: Any, name: str) -> str:
    """Draw one of the spellings of a name that producers write."""
    ways = [json.dumps(name), json.dumps(name, ensure_ascii=False), "".join(f"\\u{ord(c):04x}" for c in name)]
    way: str = draw(st.sampled_from([ways[0], ways[0], ways[1], f'"{ways[2]}"']))
    return way


@st.composite
def named_events(draw: Any, names: list[str]) -> bytes:
    """Draw events whose `x` has all names in any order, sometimes one too few, too many or twice."""
    order = draw(st.permutations(names))
    change = draw(st.sampled_from(["none", "none", "none", "lacks", "more", "twice", "odd"]))
    if change == "lacks":
        order = order[1:]
    elif change == "more":
        order = [*order, draw(st.text(max_size=3))]
    elif change == "twice":
        order = [*order, draw(st.sampled_from(names))]
    numbers = st.one_of(FLOATS.map(repr), st.integers(-9, 9).map(str))
    values = st.one_of(numbers, SCALARS) if change == "odd" else numbers
    space = draw(SPACE)
    x = joined([(draw(spelled(name)), draw(values)) for name in order], space) if order else "{}"
    pairs = [
        ('"id"', draw(st.integers(0, 99).map(str))),
        ('"x"', x),
        ('"y"', draw(st.sampled_from(["0", "1", "null"]))),
    ]
    return joined(draw(st.permutations(pairs)), space).encode("utf-8", "surrogatepass")


@FAST
@given(st.data(), NAMES)
def test_kernel_and_orjson_agree(data: Any, names: list[str]) -> None:
    names = sorted(set(names))
    values = data.draw(st.lists(named_events(names), min_size=1, max_size=8))
    whole, schema = records(values), Schema(len(names), tuple(names))
    expected = one_by_one(Decoder(Target(), schema), whole)
    assert tabled(Decoder(Target(), schema), [whole]) == expected
    cuts = data.draw(st.lists(st.integers(0, 99), max_size=4))
    assert tabled(Decoder(Target(), schema), pieces(whole, cuts)) == expected


def event(x: dict[str, Any]) -> bytes:
    return json.dumps({"x": x}, ensure_ascii=False).encode()


def plain(values: list[bytes], names: list[str]) -> list[bool]:
    flags: list[bool] = scan(ListColumn(values), len(names), Names.of(names))[-1].tolist()
    return flags


def test_ordinary_events_take_the_fast_path() -> None:
    """In every order, with names of every length, and beyond ASCII."""
    names = sorted(SOME)
    row = {name: j + 0.5 for j, name in enumerate(names)}
    values = [event(row), event(dict(reversed(row.items()))), event({n: row[n] for n in SOME}), event(row)]
    _, X, *_, flags = scan(ListColumn(values), len(names), Names.of(names))
    assert flags.all()
    assert X.tolist() == [list(row.values())] * len(values)


@pytest.mark.parametrize("name", [*SOME, *ODD])
def test_a_name_is_distinguished_from_those_with_the_same_beginning(name: str) -> None:
    assert plain([event({name: 1})], [name]) == [True]
    for other in (f"{name}1", f"1{name}", name[:-1], name[1:], f"{name[:-1]}_"):
        assert plain([event({other: 1})], [name]) == [other == name]


@pytest.mark.parametrize("x", ["[1,2]", '{"a":1}', '{"a":1,"b":2,"c":3}', '{"a":1,"a":2}', '{"a":1,"a":2,"b":3}', "{}"])
def test_other_shapes_are_left_to_orjson(x: str) -> None:
    assert plain([f'{{"x":{x}}}'.encode()], ["a", "b"]) == [False]


def test_every_hostile_value_is_read_as_orjson_reads_it() -> None:
    schema = Schema(3, ("a", "b", "c"))
    for place in ('"x":{"a":1,"b":{},"c":3}', '"x":{"c":{},"b":1,"a":2}', '"x":{"a":1,"b":2,{}:3}', '"x":{}'):
        whole = records([f"{{{place.replace('{}', value)}}}".encode() for value in HOSTILE])
        assert tabled(Decoder(Target(), schema), [whole]) == one_by_one(Decoder(Target(), schema), whole)


@pytest.mark.random_cases
@pytest.mark.parametrize(
    "value", [b'{"x":{"a":1,"bcdefghij":-2.5},"y":1,"id":17}', b'{"x" : { "bcdefghij" : 1 , "a" : 2 } }']
)
def test_halves_of_events_and_changed_bytes_are_read_as_orjson_reads_them(value: bytes) -> None:
    def same(values: list[bytes | None]) -> None:
        schema, whole = Schema(2, ("a", "bcdefghij")), records(values)
        assert tabled(Decoder(Target(), schema), [whole]) == one_by_one(Decoder(Target(), schema), whole)

    for at in range(len(value)):
        same([value[:at], value[at:]])
        same([value[at:], value[:at]])
        same([value[:at] + bytes([byte]) + value[at + 1 :] for byte in BYTES])


def test_no_order_of_names_takes_longer_than_orjson(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant order is learned however long that takes; after a while, changing orders are left to orjson."""
    d, n = 600, 30
    names = [f"f{j:03}" for j in range(d)]
    rng = np.random.default_rng(3)
    still = [event(dict.fromkeys(reversed(names), 1))] * n
    assert plain(still, names) == [True] * n
    wild = [event(dict.fromkeys(rng.permutation(names).tolist(), 1)) for _ in range(n)]
    flags = plain(wild, names)
    assert flags[0]
    assert not flags[-1]
    schema = Schema(d, tuple(names))
    assert tabled(Decoder(Target(), schema), [records(wild)]) == one_by_one(Decoder(Target(), schema), records(wild))
    monkeypatch.setattr(scanner, "PATIENCE", d)
    assert plain(wild, names) == [True] * n


def test_the_first_event_fixes_the_names() -> None:
    """A decoder without a schema, as a worker starts, and one that returns to another schema."""
    values = [event({"b": 2, "a": 1}), event({"b": 4, "a": 3})]
    decoder = Decoder(Target())
    batch = decoder.decode(records(values))
    assert decoder.schema == Schema(2, ("a", "b"))
    assert batch.X.tolist() == [[1, 2], [3, 4]]
    decoder.schema = Schema(2, ("a", "c"))
    again: Records = records([event({"c": 2, "a": 1}), values[0]])
    batch = decoder.decode(again)
    assert batch.X.tolist() == [[1, 2]]
    assert [bad.reason for bad in batch.rejected] == ["x lacks c and has unknown b"]


def test_an_event_that_lacks_a_name_takes_linear_time() -> None:
    """Each look at all names is counted: one for each name would be seconds for 10,000."""
    looks = []

    class Names(tuple[str, ...]):
        def __iter__(self) -> Iterator[str]:
            looks.append(1)
            return super().__iter__()

    names = Names(f"f{i}" for i in range(1000))
    schema = Schema(len(names), names)
    looks.clear()
    with pytest.raises(Reject, match="x lacks f0 and has unknown g"):
        schema.check({"g": 1.0, **dict.fromkeys(list(names)[1:], 0.0)})
    assert len(looks) < 10

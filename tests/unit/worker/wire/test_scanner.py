"""Events through the batch path, in one kernel call, and through orjson, one by one: always the same."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Schema, Target
from driftway.worker.wire.scanner import NO_TIME, scan
from tests.support.examples import examples
from tests.unit.worker.rows import one_by_one, pieces, records, tabled

D = 3
FAST = examples(300)
TARGETS = [
    Target(),
    Target("classification", 4),
    Target("classification", 2, ("DOWN", "UP")),
    Target("classification", 2, ("-1", "1")),
    Target("classification", 3, ("0.5", "many", "9007199254740992")),
    Target("regression", 0),
]

INTEGERS = st.one_of(
    st.integers(-3, 3), st.integers(-(2**64), 2**64), st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30])
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NUMBER_TEXT = st.one_of(
    INTEGERS.map(str),
    FLOATS.map(repr),
    st.sampled_from(
        ["-0", "-0.0", "0e5", "1E2", "1e-5", "0.00012345678901234567", "1e400", "01", "1.", ".5", "+1", "NaN"]
    ),
)
STRINGS = st.one_of(
    st.sampled_from(
        ["", "a", "DOWN", "UP", "many", "x", "\u00e9", "\U0001f600", 'q"uote', "back\\slash", "\n", "/", "\x7f"]
    ),
    st.text(max_size=6),
)
STRING_TEXT = st.one_of(
    STRINGS.map(json.dumps),
    STRINGS.map(lambda s: json.dumps(s, ensure_ascii=False)),
    st.sampled_from([r'"\u0061"', r'"\ud83d\ude00"', r'"\ud800"', r'"\x"', '"tab\there"', '"open']),
)
WORDS = st.sampled_from(["null", "true", "false", "nul", "nulll", "True"])
SCALARS = st.one_of(NUMBER_TEXT, STRING_TEXT, WORDS)
NESTED = st.sampled_from(["[]", "{}", "[1,[2]]", '{"x":[1,2,3]}', "[1,]", '{"a":1,"a":2}'])
ANY = st.one_of(SCALARS, NESTED)
SPACE = st.sampled_from(["", "", "", " ", "\n", "\t\r\n ", "\x0b", "\u00a0"])
FIELDS = st.sampled_from(['"x"', '"y"', '"id"', '"t"', '"z"', '"xx"', '""', r'"\u0078"', '"\u00e9"', '"X"', "x", "'x'"])

GOOD_X = st.lists(st.one_of(FLOATS.map(repr), st.integers(-9, 9).map(str)), min_size=D, max_size=D).map(
    lambda values: "[" + ",".join(values) + "]"
)
ODD_X = st.lists(SCALARS, max_size=D + 1).flatmap(
    lambda values: st.tuples(SPACE, SPACE).map(lambda s: f"[{s[0]}" + f",{s[1]}".join(values) + f"{s[0]}]")
)


def joined(pairs: list[tuple[str, str]], space: str) -> str:
    inner = f"{space},{space}".join(f"{name}{space}:{space}{value}" for name, value in pairs)
    return f"{space}{{{space}{inner}{space}}}{space}"


@st.composite
def plain_events(draw: Any) -> bytes:
    """Draw events as producers write them: fields in any order, ids and times of any kind."""
    pairs = [('"x"', draw(GOOD_X))]
    for name, values in (
        ('"y"', st.one_of(st.sampled_from(["0", "1", "null", "-1", "1.0", '"UP"', "0.5", "2"]), NUMBER_TEXT)),
        ('"id"', SCALARS),
        ('"t"', st.one_of(st.integers(-(10**19), 10**19).map(str), SCALARS)),
        ('"z"', SCALARS),
    ):
        if draw(st.booleans()):
            pairs.append((name, draw(values)))
    return joined(draw(st.permutations(pairs)), draw(SPACE)).encode()


@st.composite
def odd_events(draw: Any) -> bytes:
    """Draw anything that looks like an event: repeated, unknown and escaped fields, values of every kind."""
    pairs = draw(st.lists(st.tuples(FIELDS, st.one_of(ANY, ODD_X)), max_size=5))
    if draw(st.booleans()):
        pairs.insert(draw(st.integers(0, len(pairs))), ('"x"', draw(st.one_of(GOOD_X, ODD_X))))
    return joined(pairs, draw(SPACE)).encode("utf-8", "surrogatepass")


@st.composite
def broken_events(draw: Any) -> bytes:
    """Draw an event with bytes removed, inserted or changed anywhere."""
    data = bytearray(draw(plain_events()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["cut", "stop", "insert", "digits", "change"]))
        if kind == "cut":
            del data[at : at + draw(st.integers(1, 4))]
        elif kind == "stop":
            del data[at:]
        elif kind == "digits":
            data[at:at] = draw(st.sampled_from([b"0", b"9", b"18446744073709551616"])) * draw(st.integers(1, 30))
        elif kind == "insert":
            data[at:at] = draw(
                st.one_of(st.binary(min_size=1, max_size=2), st.sampled_from([b",", b'"', b"]", b"}", b"0", b"\0"]))
            )
        elif at < len(data):
            data[at] = draw(st.integers(0, 255))
    return bytes(data)


@st.composite
def neighbours(draw: Any) -> list[bytes]:
    """Draw records whose concatenated bytes are those of good events, cut anywhere."""
    whole = b"".join(draw(st.lists(plain_events(), min_size=1, max_size=3)))
    places = sorted(draw(st.sets(st.integers(0, len(whole)), max_size=6)))
    return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]


EVENTS = st.one_of(plain_events(), plain_events(), odd_events(), broken_events(), st.none(), st.binary(max_size=5))


@FAST
@given(st.one_of(st.lists(EVENTS, min_size=1, max_size=8), neighbours()), st.sampled_from(TARGETS))
def test_kernel_and_orjson_agree(values: list[bytes | None], target: Target) -> None:
    whole = records(values)
    assert tabled(Decoder(target, Schema(D)), [whole]) == one_by_one(Decoder(target, Schema(D)), whole)


@FAST
@given(st.lists(EVENTS, min_size=1, max_size=8), st.lists(st.integers(0, 99), max_size=4), st.sampled_from(TARGETS))
def test_cutting_batches_changes_nothing(values: list[bytes | None], cuts: list[int], target: Target) -> None:
    """Also before any event has fixed the schema."""
    whole = records(values)
    cut, uncut, single = Decoder(target), Decoder(target), Decoder(target)
    expected = tabled(uncut, [whole])
    assert tabled(cut, pieces(whole, cuts)) == expected
    assert tabled(single, pieces(whole, list(range(len(whole))))) == expected
    assert cut.schema == uncut.schema == single.schema
    if uncut.schema is not None:
        assert sorted(expected) == list(range(len(whole)))
        fixed = Decoder(target, uncut.schema)
        assert {o: r for o, r in one_by_one(fixed, whole).items() if not isinstance(r, str)} == {
            o: r for o, r in expected.items() if not isinstance(r, str)
        }


HOSTILE = [
    "0", "-0", "00", "01", "-01", "-", "+1", "1.", ".5", "1.0", "-0.0", "1e5", "1E+2", "1e", "1e+", "0e9", "0x1", "1_0",
    "NaN", "Infinity", "-Infinity", "1e400", "1e-400", "4.9e-324", "9007199254740992", "9007199254740993",
    "999999999999999999", "1000000000000000000", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "0.1234567890123456789012",
    "0.0012345678901234567", "null", "nul", "nulll", "true", "false", "True", '""', '"a"', '"a', '"tab\there"',
    '"line\nbreak"', '"nul\x00"', '"\x7f"', '"\u00e9"', r'"\u0061"', r'"\ud800"', r'"\x"', '"\\"', '"back\\\\"',
    "[]", "[1]", "[1,]", "{}", '{"x":1}', "", " ", "1 2", "1,", ",1", "1}", "]", "'a'", "/*1*/1", "\u0661",
]  # fmt: skip


PLACES = [
    '"y":{},"x":[1,2,3]', '"id":{},"x":[1,2,3]', '"t":{},"x":[1,2,3]', '"z":{},"x":[1,2,3]',
    '"x":[1,{},3]', '"x":{}', '"x":[1,2,3],"y":{}', '"x":[1,2,3]{}',
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.task[:5] + "-".join(target.labels))
@pytest.mark.parametrize("place", PLACES)
def test_every_hostile_value_in_every_place_is_read_as_orjson_reads_it(place: str, target: Target) -> None:
    whole = records([f"{{{place.replace('{}', value)}}}".encode() for value in HOSTILE])
    assert tabled(Decoder(target, Schema(D)), [whole]) == one_by_one(Decoder(target, Schema(D)), whole)


def test_ordinary_events_take_the_fast_path() -> None:
    """Otherwise the comparisons of the two paths would never use the kernel."""
    values = [
        b'{"x":[1,-2.5,3e-5],"y":1,"id":17,"t":1700000000000}',
        b'{"id":"order-17","y":null,"x":[0,0.0,123456789.25]}',
        b' { "t" : -5 , "x" : [ 1 , 2 , 3 ] , "note" : "ok" , "flag" : true , "n" : 1e3 }\n',
    ]
    text, X, y, spans, t, plain = scan(ListColumn(values), D)
    assert plain.tolist() == [True, True, True]
    assert X.tolist() == [[1, -2.5, 3e-5], [0, 0, 123456789.25], [1, 2, 3]]
    assert y[0] == 1
    assert np.isnan(y[1:]).all()
    assert [text[a:b].tobytes() for a, b in spans.T] == [b"17", b'"order-17"', b"null"]
    assert t.tolist() == [1700000000000, NO_TIME, -5]


@pytest.mark.parametrize(
    "value",
    [
        b'{"x":[1,2,3],"x":[4,5,6]}',
        b'{"y":0,"x":[1,2,3],"y":1}',
        b'{"y":1,"x":[1,2,3],"y":null}',
        b'{"x":[7,8,9],"y":null,"x":[1,2,3]}',
        b'{"id":1,"x":[1,2,3],"id":2}',
        b'{"t":1,"x":[1,2,3],"t":2}',
        b'{"x":[1,2,3],"\\u0079":1,"y":0}',
        b'{"x":[1,2,3],"z":[4],"z":{"y":1}}',
    ],
)
def test_of_repeated_fields_the_last_counts_as_in_json(value: bytes) -> None:
    whole = records([value])
    found = tabled(Decoder(Target(), Schema(D)), [whole])[0]
    event = json.loads(value)
    assert np.frombuffer(found[0]).tolist() == event["x"]
    assert found[1] == event.get("y")
    assert found[2] == str(event.get("id", "null")).encode()
    assert found[3] == event.get("t", NO_TIME)

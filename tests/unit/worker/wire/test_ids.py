"""An event's id is the text that came: numbers of any length, whatever they are nested in, by every reader."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.wire import codec
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Target
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.examples import examples
from tests.unit.worker.rows import model_settings, records

FAST = examples(300)
LONG = st.integers(-(10**40), 10**40) | st.integers(2**64 - 2, 2**64 + 2) | st.integers(-(2**63) - 2, -(2**63) + 2)
DECIMALS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})\.[0-9]{1,25}([eE][+-]?[0-9]{1,2})?", fullmatch=True)
NUMBERS = LONG.map(str) | DECIMALS | st.from_regex(r"[1-9][0-9]{0,400}([eE]\+?[0-9]{1,4})?", fullmatch=True)
TEXTS = st.text(max_size=8)
SCHEMA = EventSchema.parse(["x", "more:missing=0"], id="id", label="y")
NESTED = EventSchema.parse(["x", "more:missing=0"], id="a.0.id", label="y")


class NumberText(str):
    """A number as written."""


IDS = st.recursive(
    NUMBERS.map(NumberText) | TEXTS | st.sampled_from([True, False, None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def written(value: Any, ascii_only: bool = False, space: str = "") -> str:
    """Write a value as JSON, with numbers as they are: the oracle, apart from white space and escapes."""
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, list):
        return "[" + f",{space}".join(written(item, ascii_only, space) for item in value) + "]"
    if isinstance(value, dict):
        pairs = [
            f"{json.dumps(k, ensure_ascii=ascii_only)}:{space}{written(v, ascii_only, space)}" for k, v in value.items()
        ]
        return "{" + f",{space}".join(pairs) + "}"
    return json.dumps(value, ensure_ascii=ascii_only)


def ids_of(values: list[bytes], events: EventSchema | None) -> list[bytes]:
    batch = Decoder(Target(), events=events).decode(records(values))
    assert batch.rejected == []
    text, bounds = batch.ids
    return [text[start:end].tobytes() for start, end in bounds.T.tolist()]


FORMS: dict[str, tuple[str, EventSchema | None]] = {
    "plain": ('{"x":[1],"id":%s}', None),
    "plain, left to orjson": ('{"x":[1],"id":%s,"z":"\\u00e9"}', None),
    "schema": ('{"x":1,"id":%s}', SCHEMA),
    "schema, left to orjson": ('{"x":1,"id":%s,"more":"\\u0031"}', SCHEMA),
    "nested": ('{"x":1,"a":[{"id":%s}]}', NESTED),
}


@pytest.mark.parametrize("form", FORMS)
@FAST
@given(names=st.lists(IDS, min_size=1, max_size=5), ascii_only=st.booleans(), space=st.sampled_from(["", " ", "\n\t"]))
def test_an_id_keeps_its_text(form: str, names: list[Any], ascii_only: bool, space: str) -> None:
    event, schema = FORMS[form]
    values = [(event % (space + written(name, ascii_only, space))).encode(errors="surrogatepass") for name in names]
    assert ids_of(values, schema) == [written(name).encode() for name in names]


@FAST
@given(st.lists(NUMBERS, min_size=1, max_size=8))
def test_both_readers_of_plain_numbers_agree(numbers: list[str]) -> None:
    (left, _), (right, _) = FORMS["plain"], FORMS["plain, left to orjson"]
    assert ids_of([(left % n).encode() for n in numbers], None) == ids_of([(right % n).encode() for n in numbers], None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "bad", ["01", "1.", ".5", "--1", "+1", "1e", "1e+", "0x1", "1_0", "- 1", "1 2", "[1 2]", "NaN"]
)
def test_an_invalid_number_is_invalid_json(form: str, bad: str) -> None:
    event, schema = FORMS[form]
    for name in (bad, f"[{bad},{'9' * 400}]", f'"a",{bad}'):
        batch = Decoder(Target(), events=schema).decode(records([(event % name).encode()]))
        reason = "not JSON: it has NaN or Infinity, which JSON does not have" if bad == "NaN" else "not JSON"
        assert [one.reason for one in batch.rejected] == [reason]


def test_minus_zero_is_zero() -> None:
    for event, schema in FORMS.values():
        assert ids_of([(event % n).encode() for n in ("-0", "0", "-0.0", "[-0]")], schema) == [
            b"0",
            b"0",
            b"-0.0",
            b"[0]",
        ]


def test_a_number_beyond_float64_counts_only_in_the_id() -> None:
    values = [b'{"x":[1],"id":1e400}', b'{"x":[1],"id":1,"z":1e400}', b'{"x":[1e400],"id":1e400}',
              b'{"x":[1],"id":{"a":[1e400,"1e400"]},"z":"\\"1e400"}']  # fmt: skip
    batch = Decoder(Target()).decode(records(values))
    reason = "not JSON: it has a number that is too large for 64 bits, 1e400"
    assert [(one.offset, one.reason) for one in batch.rejected] == [(1, reason), (2, reason)]
    text, bounds = batch.ids
    assert [text[a:b].tobytes() for a, b in bounds.T.tolist()] == [b"1e400", b'{"a":[1e400,"1e400"]}']


def test_the_last_of_repeated_names_counts() -> None:
    big = "9" * 30
    assert ids_of([b'{"id":1,"x":[1],"id":{"k":%s,"k":%s1}}' % (big.encode(), big.encode())], None) == [
        b'{"k":%s1}' % big.encode()
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'"' + b'\\"' * 200_000 + b"1" * 300, "not JSON"),
        (b'{"id":' + b"[" * 100_000 + b"1" * 400, "not JSON: it is nested more than 1,024 levels deep"),
        (b'"\\', "not JSON"),
    ],
)
def test_hostile_texts_take_linear_time(text: bytes, reason: str) -> None:
    batch = Decoder(Target()).decode(records([text]))
    assert [one.reason for one in batch.rejected] == [reason]


@pytest.mark.parametrize("events", [None, SCHEMA])
@pytest.mark.parametrize("wrap", ["%s", '{"k":%s}', '[%s, "é"]', "%s.5"])
def test_labels_find_rows_whose_ids_share_a_float64(events: EventSchema | None, wrap: str) -> None:
    """Two orders of 30 digits that differ in the last one."""
    names = [wrap % f"12345678901234567890123456789{k}" for k in (0, 1)]
    x = "[%d]" if events is None else "%d"
    rows = [f'{{"x":{x % k},"id":{name}}}' for k, name in enumerate(names)]
    labels = [f'{{"id":{name.replace(" ", "")},"y":{1 - k}}}' for k, name in enumerate(names)]
    model = Model(model_settings("pa1", events=events, wait=LabelWait.parse("100")), 0)
    out = model.advance(records([text.encode() for text in rows + labels]))
    assert out.rejected == []
    sent = [codec.parse_exactly(value)["id"] for value in out.predictions]
    assert [codec.id_text(one) for one in sent] == [name.replace(" ", "").encode() for name in names]
    assert model.champion.state.memory.any()


@FAST
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | LONG | st.text(), max_size=5))
def test_exact_parsing_has_the_values_of_orjson(items: list[Any]) -> None:
    text = json.dumps({"a": items}).encode()
    exact, usual = codec.parse_exactly(text)["a"], codec.parse_json(text)["a"]
    assert [np.array([one]).tobytes() if isinstance(one, float) else one for one in exact] == [
        np.array([one]).tobytes() if isinstance(one, float) else one for one in usual
    ]

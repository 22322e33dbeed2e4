"""What is too large to be passed on: ids and keys are bounded, rejections and headers are cut."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from driftway.worker.wire.codec import LONGEST_EXACT, PACKED
from driftway.worker.wire.columns import NOTHING, BufferColumn, BytesColumn, ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import MAX_ID, MAX_KEY, Records, RejectedEvent, Target
from driftway.worker.wire.headers import LEFT_OUT, MAX_HEADERS, passed_headers
from driftway.worker.wire.packed import encode_events as encode_packed
from driftway.worker.wire.rejections import FIRST_BYTES, SMALL_RECORD, kind_of, record_of
from tests.unit.worker.rows import records
from tests.unit.worker.wire.schema.reading import schema_of

SMALL = b'{"x":[1,2],"y":1,"id":7}'


def event(id_length: int, plain: bool = True) -> bytes:
    """Return an event whose id has `id_length` bytes as JSON text; one that is not plain goes through orjson."""
    spare = "" if plain else '"more":"\\u00e9",'
    return f'{{{spare}"x":[1,2],"y":1,"id":"{"z" * (id_length - 2)}"}}'.encode()


@pytest.mark.parametrize("plain", [True, False])
def test_an_id_up_to_the_bound_is_predicted_and_a_longer_one_rejected(plain: bool) -> None:
    batch = Decoder(Target()).decode(records([SMALL, event(MAX_ID, plain), event(MAX_ID + 1, plain), SMALL]))
    assert batch.offsets.tolist() == [0, 1, 3]
    assert [(bad.offset, bad.reason) for bad in batch.rejected] == [(2, "id is too long: 65537 bytes, more than 65536")]
    assert kind_of(batch.rejected[0].reason) == "id"


def test_a_long_event_of_a_schema_needs_no_id() -> None:
    """Values with an escape in a name are parsed in Python; the absent id is none that is nested too deeply."""
    more = ",".join(["0"] * LONGEST_EXACT)
    value = f'{{"\\u0061":0.5,"y":1,"more":[{more}]}}'.encode()
    batch = Decoder(Target(), events=schema_of("a")).decode(records([value]))
    assert (batch.X.tolist(), batch.y.tolist(), batch.rejected) == ([[0.5]], [1], [])


@pytest.mark.parametrize("bad", [event(MAX_ID + 1), event(MAX_ID + 1, plain=False)])
def test_an_event_with_too_long_an_id_does_not_fix_the_schema(bad: bytes) -> None:
    decoder = Decoder(Target())
    batch = decoder.decode(records([bad]))
    assert (len(batch.rejected), decoder.schema) == (1, None)
    batch = decoder.decode(records([bad, b'{"x":[1,2,3],"y":0}'], 1))
    assert (batch.offsets.tolist(), [one.offset for one in batch.rejected]) == ([2], [1])


def test_an_id_of_a_schema_and_of_a_label_is_bounded() -> None:
    schema = schema_of("a", label="y", id="name")
    long = json.dumps({"a": 1, "y": 1, "name": ["n" * MAX_ID]}).encode()
    batch = Decoder(Target(), events=schema).decode(records([b'{"a":1,"y":0,"name":"s"}', long]))
    assert [one.reason for one in batch.rejected] == [f"id is too long: {MAX_ID + 4} bytes, more than {MAX_ID}"]
    label = b'{"id":"' + b"n" * MAX_ID + b'","y":1}'
    batch = Decoder(Target(), late=True).decode(records([SMALL, label]))
    assert [one.offset for one in batch.rejected] == [1]
    assert batch.labels is not None
    assert len(batch.labels) == 0


@pytest.mark.parametrize("values", ['"id":7,"shop":1e30', '"id":1.50,"shop":7'])
def test_numbers_of_a_huge_event_are_not_read_digit_by_digit(values: str) -> None:
    """Each of a million numbers in it would take a microsecond."""
    schema = schema_of("shop:hash=8", label="y", id="id")
    huge = f'{{"\\u0061":0,{values},"y":1,"more":[{"0," * LONGEST_EXACT}0]}}'.encode()
    batch = Decoder(Target(), events=schema).decode(records([b'{"id":7,"shop":1e30,"y":0}', huge]))
    assert [(bad.offset, kind_of(bad.reason)) for bad in batch.rejected] == [(1, "inexact")]


def columns(keys: list[bytes | None]) -> list[BytesColumn]:
    lengths = np.array([NOTHING if key is None else len(key) for key in keys])
    sizes = np.maximum(lengths, 0)
    text = np.frombuffer(b"".join(key or b"" for key in keys), np.uint8)
    return [ListColumn(keys), BufferColumn(text, np.cumsum(sizes) - sizes, lengths)]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("form", ["json", PACKED])
def test_a_key_is_bounded_in_every_format(which: int, form: str) -> None:
    long, longest = b"k" * (MAX_KEY + 1), b"k" * MAX_KEY
    values = encode_packed(np.ones((4, 2)), np.ones(4)) if form == PACKED else [SMALL] * 4
    decoder = Decoder(Target(), form=form)
    batch = decoder.decode(replace(records(values), keys=columns([long, None, longest, long])[which]))
    assert batch.offsets.tolist() == [1, 2]
    assert {one.reason for one in batch.rejected} == {"key is too long: 65537 bytes, more than 65536"}
    assert kind_of(batch.rejected[0].reason) == "key"
    none = decoder.decode(replace(records(values, 4), keys=columns([None] * 4)[which]))
    assert len(none) == 4


def rejection(value: bytes | None, key: bytes | None = None) -> RejectedEvent:
    return RejectedEvent("not JSON", 5, value, key, 1)


def test_a_rejection_that_fits_is_the_event_unchanged() -> None:
    whole = record_of(rejection(b"?" * 90_000, b"key"), "EVENTS", 0)
    assert whole.within(whole.size) is whole
    assert (whole.value, whole.key) == (b"?" * 90_000, b"key")


@pytest.mark.parametrize("value", [b"?" * 90_000, b"?" * FIRST_BYTES, b"", None])
@pytest.mark.parametrize("key", [b"k" * MAX_KEY, b"k" * (MAX_KEY + 1), None])
def test_a_rejection_that_does_not_fit_has_length_digest_and_beginning(value: bytes | None, key: bytes | None) -> None:
    whole = record_of(rejection(value, key), "EVENTS", 0)
    cut = whole.within(whole.size - 1)
    assert cut.size <= SMALL_RECORD
    assert cut.headers[: len(whole.headers)] == whole.headers
    cut_headers = dict(cut.headers)
    assert cut_headers["truncated"] == b"true"
    for given, kept, most, prefix in ((value, cut.value, FIRST_BYTES, ""), (key, cut.key, MAX_KEY, "key-")):
        if given is None or len(given) <= most:
            assert kept == given
            assert f"{prefix}length" not in cut_headers
        else:
            assert kept == given[:FIRST_BYTES]
            assert cut_headers[f"{prefix}length"] == b"%d" % len(given)
            assert cut_headers[f"{prefix}sha256"] == hashlib.sha256(given).hexdigest().encode()


def test_headers_that_are_too_long_to_be_passed_are_counted_instead() -> None:
    short, long = (("a", b"1"), ("b", None)), (("a", b"v" * MAX_HEADERS), ("b", b"2"))
    assert passed_headers([short, long, ()], ("*",)) == [short, ((LEFT_OUT, b"%d" % (MAX_HEADERS + 3)),), ()]
    assert passed_headers([short, long], ("b",)) == [(("b", None),), (("b", b"2"),)]
    assert passed_headers(None, ("*",)) is None


def test_cutting_batches_rejects_the_same_records() -> None:
    """However records are cut into batches, the same are rejected."""
    whole: Records = records([SMALL, event(MAX_ID + 1), b"?", event(MAX_ID), SMALL])
    one = Decoder(Target()).decode(whole)
    decoder = Decoder(Target())
    parts = [decoder.decode(whole.after(i).before(1)) for i in range(5)]
    assert [bad for part in parts for bad in part.rejected] == one.rejected

"""Where events end: nothing is read past a record's own bytes, wherever it stops and at every position in a word."""

from __future__ import annotations

import json

import pytest

from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Schema, Target
from driftway.worker.wire.scanner import scan
from tests.support.examples import BYTES, thorough
from tests.unit.worker.rows import one_by_one, records, tabled

D = 3
PLAIN = [
    b'{"x":[1,-2.5,0.12345678901],"y":1,"id":17,"t":1700000000000}',
    b'{"id":"order-17","y":null,"x":[0,12345678901234567,1e-7]}',
    b' { "t" : -5 , "x" : [ 1 , 2 , 3 ] , "a long name" : "a long note" , "flag" : true , "n" : 1.25e3 } ',
    b'{"x":[1,2,3]}',
]
LENGTHS = [*range(26), 255, 256, 1_000, 100_000 if thorough() else 5_000]


def same(values: list[bytes | None]) -> None:
    """Fail unless the batch gives what orjson gives, event by event."""
    whole, target = records(values), Target("regression", 0)
    assert tabled(Decoder(target, Schema(D)), [whole]) == one_by_one(Decoder(target, Schema(D)), whole)


def test_the_events_of_this_file_are_read_by_the_kernel() -> None:
    assert scan(ListColumn(PLAIN), D)[-1].all()


@pytest.mark.parametrize("value", PLAIN)
def test_two_halves_of_an_event_never_make_one(value: bytes) -> None:
    """Also as the first and the last records of a batch."""
    for at in range(len(value) + 1):
        same([value[:at], value[at:]])
        same([value[at:], value[:at]])


@pytest.mark.parametrize("value", PLAIN)
def test_bytes_behind_an_event_do_not_complete_it(value: bytes) -> None:
    behind = [b"}", b"]}", b",3]}", b"3]}", b'":1}', b'"}', b" }", b"null}", b"7", b"", None]
    same([part for at in range(len(value)) for rest in behind for part in (value[:at], rest)])


@pytest.mark.random_cases
@pytest.mark.parametrize("value", PLAIN)
def test_every_byte_in_every_place_is_read_as_orjson_reads_it(value: bytes) -> None:
    """Including zero bytes, which end an event inside the scanner."""
    for at in range(len(value)):
        same([value[:at] + bytes([byte]) + value[at + 1 :] for byte in BYTES])
        same([value[:at] + b"\0" + value[at:], value])


def test_zero_bytes_do_not_affect_neighbouring_events() -> None:
    hostile = [b"\0", b"\0" * 40, PLAIN[3] + b"\0", b"\0" + PLAIN[3], PLAIN[3] + b"\0" + PLAIN[3], PLAIN[3] + b"\0null"]
    for zero in hostile:
        values = [PLAIN[0], zero, PLAIN[1], b"", None, PLAIN[2], zero]
        same(values)
        assert scan(ListColumn(values), D)[-1].tolist() == [True, False, True, False, False, True, False]
        batch = Decoder(Target("regression", 0)).decode(records(values))
        assert batch.offsets.tolist() == [0, 2, 5]


def test_empty_batches_and_empty_events_are_read() -> None:
    for values in ([], [b""], [None], [None, b""], [b"\0"], [b"n"], [b"null"], [b"["], [b'"'], [b"{"], [b'{"']):
        assert not scan(ListColumn(values), D)[-1].any()
    same([b"", None, b"\0", b"{"])


@pytest.mark.random_cases
@pytest.mark.parametrize(
    "place",
    ['{"x":[1,2,%s]}', '{"x":[%s,2,3]}', '{"x":[1,2,3],"y":%s}', '{"id":%s,"x":[1,2,3]}', '{"t":%s,"x":[1,2,3]}',
     '{"x":[1,2,3],"z":%s}'],
)  # fmt: skip
def test_numbers_of_any_length_are_read_as_orjson_reads_them(place: str) -> None:
    """Also if the digits, taken modulo 2^64, are a small number."""
    texts = []
    for n in LENGTHS:
        for digits in ("9" * n, "0" * n, "1" + "0" * n, f"{2**64 + n}", f"{2**64}" * (n % 100)):
            texts += [digits, f"-{digits}", f"0.{digits}", f"-0.{'0' * n}{digits}", f"1.{digits}e-{n}", f"3e{digits}"]
    same([(place % text).encode() for text in texts])
    cut = [(place % text).encode()[:-at] for text in texts[:40] for at in (1, 2, 3)]
    same([part for value in cut for part in (value, b"0" * 24, b"]}")])


@pytest.mark.random_cases
@pytest.mark.parametrize("place", ['{"x":[1,2,3],"id":"%s"}', '{"x":[1,2,3],"%s":0}', '{"%s":"","x":[1,2,3]}'])
def test_strings_of_any_length_with_any_byte_are_read_as_orjson_reads_them(place: str) -> None:
    front, back = place.encode().split(b"%s")
    for n in range(18):
        texts = [b"a" * at + bytes([byte]) + b"a" * (n - at) for at in range(n + 1) for byte in BYTES]
        same([front + text + back for text in texts])
    long = [front + b"a" * n + rest for n in LENGTHS for rest in (back, b"", b'"', b"\\", b"\\" + back)]
    same([part for value in long for part in (value, back)])
    assert scan(ListColumn([front + b"a" * n + back for n in LENGTHS]), D)[-1].all()


def test_ordinary_numbers_of_every_length_are_read_by_the_kernel() -> None:
    """Otherwise the comparisons would not use the kernel."""
    digits = "1234567890123456789"
    texts = [f"{sign}{digits[:n]}.{digits[n : n + m]}" for sign in "-" for n in range(1, 9) for m in range(1, 11)]
    values = [f'{{"x":[{text},0.{text[1]},{text[1:]}]}}'.encode() for text in texts]
    _, X, *_, plain = scan(ListColumn(values), D)
    assert plain.all()
    assert X.tolist() == [json.loads(value)["x"] for value in values]

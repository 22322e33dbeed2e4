"""Malformed messages: a worker rejects each, first in its partition or later, and none changes a row."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.producers.messages import Encoding, Messages, encoder, with_timestamps
from driftway.producers.poison import Poison, kinds
from driftway.producers.row_random import POISON, RowRandom
from driftway.producers.streams import open_stream
from driftway.producers.streams.stream import Block
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Schema, Target

TARGETS = [Target(), Target(labels=("no", "yes")), Target(n_classes=5), Target("regression", 0)]
FORMS = [Encoding(), Encoding(named=True), Encoding("packed")]


def good(encoding: Encoding, d: int = 3) -> list[bytes]:
    block = Block(np.arange(2.0 * d).reshape(2, d), np.full(2, np.nan))
    return encoder(open_stream("hyperplane_staged", d=d), encoding)(0, block)[0]


def decode(values: list[bytes | None], encoding: Encoding, target: Target, schema: Schema | None = None) -> list[str]:
    """Return the rejection reasons of a fresh partition's records; "" for a row."""
    n = len(values)
    records = Records(0, np.arange(n), ListColumn(values), ListColumn([None] * n), [0] * n)
    batch = Decoder(target, schema, encoding.form).decode(records)
    reasons = {int(offset): "" for offset in batch.offsets}
    return [(reasons | {bad.offset: bad.reason for bad in batch.rejected})[offset] for offset in range(n)]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("encoding", FORMS, ids=str)
@pytest.mark.parametrize("d", [1, 3])
def test_every_kind_is_rejected_and_does_not_fix_the_schema(target: Target, encoding: Encoding, d: int) -> None:
    rows = good(encoding, d)
    stream = open_stream("hyperplane_staged", d=d)
    damaged = [kind(rows[0]) for kind in kinds(d, stream.feature_names if encoding.named else None, encoding.form)]
    for value in damaged:
        first, row, later, last = decode([value, rows[0], value, rows[1]], encoding, target)
        assert first, value
        assert later, value
        assert (row, last) == ("", ""), value
    alone = decode([*damaged, rows[0]], encoding, target)
    assert alone[-1] == ""


def test_the_kinds_are_those_that_the_worker_knows() -> None:
    rows = good(Encoding())
    damaged = [kind(rows[0]) for kind in kinds(3, None, "json")]
    reasons = set(decode([rows[0], *damaged], Encoding(), Target())[1:])
    assert reasons == {
        "null value",
        "not JSON",
        "not JSON: it is empty",
        "not JSON: it has a number that is too large for 64 bits, 1e999",
        "not JSON: it is UTF-16, JSON is UTF-8",
        "not JSON: it has NaN or Infinity, which JSON does not have",
        "not a JSON object",
        "no x",
        "x is neither a list nor an object",
        "x has 0 features, expected 3",
        "x has 4 features, expected 3",
        "x is an object, expected a list of 3 features",
        "x[0] is not a number",
        'label "\\u2620 poison" is not one of 0, 1',
        "label given is not one of 0, 1: it is a list or an object",
        "id is nested too deeply",
    }
    rows = good(Encoding("packed"))
    damaged = [kind(rows[0]) for kind in kinds(3, None, "packed")]
    reasons = set(decode([rows[0], *damaged], Encoding("packed"), Target())[1:])
    assert reasons == {
        "null value",
        "packed: 0 bytes are less than its head",
        "packed: 9 bytes are less than its head",
        "packed: 10 bytes are not a whole number of features",
        "packed: 33 bytes are not a whole number of features",
        "packed: version 2 is not 1",
        "packed: version 123 is not 1",
        "packed: 3 bytes per feature, expected 4 or 8",
        "x has 4 features, expected 3",
        "x[0] is not finite",
        "label Infinity is not one of 0, 1",
    }


def messages(first: int, rows: int, timed: bool = False, keyed: bool = False) -> Messages:
    block = next(iter(open_stream("sea", rows=first + rows).blocks()))
    block = Block(block.X[first:], block.y[first:])
    values, keys = encoder(open_stream("sea"), Encoding(key="x1" if keyed else None))(first, block)
    times = list(range(first, first + rows)) if timed else None
    return Messages(first, rows, values if times is None else with_timestamps(values, times), keys, times)


@pytest.mark.parametrize("size", [1, 17, 500])
def test_malformed_messages_come_before_their_rows_however_rows_are_cut(size: int) -> None:
    poison = Poison(0.2, 9, open_stream("sea"), Encoding())
    whole = messages(0, 500, timed=True, keyed=True)
    assert whole.keys is not None
    draws = RowRandom(9, POISON, 2).uniforms(0, 500)
    expected: list[tuple[object, ...]] = []
    for row in range(500):
        if draws[row, 0] < 0.2:
            value = poison.kinds[int(draws[row, 1] * len(poison.kinds))](whole.values[row] or b"")
            expected.append((row, value, whole.keys[row], row))
        expected.append((row, whole.values[row], whole.keys[row], row))
    found: list[tuple[object, ...]] = []
    for at in range(0, 500, size):
        part = poison.interleave(whole.of_rows(at, min(at + size, 500)))
        found += zip(
            (part.row_indices() + part.first).tolist(), part.values, part.keys or (), part.times or (), strict=True
        )
    assert found == expected
    assert 70 < len(expected) - 500 < 130


def test_all_kinds_occur_and_no_row_is_lost() -> None:
    poison = Poison(1.0, 1, open_stream("sea"), Encoding())
    part = poison.interleave(messages(0, 1000))
    assert len(part) == 2000
    assert part.values[1::2] == messages(0, 1000).values
    reasons = decode(list(part.values), Encoding(), Target())
    assert all(reasons[0::2])
    assert not any(reasons[1::2])
    assert len(set(reasons[2::2])) == 16


def test_without_a_share_there_are_no_malformed_messages() -> None:
    whole = messages(5, 20)
    assert Poison(0.0, 1, open_stream("sea"), Encoding()).interleave(whole) is whole


@pytest.mark.parametrize("partitions", [1, 3, 7])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_shares_are_by_position_modulo_partitions(partitions: int, share: float) -> None:
    part = Poison(share, 2, open_stream("sea"), Encoding()).interleave(messages(11, 50)).of_rows(4, 40)
    assert (part.first, part.rows) == (15, 36)
    assert sum(value is not None and value[:5] == b'{"id"' and value[-1:] == b"}" for value in part.values) >= 36
    rows = (part.row_indices() + part.first).tolist()
    for partition in range(partitions):
        wanted = [i for i, row in enumerate(rows) if row % partitions == partition]
        assert [list(s) for p, s in part.by_partition(partitions) if p == partition] == ([wanted] if wanted else [])
    assert part.value_bytes() == sum(len(value or b"") for value in part.values)
    assert part.max_value_bytes() == max(len(value or b"") for value in part.values)


def test_a_timestamp_becomes_the_field_t() -> None:
    value = with_timestamps([b'{"id":1,"x":[1.0],"y":null}'], [1_700_000_000_123])[0]
    assert json.loads(value) == {"id": 1, "x": [1.0], "y": None, "t": 1_700_000_000_123}

"""A column of byte strings behaves the same in a list and in a buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.admin.audit.column_equality import same
from driftway.worker.wire.codec import JSON, PACKED, encode_events
from driftway.worker.wire.columns import (
    END,
    NOTHING,
    BufferColumn,
    BytesColumn,
    ListColumn,
    TerminatedColumn,
    concatenated,
    empty_column,
    read_only,
    repeated,
)
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Target
from driftway.worker.wire.json_tokens.buffer_pool import PooledColumn, slices, take_buffer
from driftway.worker.wire.json_tokens.interleave import interleaved
from driftway.worker.wire.packed import encode_events as pack_events
from tests.support.examples import examples
from tests.unit.worker.rows import drifting, pieces, records, tabled

ITEMS = st.lists(st.one_of(st.none(), st.just(b""), st.binary(max_size=20)), max_size=12)


def gathered(values: Sequence[bytes | None]) -> TerminatedColumn:
    """Return the strings as the C library delivers them: consecutive in a buffer that begins with something else."""
    lengths = np.array([NOTHING if value is None else len(value) for value in values], np.int64)
    sizes = np.maximum(lengths, 0) + len(END)
    before = np.frombuffer(b"before", np.uint8)
    text = read_only(np.concatenate([before, ListColumn(values).to_terminated()]))
    return TerminatedColumn(text, len(before) + np.cumsum(sizes) - sizes, lengths)


def scattered(values: Sequence[bytes | None]) -> BufferColumn:
    """Return the strings in another order and with gaps."""
    text, starts = b"", np.zeros(len(values), np.int64)
    for i in reversed(range(len(values))):
        text += b"gap"
        starts[i] = len(text)
        text += values[i] or b""
    lengths = np.array([NOTHING if value is None else len(value) for value in values], np.int64)
    return BufferColumn(np.frombuffer(text, np.uint8), starts, lengths)


@examples(150)
@given(ITEMS, st.data())
def test_all_columns_of_the_same_strings_behave_alike(values: list[bytes | None], data: st.DataObject) -> None:
    first, last = sorted(data.draw(st.integers(0, len(values))) for _ in range(2))
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))), np.bool_)
    for column in (ListColumn(values), gathered(values), scattered(values)):
        alike(column, values)
        alike(column[first:last], values[first:last])
        alike(column[first:][: last - first], values[first:last])
        alike(column.chosen(keep), [value for value, kept in zip(values, keep, strict=True) if kept])


def without_gaps(values: Sequence[bytes | None]) -> BufferColumn:
    return BufferColumn(*ListColumn(values).to_buffer())


Way = Callable[[Sequence[bytes | None]], BytesColumn]
WAYS: tuple[Way, ...] = (ListColumn, gathered, scattered, without_gaps)


@examples(150)
@given(ITEMS, ITEMS)
def test_columns_are_equal_where_their_strings_are(values: list[bytes | None], others: list[bytes | None]) -> None:
    for mine in WAYS:
        for theirs in WAYS:
            assert same(mine(values), theirs(values))
            assert same(mine(values), theirs(others)) == (values == others)
            assert not same(mine([None, *values]), theirs([b"", *values]))
            assert not same(mine([*values, b"a"]), theirs([*values, b"b"]))


def test_the_same_bytes_cut_elsewhere_are_not_equal() -> None:
    assert not same(without_gaps([b"ab", b"c"]), without_gaps([b"a", b"bc"]))
    assert not same(without_gaps([b"ab"]), without_gaps([b"ab", b""]))


@examples(150)
@given(st.lists(st.tuples(st.sampled_from(WAYS), ITEMS), max_size=4))
def test_joined_columns_are_their_strings_in_order(
    parts: list[tuple[Callable[..., BytesColumn], list[bytes | None]]],
) -> None:
    alike(concatenated([way(values) for way, values in parts]), [value for _, values in parts for value in values])
    alike(
        concatenated([empty_column(), *(way(values)[1:] for way, values in parts)]),
        [v for _, values in parts for v in values[1:]],
    )


def alike(column: BytesColumn, values: Sequence[bytes | None]) -> None:
    """Check everything that a column offers."""
    assert column == values
    assert [column[i] for i in range(len(column))] == values
    assert len(column) == len(values)
    assert column.nbytes == sum(len(value or b"") for value in values)
    assert column.all_none is (not any(value is not None for value in values))
    assert column.lengths().tolist() == [NOTHING if value is None else len(value) for value in values]
    assert column.to_terminated().tobytes() == b"".join((value or b"") + END for value in values) + b"null" + bytes(16)
    assert not column.to_terminated().flags.writeable
    text, starts, lengths = column.to_buffer()
    places = zip(starts.tolist(), lengths.tolist(), strict=True)
    assert [None if n == NOTHING else text[start : start + n].tobytes() for start, n in places] == values
    wide = [value for value in values if value is not None and len(value) == 3]
    found = [row[:3].tobytes() for block in column.chosen(column.lengths() == 3).blocks(3) for row in block]
    assert found == wide


@pytest.mark.parametrize("width", [1, 7])
def test_blocks_of_a_column_without_gaps_are_its_buffer(width: int) -> None:
    values = [bytes([i] * width) for i in range(9)]
    column = gathered(values)[2:8]
    (block,) = column.blocks(width)
    assert [row[:width].tobytes() for row in block] == values[2:8]
    assert np.shares_memory(block, column.to_buffer()[0])


@pytest.mark.parametrize("form", [JSON, PACKED])
def test_events_of_a_buffer_are_those_of_a_list(form: str) -> None:
    X, y = drifting()
    values: list[bytes | None] = [*(pack_events(X, y) if form == PACKED else encode_events(X, y, 0))]
    for at, value in [(5, None), (9, b""), (17, b'{"x":[1,\x00,2,3,4]}'), (40, b'{"x":[1,2,3,4],"id":"\\u00e9"}')]:
        values[at] = value
    whole = records(values)

    def in_buffers(part: Records) -> Records:
        return replace(part, values=gathered(part.values), keys=gathered(part.keys))

    expected = tabled(Decoder(Target(), form=form), [whole])
    assert tabled(Decoder(Target(), form=form), [in_buffers(whole)]) == expected
    for cuts in ((100,), (1, 18, 41, 299)):
        assert tabled(Decoder(Target(), form=form), pieces(in_buffers(whole), cuts)) == expected


@examples(100)
@given(ITEMS, st.integers(1, 4))
def test_columns_are_repeated_alike(values: list[bytes | None], times: int) -> None:
    for made in (ListColumn, gathered, scattered):
        assert list(repeated(made(values), times)) == [value for value in values for _ in range(times)]


@examples(100)
@given(st.integers(1, 8), st.integers(1, 4), st.data())
def test_records_of_several_columns_are_interleaved(n: int, m: int, data: st.DataObject) -> None:
    """No byte beyond a record is written: its neighbour may be there already."""
    records = st.lists(st.binary(min_size=8, max_size=40), min_size=n, max_size=n)
    parts, columns = [data.draw(records) for _ in range(m)], list[PooledColumn]()
    for part in parts:
        buffer, ends = take_buffer(sum(map(len, part))), np.cumsum([len(record) for record in part])
        buffer[: ends[-1]] = np.frombuffer(b"".join(part), np.uint8)
        columns.append(PooledColumn(buffer, ends, slices))
    assert list(interleaved(columns)) == [part[i] for i in range(n) for part in parts]

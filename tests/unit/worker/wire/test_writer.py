"""A layout's pieces with each row's values between them: the same records as plain Python joins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftway.worker.wire.json_tokens import buffer_pool as written
from driftway.worker.wire.scanner import NO_TIME
from driftway.worker.wire.writer import MAX_PADDING, SPARE, Column, RowTemplate, as_text, cut, write
from tests.support.examples import examples

FAST = examples(150)
INT64 = st.integers(-(2**63), 2**63 - 1)
EDGES = [
    0,
    *(sign * 10**e + d for sign in (1, -1) for e in range(19) for d in (-1, 0, 1)),
    2**63 - 1,
    -(2**63),
    NO_TIME,
]
WORDS = st.binary(max_size=70)


def column(words: Sequence[bytes], gap: bytes = b"~~") -> Column:
    """Return a column whose pieces lie in the text in reverse order with gaps; the first piece ends the text."""
    text, bounds = b"", np.empty((2, len(words)), np.int64)
    for i in reversed(range(len(words))):
        text += gap
        bounds[:, i] = len(text), len(text) + len(words[i])
        text += words[i]
    return as_text(text), bounds


def integers(values: Sequence[int]) -> np.ndarray:
    return np.array(values, np.int64)


def simple(offsets: Sequence[int], t: Sequence[int], ids: Sequence[bytes] | None = None) -> written.PooledColumn:
    """Return records of a layout with one-byte pieces; every row's number is 0."""
    n = len(offsets)
    layout = RowTemplate(b"<", b"|", [b":"], [], [b"/"])
    zeros, listed = integers([0] * n), json.dumps([0] * n, separators=(",", ":")).encode()
    return write(layout, column(ids or [b""] * n), integers(offsets), zeros, listed, zeros, integers(t))


@FAST
@given(st.data(), st.integers(1, 6), st.integers(1, 4))
def test_records_equal_a_plain_join(data: st.DataObject, n: int, per_row: int) -> None:
    def rows(values: st.SearchStrategy[int]) -> list[int]:
        return data.draw(st.lists(values, min_size=n, max_size=n))

    before_id, before_offset = data.draw(WORDS), data.draw(WORDS)
    fronts, backs = (data.draw(st.lists(WORDS, min_size=1, max_size=4)) for _ in range(2))
    between = data.draw(st.lists(WORDS, min_size=per_row - 1, max_size=per_row - 1))
    ids = data.draw(st.lists(WORDS, min_size=n, max_size=n))
    front, back = rows(st.integers(0, len(fronts) - 1)), rows(st.integers(0, len(backs) - 1))
    offsets, t = rows(INT64), rows(INT64 | st.just(NO_TIME))
    number = st.one_of(st.floats(allow_nan=False, allow_infinity=False), INT64, st.none())
    numbers = data.draw(st.lists(st.lists(number, min_size=per_row, max_size=per_row), min_size=n, max_size=n))

    listed = json.dumps([x for row in numbers for x in row], separators=(",", ":")).encode()
    layout = RowTemplate(before_id, before_offset, fronts, between, backs)
    gap = data.draw(st.binary(max_size=9))
    written = write(layout, column(ids, gap), integers(offsets), integers(front), listed, integers(back), integers(t))
    for i, record in enumerate(written):
        middle = b"".join(json.dumps(x).encode() + word for x, word in zip(numbers[i], [*between, b""], strict=True))
        head = before_id + ids[i] + before_offset + b"%d" % offsets[i] + fronts[front[i]]
        time = b"null" if t[i] == NO_TIME else b"%d" % t[i]
        assert record == head + middle + backs[back[i]] + time + b"}"
    assert len(written) == n


@FAST
@given(st.lists(INT64, min_size=1, max_size=40))
@example(EDGES)
def test_integers_have_pythons_digits(values: list[int]) -> None:
    times = [b"null" if value == NO_TIME else b"%d" % value for value in values]
    expected = [b"<|%d:0/%b}" % pair for pair in zip(values, times, strict=True)]
    assert simple(values, values) == expected


@pytest.mark.parametrize("before", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("length", [0, 1, 3, 4, 7, 8, 9, 16, 38, 1000])
def test_an_id_may_be_the_very_end_of_its_text(before: int, length: int) -> None:
    name = bytes(1 + i % 120 for i in range(length))
    text = as_text(b"x" * before + name)
    zero = integers([0])
    ids = text, integers([[before], [before + length]])
    assert write(RowTemplate(b"<", b"|", [b":"], [], [b"/"]), ids, zero, zero, b"[0]", zero, zero) == [
        b"<%b|0:0/0}" % name
    ]


@pytest.mark.parametrize(("front", "back"), [(1, 0), (-1, 0), (0, 1), (0, -1), (2**62, 0), (0, -(2**63))])
def test_bounds_outside_the_text_are_refused(front: int, back: int) -> None:
    layout, zero = RowTemplate(b"<", b"|", [b":"], [], [b"/"]), integers([0, 0])
    with pytest.raises(IndexError, match="does not have"):
        write(layout, column([b"", b""]), zero, integers([0, front]), b"[0,0]", integers([0, back]), zero)


def test_many_rows_do_not_disturb_each_other() -> None:
    n = 20_000
    ids = [b"w" * (i % 11) for i in range(n)]
    found = simple([i * i for i in range(n)], [-i for i in range(n)], ids)
    assert found == [b"<%b|%d:0/%d}" % (ids[i], i * i, -i) for i in range(n)]


@FAST
@given(st.lists(st.binary(max_size=90).map(lambda row: row + b"}"), min_size=1, max_size=12))
@example([b"}" * (1 + MAX_PADDING * 50), *[b"}"] * 50])
@example([b"a\x00b}", b"\x00}", b"}"])
def test_cut_returns_the_rows(rows: list[bytes]) -> None:
    ends = np.cumsum([len(row) for row in rows])
    assert cut(as_text(b"".join(rows) + b"!" * SPARE), ends) == rows


def test_threads_do_not_overwrite_each_other() -> None:
    def rows(k: int) -> list[written.PooledColumn]:
        return [simple([k] * 2000, [k] * 2000) for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        for k, found in enumerate(pool.map(rows, range(4))):
            assert found == [[b"<|%d:0/%d}" % (k, k)] * 2000] * 50


def test_the_buffer_of_one_huge_batch_is_not_kept() -> None:
    zero = integers([0])
    ids = as_text(b"i" * written.MAX_KEPT), integers([[0], [written.MAX_KEPT]])
    huge = write(RowTemplate(b"<", b"|", [b":"], [], [b"/"]), ids, zero, zero, b"[0]", zero, zero)
    assert huge == [b"<" + b"i" * written.MAX_KEPT + b"|0:0/0}"]
    huge.release()
    assert all(len(kept) <= written.MAX_KEPT for kept in written._free)


def test_a_buffer_is_reused_only_after_its_release() -> None:
    def of(k: int) -> written.PooledColumn:
        return write(RowTemplate(b"<", b"|", [b":"], [], [b"/"]), column([b""]), integers([k]), *rest)

    zero = integers([0])
    rest = zero, b"[0]", zero, zero
    first, second = of(1), of(2)
    assert not np.shares_memory(first.to_buffer()[0], second.to_buffer()[0])
    where = second.to_buffer()[0]
    second.release()
    third = of(3)
    assert np.shares_memory(third.to_buffer()[0], where)
    assert (first, third) == ([b"<|1:0/0}"], [b"<|3:0/0}"])


def test_one_long_row_does_not_multiply_the_memory() -> None:
    """Padding ten thousand rows to the longest would take 100 GB."""
    rows = [b"y" * 10_000_000, *[b"row %d" % i for i in range(10_000)]]
    assert cut(as_text(b"".join(rows) + bytes(SPARE)), np.cumsum([len(row) for row in rows])) == rows


def test_a_text_is_a_view_of_its_bytes() -> None:
    data = b"abc"
    text = as_text(data)
    assert text.tobytes() == data
    assert not text.flags.writeable
    assert not text.flags.owndata

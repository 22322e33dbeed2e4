"""Columns of text interleaved in one buffer: the same records as plain Python joins."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.writer import Column, as_text, choose, interleave, split

FAST = settings(max_examples=150, deadline=None)


def column(words: list[bytes], gap: bytes = b"~~") -> Column:
    """A column whose pieces lie in the text with gaps, in reverse order."""
    text, bounds = b"", np.empty((2, len(words)), np.int64)
    for i in reversed(range(len(words))):
        text += gap
        bounds[:, i] = len(text), len(text) + len(words[i])
        text += words[i]
    return as_text(text + gap), bounds


def rows(found: Column) -> list[bytes]:
    text, (starts, ends) = found
    return [text[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]


@FAST
@given(st.integers(1, 4), st.data())
def test_split_finds_the_rows_of_a_flat_list(per_row: int, data: st.DataObject) -> None:
    numbers = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**63), 2**63), st.none())
    n = data.draw(st.integers(1, 5))
    values = data.draw(st.lists(numbers, min_size=n * per_row, max_size=n * per_row))
    listed = json.dumps(values, separators=(",", ":")).encode()
    texts = [json.dumps(value) for value in values]
    wanted = [",".join(texts[i * per_row : (i + 1) * per_row]).encode() for i in range(n)]
    assert rows(split(listed, n, per_row)) == wanted


@FAST
@given(st.lists(st.binary(max_size=5), min_size=1, max_size=5), st.data())
def test_choose_names_the_word_of_each_index(words: list[bytes], data: st.DataObject) -> None:
    index = data.draw(st.lists(st.integers(0, len(words) - 1), max_size=8))
    assert rows(choose(words, np.array(index, np.int64))) == [words[i] for i in index]


@FAST
@given(st.integers(1, 4), st.integers(1, 6), st.data())
def test_interleave_writes_what_a_join_writes(columns: int, n: int, data: st.DataObject) -> None:
    words = st.binary(max_size=6)
    pieces = data.draw(st.lists(words, min_size=columns + 1, max_size=columns + 1))
    table = data.draw(st.lists(st.lists(words, min_size=n, max_size=n), min_size=columns, max_size=columns))
    wanted = [b"".join(piece + table[c][i] for c, piece in enumerate(pieces[:-1])) + pieces[-1] for i in range(n)]
    assert interleave(pieces, [column(words) for words in table], n) == wanted


def test_long_columns_do_not_disturb_each_other() -> None:
    n = 20_000
    numbers = [b"%d" % (i * i) for i in range(n)]
    words = [b"w" * (i % 11) for i in range(n)]
    found = interleave([b"<", b"|", b">"], [column(numbers), column(words, b"")], n)
    assert found == [b"<%b|%b>" % pair for pair in zip(numbers, words, strict=True)]


def test_a_column_is_a_view_of_its_bytes() -> None:
    data = b"abc"
    text = as_text(data)
    assert text.tobytes() == data
    assert not text.flags.writeable
    assert not text.flags.owndata

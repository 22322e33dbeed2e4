"""Which rows a replay sends, as which bytes, under which keys; without Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.messages import Encoding, encoder, key_text
from driftway.producers.selection import Selection, select
from driftway.producers.sinks.properties import check_owned
from driftway.producers.streams import open_stream
from driftway.producers.streams.stream import Block
from driftway.worker.errors import UsageFailure


def ids(selection: Selection, size: int, rows: int = 10) -> list[int]:
    stream = open_stream("sea", rows=rows)
    table = np.concatenate([block.X for block in stream.blocks()])
    chosen = []
    for first, block in select(stream, selection, size):
        for row in range(len(block.y)):
            assert (block.X[row] == table[(first + row) % rows]).all()
            chosen.append(first + row)
    return chosen


@pytest.mark.parametrize("size", [1, 3, 10, 64])
def test_limit_skip_and_loop_select_positions(size: int) -> None:
    assert ids(Selection(), size) == list(range(10))
    assert ids(Selection(limit=4), size) == [0, 1, 2, 3]
    assert ids(Selection(skip=4), size) == [4, 5, 6, 7, 8, 9]
    assert ids(Selection(skip=4, limit=3), size) == [4, 5, 6]
    assert ids(Selection(laps=3), size) == list(range(30))
    assert ids(Selection(skip=14, limit=3, laps=None), size) == [14, 15, 16]
    assert ids(Selection(limit=25, laps=None), size) == list(range(25))
    assert ids(Selection(skip=10), size) == []


def test_a_limited_replay_and_its_continuation_equal_one_run() -> None:
    first, second = Selection(limit=13, laps=2), Selection(skip=13, laps=2)
    assert ids(first, 4) + ids(second, 7) == ids(Selection(laps=2), 64)


def test_json_has_ids_nulls_and_integral_labels(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b,y\n0.1,2,1\n,3,\n")
    stream = open_stream("x", data_dir=str(tmp_path))
    block = next(iter(stream.blocks()))
    values, keys = encoder(stream, Encoding())(7, block)
    assert values[0] == b'{"id":7,"x":[0.1,2.0],"y":1}'
    assert json.loads(values[1]) == {"id": 8, "x": [None, 3.0], "y": None}
    assert keys is None
    named, _ = encoder(stream, Encoding(named=True))(7, block)
    assert json.loads(named[0])["x"] == {"a": 0.1, "b": 2.0}


def test_keys_are_the_columns_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,y\n3,1\n0.25,0\n,0\n-0.0,1\n1e300,1\n")
    stream = open_stream("x", data_dir=str(tmp_path))
    block = Block(*next(iter(stream.blocks())))
    assert encoder(stream, Encoding(key="a"))(0, block)[1] == [b"3", b"0.25", b"null", b"0", b"1e+300"]
    assert encoder(stream, Encoding(key="y"))(0, block)[1] == [b"1", b"0", b"0", b"1", b"1"]
    assert key_text(float("inf")) == b"inf"


def test_packed_rows_have_a_fixed_width() -> None:
    stream = open_stream("sea", rows=10)
    values, _ = encoder(stream, Encoding("packed"))(0, next(iter(stream.blocks())))
    assert {len(value) for value in values} == {2 + 8 + 3 * 8}


@pytest.mark.parametrize(
    ("encoding", "sentence"),
    [
        (Encoding("packed", named=True), "--named needs --format json: packed messages carry no names"),
        (Encoding("xml"), "format must be one of json, packed, got 'xml'"),
        (Encoding(key="z"), "sea has no column 'z' for --key; columns: x1, x2, x3, y"),
    ],
)
def test_an_encoding_that_does_not_fit_is_refused_in_one_sentence(encoding: Encoding, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        encoder(open_stream("sea"), encoding)
    assert str(failure.value) == sentence


def test_properties_of_the_queue_are_refused() -> None:
    with pytest.raises(UsageFailure, match="replay bounds the queue itself"):
        check_owned({"queue.buffering.max.messages": "10"})

"""Arrow's files and types: those that other programs write, and those that JSON does not have."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from driftway.cli import main
from driftway.producers.streams import open_events, open_stream
from driftway.worker.errors import UsageFailure


def test_the_stream_format_is_read_like_the_file_format(tmp_path: Path) -> None:
    """Libraries of data sets keep it in files, under the same ending."""
    path, table = tmp_path / "x.arrow", pa.table({"a": [1.5, 2.5, -3.0], "y": [0, 1, 1]})
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table.slice(0, 2))
        writer.write_table(table.slice(2))
    stream = open_stream(str(path))
    assert stream.rows == 3
    for _ in range(2):
        (block,) = stream.blocks()
        assert (block.X.tolist(), block.y.tolist()) == ([[1.5], [2.5], [-3.0]], [0, 1, 1])
    assert [json.loads(row) for block in open_events(str(path)).blocks() for row in block] == table.to_pylist()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"FEA1" + bytes(100), "is in version 1 of Feather"),
        (b"a,y\n1,0\n" * 20, "cannot read "),
        (b"ARROW1\0\0" + b"x" * 100, "cannot read "),
    ],
)
def test_other_bytes_are_refused_in_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "x.arrow"
    path.write_bytes(content)
    with pytest.raises(UsageFailure, match=sentence):
        open_stream(str(path))


def test_a_view_of_text_is_text(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    view = pa.string_view()
    parquet.write_table(
        pa.table({"a": pa.array(["1.5", None, "-2"], view), "y": pa.array(["no", "yes", "no"], view)}), path
    )
    (block,) = open_stream(str(path), labels=("no", "yes")).blocks()
    assert block.X[[0, 2]].tolist() == [[1.5], [-2.0]]
    assert block.y.tolist() == [0, 1, 0]


def test_a_proposal_leaves_out_what_json_does_not_have_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    waits = pa.array([datetime.timedelta(seconds=i) for i in range(20)])
    parquet.write_table(
        pa.table({"a": [i / 3 for i in range(20)], "wait": waits, "y": [i % 2 for i in range(20)]}), path
    )
    done = CliRunner().invoke(main, ["schema", "infer", str(path)])
    assert done.exit_code == 0, done.output
    assert "its column 'wait' is left out: it holds duration[us], which JSON does not have" in done.stderr
    assert '"a",' in done.stdout
    with pytest.raises(UsageFailure, match="--drop wait"):
        list(open_events(str(path)).blocks())

"""Arrow's files and types: those that other programs write, and those that JSON does not have."""

from __future__ import annotations

import datetime
import decimal
import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from driftway.cli import main
from driftway.producers.streams import arrow, open_events, open_stream
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
def test_other_bytes_are_refused_in_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "x.arrow"
    path.write_bytes(content)
    with pytest.raises(UsageFailure, match=sentence):
        open_stream(str(path))


def test_views_of_text_are_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    view = pa.string_view()
    parquet.write_table(
        pa.table({"a": pa.array(["1.5", None, "-2"], view), "y": pa.array(["no", "yes", "no"], view)}), path
    )
    (block,) = open_stream(str(path), labels=("no", "yes")).blocks()
    assert block.X[[0, 2]].tolist() == [[1.5], [-2.0]]
    assert block.y.tolist() == [0, 1, 0]


def test_categories_with_views_of_text_are_read_as_text(tmp_path: Path) -> None:
    """As Polars writes them: arrow does not decode such dictionaries."""
    path = tmp_path / "x.arrow"
    colours = pa.DictionaryArray.from_arrays(
        pa.array([1, None, 0], pa.uint8()), pa.array(["no", "yes"], pa.string_view())
    )
    with pa.ipc.new_file(str(path), pa.schema([("a", pa.float64()), ("y", colours.type)])) as file:
        file.write(pa.record_batch([pa.array([1.0, 2.0, 3.0]), colours], names=["a", "y"]))
    (rows,) = open_events(str(path)).blocks()
    assert [json.loads(row)["y"] for row in rows] == ["yes", None, "no"]
    (block,) = open_stream(str(path), labels=("no", "yes")).blocks()
    np.testing.assert_array_equal(block.y, [1, np.nan, 0])


def test_a_proposal_leaves_out_types_unknown_to_json_and_says_so(tmp_path: Path) -> None:
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


def test_values_inside_lists_and_structs_are_read_like_those_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    at = datetime.datetime(2024, 1, 2)  # noqa: DTZ001
    one, long, day = decimal.Decimal("1.10"), decimal.Decimal("12345678901234567890.12"), datetime.date(2024, 1, 2)
    inner = pa.struct([("d", pa.decimal128(10, 2)), ("t", pa.timestamp("ns")), ("day", pa.date32())])
    table = pa.table(
        {
            "items": pa.array([[{"d": one, "t": at, "day": day}, None], None], pa.list_(inner)),
            "long": pa.array([{"d": long}, None], pa.struct([("d", pa.decimal128(30, 2))])),
            "pair": pa.array([[one, None], None], pa.list_(pa.decimal128(10, 2), 2)),
        }
    )
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    assert [row for block in open_events(str(path)).blocks() for row in block] == [
        b'{"items":[{"d":1.1,"t":"2024-01-02T00:00:00","day":"2024-01-02"},null],"long":{"d":12345678901234567890.12},'
        b'"pair":[1.1,null]}',
        b'{"items":null,"long":null,"pair":null}',
    ]


@pytest.mark.parametrize(
    "kind", [pa.decimal128(15, 3), pa.decimal128(38, 3), pa.decimal256(60, 3)], ids=["short", "long", "longest"]
)
def test_decimals_become_the_nearest_numbers_in_every_reader(tmp_path: Path, kind: pa.DataType) -> None:
    path, texts = tmp_path / "x.parquet", ["5.887", "19.990", "1234567.890", "-0.100"]
    amounts = pa.array([*map(decimal.Decimal, texts), None], kind)
    inside = pa.StructArray.from_arrays([amounts], ["in"])
    listed = pa.array([[decimal.Decimal(text)] for text in texts] + [[None]], pa.list_(kind))
    numbers = [float(text) for text in texts]
    parquet.write_table(pa.table({"a": amounts, "s": inside, "l": listed, "y": [0, 1, 0, 1, 0]}), path)
    (read,) = open_stream(str(path), drop=["s", "l"]).blocks()
    assert read.X[:-1, 0].tolist() == numbers
    assert np.isnan(read.X[-1, 0])
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert [(row["a"], row["s"]["in"], row["l"][0]) for row in rows] == [(one, one, one) for one in [*numbers, None]]


def test_times_outside_pythons_range_become_text_and_the_others_stay_times(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    far = 253402300800
    table = {
        "at": pa.array([0, far, None], pa.timestamp("s")),
        "all": pa.array([[0], [far * 1000, None], None], pa.list_(pa.timestamp("ms"))),
        "in": pa.array([{"z": 0}, {"z": 3600}, None], pa.struct([("z", pa.timestamp("s", "Nowhere/Land"))])),
        "ages": pa.array([0, 1 << 60, None], pa.timestamp("ms")),
        "day": pa.array([0, -2_000_000, None], pa.date32()),
        "zone": pa.array([0, 3_600_000_000, None], pa.timestamp("us", "Nowhere/Land")),
    }
    parquet.write_table(pa.table(table), path)
    assert [json.loads(row) for block in open_events(str(path)).blocks() for row in block] == [
        {
            "at": "1970-01-01T00:00:00", "all": ["1970-01-01T00:00:00"], "in": {"z": "1970-01-01T00:00:00+00:00"},
            "ages": "1970-01-01T00:00:00", "day": "1970-01-01", "zone": "1970-01-01T00:00:00+00:00",
        },
        {
            "at": "10000-01-01 00:00:00.000", "all": ["10000-01-01 00:00:00.000", None],
            "in": {"z": "1970-01-01T01:00:00+00:00"}, "ages": "<value out of range: 1152921504606846976>",
            "day": "-3506-03-09", "zone": "1970-01-01T01:00:00+00:00",
        },
        dict.fromkeys(table),
    ]  # fmt: skip


def test_intervals_and_views_of_bytes_are_refused(tmp_path: Path) -> None:
    for name, column in (
        ("a", pa.array([pa.MonthDayNano([1, 2, 3])])),
        ("b", pa.array([b"x"], pa.binary_view())),
        ("c", pa.array([[b"x"]], pa.list_(pa.binary_view()))),
    ):
        path, table = tmp_path / f"{name}.arrow", pa.table({name: column, "y": [1]})
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(UsageFailure, match=f"which JSON does not have: --drop {name}"):
            list(open_events(str(path)).blocks())


def test_a_column_without_any_value_is_missing_as_in_csv(tmp_path: Path) -> None:
    """So pandas writes one of None; its type is null."""
    parquet.write_table(pa.table({"a": [1.0, 2.0], "b": pa.nulls(2), "y": [0, 1]}), path := tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("a,b,y\n1.0,,0\n2.0,,1\n")
    blocks = [next(open_stream(str(one)).blocks()) for one in (path, tmp_path / "x.csv")]
    assert blocks[0].X.tobytes() == blocks[1].X.tobytes()
    assert [json.loads(row)["b"] for block in open_events(str(path)).blocks() for row in block] == [None, None]


def test_times_of_96_bits_are_read_in_the_years_1_to_9999(tmp_path: Path) -> None:
    """Spark and Hive write them, with 9999-12-31 for never."""
    days = [datetime.datetime(year, 12, 31, 23, 59, 59, 5) for year in (1, 1600, 1970, 2026, 9999)]  # noqa: DTZ001
    table, path = pa.table({"t": pa.array(days, pa.timestamp("us")), "y": [0, 1, 0, 1, 0]}), tmp_path / "x.parquet"
    parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    assert parquet.read_metadata(path).schema.column(0).physical_type == "INT96"
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert [row["t"] for row in rows] == [day.isoformat() for day in days]


def test_a_file_that_is_not_in_its_encoding_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error refers to the object that pyarrow reads the CSV text from, for whose release the table waits."""
    monkeypatch.setattr(arrow, "LONGEST_RELEASE_SECONDS", 100.0)
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,y\n1,0\n\x90,1\n")
    began = time.monotonic()
    with pytest.raises(UsageFailure, match="is not Windows-1252 in all of its rows"):
        list(open_stream(str(path), reading={"encoding": "cp1252"}).blocks())
    assert time.monotonic() - began < 50

"""Rows as files have them: flat objects of a table's columns, lines unchanged."""

from __future__ import annotations

import datetime
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from driftway.producers.streams import open_events, open_stream
from driftway.worker.errors import UsageFailure
from tests.support.examples import repetitions

CSV = """when,zip,amount,visits,member,big,shop,y
2026-11-24 12:30:00,01234,1.50,3,true,9007199254740993,"a ""b"", c",yes
2026-11-24T13:00:00Z,99999,-0,,False,-1,,no
NA,?,1e-3,12,TRUE,0,"two
lines",no
"""


def events(name: object, size: int = 8192, **options: Any) -> list[Any]:
    return [json.loads(value) for block in open_events(str(name), **options).blocks(size) for value in block]


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def refusal(name: object, **options: Any) -> str:
    with pytest.raises(UsageFailure) as failure:
        list(open_events(str(name), **options).blocks())
    assert "\n" not in str(failure.value)
    return str(failure.value).replace(f"{Path(str(name)).parent}/", "")


@pytest.mark.parametrize("name", ["shop.csv", "shop.csv.gz"])
def test_the_type_of_a_csv_cell_follows_from_its_whole_column(tmp_path: Path, name: str) -> None:
    found = events(write(tmp_path / name, CSV))
    assert found == [
        {"when": "2026-11-24 12:30:00", "zip": "01234", "amount": 1.5, "visits": 3, "member": True}
        | {"big": 9007199254740993, "shop": 'a "b", c', "y": "yes"},
        {"when": "2026-11-24T13:00:00Z", "zip": "99999", "amount": -0.0, "visits": None, "member": False}
        | {"big": -1, "shop": None, "y": "no"},
        {
            "when": None,
            "zip": None,
            "amount": 1e-3,
            "visits": 12,
            "member": True,
            "big": 0,
            "shop": "two\nlines",
            "y": "no",
        },
    ]
    kinds = [type(value) for value in found[0].values()]
    assert kinds == [str, str, float, int, bool, int, str, str]


@pytest.mark.random_cases
def test_the_type_of_a_column_depends_on_its_last_rows_too(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i},true,{i},,{i}\n" for i in range(repetitions(200_000, 80_000)))
    path = write(tmp_path / "long.csv", f"a,b,c,d,e,y\n{rows}1.5,x,maybe,true,,99999999999999999999\n")
    first, *_, last = events(path)
    assert first == {"a": 0.0, "b": "0", "c": "true", "d": 0, "e": None, "y": "0"}
    assert isinstance(first["a"], float)
    assert last == {"a": 1.5, "b": "x", "c": "maybe", "d": 1, "e": None, "y": "99999999999999999999"}


@pytest.mark.random_cases
def test_blocks_do_not_depend_on_their_size(tmp_path: Path) -> None:
    n = repetitions(20_000)
    size = 35 * n // 100
    path = write(tmp_path / "x.csv", "a,y\n" + "".join(f"{i},0\n" for i in range(n)))
    assert [len(block) for block in open_events(str(path)).blocks(size)] == [size, size, 30 * n // 100]
    assert events(path, size) == events(path, 1) == events(path)


def test_parquet_columns_keep_their_types_and_times_become_text(tmp_path: Path) -> None:
    noon = datetime.datetime(2026, 11, 24, 12, 30, 0, 250, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "f": pa.array([1.0, float("inf")]),
            "b": pa.array([True, None]),
            "s": pa.array(["x", "y"]).dictionary_encode(),
            "d": pa.array([Decimal("1.25"), None]),
            "when": pa.array([noon, None], pa.timestamp("ns", "UTC")),
            "day": pa.array([noon.date(), None]),
            "list": pa.array([[1, 2], None]),
            "in": pa.array([{"a": 1}, None]),
        }
    )
    parquet.write_table(table, tmp_path / "x.parquet")
    assert events(tmp_path / "x.parquet") == [
        {"i": 1, "f": 1.0, "b": True, "s": "x", "d": 1.25, "when": "2026-11-24T12:30:00.000250+00:00"}
        | {"day": "2026-11-24", "list": [1, 2], "in": {"a": 1}},
        {"i": None, "f": None, "b": None, "s": "y", "d": None, "when": None, "day": None, "list": None, "in": None},
    ]
    parquet.write_table(pa.table({"a": [b"x"], "y": [1]}), tmp_path / "b.parquet")
    assert refusal(tmp_path / "b.parquet") == "b.parquet: column 'a' holds binary, which JSON does not have: --drop a"
    assert events(tmp_path / "b.parquet", drop=["a"]) == [{"y": 1}]


def test_long_decimals_of_parquet_keep_their_digits(tmp_path: Path) -> None:
    digits = ["12345678901234567890123456789012345670", "12345678901234567890123456789012345671", "5"]
    column = pa.array([*map(Decimal, digits), None], pa.decimal128(38, 0))
    parquet.write_table(pa.table({"id": column}), tmp_path / "a.parquet")
    (block,) = open_events(str(tmp_path / "a.parquet")).blocks(8192)
    assert list(block) == [b'{"id":%s}' % text.encode() for text in (*digits[:2], "5.0", "null")]


def test_whole_numbers_of_any_length_in_arff_keep_their_digits(tmp_path: Path) -> None:
    digits = ["5", "18446744073709551616", "98765432109876543210", "00000000000000000000"]
    path = write(tmp_path / "a.arff", "@relation a\n@attribute id numeric\n@data\n" + "\n".join(digits) + "\n")
    (block,) = open_events(str(path)).blocks(8192)
    assert list(block) == [b'{"id":%s}' % text.encode() for text in (*digits[:3], "0")]


def test_arff_values_keep_their_types(tmp_path: Path) -> None:
    text = "@attribute sky {sun, 'a cloud'}\n@attribute t real\n@attribute day date\n@attribute play {yes,no}\n@data\n"
    path = write(tmp_path / "x.arff", text + "sun,21.5,2026-11-24,no\n'a cloud',-3,?,?\n?,7,?,yes\n")
    found = events(path, drop=["day"])
    assert found == [
        {"sky": "sun", "t": 21.5, "play": "no"},
        {"sky": "a cloud", "t": -3.0, "play": None},
        {"sky": None, "t": 7, "play": "yes"},
    ]
    assert events(path)[0]["day"] == "2026-11-24"


@pytest.mark.parametrize("name", ["x.jsonl", "x.ndjson.gz"])
def test_json_lines_are_not_changed(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, '\ufeff{"a": 1}\r\nno JSON\n\n  \n[1]\n{"b":2}')
    (block,) = open_events(str(path)).blocks()
    assert list(block) == [b'{"a": 1}', b"no JSON", b"[1]", b'{"b":2}']


def test_an_unreadable_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    lines = write(tmp_path / "x.jsonl", "{}\n")
    assert refusal(lines, drop=["a"]) == "x.jsonl contains events, which have no columns: remove --drop"
    assert refusal(write(tmp_path / "no.jsonl", "\n")) == "no.jsonl is empty"
    assert refusal("sea") == "sea is a generator, whose rows are numbers: only files have rows with fields"
    assert refusal("absent.csv") == "there is no file absent.csv"
    assert refusal(write(tmp_path / "x.csv", CSV), drop=["z"]).startswith(
        "x.csv has no column 'z' for --drop; columns:"
    )
    (tmp_path / "bad.jsonl.gz").write_bytes(b"no gzip")
    assert refusal(tmp_path / "bad.jsonl.gz").startswith("cannot read bad.jsonl.gz")
    with pytest.raises(UsageFailure, match="contains events: give the features to learn from with --feature"):
        open_stream(str(lines))


def test_a_bare_name_is_looked_up_in_the_data_folder(tmp_path: Path) -> None:
    write(tmp_path / "shop.csv", CSV)
    assert len(events("shop", data_dir=str(tmp_path))) == 3

"""Files whose content tells what they are, whatever their names say."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        (
            gzip.compress(b"a,y\n1,0\n", mtime=0),
            "x.csv",
            "x.csv is not a text file but a gzip file: rename it to end in .gz",
        ),
        (b"PK\x03\x04", "x.csv", "x.csv is not a text file but a ZIP archive or an Excel workbook"),
        (b"PAR1", "x.arff", "x.arff is not a text file but a Parquet file: rename it to end in .parquet"),
        (b"PAR1", "x.pq", "x.pq is not a text file but a Parquet file: rename it to end in .parquet"),
        (b"\xd0\xcf\x11\xe0", "x.xls", "x.xls is not a text file but an Excel workbook: save it as CSV"),
        (b"\x93NUMPY\x01\0", "x.npy", "x.npy is not a text file but an array of NumPy: save it as CSV or Parquet"),
        (b"Obj\x01\x04\x14", "x.avro", "x.avro is not a text file but an Avro file: write its records as JSON lines"),
        (b"SQLite format 3\0", "x.csv", "x.csv is not a text file but a database of SQLite: write a table as CSV"),
        (b"\x89HDF\r\n\x1a\n", "x.csv", "x.csv is not a text file but an HDF5 file: save its table as CSV or Parquet"),
        (b"\x80\x04\x95\0\0", "x.pkl", "cannot tell the format of {}: if it holds rows, its name must end in .csv, "),
        (b"a" + 256 * b"\0" + b"ustar", "x.tar", "x.tar is an archive of files: unpack it, and give one of them"),
        (b"\n<!DOCTYPE html>\n<html>", "adult.data", "adult.data holds a web page: download the file itself"),
        (b"version https://git-lfs.github.com/spec/v1\n", "x.csv", "x.csv holds what Git LFS has in the place of a"),
        (b'[\n{"x":[1],"y":0}\n]\n', "x.json", "x.json is one JSON array; it must have an event per line"),
        (
            b'{\n "data": [\n',
            "x.json",
            "x.json has JSON over several lines; it must have an event per line, as jq -c . writes",
        ),
        (b'{"a": 1,\n "y": 0}\n', "x.json", "x.json has JSON over several lines; it must have an event per line"),
        (
            b'{"a": 1},\n{"a": 2},\n',
            "x.jsonl",
            "x.jsonl has a comma behind each event; it must have an event per line, as",
        ),
        (
            b'{"a": 1}\r{"a": 2}\r',
            "x.jsonl",
            "x.jsonl ends its lines with CR only; it must have an event per line, as tr",
        ),
        (
            b'{"a":{' + b",".join(b'"%d":%d' % (i, i) for i in range(200)) + b"}}\n",
            "x.json",
            "is one JSON object with all rows in it; it must have an event per line, as df.to_json(lines=True, orient",
        ),
        (b'{"rows":[' + 99 * b'{"a": 1.5},' + b"{}]}", "x.json", "as jq -c '.rows[]' writes it"),
        (None, "x.parquet", "x.parquet is a folder: give one of its files, such as "),
        (None, "days", "days is a folder: give one of its files, such as "),
    ],
)
def test_a_file_of_another_kind_is_reported(tmp_path: Path, content: bytes | None, name: str, sentence: str) -> None:
    path = tmp_path / name
    if content is None:
        (path / "day=1").mkdir(parents=True)
        (path / "day=1" / "part-00000.snappy.parquet").write_bytes(b"")
    else:
        path.write_bytes(content)
    with pytest.raises(UsageFailure) as failure:
        open_stream(str(path))
    assert sentence.format(path) in str(failure.value)
    assert content is not None or "00000.snappy.parquet" in str(failure.value)


@pytest.mark.parametrize("ending", ["data", "txt.gz", "test", "binary.scale.gz", ""])
@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("a,b,y\n1,2,0\n3,4,1\n", ["a", "b"]),
        ("1 1:2 2:3\n0 2:5 # none\n", ["1", "2"]),
        ('{"x":[1,2],"y":0}\n{"x":[1,3],"y":1}\n', ["x0", "x1"]),
        ("% made by x\n@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n1,0\n2,1\n", ["a"]),
    ],
)
def test_the_format_is_detected_from_the_content(tmp_path: Path, ending: str, text: str, features: list[str]) -> None:
    path = tmp_path / f"rows.{ending}".rstrip(".")
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    stream = open_stream(str(path))
    assert list(stream.feature_names) == features
    assert [one for block in stream.blocks() for one in block.y.tolist()] == [float(y) for y in read_labels_of(text)]


def read_labels_of(text: str) -> list[int]:
    """Labels of the two rows in each of the texts above."""
    return [1, 0] if text.startswith("1 ") else [0, 1]

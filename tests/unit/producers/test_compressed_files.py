"""Files that are compressed in the ways that data sets are published in."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from driftway.producers.streams import open_events, open_stream
from driftway.worker.errors import UsageFailure

ROWS = 3000
"""More than one read of a decompressor."""
TEXTS = {
    "csv": "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(ROWS)),
    "txt": "a y\n" + "".join(f"{i}   {i % 2}\n" for i in range(ROWS)),
    "arff": "@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n"
    + "".join(f"{i},{i % 2}\n" for i in range(ROWS)),
    "svm": "".join(f"{i % 2} 1:{i}\n" for i in range(ROWS)),
    "jsonl": "\ufeff" + "".join(json.dumps({"x": [i], "y": i % 2}) + "\n" for i in range(ROWS)),
}


def with_zstd(path: Path, data: bytes) -> None:
    with pa.output_stream(str(path), compression="zstd") as file:
        file.write(data)


def with_zip(path: Path, data: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/data", data)
        archive.writestr("__MACOSX/folder/._data", b"\0")


WAYS: dict[str, Callable[[Path, bytes], object]] = {
    "gz": lambda path, data: path.write_bytes(gzip.compress(data)),
    "bz2": lambda path, data: path.write_bytes(bz2.compress(data)),
    "xz": lambda path, data: path.write_bytes(lzma.compress(data)),
    "zst": with_zstd,
    "zip": with_zip,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_file_is_read_however_it_is_compressed(tmp_path: Path, kind: str, way: str) -> None:
    path = tmp_path / f"x.{kind}.{way}"
    WAYS[way](path, TEXTS[kind].encode())
    blocks = list(open_stream(str(path)).blocks())
    assert [x for block in blocks for x in block.X[:, 0].tolist()] == list(range(ROWS))
    assert [y for block in blocks for y in block.y.tolist()] == [i % 2 for i in range(ROWS)]
    assert sum(len(block) for block in open_events(str(path)).blocks()) == ROWS


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_truncated_file_is_refused(tmp_path: Path, kind: str, way: str) -> None:
    path = tmp_path / f"x.{kind}.{way}"
    WAYS[way](path, TEXTS[kind].encode())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UsageFailure) as failure:
        list(open_stream(str(path)).blocks())
    assert str(failure.value).startswith(f"cannot read {path}: ")


@pytest.mark.parametrize("way", [way for way in WAYS if way != "zip"])
@pytest.mark.parametrize("kind", TEXTS)
def test_files_of_several_parts_are_read_to_their_end(tmp_path: Path, kind: str, way: str) -> None:
    """As parallel compressors make them, or `cat` of compressed files."""
    path, data = tmp_path / f"x.{kind}.{way}", TEXTS[kind].encode()
    parts = []
    for part in (data[:9000], b"", data[9000:9001], data[9001:]):
        WAYS[way](path, part)
        parts.append(path.read_bytes())
    path.write_bytes(b"".join(parts))
    assert sum(len(block) for block in open_events(str(path)).blocks()) == ROWS
    path.write_bytes(b"".join(parts[:3]) + b"\1" + parts[3][1:])
    with pytest.raises(UsageFailure, match="cannot read "):
        list(open_events(str(path)).blocks())


@pytest.mark.parametrize("way", ["gz", "bz2", "xz"])
def test_zeros_after_the_compressed_data_are_ignored(tmp_path: Path, way: str) -> None:
    """Programs that write whole blocks, to tape for example, fill up the last one."""
    path = tmp_path / f"x.csv.{way}"
    WAYS[way](path, TEXTS["csv"].encode())
    path.write_bytes(path.read_bytes() + bytes(5_000))
    assert sum(len(block.y) for block in open_stream(str(path)).blocks()) == ROWS


def test_hidden_files_in_an_archive_are_no_data(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (".DS_Store", "data/._x.csv", "__MACOSX/x.csv"):
            archive.writestr(name, "none\n")
        archive.writestr("data/x.csv", TEXTS["csv"])
    assert sum(len(block.y) for block in open_stream(str(path)).blocks()) == ROWS


def test_the_refusal_of_an_archive_of_several_files_or_none_names_them(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.zip"
    for names, sentence in (
        (("a.csv", "b.csv"), "holds 2 files, not one: unpack it, and give one of them: a.csv, b.csv"),
        ((), "x.csv.zip holds no file"),
        ((".DS_Store",), "x.csv.zip holds no file"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "a,y\n1,0\n")
        with pytest.raises(UsageFailure, match=sentence):
            open_stream(str(path))


def test_file_endings_in_capitals_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "A.CSV").write_text(TEXTS["csv"])
    (tmp_path / "B.Csv.GZ").write_bytes(gzip.compress(TEXTS["csv"].encode()))
    (tmp_path / "C.DATA").write_text(TEXTS["txt"])
    for name in ("A.CSV", "B.Csv.GZ", "C.DATA", "A.CSV"):
        assert len(next(open_stream(str(tmp_path / name)).blocks(10)).y) == 10
        assert len(next(open_stream(name, data_dir=str(tmp_path)).blocks(10)).y) == 10


def test_a_path_that_is_not_a_file_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.csv")
    for name, sentence in (
        (str(tmp_path / "x.csv"), "is a pipe or a device: a stream is read more than once, so write it to a file"),
        ("-", "standard input is a pipe or a device: a stream is read more than once, so write it to a file"),
        ("https://example.org/x.csv", "is an address: download it, and give the file"),
    ):
        for opened in (open_stream, open_events):
            with pytest.raises(UsageFailure, match=sentence):
                opened(name)


def test_an_archive_that_is_compressed_in_another_way_is_refused(tmp_path: Path) -> None:
    """Windows packs large files with Deflate64, which has number 9."""
    with zipfile.ZipFile(path := tmp_path / "x.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.csv", TEXTS["csv"])
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.index(mark) + place
        data[at : at + 2] = (9).to_bytes(2, "little")
    path.write_bytes(data)
    with pytest.raises(UsageFailure, match="is compressed in a way that cannot be read here: unpack it"):
        open_stream(str(path))

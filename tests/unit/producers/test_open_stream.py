"""`open_stream`: what each name means, and that importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from driftway.producers.streams import ENDINGS, GENERATORS, open_stream
from driftway.worker.errors import UsageFailure
from tests.support.real_streams import RealStreams


def test_importing_open_stream_imports_neither_numba_nor_pyarrow() -> None:
    code = "import sys, driftway.producers.streams; print([m for m in ('numba', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("by_variable", [True, False])
@pytest.mark.parametrize("called", ["power", "power.csv"])
def test_a_bare_name_is_a_file_of_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool, called: str
) -> None:
    (tmp_path / "power.csv").write_text("a,y\n1,0\n")
    monkeypatch.delenv("DRIFTWAY_DATA", raising=False)
    if by_variable:
        monkeypatch.setenv("DRIFTWAY_DATA", str(tmp_path))
    stream = open_stream(called, data_dir=None if by_variable else str(tmp_path))
    assert stream.name == called
    assert [len(block.y) for block in stream.blocks()] == [1]


def test_a_name_means_the_generator_and_with_its_suffix_the_file(tmp_path: Path) -> None:
    (tmp_path / "sea.csv").write_text("a,y\n1,0\n")
    assert open_stream("sea", data_dir=str(tmp_path)).n_features == 3
    assert open_stream("sea.csv", data_dir=str(tmp_path)).n_features == 1


def test_unknown_names_are_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRIFTWAY_DATA", raising=False)
    endings = ENDINGS
    ending = f"A file's name ends in {endings}"
    odd = tmp_path / "rows.xyz"
    odd.write_bytes(b"\x01\x02\0")
    expected = {
        "see": f"there is no stream 'see'; did you mean sea? {ending}",
        "quux": f"there is no stream 'quux'; generators are {', '.join(GENERATORS)}. {ending}",
        "absent.csv": "there is no file absent.csv",
        str(odd): f"cannot tell the format of {odd}: if it holds rows, its name must end in {endings}",
    }
    for name, sentence in expected.items():
        with pytest.raises(UsageFailure) as failure:
            open_stream(name)
        assert str(failure.value) == sentence


def test_generator_options_are_refused_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,y\n1,0\n")
    with pytest.raises(UsageFailure, match="is a file; only generators take noise"):
        open_stream("x", data_dir=str(tmp_path), noise=0)


def test_real_streams_have_the_documented_shape(real_streams: RealStreams) -> None:
    for name, rows, features in (("electricity", 45_312, 8), ("usenet1", 1500, 99), ("sru1", 10_081, 5)):
        stream = open_stream(name, data_dir=real_streams.data_dir(name))
        assert stream.n_features == features
        assert sum(len(block.y) for block in stream.blocks()) == rows


@pytest.mark.parametrize("name", ["a.csv", "a.arff", "a.svm", "a.parquet", "a.jsonl"])
def test_options_that_a_file_does_not_use_are_noted(name: str, tmp_path: Path) -> None:
    texts = {
        "a.csv": "a,y\n1,0\n2,1\n",
        "a.arff": "@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n1,0\n2,1\n",
        "a.svm": "0 1:1\n1 1:2\n",
        "a.jsonl": '{"x":[1],"y":0}\n{"x":[2],"y":1}\n',
    }
    path = tmp_path / name
    if name in texts:
        path.write_text(texts[name], encoding="ascii")
    else:
        parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), path)
    given = {"missing_values": "-9", "separator": ",", "decimal": "point", "encoding": "ascii", "width": 1}
    unused = {
        "a.csv": "--width",
        "a.arff": "--missing-values, --separator, --decimal, --width",
        "a.svm": "--separator, --decimal",
        "a.parquet": "--separator, --decimal, --encoding, --width",
        "a.jsonl": "--missing-values, --separator, --decimal, --encoding, --width",
    }[name]
    assert open_stream(str(path), reading=given).notes[-1] == f"a file of this format does not use {unused}"
    assert not any("does not use" in note for note in open_stream(str(path)).notes)

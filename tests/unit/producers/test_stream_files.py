"""CSV, ARFF and Parquet, plain and gzipped: exact numbers, mapped labels, and one sentence for each error."""

from __future__ import annotations

import gzip
import os
import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from driftway.producers.streams import Stream, open_stream
from driftway.worker.errors import UsageFailure

Writer = Callable[..., str]

NAN = float("nan")
ARFF = """% weather
@RELATION 'the weather'

@attribute outlook {sunny, 'over cast', rainy}
@attribute "temp in C" REAL
@attribute humidity numeric
@attribute windy{TRUE,FALSE}
@attribute play {yes, no}
@data
% the first row
sunny, 21.5, 85, FALSE, no
'over cast',?,1e-3,TRUE,yes

rainy,-3,?,TRUE,?
"""

LEAVE = (
    ": leave it out with --drop, or define features from fields with --feature (driftway schema infer {} "
    "proposes them; driftway replay sends such rows with --raw)"
)


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    def written(name: str, text: str | bytes) -> str:
        data = text.encode() if isinstance(text, str) else text
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(path)

    return written


def read(stream: Stream, size: int = 8192) -> tuple[np.ndarray, np.ndarray]:
    blocks = list(stream.blocks(size))
    assert all(len(b.y) == size for b in blocks[:-1])
    assert all(b.X.flags.c_contiguous and b.X.dtype == b.y.dtype == np.float64 for b in blocks)
    return np.concatenate([b.X for b in blocks]), np.concatenate([b.y for b in blocks])


def refusal(name: str, **options: object) -> str:
    """Return the sentence with which opening or reading fails, without the file's folder."""
    with pytest.raises(UsageFailure) as failure:
        list(open_stream(name, **options).blocks())  # type: ignore[arg-type]
    assert failure.value.exit_code == 2
    sentence = str(failure.value)
    assert "\n" not in sentence
    return sentence.replace(f"{Path(name).parent}/", "") if "/" in name else sentence


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".txt"])
def test_a_name_that_is_not_utf_8_is_refused_in_one_sentence(tmp_path: Path, ending: str) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9" + ending.encode())
    path.write_text('{"a":1,"y":0}\n' if ending == ".jsonl" else "a,y\n1,0\n")
    with pytest.raises(UsageFailure, match=r"its name is not UTF-8, rename it$"):
        open_stream(str(path))


def test_csv_floats_are_those_of_python(write: Writer) -> None:
    chosen = random.Random(8)
    texts = [repr(struct.unpack("<d", struct.pack("<Q", chosen.getrandbits(64)))[0]) for _ in range(3000)]
    texts = [text for text in texts if text not in ("nan", "inf", "-inf")]
    texts += [f"{chosen.uniform(-1e6, 1e6):.{chosen.randint(0, 30)}f}" for _ in range(3000)]
    texts += ["5e-324", "2.4703282292062327e-324", "1.7976931348623157e308", "9007199254740993", ".5", "5.", "-0"]
    path = write("exact.csv", "a,y\n" + "".join(f"{text},1\n" for text in texts))
    X, _ = read(open_stream(path))
    assert X[:, 0].tobytes() == np.array([float(text) for text in texts]).tobytes()


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_csv_features_are_all_columns_but_the_label(write: Writer, name: str) -> None:
    stream = open_stream(write(name, "a,class,b\n1,0,2\n3,1,4\n"), label="class")
    X, y = read(stream)
    assert stream.feature_names == ("a", "b")
    assert stream.label_name == "class"
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [0, 1]


def test_csv_missing_cells_are_nan(write: Writer) -> None:
    X, y = read(open_stream(write("x.csv", "a,b,y\n1,,1\n?,NA,\nnan,4,?\n")))
    np.testing.assert_array_equal(X, [[1, NAN], [NAN, NAN], [NAN, 4]])
    np.testing.assert_array_equal(y, [1, NAN, NAN])


def test_whole_numbers_at_the_start_of_a_csv_column_do_not_make_it_integers(write: Writer) -> None:
    """Type inference from the first block would reject or truncate what follows."""
    rows = "1,0\n" * 400_000 + "0.5,1\n"
    X, y = read(open_stream(write("x.csv", "a,y\n" + rows)), size=10_000)
    assert X.shape == (400_001, 1)
    assert (X[-1, 0], y[-1]) == (0.5, 1)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_block_size_changes_no_row_of_a_file(write: Writer, size: int) -> None:
    path = write("x.csv.gz", "a,y\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(2500)))
    whole, cut = read(open_stream(path)), read(open_stream(path), size)
    assert whole[0].tobytes() == cut[0].tobytes()
    assert whole[1].tobytes() == cut[1].tobytes()
    assert len(read(open_stream(path, rows=7), size)[1]) == 7


def test_reading_a_file_twice_gives_the_same_rows(write: Writer) -> None:
    stream = open_stream(write("x.csv", "a,y\n1,2\n3,4\n"))
    assert read(stream)[0].tolist() == read(stream)[0].tolist()


@pytest.mark.parametrize(
    ("texts", "labels", "expected"),
    [
        (["UP", "DOWN", "", "UP"], ["DOWN", "UP"], [1, 0, NAN, 1]),
        (["-1", "+1", "1.0", "?"], ["-1", "1"], [0, 1, 1, NAN]),
        (["NA", "EU", ""], ["EU", "NA"], [1, 0, NAN]),
        (["2", "7.5"], None, [2, 7.5]),
    ],
)
def test_labels_map_to_indices_in_the_given_order(
    write: Writer, texts: list[str], labels: list[str] | None, expected: list[float]
) -> None:
    path = write("x.csv", "a,y\n" + "".join(f"1,{text}\n" for text in texts))
    stream = open_stream(path, labels=labels)
    np.testing.assert_array_equal(read(stream)[1], expected)
    assert stream.labels == (None if labels is None else tuple(labels))
    assert stream.task == (None if labels is None else "classification")


@pytest.mark.parametrize("name", ["x.arff", "x.arff.gz"])
def test_arff_codes_nominals_in_declared_order(write: Writer, name: str) -> None:
    stream = open_stream(write(name, ARFF))
    X, y = read(stream, size=2)
    assert stream.feature_names == ("outlook", "temp in C", "humidity", "windy")
    assert (stream.label_name, stream.labels) == ("play", ("yes", "no"))
    np.testing.assert_array_equal(X, [[0, 21.5, 85, 1], [1, NAN, 1e-3, 0], [2, -3, NAN, 0]])
    np.testing.assert_array_equal(y, [1, 0, NAN])


def test_arff_label_may_be_chosen_and_reordered(write: Writer) -> None:
    path = write("x.arff", ARFF)
    assert read(open_stream(path, label="humidity"))[1].tolist()[:2] == [85, 1e-3]
    np.testing.assert_array_equal(read(open_stream(path, labels=["no", "yes"]))[1], [0, 1, NAN])


@pytest.mark.parametrize("name", ["x.parquet", "x.parquet.gz"])
def test_parquet_reads_numbers_of_every_width(tmp_path: Path, name: str) -> None:
    table = pa.table(
        {
            "f32": pa.array([0.1, None], pa.float32()),
            "i8": pa.array([1, -2], pa.int8()),
            "flag": [True, None],
            "y": pa.array(["b", None]).dictionary_encode(),
        }
    )
    plain = tmp_path / "plain"
    parquet.write_table(table, plain)
    data = plain.read_bytes()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    stream = open_stream(str(path), labels=["a", "b"])
    X, y = read(stream)
    assert stream.rows == 2
    np.testing.assert_array_equal(X, [[np.float32(0.1), 1, 1], [NAN, -2, NAN]])
    np.testing.assert_array_equal(y, [1, NAN])


def test_parquet_numeric_labels_map_too(tmp_path: Path) -> None:
    path = str(tmp_path / "x.parquet")
    parquet.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": [-1.0, 1.0, None]}), path)
    np.testing.assert_array_equal(read(open_stream(path, labels=["-1", "1"]))[1], [0, 1, NAN])
    np.testing.assert_array_equal(read(open_stream(path))[1], [-1, 1, NAN])


@pytest.mark.parametrize(
    ("name", "text", "options", "sentence"),
    [
        ("x.csv", "", {}, "x.csv is empty"),
        ("x.csv.gz", "", {}, "x.csv.gz is empty"),
        ("x.csv", "a,y\n", {}, "x.csv has a header but no rows"),
        (
            "x.csv",
            "1,2\n3,4\n",
            {},
            "x.csv has no label column 'y'; name it with --label; columns: c0, c1; its first line looks like a row, "
            "not a header, so its columns are called c0, c1, ..; --columns A,B,.. names them",
        ),
        ("x.csv", "a,a,y\n1,2,3\n", {}, "x.csv has two columns named 'a': rename one of them in its header"),
        (
            "x.csv",
            "a,b\n1,2\n",
            {},
            "x.csv has no label column 'y'; name it with --label; columns: a, b",
        ),
        ("x.csv", "y\n1\n", {}, "x.csv has no column besides the label 'y'"),
        (
            "x.csv",
            "a,b,y\n1,x,1\n",
            {},
            "x.csv: feature column 'b' holds 'x', which is not a number" + LEAVE.format("x.csv"),
        ),
        (
            "x.csv",
            "a,y\n1,UP\n",
            {},
            "x.csv: label column 'y' holds 'UP', which is not a number: name the classes in order, --labels A,B",
        ),
        (
            "x.csv",
            "a,y\n1,UP\n",
            {"labels": ["a", "b"]},
            "x.csv: label column 'y' holds 'UP', which is none of a, b",
        ),
        ("x.arff", "", {}, "x.arff is empty"),
        ("x.arff", "@relation r\n@attribute a real\n", {}, "x.arff has no @data"),
        ("x.arff", "@relation r\n@data\n1\n", {}, "x.arff declares no attributes"),
        ("x.arff", "a,b\n1,2\n", {}, "x.arff is not ARFF: 'a,b' comes before @data"),
        ("x.arff", "@attribute a real\n@attribute y real\n@data\n", {}, "x.arff has a header but no rows"),
        (
            "x.arff",
            "@attribute a string\n@attribute y real\n@data\nt,1\n",
            {},
            "x.arff: feature attribute 'a' is text; only numeric and nominal attributes can be features"
            + LEAVE.format("x.arff"),
        ),
        (
            "x.arff",
            "@attribute a real\n@attribute y real\n@data\n{2 1}\n",
            {},
            "x.arff: a sparse row names attribute '2', of 2",
        ),
        (
            "x.arff",
            f"@attribute a real\n@attribute y real\n@data\n{{{'9' * 5000} 1}}\n",
            {},
            "x.arff: a sparse row names attribute '99999999999999999999', of 2",
        ),
        (
            "x.arff",
            "@attribute a real\n@attribute y real\n@data\n1,2,3\n",
            {},
            "x.arff: a row has 3 values, not 2: 1,2,3",
        ),
        (
            "x.arff",
            "@attribute a {u,v}\n@attribute y real\n@data\nw,2\n",
            {},
            "x.arff: attribute 'a' holds 'w', which is not one of its declared values",
        ),
        (
            "x.arff",
            "@attribute a real\n@attribute b real\n@data\n1,2\n",
            {"label": "z"},
            "x.arff has no label column 'z'; name it with --label; columns: a, b",
        ),
        ("x.parquet", "", {}, "x.parquet is empty"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(
    write: Writer, name: str, text: str, options: dict[str, object], sentence: str
) -> None:
    assert refusal(write(name, text), **options) == sentence


@pytest.mark.parametrize("name", ["x.csv.gz", "x.arff.gz", "x.parquet.gz", "x.parquet"])
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"this is neither gzip nor parquet")
    assert refusal(str(path)).startswith(f"cannot read {name}")


def test_a_truncated_gzip_file_is_refused_in_one_sentence(write: Writer) -> None:
    path = Path(write("x.csv.gz", "a,y\n" + "".join(f"{i},{i}\n" for i in range(200_000))))
    path.write_bytes(path.read_bytes()[:-5000])
    assert refusal(str(path)).startswith("cannot read x.csv.gz")


def test_a_ragged_csv_file_is_refused_in_one_sentence(write: Writer) -> None:
    sentence = "x.csv: a row has 2 of 3 cells: '1,2'; if it is not a row, remove it"
    assert refusal(write("x.csv", "a,b,y\n1,2,3\n1,2\n")) == sentence


def test_drop_leaves_out_columns(write: Writer, tmp_path: Path) -> None:
    path = write("x.csv", "when,a,b,y\nnoon,1,2,0\nnight,3,4,1\n")
    stream = open_stream(path, drop=["when", "b"])
    X, y = read(stream)
    assert (stream.feature_names, X.tolist(), y.tolist()) == (("a",), [[1.0], [3.0]], [0.0, 1.0])
    arff = open_stream(write("x.arff", ARFF.replace('"temp in C" REAL', '"temp in C" string')), drop=["temp in C"])
    assert arff.feature_names == ("outlook", "humidity", "windy")
    assert read(arff)[0][0].tolist() == [0.0, 85.0, 1.0]
    table = str(tmp_path / "x.parquet")
    parquet.write_table(pa.table({"a": ["t"], "b": [2.5], "y": [1]}), table)
    assert read(open_stream(table, drop=["a"]))[0].tolist() == [[2.5]]
    assert refusal(path, drop=["c"]) == "x.csv has no column 'c' for --drop; columns: when, a, b, y"
    assert refusal(path, drop=["y"]) == "x.csv: the label 'y' cannot be left out: give --drop another column"
    assert refusal(path, drop=["when", "a", "b"]) == "x.csv has no column besides the label 'y'"
    assert refusal("sea", drop=["a"]) == "sea is a generator; only files have columns that --drop leaves out"


def test_errors_in_parquet_files_name_the_column(tmp_path: Path) -> None:
    path = str(tmp_path / "x.parquet")
    parquet.write_table(pa.table({"a": ["t"], "y": [1]}), path)
    assert refusal(path) == "x.parquet: feature column 'a' holds 't', which is not a number" + LEAVE.format("x.parquet")
    parquet.write_table(pa.table({"a": [[1.0]], "y": [1]}), path)
    sentence = "x.parquet: feature column 'a' holds list<element: double>, not numbers"
    assert refusal(path) == sentence + LEAVE.format("x.parquet")
    parquet.write_table(pa.table({"a": [1.0], "b": [1]}), path)
    assert refusal(path).startswith("x.parquet has no label column 'y'")
    parquet.write_table(pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())}), path)
    assert refusal(path) == "x.parquet has no rows"


def test_without_pyarrow_the_message_names_the_extra(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(write("x.csv", "a,y\n1,2\n")).endswith("needs pyarrow: pip install 'driftway[files]'")
    assert read(open_stream(write("x.arff", ARFF)))[1].tolist()[:2] == [1, 0]

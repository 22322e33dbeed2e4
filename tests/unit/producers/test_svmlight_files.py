"""LIBSVM and SVMlight files: labels as classes or numbers, features counted from 0 or 1, sparse rows made dense."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.streams import open_events, open_stream
from driftway.worker.errors import UsageFailure


@pytest.mark.parametrize(("end", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_rows_are_dense_and_labels_are_classes(tmp_path: Path, end: str, pack: object) -> None:
    path = tmp_path / f"a.libsvm{end}"
    path.write_bytes(pack(b"-1 1:0.5 3:-2e-1 # first\n\n+1 2:1\n+1\n"))  # type: ignore[operator]
    stream = open_stream(str(path))
    (block,) = stream.blocks()
    assert (stream.feature_names, stream.labels, stream.rows) == (("1", "2", "3"), ("-1", "1"), 3)
    assert stream.notes == ("its classes are -1, 1",)
    assert block.X.tolist() == [[0.5, 0, -0.2], [0, 1, 0], [0, 0, 0]]
    assert block.y.tolist() == [0, 1, 1]
    rows = [json.loads(row) for block in open_events(str(path)).blocks() for row in block]
    assert rows == [{"x": {"1": 0.5, "3": -0.2}, "y": -1}, {"x": {"2": 1.0}, "y": 1}, {"x": {}, "y": 1}]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ("0 1 2", ("0", "1", "2")), ("1 2", ("1", "2")), ("1.0 -1.0", ("-1", "1")), ("0 2", None), ("0.5 1", None),
        ("3 3", None), ("b a", ("a", "b")),
    ],
)  # fmt: skip
def test_classes_are_recognised_by_their_labels(tmp_path: Path, labels: str, classes: tuple[str, ...] | None) -> None:
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{label} qid:3 0:1 2:2\n" for label in labels.split()))
    stream = open_stream(str(path))
    assert stream.labels == classes
    assert stream.feature_names == ("0", "1", "2")
    assert "its features are counted from 0" in stream.notes
    if classes is not None:
        assert next(stream.blocks()).y.tolist() == [classes.index(label.split(".")[0]) for label in labels.split()]


def test_texts_that_hardly_ever_occur_twice_are_no_classes(tmp_path: Path) -> None:
    (path := tmp_path / "batch1.dat").write_text("".join(f"1;{i}.5 1:2\n" for i in range(9)))
    with pytest.raises(UsageFailure, match=r"label column 'y' holds '1;0\.5', which is not a number"):
        list(open_stream(str(path)).blocks())
    path.write_text("ham 1:2\nspam 1:3\nham 1:2\nham 1:2\neggs 1:3\nham 2:1\n")
    assert open_stream(str(path)).labels == ("eggs", "ham", "spam")


def test_a_feature_as_label_is_refused(tmp_path: Path) -> None:
    (path := tmp_path / "a9a").write_text("0 1:1 3:2\n1 2:1\n")
    with pytest.raises(
        UsageFailure, match="the label of a LIBSVM file is the first word of each line: leave out --label"
    ):
        open_stream(str(path), label="1")
    assert open_stream(str(path), label="y").feature_names == ("1", "2", "3")


@pytest.mark.parametrize("word", ["?", "nan", "NA"])
def test_a_missing_label_is_no_class(tmp_path: Path, word: str) -> None:
    path = tmp_path / "a.svm"
    path.write_text(f"{word} 1:1\n-1 1:2\n1 1:3\n")
    stream = open_stream(str(path))
    assert stream.labels == ("-1", "1")
    np.testing.assert_array_equal(next(stream.blocks()).y, [np.nan, 0, 1])
    rows = [json.loads(row)["y"] for block in open_events(str(path)).blocks() for row in block]
    assert rows == [None, -1, 1]
    assert open_stream(str(path), labels=(word, "-1", "1")).labels == (word, "-1", "1")


def test_blanks_before_a_value_and_other_encodings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("0 1:1.00 2: .50 # r\u00e9sum\u00e9\n1 2:\t 3\n", encoding="utf-16")
    assert next(open_stream(str(path)).blocks()).X.tolist() == [[1, 0.5], [0, 3]]
    assert "its text is read as UTF-16" in open_stream(str(path)).notes
    path.write_text("0 1:1 # r\u00e9sum\u00e9\n1 2:3\n", encoding="latin-1")
    for reading in ({}, {"encoding": "latin-1"}):
        assert next(open_stream(str(path), reading=reading).blocks()).X.tolist() == [[1, 0], [0, 3]]


def test_rows_are_the_same_in_blocks_of_any_size(tmp_path: Path) -> None:
    path = tmp_path / "a.svmlight"
    path.write_text("".join(f"{i % 2} {i % 400 + 1}:{i}\n" for i in range(7000)))
    whole = np.concatenate([block.X for block in open_stream(str(path)).blocks(100_000)])
    cut = np.concatenate([block.X for block in open_stream(str(path)).blocks(7)])
    assert whole.shape == (7000, 400)
    assert whole.tobytes() == cut.tobytes()
    assert open_stream(str(path), drop=["1", "400"]).n_features == 398


def test_an_option_sets_the_width_of_a_file_with_fewer_features(tmp_path: Path) -> None:
    path = tmp_path / "test.libsvm"
    path.write_text("1 2:1\n-1 1:3\n")
    assert open_stream(str(path)).n_features == 2
    assert next(open_stream(str(path), reading={"width": 4}).blocks()).X.tolist() == [[0, 1, 0, 0], [3, 0, 0, 0]]
    with pytest.raises(UsageFailure, match="has 2 features, more than --width 1"):
        open_stream(str(path), reading={"width": 1})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 1:0.5 x\n", "line 1 holds 'x', which is not INDEX:VALUE"),
        ("1 1:1\n1:0.5 2:3\n", "line 2 begins with '1:0.5', not with a label"),
        ("1 2:1 1:1\n", "line 1 has the index 1, which does not rise"),
        ("1 1:1\n1 99999999999:1\n", "line 2 has the index 99999999999, which is above 10,000,000"),
        ("", "a.svm is empty"),
        ("1\n-1\n", "has no feature in any row"),
    ],
)
def test_an_unreadable_file_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "a.svm"
    path.write_text(text)
    with pytest.raises(UsageFailure) as failure:
        list(open_stream(str(path)).blocks())
    assert sentence in str(failure.value)


@pytest.mark.parametrize("pair", ["1_0:2", "1:2_5", "1:\u0663", "\u0663:1"])
def test_what_only_python_takes_for_a_number_is_refused(tmp_path: Path, pair: str) -> None:
    (path := tmp_path / "a.svm").write_text(f"1 {pair} 20:3\n-1 1:1\n")
    with pytest.raises(UsageFailure, match=f"line 1 holds '{pair}', which is not INDEX:VALUE"):
        open_stream(str(path))

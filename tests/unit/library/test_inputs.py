"""Rows, tables and labels as programs have them, and what is said of those that cannot be used."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import driftway as dw
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.registry import UnknownLearner
from driftway.library.classes import Classes

ROWS = [[1.0, -2.0], [0.5, 3.0], [2.0, 0.25], [-1.0, 1.0]]
Y = [0, 1, 0, 1]


def test_named_features_may_come_in_any_order() -> None:
    one, other = dw.create("pa1"), dw.create("pa1")
    for (a, b), y in zip(ROWS, Y, strict=True):
        one.learn_one({"a": a, "b": b}, y)
        other.learn_one({"b": b, "a": a}, y)
    assert one.__getstate__() == other.__getstate__()
    assert one.feature_names_in_.tolist() == ["a", "b"]
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    assert np.array_equal(one.predict_proba(frame), one.predict_proba(frame[["b", "a"]]))
    assert np.array_equal(one.predict_proba(frame), one.predict_proba(pa.Table.from_pandas(frame)))


def test_data_frames_of_polars_are_accepted() -> None:
    pl = pytest.importorskip("polars", reason="polars, of the extra dev, is not installed")
    frame, labels = pl.DataFrame(ROWS, schema=["a", "b"], orient="row"), pl.Series(["no", "yes", "no", "yes"])
    model = dw.create("arow").fit(frame, labels)
    expected = dw.create("arow").fit(np.array(ROWS), ["no", "yes", "no", "yes"])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(model.predict_proba(frame), expected.predict_proba(ROWS))
    assert np.array_equal(model.predict(frame[["b", "a"]]), expected.predict(ROWS))
    with pytest.raises(ValueError, match="feature 'a' of row 1 is nan"):
        model.predict(frame.with_columns(pl.Series("a", [1.0, None, 2.0, 3.0])))
    with pytest.raises(ValueError, match="'c' is not one of the model's"):
        model.predict(frame.with_columns(c=1.0))
    with pytest.raises(TypeError, match=r"X is a LazyFrame, not a table in memory: give X.collect\(\)"):
        model.predict(frame.lazy())


TABLES = {
    "list": ROWS,
    "float32": np.array(ROWS, np.float32),
    "columns first": np.asfortranarray(ROWS),
    "read-only": np.broadcast_to(np.array(ROWS), (4, 2)),
    "every second": np.repeat(np.array(ROWS), 2, axis=0)[::2],
    "pandas": pd.DataFrame(ROWS),
    "integers": np.array(ROWS) * 4,
}


@pytest.mark.parametrize("name", [name for name in TABLES if name != "integers"])
def test_tables_of_any_kind_are_accepted(name: str) -> None:
    expected = dw.create("arow").fit(np.array(ROWS), Y).predict_proba(ROWS)
    assert np.array_equal(dw.create("arow").fit(TABLES[name], Y).predict_proba(TABLES[name]), expected)


def test_integers_and_truth_values_are_numbers() -> None:
    whole = np.array(ROWS) * 4
    as_floats = dw.create("arow").fit(whole, Y).predict_proba(whole)
    assert np.array_equal(dw.create("arow").fit(whole.astype(np.int64), Y).predict_proba(whole), as_floats)
    model = dw.create("pa1")
    model.learn_one({"a": True, "b": np.float32(2.0)}, True)
    assert model.predict_one({"a": 1, "b": 2}) is True


ROOT = Path(__file__).parents[3]
BAD_ROWS: list[tuple[Any, str]] = [
    ({"a": 1.0}, "the feature 'b' is missing"),
    ({"a": 1.0, "b": 2.0, "c": 3.0}, "the feature 'c' is not one of the model's"),
    ({"a": 1.0, "b": "2"}, "feature 'b' is '2', not a number"),
    ({"a": 1.0, "b": None}, "feature 'b' is None, not a number"),
    ({"a": 1.0, "b": float("nan")}, "feature 'b' is nan, not a finite number"),
    ({"a": -1e999, "b": 1.0}, "feature 'a' is -inf, not a finite number"),
    ([1.0], "the row has 1 features, but the model is expecting 2"),
    ({"a": np.datetime64("2026-11-24", "ns"), "b": 1.0}, r"feature 'a' is np.datetime64\(.*, not a number"),
    ({"a": 1.0, "b": np.timedelta64(5, "ns")}, r"feature 'b' is np.timedelta64\(.*, not a number"),
    ({"a": 10**400, "b": 1.0}, "feature 'a' is inf, not a finite number"),
]


@pytest.mark.parametrize(("row", "sentence"), BAD_ROWS, ids=[sentence for _, sentence in BAD_ROWS])
def test_a_bad_row_is_named_and_changes_nothing(row: Any, sentence: str) -> None:
    model = dw.create("pa1")
    model.learn_one({"a": 1.0, "b": 2.0}, 1)
    before = model.__getstate__()
    with pytest.raises(ValueError, match=sentence):
        model.learn_one(row, 0)
    with pytest.raises(ValueError, match=sentence):
        model.predict_one(row)
    assert model.__getstate__() == before


def test_large_numbers_whose_sum_is_infinite_are_finite() -> None:
    model = dw.create("pa1")
    model.learn_one([1e308, 1e308], 1)
    assert model.n_features_in_ == 2


def test_classes_are_named_or_found_as_they_arrive() -> None:
    assert Classes(["a", "b"]).index("b") == 1
    arriving = Classes(3)
    assert [arriving.index(label) for label in ("z", "a", "z", "m")] == [0, 1, 0, 2]
    assert [Classes().index(True), Classes().index(1), Classes().index("x")] == [1, 1, 0]
    for label, sentence in (
        (None, "the label is None"),
        (float("nan"), "the label is nan"),
        ("q", "say which there are"),
    ):
        with pytest.raises(ValueError, match=sentence):
            arriving.index(label)
    for given in (["a"], 1, ["a", "a"]):
        with pytest.raises(ValueError, match=r"one class|twice"):
            Classes(given)


MISSING = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]


@pytest.mark.parametrize("label", MISSING, ids=[f"{type(one).__name__} {one}" for one in MISSING])
def test_a_missing_label_is_not_a_class(label: Any) -> None:
    model = dw.create("arow")
    for _ in range(2):
        with pytest.raises(ValueError, match="a model learns from rows with labels"):
            model.learn_one(ROWS[0], label)
    for labels in (["no", label, "no", "yes"], np.array(["no", label, "no", "yes"], object), [0, label, 0, 1]):
        with pytest.raises(ValueError, match="the label of row 1 is missing"):
            model.fit(ROWS, labels)
        with pytest.raises(ValueError, match="the label of row 1 is missing"):
            dw.create("auto").fit(ROWS, pd.Series(labels, dtype=object))
    with pytest.raises(ValueError, match="the label of row 1 is missing"):
        dw.Regressor("dfop").fit(ROWS, [0.5, label, 0.5, 1.0])


def test_a_list_of_dicts_is_refused_with_what_takes_one_of_them() -> None:
    events = [{"a": 1.0, "b": 2.0}]
    model = dw.create("arow").fit(ROWS, Y)
    for call in (lambda: model.partial_fit(events, [1]), lambda: model.predict(events)):
        with pytest.raises(ValueError, match="list of dicts: give them one by one, to learn_one or predict_one"):
            call()


def test_what_numpy_would_turn_into_other_numbers_or_labels_is_refused() -> None:
    times = np.array(ROWS).astype("datetime64[s]")
    masked = np.ma.masked_greater(np.array(ROWS), 2.5)
    for X, sentence in ((times, "is a time"), (masked, "X has masked values"), (times - times[0], "is a time")):
        with pytest.raises((TypeError, ValueError), match=sentence):
            dw.create("arow").fit(X, Y)
    assert dw.create("arow").fit(np.ma.array(ROWS), Y).n_features_in_ == 2
    with pytest.raises(ValueError, match="the label of row 3 is missing"):
        dw.create("arow").fit(ROWS, np.ma.array(Y, mask=[0, 0, 0, 1]))
    with pytest.raises(ValueError, match="the label of row 3 is missing"):
        dw.create("arow").fit(ROWS, np.ma.array(["no", "yes", "no", "yes"], mask=[0, 0, 0, 1], dtype=object))
    with pytest.raises(ValueError, match="y mixes labels of the types int, str"):
        dw.create("arow").fit(ROWS, [1, "1", 1, "1"])
    for y in (times[:, 0], np.array(Y) * 1j):
        with pytest.raises(ValueError, match="labels that are not numbers"):
            dw.Regressor("dfop").fit(ROWS, y)
    with pytest.raises(ValueError, match="X has two columns named 'a'"):
        dw.create("arow").fit(pd.DataFrame(ROWS, columns=["a", "a"]), Y)


def test_times_beside_numbers_are_refused_in_data_frames_of_any_kind() -> None:
    """polars makes numbers of them, Arrow has an error of its own."""
    pl = pytest.importorskip("polars", reason="polars, of the extra dev, is not installed")
    moment = datetime.fromisoformat("2026-11-30T12:00:00")
    for value in (moment, moment.date(), moment.time(), timedelta(days=2)):
        table = {"a": [0.5, 1.0, 2.0, 3.0], "t": [value] * 4}
        for X in (pl.DataFrame(table), pa.table(table), pa.table(table).to_batches()[0], pd.DataFrame(table)):
            with pytest.raises(TypeError, match=r"not numbers.*(type .*, a time|'datetime.*) \(feature 't'"):
                dw.create("arow").fit(X, Y)
    model = dw.create("arow").fit(pl.DataFrame({"a": ROWS[0] * 2, "t": Y}), Y)
    with pytest.raises(TypeError, match="feature 't'"):
        model.predict(pl.DataFrame({"a": [1.0], "t": [moment]}))
    with pytest.raises(TypeError, match=r"datetime64.* is a time"):
        dw.create("arow").fit(np.array([[1.0, np.datetime64(moment)]] * 4, object), Y)


def test_the_refusal_of_a_value_that_is_no_number_names_feature_and_row() -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    for value in ("de", pd.NA, pd.Timestamp("2026-11-24")):
        mixed = frame.assign(c=pd.Series([1.0, 2.0, value, 3.0], dtype=object))
        with pytest.raises((TypeError, ValueError), match=r"not numbers.*\(feature 'c' of row 2\)"):
            dw.create("arow").fit(mixed, Y)
        with pytest.raises((TypeError, ValueError), match=r"\(feature 2 of row 2\)"):
            dw.create("arow").fit(mixed.to_numpy(), Y)


def test_predictions_work_before_the_second_class_is_seen() -> None:
    model = dw.create("pa1")
    assert (model.predict_one([1.0, 2.0]), model.predict_proba_one([1.0, 2.0])) == (None, {})
    model.learn_one([1.0, 2.0], "spam")
    assert (model.predict_one([-1.0, -2.0]), model.predict_proba_one([1.0, 2.0])) == ("spam", {"spam": 1.0})


def test_probabilities_of_several_classes_agree_with_the_prediction() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, 500)
    X = rng.normal(size=(500, 3)) + y[:, None] * np.array([0.8, -0.3, 0.1])
    for learner in ("mc_pa1", "gaussian_nb"):
        model = dw.create(learner, classes=range(4)).fit(X, y)
        p = model.predict_proba(X)
        assert np.allclose(p.sum(axis=1), 1.0)
        assert (p >= 0.0).all()
        assert np.allclose(p.max(axis=1), p[np.arange(500), model.predict(X).astype(int)])


def test_wrong_learners_and_classes_are_refused() -> None:
    with pytest.raises(UnknownLearner, match="did you mean 'arow'"):
        dw.create("arrow")
    with pytest.raises(ParameterError, match="r"):
        dw.create("arow", r=-1.0)
    with pytest.raises(ParameterError, match="does not learn 3 classes"):
        dw.create("arow", classes=3)
    with pytest.raises(ValueError, match=r"^the class 'a' is given twice$"):
        dw.create("pa1", classes=["a", "b", "a"])
    with pytest.raises(ValueError, match=r"^classes are for classification: a regressor predicts numbers$"):
        dw.create("pa1", "regression", classes=["a", "b"])
    with pytest.raises(ValueError, match="task is classification or regression"):
        dw.create("arow", "clustering")
    with pytest.raises(AttributeError, match="no attribute 'creat'"):
        dw.creat  # noqa: B018
    assert repr(dw.create("ova:arow", r=0.5, classes=3)) == "Classifier('ova:arow:r=0.5', classes=3)"


def test_classes_may_come_from_an_iterator() -> None:
    model = dw.create("pa1", classes=iter(["ham", "spam"]))
    model.learn_one([1.0], "spam")
    assert model.classes_.tolist() == ["ham", "spam"]


def test_a_detector_finds_a_change_in_a_stream() -> None:
    detector = dw.detector("ddm")
    found = []
    for t, (_, y) in enumerate(dw.stream("sea", rows=2_000, seed=3)):
        assert isinstance(y, int)
        detector.update(float(t >= 1_000 and t % 2))
        found += [t] if detector.drift_detected else []
    assert found
    assert 1_000 <= found[0] < 1_100
    assert "ddm" in repr(detector)


def test_importing_driftway_is_quick() -> None:
    program = "import sys, driftway; assert 'numpy' not in sys.modules; driftway.create; assert 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, cwd=ROOT)


def test_a_row_of_a_data_frame_has_named_features() -> None:
    frame = pd.DataFrame(ROWS, columns=["b", "a"])
    model, expected = dw.create("arow"), dw.create("arow").fit(frame, Y)
    for i, y in enumerate(Y):
        model.learn_one(frame.iloc[i], y)
    assert model.feature_names_in_.tolist() == ["b", "a"]
    for one in (model, expected):
        probability = one.predict_proba_one(frame.iloc[0])
        assert one.predict_proba_one(frame.iloc[0][["a", "b"]]) == probability
        assert one.predict_proba_one(frame.iloc[0].to_dict()) == probability
        for names, sentence in (("ac", "'b' is missing"), ("abc", "'c' is not one"), ("aab", "two features named 'a'")):
            with pytest.raises(ValueError, match=sentence):
                one.predict_one(pd.Series([1.0] * len(names), list(names)))
    assert np.array_equal(model.predict_proba(frame[["a", "b"]]), expected.predict_proba(frame))
    by_position = dw.create("arow")
    by_position.learn_one(pd.Series([1.0, 2.0]), 1)
    assert by_position.predict_one([1.0, 2.0]) == 1
    with pytest.raises(ValueError, match=r"not an array of shape \(1, 2\)"):
        dw.create("arow").learn_one(frame[:1], 1)


@pytest.mark.parametrize("text", ["01234", "1_000", b"7", "2.5"])
def test_text_of_digits_is_no_number_in_tables_and_rows(text: Any) -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b"]).assign(zip=pd.Series([text] * 4, dtype=object))
    for X, place in (
        (frame, "feature 'zip' of row 0"),
        (frame[["zip"]], "feature 'zip'"),
        (frame.to_numpy(), "feature 2"),
    ):
        with pytest.raises(ValueError, match=f"X holds text, not numbers: {text!r} \\({place}"):
            dw.create("arow").fit(X, Y)
    with pytest.raises(ValueError, match="X holds text, not numbers"):
        dw.create("arow").fit([["1", "2"]] * 4, Y)


def test_a_stream_of_a_file_handles_missing_labels_and_bad_events(tmp_path: Path) -> None:
    (path := tmp_path / "x.csv").write_text("a,y\n1,no\n2,\n3,yes\n")
    assert list(dw.stream(str(path), labels=["no", "yes"])) == [
        ({"a": 1.0}, "no"),
        ({"a": 2.0}, None),
        ({"a": 3.0}, "yes"),
    ]
    (path := tmp_path / "x.jsonl").write_text('{"x":[1],"y":0}\nnope\n{"x":[2],"y":1}\n{"x":[null],"y":7}\n[]\n')
    with pytest.warns(UserWarning, match=r"rows of .* are left out; the first, row 1: not JSON"):
        found = list(dw.stream(str(path), labels=["0", "1"]))
    assert [label for _, label in found] == [0, 1, None]
    assert [x["x0"] for x, _ in found[:2]] == [1.0, 2.0]


def test_score_accepts_labels_in_a_column_and_refuses_other_types() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    frame = pd.DataFrame({"y": (X[:, 0] > 0).astype(int), "z": X[:, 0] * 3.0 + 1.0})
    model = dw.create("arow").fit(X, frame["y"])
    with pytest.warns(UserWarning, match="column-vector"):
        assert model.score(X, frame[["y"]]) == model.score(X, frame["y"]) > 0.9
    numbers = dw.Regressor("dfop").fit(X, frame["z"])
    with pytest.warns(UserWarning, match="column-vector"):
        assert numbers.score(X, frame[["z"]]) == numbers.score(X, frame["z"]) > 0.5
    for one in (model, numbers):
        with pytest.raises(ValueError, match="X has 60 rows, each with one label"):
            one.score(X, frame["y"][:1])
        with pytest.raises(ValueError, match="the label of row 3 is missing"):
            one.score(X, frame["y"].where(frame.index != 3))
    with pytest.raises(ValueError, match="none of the labels is a class of the model"):
        model.score(X, frame["y"].astype(str))


def test_labels_of_a_regressor_that_are_no_numbers_are_refused() -> None:
    for label in ("1.5", "1_000", np.datetime64("2026-11-24", "ns"), np.timedelta64(5, "ns"), None, 1j):
        with pytest.raises(ValueError, match=r"the label is .*, not a number"):
            dw.Regressor("dfop").learn_one([1.0], label)
    for labels in (
        ["1.5", "2"],
        np.array(["1.5", 2.0], object),
        np.array(["2026-11-24", "2026-11-25"], "datetime64[ns]"),
    ):
        with pytest.raises(ValueError, match="y holds labels that are not numbers"):
            dw.Regressor("dfop").fit([[1.0], [2.0]], labels)
    with pytest.raises(ValueError, match="too large for a float64"):
        dw.Regressor("dfop").fit([[10**400], [2.0]], [1.0, 2.0])


def test_a_table_that_is_refused_for_a_label_leaves_the_classes_as_they_were() -> None:
    model = dw.create("mc_pa1", classes=3)
    model.partial_fit(ROWS, ["a"] * 4)
    with pytest.raises(ValueError, match="the label 'd' is not one of the 3 classes"):
        model.partial_fit(ROWS, ["b", "c", "d", "b"])
    assert model.classes_.tolist() == ["a"]
    assert model.partial_fit(ROWS, ["e", "d", "d", "a"]).classes_.tolist() == ["a", "e", "d"]


@pytest.mark.parametrize("row", [None, 3.5, "12"], ids=repr)
def test_what_is_no_row_is_refused(row: Any) -> None:
    for model in (dw.create("pa1"), dw.create("pa1").fit(ROWS, Y)):
        with pytest.raises(ValueError, match=r"a row is a dict or a list of numbers, not of the type|, not a number"):
            model.learn_one(row, 1)
    with pytest.raises(ValueError, match="a row is a dict or a list of numbers, not of the type set"):
        dw.create("pa1").learn_one({1.0, 2.0}, 1)
    with pytest.raises(ValueError, match=r"the names of the features have different types \(int, str\)"):
        dw.create("pa1").learn_one({1: 1.0, "a": 2.0}, 1)


def test_detectors_say_which_values_they_cannot_use() -> None:
    for name in ("ddm", "eddm"):
        detector = dw.detector(name)
        for value in (True, 0, 1.0, np.float32(0.0), float("nan")):
            detector.update(value)
        with pytest.raises(ValueError, match=f"^{name} counts mistakes: give 1 for a mistake or 0 for a hit, not 2.5"):
            detector.update(2.5)
    for name, value in (("adwin", 2.5), ("hddm_a", float("inf")), ("hddm_w", 1e9)):
        detector = dw.detector(name)
        with pytest.warns(UserWarning, match=f"^{name} counts {value} as 1.0; kswin takes numbers of any size"):
            detector.update(value)
        detector.update(value)  # told once
    for value in (None, "1", [1.0]):
        with pytest.raises(ValueError, match=r"^the value is .*, not a number$"):
            dw.detector("kswin").update(value)


def test_a_table_without_the_names_of_the_model_is_taken_in_its_order_with_a_warning() -> None:
    X, frame = np.array(ROWS), pd.DataFrame(ROWS, columns=["b", "a"])
    by_name, by_position = dw.create("arow").fit(frame, Y), dw.create("arow").fit(X, Y)
    with pytest.warns(
        UserWarning, match="X has no names of features, but the model knows them by name: its columns"
    ) as w:
        assert np.array_equal(by_name.predict_proba(X), by_name.predict_proba(frame))
    assert w[0].filename == __file__
    with pytest.warns(UserWarning, match="X has names of features, but the model knows them by position: its columns"):
        assert np.array_equal(by_position.predict_proba(frame), by_position.predict_proba(X))
    with pytest.warns(UserWarning, match="X has no names of features") as w:
        by_name.partial_fit(X, Y)

"""Labels of a program: classes keep their values and types, in predictions, copies and files."""

from __future__ import annotations

import copy
import json
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftway as dw

X = np.random.default_rng(5).normal(size=(60, 2))
HALF = X[:, 0] > 0.0


def learned(pair: tuple[Any, Any], **given: Any) -> Any:
    """Return a model that has learned two classes row by row."""
    model = dw.create("arow", **given)
    for x, is_second in zip(X.tolist(), HALF.tolist(), strict=True):
        model.learn_one(x, pair[is_second])
    return model


PAIRS = [("a", 1), (0.5, 2**53 + 1), ("a\0", "b"), ((1, 2), (3, 4)), ((1,), (2, 3)), (-1, 2**63 + 1), (b"a", b"b")]


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_classes_of_any_type_are_predicted_as_they_came(pair: tuple[Any, Any]) -> None:
    model = learned(pair, classes=pair)
    assert model.classes_.tolist() == list(pair)
    assert model.predict(X).tolist() == [model.predict_one(x) for x in X.tolist()]
    assert set(model.predict(X).tolist()) == set(pair)
    assert list(model.predict_proba_one(X[0].tolist())) == list(pair)


def test_labels_that_an_array_would_round_to_one_number_stay_different() -> None:
    labels = np.array([-1, 2**63, 2**63 + 1], object)[np.arange(60) % 3].tolist()
    model = dw.create("mc_pa1", classes=3).fit(X, labels)
    assert model.classes_.tolist() == [-1, 2**63, 2**63 + 1]
    with pytest.raises(ValueError, match="y mixes labels of the types int, str"):
        dw.create("arow").fit(X, np.array(["a", 1], object)[HALF.astype(int)])


def test_values_of_numpy_become_those_of_python() -> None:
    for pair in ((np.int64(5), np.int64(7)), (np.False_, np.True_), (np.str_("a"), np.str_("b"))):
        model = learned(pair)
        assert {type(label) for label in model.classes_.tolist()} <= {int, bool, str}
        assert json.loads(json.dumps(model.predict_one(X[0].tolist()))) == model.predict(X)[0]
    assert learned((np.array(0), np.array(1))).classes_.tolist() == [0, 1]
    model = dw.create("mc_pa1", classes=np.int64(3))
    assert model.fit(X, np.arange(60) % 3).classes_.tolist() == [0, 1, 2]


def test_what_cannot_be_classes_is_refused() -> None:
    for classes, sentence in (
        ([0.0, float("nan")], "^nan is no class: a missing label cannot be predicted$"),
        (["a", None], "^None is no class"),
        (3.0, r"^classes is 3\.0: give a list of the classes, or their number$"),
        ("0,1", "^classes is '0,1': give a list"),
        (["a", ["b"]], r"^the label is \['b'\]: a class is one text, number or truth value$"),
    ):
        with pytest.raises(ValueError, match=sentence):
            dw.create("pa1", classes=classes)
    for label in (["a"], {}, np.array([0, 1])):
        with pytest.raises(ValueError, match="a class is one text, number or truth value"):
            dw.create("pa1").learn_one([1.0], label)
    for y in ({1: 0}, (label for label in range(60)), None, 1):
        with pytest.raises(ValueError, match="y"):
            dw.create("pa1").fit(X, y)


def test_only_classes_that_have_come_are_predicted() -> None:
    model = dw.create("mc_pa1", classes=4)
    assert model.predict_one([1.0, 2.0]) is None
    y = np.where(HALF, "b", "a")
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(x, label)
    assert np.mean(model.predict(X) == y) > 0.8
    assert model.predict(X).tolist() == [model.predict_one(x) for x in X.tolist()]
    table = model.predict_proba(X)
    assert table.shape == (60, 2)
    assert np.allclose(table.sum(axis=1), 1.0)
    for x, row in zip(X.tolist(), table.tolist(), strict=True):
        assert model.predict_proba_one(x) == pytest.approx(dict(zip(model.classes_.tolist(), row, strict=True)))
    two = dw.create("pa1", classes=2).partial_fit(X, ["a"] * 60)
    assert two.predict_proba(X).tolist() == [[1.0]] * 60


@pytest.mark.parametrize("pair", [(0.5, 1.5), (-(2**60) - 1, 7), (False, True), ("1", "true"), (1, "x"), ("", " ")])
def test_a_file_has_the_same_classes(pair: tuple[Any, Any], tmp_path: Path) -> None:
    model = learned(pair, classes=pair)
    model.save(tmp_path / "a.driftway")
    again = dw.load(tmp_path / "a.driftway")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.classes_.dtype.kind == model.classes_.dtype.kind


def test_numpy_truth_values_as_classes_are_stored_as_pythons(tmp_path: Path) -> None:
    learned((False, True), classes=np.array([False, True])).save(tmp_path / "a.driftway")
    assert dw.load(tmp_path / "a.driftway").classes_.tolist() == [False, True]


UNSTORED = [(b"a", b"b"), ((1, 2), (3, 4)), ("0", 1), (True, "true"), (float("inf"), 1), ("a", "\ud800")]


@pytest.mark.parametrize("pair", UNSTORED, ids=ascii)
def test_classes_that_a_file_would_change_are_refused(pair: tuple[Any, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^the class .* cannot be stored"):
        learned(pair, classes=pair).save(tmp_path / "a.driftway")


def test_a_file_names_all_classes(tmp_path: Path) -> None:
    some = dw.create("mc_pa1", classes=3).partial_fit(X, np.where(HALF, "b", "a"))
    with pytest.raises(ValueError, match=r"^a file names all 3 classes, of which 2 came so far: say which there are"):
        some.save(tmp_path / "a.driftway")
    one = dw.create("pa1")
    one.learn_one([1.0], "a")
    with pytest.raises(ValueError, match=r"^a file names all 2 classes, of which 1 came so far"):
        one.save(tmp_path / "a.driftway")
    learned((Decimal("1.50"), Decimal(2))).save(tmp_path / "a.driftway")


@pytest.mark.parametrize("change", [{"learner": "pa1"}, {"learner": "arow:r=9"}, {"standardize": False}])
def test_changed_parameters_hold_from_the_next_fit_on(change: dict[str, Any], tmp_path: Path) -> None:
    model, expected = learned((0, 1)).set_params(**change), learned((0, 1))
    model.save(tmp_path / "a.driftway")
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), dw.load(tmp_path / "a.driftway")]
    copies.append(model.clone(include_attributes=True))
    for one in [expected, model, *copies]:
        one.partial_fit(X, HALF)
    for one in [model, *copies]:
        assert np.array_equal(one.predict_proba(X), expected.predict_proba(X))
    assert copies[0].get_params() == model.get_params()
    anew = dw.Classifier(**model.get_params()).fit(X, HALF)
    assert np.array_equal(copies[1].fit(X, HALF).predict_proba(X), anew.predict_proba(X))


@pytest.mark.parametrize("name", [1, ("a", 1), "\ud800"], ids=ascii)
def test_names_of_features_that_a_file_cannot_have_are_refused(name: Any, tmp_path: Path) -> None:
    model = dw.create("pa1")
    model.learn_one({name: 1.0}, 1)
    assert pickle.loads(pickle.dumps(model)).predict_one({name: 1.0}) == 1
    with pytest.raises(ValueError, match=r"^the feature .* cannot be stored: names of features are text$"):
        model.save(tmp_path / "a.driftway")
    assert list(tmp_path.iterdir()) == []

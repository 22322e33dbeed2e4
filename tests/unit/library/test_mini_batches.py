"""River's mini-batches: data frames of pandas, with the bits of single rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from river import base, compose, datasets, preprocessing

import driftway as dw

SIZE = 50


def frame(dataset: Any) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return 400 rows and their labels, whose index does not begin with 0."""
    rows = list(dataset.take(400))
    index = pd.RangeIndex(1_000, 1_400)
    return pd.DataFrame([x for x, _ in rows], index=index), pd.Series([y for _, y in rows], index=index)


def batches(X: pd.DataFrame, y: pd.Series[Any]) -> Iterator[tuple[pd.DataFrame, pd.Series[Any], list[Any]]]:
    """Yield the rows of each batch, their labels, and the rows as dicts."""
    for begin in range(0, len(X), SIZE):
        rows = X.iloc[begin : begin + SIZE]
        yield rows, y.iloc[begin : begin + SIZE], rows.to_dict("records")


def test_batches_of_a_classifier_have_the_bits_of_single_rows() -> None:
    X, y = frame(datasets.Phishing())
    one, many = dw.Classifier("arow"), dw.Classifier("arow")
    assert isinstance(many, base.MiniBatchClassifier)
    for rows, labels, singles in batches(X, y):
        predicted, shares = many.predict_many(rows), many.predict_proba_many(rows)
        assert predicted.index.equals(rows.index)
        assert shares.index.equals(rows.index)
        assert predicted.tolist() == [one.predict_one(x) for x in singles]
        assert shares.to_dict("records") == [one.predict_proba_one(x) for x in singles]
        many.learn_many(rows, labels)
        for x, label in zip(singles, labels, strict=True):
            one.learn_one(x, label)


def test_batches_of_a_regressor_have_the_bits_of_single_rows() -> None:
    X, y = frame(datasets.TrumpApproval())
    one, many = dw.Regressor("dfop"), dw.Regressor("dfop")
    assert isinstance(many, base.MiniBatchRegressor)
    for rows, labels, singles in batches(X, y):
        assert many.predict_many(rows).tolist() == [one.predict_one(x) for x in singles]
        many.learn_many(rows, labels)
        for x, label in zip(singles, labels, strict=True):
            one.learn_one(x, label)


def test_batches_pass_through_a_pipeline_of_river() -> None:
    X, y = frame(datasets.TrumpApproval())
    model = compose.Pipeline(preprocessing.StandardScaler(), dw.Regressor("dfop"))
    model.learn_many(X, y)
    assert model.predict_many(X).index.equals(X.index)


def test_a_first_batch_may_have_one_class_and_a_batch_may_be_empty() -> None:
    X, y = frame(datasets.Phishing())
    model = dw.Classifier("arow")
    up = pd.Series("up", index=X.index)
    model.learn_many(X[y], up[y])
    model.learn_many(X[:0], up[:0])
    assert set(model.predict_many(X)) == {"up"}
    model.learn_many(X[~y], pd.Series("down", index=X[~y].index))
    assert set(model.predict_proba_many(X).columns) == {"up", "down"}


def test_a_table_without_index_is_refused_by_name() -> None:
    X, y = frame(datasets.Phishing())
    model = dw.Classifier("arow").fit(X, y)
    with pytest.raises(ValueError, match=r"^X is ndarray, not a data frame of pandas: predict takes other tables$"):
        model.predict_many(X.to_numpy())

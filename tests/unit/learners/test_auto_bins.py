"""Experts of `auto` on features most of whose values are close together, or are one value."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners.auto.bulk import NARROW, Bulk, follow, spread_out
from driftway.learners.auto.forests.binning import quantize
from driftway.learners.contract import Array
from driftway.learners.spec import Spec
from tests.support.oracle.auto.bulk import Bulk as OracleBulk

BINS = 32


def standardized(values: Array) -> Array:
    """Each value by the mean and the deviation of those before it, within ten deviations, as `auto` gets it."""
    rows = np.maximum(np.arange(len(values)), 1)
    mean = (values.cumsum() - values) / rows
    squares = (values**2).cumsum() - values**2
    deviation = np.sqrt(np.maximum(squares / rows - mean**2, 0.0))
    distance = np.where(deviation > 1e-9, values - mean, 0.0)
    return np.clip(distance / np.maximum(deviation, 1e-9), -10.0, 10.0)


def columns(n: int = 4000) -> dict[str, Array]:
    generator = np.random.default_rng(3)
    normal, rare = generator.normal(size=n), generator.random(n) < 0.1
    return {
        "normal": normal,
        "sentinel": np.where(rare, -999.0, normal),
        "log-normal": np.exp(2.0 * normal),
        "mostly 0": np.where(generator.random(n) < 0.7, 0.0, normal),
        "flag": (generator.random(n) < 0.9).astype(float),
        "long runs": (np.arange(n) // 300 % 2).astype(float),
    }


def scaled(values: Array) -> Array:
    """The rows as `auto` gets them: standardised, and behind that as they came. Shapes: f8[n, d] to f8[n, 2 d]."""
    return np.column_stack([*(standardized(column) for column in values.T), values])


def followed(rows: Array) -> tuple[Bulk, Array, Array]:
    """What is known of the bulk after these rows, and the bins and the experts' values before each was learned from."""
    d = rows.shape[1] // 2
    bulk = Bulk(np.zeros(1, np.int64), np.zeros(d), np.zeros(d), np.zeros(d), np.ones(d))
    bins, places = np.empty((len(rows), d)), np.empty((len(rows), d))
    for row, of_row, place in zip(rows, bins, places, strict=True):
        quantize(bulk, row[:d], of_row, BINS)
        spread_out(bulk, row[:d], place)
        follow(bulk, row)
    return bulk, bins, places


def test_bins_equal_the_oracle() -> None:
    rows = scaled(np.column_stack(list(columns().values())))
    bulk, bins, places = followed(rows)
    d = bins.shape[1]
    oracle = OracleBulk(d)
    for row, of_row, place in zip(rows.tolist(), bins, places, strict=True):
        assert of_row.tolist() == oracle.bins(row[:d], BINS)
        np.testing.assert_allclose(place, oracle.row(row[:d]), rtol=0.0, atol=1e-9)
        oracle.learn(row[:d], row[d:])
    np.testing.assert_allclose((bulk.middle, bulk.spread), (oracle.middle, oracle.spread), rtol=1e-9)


@pytest.mark.parametrize("name", ["sentinel", "log-normal"])
def test_values_close_together_have_many_bins(name: str) -> None:
    """By their distance from the mean alone, they would share a few."""
    bulk, bins, _ = followed(scaled(columns()[name][:, np.newaxis]))
    assert bulk.spread[0] < NARROW
    assert len(np.unique(bins[3000:])) >= 12


@pytest.mark.parametrize("name", ["normal", "mostly 0", "flag", "long runs"])
def test_a_value_that_repeats_is_no_bulk(name: str) -> None:
    bulk, _, _ = followed(scaled(columns()[name][:, np.newaxis]))
    assert bulk.spread[0] >= NARROW


def test_the_bulk_moves_with_the_scale() -> None:
    """A sentinel moves the mean by many times the deviation of the other values: these must not seem wider by that."""
    generator = np.random.default_rng(3)
    normal, rare = generator.normal(size=4000), generator.random(4000) < 0.1
    values = np.where(rare, -9999.0, normal)
    bulk, _, places = followed(scaled(values[:, np.newaxis]))
    deviation = values.std()
    assert bulk.spread[0] * deviation == pytest.approx(1.0, rel=0.4)
    assert bulk.middle[0] * deviation + values.mean() == pytest.approx(0.0, abs=0.4)
    exact = 2.0 * normal / (1.0 + abs(normal))
    assert abs(places[1000:, 0] - exact[1000:])[~rare[1000:]].mean() < 0.3


@pytest.mark.parametrize("name", ["normal", "mostly 0", "flag", "long runs"])
def test_features_without_a_narrow_bulk_stay_as_they_are(name: str) -> None:
    rows = scaled(columns()[name][:, np.newaxis])
    _, _, places = followed(rows)
    np.testing.assert_array_equal(places[100:], rows[100:, :1])


def accuracy(X: Array, y: Array) -> float:
    score = np.empty((len(y), 1))
    Spec.parse("auto").create(X.shape[1], standardize=True).predict_then_update(X, y, score)
    return float(((score[2000:, 0] > 0.0) == y[2000:]).mean())


def test_log_normal_features_are_learned() -> None:
    """With standardised values only, the accuracy is 81 %."""
    generator = np.random.default_rng(11)
    normal = generator.normal(size=(12_000, 8))
    y = (normal @ generator.normal(size=8) + 0.3 * generator.normal(size=12_000) > 0.0).astype(float)
    assert accuracy(np.exp(2.0 * normal), y) > 0.89


def test_features_with_sentinels_are_learned_while_the_concept_changes() -> None:
    """With the standardised values only, or with a bulk that does not move with the scale, the accuracy is 76 %."""
    generator = np.random.default_rng(12)
    normal, concept = generator.normal(size=(12_000, 6)), np.arange(12_000) // 2000
    y = ((normal * generator.normal(size=(6, 6))[concept]).sum(axis=1) > 0.0).astype(float)
    assert accuracy(np.where(generator.random(normal.shape) < 0.1, -999.0, normal), y) > 0.82

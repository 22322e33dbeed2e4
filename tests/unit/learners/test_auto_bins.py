"""Bins of the forests of `auto` on features most of whose values are close together, or are one value."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners.auto.forests.binning import NARROW, Bulk, follow, quantize
from driftway.learners.contract import Array
from driftway.learners.spec import Spec
from tests.support.oracle.auto.forests import Bulk as OracleBulk

BINS = 32


def standardized(values: Array) -> Array:
    """Each value by the mean and the deviation of those up to it, within six deviations, as `auto` gets it."""
    rows = np.arange(1, len(values) + 1)
    mean = values.cumsum() / rows
    deviation = np.sqrt(np.maximum((values**2).cumsum() / rows - mean**2, 1e-12))
    return np.asarray(np.clip((values - mean) / deviation, -6.0, 6.0))


def columns(n: int = 4000) -> dict[str, Array]:
    generator = np.random.default_rng(3)
    normal, rare = generator.normal(size=n), generator.random(n) < 0.1
    found = {
        "normal": normal,
        "sentinel": np.where(rare, -999.0, normal),
        "log-normal": np.exp(2.0 * normal),
        "mostly 0": np.where(generator.random(n) < 0.7, 0.0, normal),
        "flag": (generator.random(n) < 0.9).astype(float),
    }
    return {name: standardized(values) for name, values in found.items()}


def followed(rows: Array) -> tuple[Bulk, Array]:
    """What is known of the bulk after these rows, and the bins of each row before it was learned from."""
    d = rows.shape[1]
    bulk = Bulk(np.zeros(1, np.int64), np.zeros(d), np.zeros(d), np.zeros(d), np.ones(d), np.zeros(d))
    bins = np.empty((len(rows), d))
    for row, of_row in zip(rows, bins, strict=True):
        quantize(bulk, row, of_row, BINS)
        follow(bulk)
    return bulk, bins


def test_bins_equal_the_oracle() -> None:
    rows = np.column_stack(list(columns().values()))
    bulk, bins = followed(rows)
    oracle, expected = OracleBulk(rows.shape[1]), []
    for row in rows.tolist():
        expected.append(oracle.bins(row, BINS))
        oracle.learn(row)
    np.testing.assert_array_equal(bins, expected)
    np.testing.assert_array_equal((bulk.middle, bulk.spread), (oracle.middle, oracle.spread))


@pytest.mark.parametrize("name", ["sentinel", "log-normal"])
def test_values_close_together_have_many_bins(name: str) -> None:
    """By their distance from the mean alone, they would share a few."""
    bulk, bins = followed(columns()[name][:, np.newaxis])
    assert bulk.spread[0] < NARROW
    assert len(np.unique(bins[3000:])) >= 12


@pytest.mark.parametrize("name", ["normal", "mostly 0", "flag"])
def test_a_value_that_repeats_is_no_bulk(name: str) -> None:
    bulk, _ = followed(columns()[name][:, np.newaxis])
    assert bulk.spread[0] >= NARROW


def test_log_normal_features_are_learned() -> None:
    """With the bins of standardised values only, the accuracy is 81 %."""
    generator = np.random.default_rng(11)
    normal = generator.normal(size=(12_000, 8))
    y = (normal @ generator.normal(size=8) + 0.3 * generator.normal(size=12_000) > 0.0).astype(float)
    score = np.empty((len(y), 1))
    Spec.parse("auto").create(8, standardize=True).predict_then_update(np.exp(2.0 * normal), y, score)
    assert ((score[2000:, 0] > 0.0) == y[2000:]).mean() > 0.84

"""The empirical errors on real data, in per cent, within two of their standard deviations.

See docs/algorithms/reference-results.md#online-to-batch.
"""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners.online_to_batch.training_set import TrainingSet, collect
from tests.support.real_streams import RealStreams
from tests.unit.learners.online_to_batch.rows import LINEAR, QUADRATIC, finished

ROWS = {"phishing": 11_055, "htru2": 17_898}
SEEDS = range(5)
PHIS = (1, 5, 20)


def problem(real_streams: RealStreams, name: str) -> TrainingSet:
    return collect([real_streams.rows(name, ROWS[name])])


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        ("phishing", LINEAR, ((5.96, 0.07), (5.79, 0.05), (5.73, 0.04))),
        ("htru2", LINEAR, ((2.07, 0.05), (2.02, 0.02), (1.99, 0.02))),
        ("htru2", QUADRATIC, ((2.08, 0.03), (1.99, 0.03), (1.94, 0.02))),
    ],
)
def test_errors_of_algorithm_ii_are_the_documented_ones(real_streams, name, spec, expected):
    procedure, best = problem(real_streams, name), []
    for seed in SEEDS:
        curve = finished(procedure, "ii", spec, seed, phi_max=PHIS[-1]).result().report["curve"]
        least = np.minimum.accumulate([point["errors"] for point in curve])
        best.append([100 * least[phi - 1] / ROWS[name] for phi in PHIS])
    for found, (error, deviation) in zip(np.mean(best, axis=0), expected, strict=True):
        assert found == pytest.approx(error, abs=2 * deviation)


@pytest.mark.parametrize(
    ("name", "algorithm", "parameters", "error", "deviation"),
    [
        ("phishing", "iii", {}, 5.88, 0.08),
        ("htru2", "iii", {}, 2.07, 0.04),
        ("phishing", "longest-survival", {"mult": 10}, 8.0, 0.7),
        ("phishing", "random-stopping", {"mult": 10}, 9.0, 1.2),
        ("phishing", "average", {"mult": 10}, 6.08, 0.05),
        ("phishing", "cutoff-average", {"mult": 10}, 6.02, 0.07),
        ("phishing", "iii-weak", {"Z": 16}, 10.0, 1.0),
        ("phishing", "iii-weak", {"Z": 256}, 6.1, 0.2),
    ],
)
def test_errors_of_the_other_algorithms_are_the_documented_ones(
    real_streams, name, algorithm, parameters, error, deviation
):
    procedure = problem(real_streams, name)
    found = [finished(procedure, algorithm, LINEAR, s, **parameters).result().empirical_error for s in range(10)]
    assert 100 * np.mean(found) == pytest.approx(error, abs=2 * deviation)

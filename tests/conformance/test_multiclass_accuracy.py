"""Multiclass learners reach the documented accuracies; those on two-class streams are in the table.

See docs/algorithms/multiclass.md#multiclass-learners.
"""

from __future__ import annotations

import pytest

from driftway.learners.learner import CLASSIFICATION
from driftway.learners.metrics.prequential import prequential
from driftway.learners.metrics.rolling import create_metrics
from driftway.learners.spec import Spec

STREAMS = (("keystroke", 1_600), ("5CVT", 20_000), ("4CR", 20_000), ("powersupply", 20_000))
"""The streams (columns) and the number of rows of each."""

TOLERANCE = 0.3

ACCURACY = {
    "majority_class": (5.62, 33.30, 21.27, 4.17),
    "no_change": (6.50, 21.96, 24.93, 0.01),
    "mc_perceptron_max": (84.12, 86.59, 99.86, 0.98),
    "mc_perceptron_uniform": (85.06, 87.05, 99.83, 0.73),
    "mc_perceptron_sim": (84.56, 86.61, 99.83, 0.14),
    "mc_ogd": (87.31, 87.98, 99.78, 2.54),
    "mc_ogd:schedule=const,eta=0.1": (88.94, 89.54, 99.95, 1.07),
    "mc_softmax": (88.31, 85.14, 99.78, 7.88),
    "mc_softmax:schedule=const,eta=0.1": (90.25, 89.78, 99.93, 2.54),
    "mc_pa": (87.94, 87.25, 99.93, 0.77),
    "mc_pa1": (89.75, 89.44, 99.95, 1.06),
    "mc_pa2": (90.56, 89.72, 99.95, 0.83),
    "mc_romma": (86.00, 87.52, 99.81, 2.62),
    "mc_aromma": (87.69, 87.73, 99.92, 2.71),
    "mc_cw:cov=full": (87.19, 88.78, 99.95, 2.14),
    "mc_cw:cov=diag": (86.31, 87.70, 99.95, 3.69),
    "mc_cw_stdev:cov=full": (88.88, 64.62, 99.96, 6.71),
    "mc_cw_stdev:cov=diag": (88.06, 65.58, 99.96, 4.76),
    "mc_cw_stdev:cov=full,q=1e-4": (89.12, 88.31, 99.96, 1.40),
    "mc_cw_stdev:cov=diag,q=1e-4": (88.31, 87.94, 99.95, 0.95),
    "mc_arow:cov=full": (90.56, 75.31, 99.86, 2.60),
    "mc_arow:cov=diag": (89.56, 73.08, 99.64, 3.30),
    "mc_arow:cov=full,q=1e-4": (90.75, 91.05, 99.94, 1.72),
    "mc_arow:cov=diag,q=1e-4": (90.31, 90.45, 99.95, 1.14),
    "mc_nherd:cov=full": (90.81, 72.06, 99.33, 2.44),
    "mc_nherd:cov=diag": (87.75, 66.76, 99.37, 3.35),
    "mc_nherd:cov=full,q=1e-4": (91.12, 88.81, 99.94, 1.78),
    "mc_nherd:cov=diag,q=1e-4": (88.69, 88.36, 99.94, 1.20),
    "mc_scw1:cov=full": (90.00, 80.47, 99.95, 4.12),
    "mc_scw1:cov=diag": (89.94, 69.15, 99.96, 8.28),
    "mc_scw1:cov=full,q=1e-4": (89.88, 90.83, 99.96, 1.92),
    "mc_scw1:cov=diag,q=1e-4": (89.69, 90.23, 99.97, 1.40),
    "mc_scw2:cov=full": (89.00, 80.69, 99.95, 3.77),
    "mc_scw2:cov=diag": (89.12, 69.70, 99.95, 5.31),
    "mc_scw2:cov=full,q=1e-4": (89.44, 91.00, 99.95, 1.73),
    "mc_scw2:cov=diag,q=1e-4": (88.75, 90.22, 99.96, 1.17),
    "arowa:form=diag": (89.56, 73.08, 99.64, 3.30),
    "arowa:form=factored": (80.69, 67.61, 98.89, 5.16),
    "weighted_majority": (90.69, 91.03, 99.94, 14.29),
    "mc_kernel_perceptron:width=dimension": (86.62, 85.82, 99.83, 2.92),
    "mc_norma:width=dimension": (87.69, 89.63, 99.95, 2.65),
    "ova:pa1": (90.31, 88.64, 99.95, 0.05),
    "ova:ogd_logistic": (89.00, 82.37, 99.92, 7.95),
    "ova:arow:q=1e-4": (90.06, 90.00, 99.95, 2.02),
}
"""Learner in command-line syntax -> accuracy in per cent on each stream, standardised."""


@pytest.mark.parametrize(("text", "accuracies"), ACCURACY.items(), ids=list(ACCURACY))
def test_accuracy_of_the_specification(real_streams, text, accuracies):
    spec, expected = Spec.parse(text), dict(zip(STREAMS, accuracies, strict=True))
    found = {}
    for name, rows in real_streams.present(expected):
        X, y = real_streams.rows(name, rows)
        n_classes = int(y.max()) + 1
        learner = spec.create(X.shape[1], n_classes, standardize=True)
        metrics = create_metrics(CLASSIFICATION, n_classes, n_classes)
        blocks = [(X[i : i + 997], y[i : i + 997]) for i in range(0, len(X), 997)]
        for _ in prequential(learner, blocks, metrics):
            pass
        found[name, rows] = 100 * metrics.point()["accuracy"]
    assert found == pytest.approx({stream: expected[stream] for stream in found}, abs=TOLERANCE)

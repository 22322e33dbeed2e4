"""A few learners as one would write them by hand with numba: the paper's update and nothing else.

There are one to three per family, covering what the families' kernels do differently; the others use the same loop over
rows and the same vector functions. Each loop takes rows f8[n, d] (which already have the intercept's column that the
learner has to append), y f8[n], score f8[n, 1] and its own arrays, and uses the learner's default parameters.
"""

from __future__ import annotations

from tests.bench.handwritten import (
    baselines,
    bayesian,
    ensembles,
    kernel_methods,
    least_squares,
    linear,
    margin_distribution,
    multiclass,
    second_order,
    windows,
)
from tests.bench.handwritten.loop import Loop

FAMILIES = {
    "baselines": baselines,
    "bayesian": bayesian,
    "ensembles": ensembles,
    "kernel_methods": kernel_methods,
    "least_squares": least_squares,
    "linear": linear,
    "margin_distribution": margin_distribution,
    "multiclass": multiclass,
    "second_order": second_order,
    "windows": windows,
}
"""Family of learners -> module with the loops of its representatives."""
NOT_COMPARED = ("auto", "imbalanced", "neural", "other_tasks", "sparse", "trees")
"""Families without a handwritten loop."""
PLAIN: dict[str, Loop] = {name: loop for family in FAMILIES.values() for name, loop in family.PLAIN.items()}

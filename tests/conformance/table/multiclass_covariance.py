"""Rows of multiclass covariance learners.

Their covariances, which have three dimensions, are checked in tests/unit/learners/test_multiclass_covariance.py.
Accuracies of two classes were measured with the oracles, except for the full form on spam, for which they are too slow.
"""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import multiclass_covariance as several

GAUSSIAN = {"a": (0.0, -1.0), "q": (-1e-9,)}
"""Invalid values of the parameters that all of them have."""

ROWS = (
    Row(
        "mc_cw",
        several.CW,
        # As for `cw`: with one class only, the diagonal form may still err on an outlier.
        variants=({}, {"cov": "diag", "q": 1e-2, "a": 2.0, "eta": 0.9, "intercept": False}, {"cov": "full", "q": 1e-3}),
        symmetric=("covariance",),
        invalid={**GAUSSIAN, "eta": (0.5, 1.0)},
        accuracy=(
            ({"cov": "full"}, (75.52, 94.93, 96.95, 74.53, 93.78)),
            ({"cov": "diag", "q": 1e-4}, (74.59, 95.06, 96.90, 75.00, 94.69, 92.92)),
        ),
        adapts=(({"q": 1e-3}, 75.0),),
    ),
    Row(
        "mc_cw_stdev",
        several.CWStdev,
        # As for `cw_stdev`: with q = 0, 5 % of wrong labels are too many for it.
        variants=({"q": 1e-3}, {"cov": "diag", "q": 1e-2, "a": 2.0, "eta": 0.9}, {"cov": "full", "intercept": False}),
        symmetric=("covariance",),
        invalid={**GAUSSIAN, "eta": (0.5, 1.0)},
        accuracy=(
            ({"cov": "full"}, (70.82, 76.53, 96.84, 74.40, 88.29)),
            ({"cov": "diag", "q": 1e-4}, (74.76, 94.89, 96.76, 74.40, 94.49, 95.00)),
        ),
        adapts=(({"q": 1e-3}, 75.0),),
    ),
    Row(
        "mc_arow",
        several.AROW,
        variants=({}, {"cov": "diag", "q": 1e-2, "a": 2.0, "r": 0.5}, {"cov": "full", "q": 1e-3, "intercept": False}),
        symmetric=("covariance",),
        invalid={**GAUSSIAN, "r": (0.0, -1.0)},
        accuracy=(
            ({"cov": "full"}, (87.81, 74.89, 97.51, 75.60, 82.70)),
            ({"cov": "diag", "q": 1e-4}, (85.65, 96.28, 97.62, 76.33, 92.34, 96.44)),
        ),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
    Row(
        "mc_nherd",
        several.NHERD,
        variants=({}, {"cov": "diag", "q": 1e-2, "a": 2.0, "C": 0.5}, {"cov": "full", "q": 1e-3, "intercept": False}),
        symmetric=("covariance",),
        invalid={**GAUSSIAN, "C": (0.0, -1.0)},
        accuracy=(
            ({"cov": "full"}, (87.17, 70.96, 96.46, 76.20, 81.79)),
            ({"cov": "diag", "q": 1e-4}, (87.84, 95.48, 97.66, 77.53, 87.72, 91.72)),
        ),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
    Row(
        "mc_scw1",
        several.SCW1,
        variants=(
            {},
            {"cov": "diag", "q": 1e-2, "a": 2.0, "eta": 0.9, "C": 0.3},
            {"cov": "full", "q": 1e-3, "intercept": False},
        ),
        symmetric=("covariance",),
        invalid={**GAUSSIAN, "eta": (0.5, 1.0), "C": (0.0, -1.0)},
        accuracy=(
            ({"cov": "full"}, (88.32, 91.82, 97.69, 76.40, 85.06)),
            ({"cov": "diag", "q": 1e-4}, (83.99, 95.82, 97.56, 74.73, 93.52, 94.84)),
        ),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
    Row(
        "mc_scw2",
        several.SCW2,
        variants=(
            {},
            {"cov": "diag", "q": 1e-2, "a": 2.0, "eta": 0.9, "C": 0.3},
            {"cov": "full", "q": 1e-3, "intercept": False},
        ),
        symmetric=("covariance",),
        invalid={**GAUSSIAN, "eta": (0.5, 1.0), "C": (0.0, -1.0)},
        accuracy=(
            ({"cov": "full"}, (88.44, 87.34, 97.67, 76.00, 85.22)),
            ({"cov": "diag", "q": 1e-4}, (82.62, 95.98, 97.56, 74.40, 93.94, 94.84)),
        ),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
    Row(
        "arowa",
        several.AROWA,
        variants=(
            {},
            {"form": "factored", "q": 1e-3},
            {"form": "factored", "q": 1e-2, "a": 2.0, "r": 0.5, "intercept": False},
        ),
        symmetric=("of_rows", "of_columns"),
        invalid={**GAUSSIAN, "r": (0.0, -1.0)},
        accuracy=(
            ({"q": 1e-4}, (85.65, 96.28, 97.62, 76.33, 92.34, 96.44)),
            ({"form": "factored", "q": 1e-4}, (88.42, 92.98, 97.48, 75.13, 85.00)),
        ),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
    Row(
        "arowa_pair",
        several.AROWAPair,
        variants=(
            {},
            {"form": "factored", "q": 1e-3},
            {"q": 1e-2, "a": 2.0, "r": 0.5, "d1": 1},
        ),
        symmetric=("of_rows", "of_columns"),
        invalid={**GAUSSIAN, "r": (0.0, -1.0), "d1": (-1, -2)},
        accuracy=(
            ({}, (85.36, 74.19, 96.32, 69.73, 82.44)),
            ({"form": "factored", "q": 1e-4}, (86.32, 93.55, 97.64, 66.33, 86.62)),
        ),
        adapts=(({"q": 1e-3}, 75.0),),
    ),
)

"""Rows of windowed learners. The 240 rows of a check fill and replace their windows."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import windows

TRAINING = {"C": (0.0, -1.0), "gamma": (-1.0,), "tol": (0.0, -1e-3), "max_sweeps": (0, -1), "seed": (-1,)}
"""Invalid values of the parameters that every support vector machine has.

Their accuracies are the reference results (docs/algorithms/reference-results.md#accuracy-with-the-defaults), to one
point. Seeds 1 to 5 differ by up to 2 points on usenet2 and 1.3 on electricity, and the seed of the reference is not
known. On spam500 `svm_fix` is 0.7 to 1.0 below it with all five: unexplained. There `svm_win` ran with at most 3
sweeps; with these it differs by at most 0.3 here, with its default of 10 by 0.7.
"""

ROWS = (
    Row(
        "knn_win",
        windows.KNN,
        variants=({"window": 120}, {"window": 90, "k": 7}, {}, {"window": 300, "k": 2}),
        invalid={"window": (0, -1), "k": (0, -1)},
        accuracy=(({}, (80.30, 89.47, 96.50, 67.40, 88.82, 93.84)),),
        adapts=(({"k": 9, "window": 500}, 80.0),),
    ),
    Row(
        "svm_win",
        windows.SVMWin,
        costly_oracle=True,
        variants=(
            {"window": 50},
            {"window": 40, "retrain_every": 7, "C": 0.1, "seed": 5, "intercept": False},
            {"window": 60, "max_sweeps": 3, "tol": 0.1},
            {"window": 40, "kernel": "gaussian"},
            {"window": 25, "kernel": "gaussian", "gamma": 2.0, "C": 0.5, "retrain_every": 3, "intercept": False},
        ),
        invalid={"window": (0, -1), "retrain_every": (0, -1), **TRAINING},
        accuracy=(
            ({}, (86.41, 95.88, 97.54, 74.47, 87.99, 92.28)),
            ({"max_sweeps": 3}, (86.41, 95.88, 97.54, 74.47, 87.99, 92.28)),
        ),
        tolerance=1.0,
        adapts=(({}, 85.0),),
    ),
    Row(
        "svm_fix",
        windows.SVMFix,
        variants=(
            {"window": 90, "batch": 20},
            {},
            {"window": 50, "batch": 60, "spread": 1, "C": 0.1, "seed": 5, "intercept": False},
            {"window": 70, "batch": 30, "spread": 30, "max_sweeps": 3, "tol": 0.1},
            {"window": 45, "batch": 20, "spread": 7, "kernel": "gaussian"},
            {"window": 30, "batch": 20, "spread": 20, "kernel": "gaussian", "gamma": 2.0, "C": 0.5, "intercept": False},
        ),
        invalid={"window": (0, -1), "batch": (0, -1), "spread": (0, -1), **TRAINING},
        accuracy=(({}, (87.10, 93.93, 97.37, 65.27, 78.95, 92.44)),),
        tolerance=1.0,
        adapts=(({}, 85.0),),
    ),
    Row(
        "svm_ada",
        windows.SVMAda,
        variants=(
            {"batch": 20, "max_batches": 4},
            {"batch": 25, "max_batches": 3, "spread": 1, "rho": 2.0, "C": 0.1, "seed": 5, "intercept": False},
            {"batch": 40, "max_batches": 5, "spread": 40, "max_sweeps": 3, "tol": 0.1},
            {"batch": 15, "max_batches": 3, "spread": 4, "kernel": "gaussian"},
        ),
        invalid={"batch": (0, -1), "max_batches": (0, -1), "rho": (0.0, -1.0), "spread": (0, -1), **TRAINING},
        accuracy=(({}, (87.17, 93.04, 97.45, 68.60, 78.53, 90.56)),),
        tolerance=1.0,
        adapts=(({}, 85.0),),
    ),
)

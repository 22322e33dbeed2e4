"""Rows of recursive least squares and its forgetting forms."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import least_squares

ROWS = (
    Row(
        "rls",
        least_squares.RLS,
        variants=({}, {"delta": 10.0}, {"intercept": False}),
        symmetric=("P",),
        invalid={"delta": (0.0, -1.0)},
        accuracy=(({}, (87.16, 66.58, 96.25, 72.93, 79.42, 91.20)),),
        opt_out={"adapts": "never forgets"},
    ),
    Row(
        "dfop",
        least_squares.DFOP,
        variants=({}, {"mu": 0.2, "p_max": 5.0}, {"mu": 0.0, "delta": 0.1}, {"intercept": False}),
        symmetric=("P",),
        invalid={"mu": (-1e-9, 1.0, 1.5), "delta": (0.0, -1.0), "p_max": (0.0, -1.0)},
        accuracy=(({}, (87.53, 95.51, 97.59, 75.20, 86.01, 90.24)),),
        adapts=(({"mu": 0.01}, 85.0),),
    ),
    # `field` and `detector`, which need an additional column, and classes, are checked in
    # tests/unit/learners/test_g_dfop.py. `const` has the accuracies of `dfop`, because it is equal bit for bit.
    Row(
        "g_dfop",
        least_squares.GDFOP,
        variants=({}, {"lambda_source": "harmonic", "mu": 0.02}, {"lambda_source": "fortescue", "N0": 50.0}),
        symmetric=("P",),
        invalid={
            "mu": (-1e-9, 1.0, 1.5),
            "column": (-1,),
            "mu_high": (-1e-9, 1.0, 1.5),
            "boost_len": (0, -1),
            "N0": (0.0, 0.99, -1.0),
            "lambda_min": (0.0, 1e-7, 1.1),
            "delta": (0.0, -1.0),
            "p_max": (0.0, -1.0),
        },
        accuracy=(
            ({"lambda_source": "harmonic"}, (87.52, 95.51, 97.60, 74.13, 86.02, 89.72)),
            ({"lambda_source": "detector"}, (87.54, 95.56, 97.60, 73.27, 89.23, 84.52)),
            ({"lambda_source": "detector", "mu": 0.001}, (88.8, 94.0, 97.6, 72.9, 88.8, 84.5)),
            ({"lambda_source": "fortescue"}, (87.56, 95.52, 97.59, 73.67, 85.83, 92.60)),
            ({"lambda_source": "fortescue", "N0": 1000.0}, (88.6, 84.0, 97.6, 73.5, 82.4, 92.3)),
        ),
        adapts=(
            ({"lambda_source": "harmonic", "mu": 0.01}, 85.0),
            ({"lambda_source": "detector"}, 85.0),
            ({"lambda_source": "fortescue", "N0": 100.0}, 85.0),
        ),
    ),
)

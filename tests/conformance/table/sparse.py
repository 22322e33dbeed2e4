"""Rows of sparse learners."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import sparse

ROWS: tuple[Row, ...] = (
    Row(
        "truncated_gradient",
        sparse.TruncatedGradient,
        variants=(
            {"mode": "round", "K": 7, "eta": 0.3},
            {"intercept": False},  # small steps misclassify row 219 of one_class_only, as in `linear`
            {"theta": 0.0, "K": 1, "gravity": 0.05, "loss": "hinge", "intercept": False},
        ),
        invalid={"eta": (0.0, -0.1), "K": (0, -1), "gravity": (-1e-9,), "theta": (-1e-9,)},
        accuracy=(
            ({}, (86.36, 95.89, 97.67, 78.80, 91.80, 91.68)),
            # From section 5, as is the effect of rounding at 1.
            ({"mode": "round"}, (86.39, 95.89, 97.68, 78.20, 91.79, 91.56)),
            ({"mode": "round", "theta": 1.0}, (65.20, 60.56, 78.31, 71.07, 78.25, 83.72)),
        ),
        adapts=(({}, 85.0),),
    ),
    Row(
        "fobos_l1",
        sparse.FOBOS,
        variants=(
            {"schedule": "const", "eta": 0.1, "lam": 0.05, "eta_half_factor": 2.0},
            {"intercept": False},
            {"schedule": "inv_t", "loss": "hinge", "lam": 0.02, "intercept": False},
        ),
        invalid={"eta": (0.0, -0.1), "lam": (-1e-9,), "eta_half_factor": (-1e-9,)},
        accuracy=(({}, (88.72, 89.02, 96.59, 76.80, 86.40, 91.44)),),
        adapts=(({"schedule": "const", "eta": 0.1}, 85.0),),
    ),
    Row(
        "rda_l1",
        sparse.RDA,
        variants=(
            {"decay": 0.02, "gamma": 0.5, "lam": 0.05},
            {"intercept": False},
            {"loss": "hinge", "intercept": False},
        ),
        invalid={"gamma": (0.0, -1.0), "lam": (-1e-9,), "decay": (-1e-9, 1.5)},
        accuracy=(
            ({}, (88.83, 91.51, 97.28, 78.07, 86.15, 93.00)),
            ({"decay": 1e-3}, (87.49, 92.42, 97.71, 78.20, 86.75, 92.76)),  # of section 5
        ),
        adapts=(({"decay": 0.01}, 85.0),),
    ),
    Row(
        "ftrl_proximal",
        sparse.FTRL,
        variants=({"alpha": 1.0, "beta": 0.0, "l1": 2.0, "l2": 0.0}, {"intercept": False}, {"alpha": 2.0}),
        invalid={"alpha": (0.0, -0.1), "beta": (-1e-9,), "l1": (-1e-9,), "l2": (-1e-9,)},
        accuracy=(({}, (88.38, 79.44, 96.79, 75.87, 83.12, 90.12)),),
        adapts=(({"alpha": 1.0}, 80.0),),
    ),
)

"""Rows of recursive least squares and its forgetting forms."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import forgetting

ROWS = (
    Row(
        "rls",
        forgetting.RLS,
        variants=({}, {"delta": 10.0}, {"intercept": False}),
        symmetric=("P",),
        invalid={"delta": (0.0, -1.0)},
        accuracy=(({}, (87.16, 66.58, 96.25, 72.93, 79.42, 91.20)),),
        opt_out={"adapts": "never forgets"},
    ),
    Row(
        "dfop",
        forgetting.DFOP,
        variants=({}, {"mu": 0.2, "p_max": 5.0}, {"mu": 0.0, "delta": 0.1}, {"intercept": False}),
        symmetric=("P",),
        invalid={"mu": (-1e-9, 1.0, 1.5), "delta": (0.0, -1.0), "p_max": (0.0, -1.0)},
        accuracy=(({}, (87.53, 95.51, 97.59, 75.20, 86.01, 90.24)),),
        adapts=(({"mu": 0.01}, 85.0),),
    ),
)

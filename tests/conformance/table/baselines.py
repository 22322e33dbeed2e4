"""Rows of learners that look at labels only."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import baselines

IGNORES_FEATURES = "looks at labels only"

ROWS = (
    Row(
        "majority_class",
        baselines.MajorityClass,
        exact=True,
        opt_out={"learns": IGNORES_FEATURES, "adapts": IGNORES_FEATURES},
    ),
    Row(
        "no_change",
        baselines.NoChange,
        exact=True,
        opt_out={"learns": IGNORES_FEATURES, "adapts": IGNORES_FEATURES},
    ),
)

"""Rows of trees. With so small a grace, leaves are split within the 240 rows of a check."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle.trees import learners

QUICK = {"grace": 20, "delta": 0.1, "tie": 0.3}
GROWTH = {"grace": (0, -1), "delta": (0.0, 1.0), "tie": (-0.1,), "max_leaves": (0, 100_001)}

ROWS: tuple[Row, ...] = (
    Row(
        "hoeffding_tree",
        learners.HoeffdingTree,
        variants=({}, QUICK | {"max_leaves": 4}),
        invalid=GROWTH,
        accuracy=(({}, (85.97, 74.68, 97.21, 72.87, 82.93, 89.68)),),
        recovers={},
        opt_out={"adapts": "never forgets: see hoeffding_adaptive_tree"},
    ),
)

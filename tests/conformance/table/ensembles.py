"""Rows of ensembles, with small pools and short periods, so that experts are replaced within the suite's few rows."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import ensembles

ROWS: tuple[Row, ...] = (
    Row(
        "dwm",
        ensembles.DWM,
        variants=(
            {"period": 10},
            {"period": 5, "max_experts": 3, "beta": 0.7, "theta": 0.2},
        ),
        more={"binary": ({"base": "ogd_logistic/schedule=const", "period": 1, "max_experts": 4},)},
        invalid={
            "beta": (0.0, 1.0, -1.0),
            "theta": (0.0, 1.0, -1.0),
            "period": (
                0,
                -1,
            ),
            "max_experts": (
                0,
                -1,
            ),
        },
        accuracy=(({}, (87.67, 90.84, 97.44, 66.87, 82.01, 90.92)),),
        adapts=(({}, 80.0),),
    ),
)

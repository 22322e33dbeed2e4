"""The row of `auto`: its budgets leave out one family of experts after the other, by their multiplications per row."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle.auto.auto import Auto

ROWS: tuple[Row, ...] = (
    Row(
        "auto",
        Auto,
        costly_oracle=True,
        variants=({}, {"budget": 1.0, "seed": 7}, {"budget": 0.22}, {"budget": 0.05}),
        symmetric=(
            *("mixing.P", "filters.P", "stacking.P", "change_P", "level_P", "curve_P", "blocks.P"),
            *("second.mixing.P", "second.alone.P", "values.mixing.P"),
        ),
        invalid={"budget": (0.0, -1.0), "seed": (-1, 2**53 + 2)},
        accuracy=(({}, (89.04, 96.49, 97.69, 99.13, 94.71, 96.92)),),
        adapts=(({}, 80.0),),
    ),
)

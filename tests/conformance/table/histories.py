"""Rows of ensembles whose experts each know one span of the past, or follow one another."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import histories

ROWS: tuple[Row, ...] = (
    Row(
        "flh",
        histories.FLH,
        # With smaller steps the young experts have not yet turned far enough from row 219 of `one_class_only`.
        variants=({"base": "ogd_logistic/schedule=const/eta=1"}, {"base": "arow/r=2", "alpha": 4.0}),
        invalid={"alpha": (0.0, -1.0)},
        accuracy=(({}, (86.24, 95.36, 97.64, 77.87, 91.30, 90.60)),),
        adapts=(({}, 85.0),),
    ),
    Row(
        "saol",
        histories.SAOL,
        variants=({}, {"base": "arow/r=2"}),
        accuracy=(({}, (85.60, 93.86, 97.64, 75.87, 90.48, 87.92)),),
        adapts=(({}, 85.0),),
        opt_out={"one_class_only": "experts of at most 7 rows have most of the weight, and one row lies far out"},
    ),
)

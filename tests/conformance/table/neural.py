"""Rows of local and of deep learners. Networks are small where their size does not matter."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import neural

AS_MEASURED = {"layers": 3, "eta": 0.05, "smooth": 0.2, "clip": 10.0}
"""Parameters with which docs/algorithms/reference-results.md#accuracy-with-the-defaults was measured."""

ROWS = (
    Row(
        "lol",
        neural.LOL,
        variants=({}, {"prototypes": 3, "lam": 5.0, "C": 1.0, "intercept": False}),
        invalid={"prototypes": (0, -1, 10_001), "lam": (0.0, -1.0), "C": (0.0, -0.1, 1e51)},
        accuracy=(({}, (84.55, 95.23, 97.56, 73.07, 93.00, 96.60)),),
        adapts=(({}, 80.0),),
    ),
    Row(
        "hbp",
        neural.HBP,
        variants=(
            {"width": 5},
            {"width": 4, "layers": 3, "eta": 0.05, "clip": 10.0, "seed": 7},
            {"width": 8, "layers": 1, "beta": 0.9, "smooth": 0.0},
        ),
        invalid={
            "layers": (0, -1, 101),
            "width": (0, -1, 1001),
            "eta": (0.0, -0.1, 101.0),
            "beta": (0.0, 1.0, -0.1),
            "smooth": (1.0, -1e-9),
            "clip": (0.0, -1.0, 1e7),
            "seed": (-1,),
        },
        accuracy=((AS_MEASURED, (87.89, 95.32, 97.68, 76.60, 92.32, 96.36)),),
        tolerance=1.0,
        adapts=(({}, 85.0),),
    ),
)

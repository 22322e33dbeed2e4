"""Rows of trees. With so small a grace, leaves are split within the 240 rows of a check."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle.trees import boosting, forests, learners

QUICK = {"grace": 20, "delta": 0.1, "tie": 0.3}
GROWTH = {"grace": (0, -1), "delta": (0.0, 1.0), "tie": (-0.1,), "max_leaves": (0, 100_001)}
FOREST = {
    "trees": (0, 1001),
    "weight": (0.0, 31.0),
    "warning": (0.0, 1.0),
    "drift": (0.0, 1.0),
    "seed": (-1, 2**53 + 2),
}

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
    Row(
        "hoeffding_adaptive_tree",
        learners.HoeffdingAdaptiveTree,
        variants=({}, QUICK | {"max_leaves": 6, "drift": 0.5}),
        invalid=GROWTH | {"drift": (0.0, 1.0)},
        accuracy=(({}, (86.36, 90.79, 97.39, 72.87, 86.31, 90.6)),),
        adapts=(({}, 80.0),),
        recovers={},
    ),
    Row(
        "adaptive_random_forest",
        forests.AdaptiveRandomForest,
        variants=(QUICK | {"trees": 3, "max_leaves": 8, "warning": 0.5, "drift": 0.3}, {"trees": 2, "columns": 2}),
        invalid=GROWTH | FOREST | {"columns": (-1,)},
        accuracy=(({}, (87.81, 93.81, 97.45, 70.8, 90.69, 93.56)),),
        adapts=(({}, 80.0),),
        recovers={"trees": 3},
    ),
    Row(
        "streaming_random_patches",
        forests.StreamingRandomPatches,
        variants=(QUICK | {"trees": 3, "max_leaves": 8, "warning": 0.5, "drift": 0.3},),
        invalid=GROWTH | FOREST | {"share": (0.0, 1.1)},
        accuracy=(({}, (84.25, 93.51, 97.36, 70.4, 92.09, 94.52)),),
        adapts=(({}, 80.0),),
        recovers={"trees": 3},
    ),
    Row(
        "streaming_gradient_boosting",
        boosting.StreamingGradientBoosting,
        variants=(QUICK | {"steps": 4, "max_leaves": 6, "drift": 0.5, "rate": 0.5}, {"steps": 5, "rate": 0.5}),
        invalid=GROWTH
        | {name: FOREST[name] for name in ("drift", "seed")}
        | {"steps": (0, 1001), "rate": (0.0, 1.1), "share": (0.0, 1.1)},
        accuracy=(({}, (86.87, 94.29, 95.77, 69.87, 88.8, 91.84)),),
        adapts=(({}, 80.0),),
        recovers={"steps": 5, "rate": 0.5},
    ),
)

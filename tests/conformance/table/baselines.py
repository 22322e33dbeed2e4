"""Rows of learners that use labels only, and of the simplest one that uses features."""

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
    Row(
        "running_mean",
        baselines.RunningMean,
        opt_out={"learns": IGNORES_FEATURES, "adapts": IGNORES_FEATURES},
    ),
    Row(
        "gaussian_nb",
        baselines.GaussianNB,
        variants=({}, {"decay": 0.97}, {"decay": 0.995, "var_floor": 0.5}),
        invalid={"var_floor": (0.0, -1.0), "decay": (0.0, -0.5, 1.001)},
        accuracy=(
            ({}, (85.87, 66.89, 96.26, 68.07, 78.98, 88.12)),
            ({"decay": 0.999}, (87.5, 82.5, 97.7, 69.2, 81.8, 88.7)),
            ({"decay": 0.99}, (85.3, 96.2, 97.7, 69.5, 85.2, 90.8)),
        ),
        adapts=(({"decay": 0.995}, 85.0),),
        opt_out={"recovers@multiclass": "a wild row among the first stays in the moments: 1.03 points"},
    ),
)

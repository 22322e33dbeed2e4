"""Rows of ranking learners."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import ranking

SAMPLING = {"buffer": (0, -1), "C": (0.0, -1.0), "seed": (-1,)}
"""Invalid values of the learners that sample rows.

The reference results have no accuracies: those here were measured. Their balanced accuracies and AUCs are tested with
the family: docs/algorithms/reference-results.md#learners-for-other-tasks.
"""

ONE_CLASS = "does not move before both classes were seen: there is no pair to rank"
OLD_MEANS = "class means and covariances never forget"
OLD_SAMPLE = "compares with a sample of all rows so far, most of them from before the drift"

ROWS = (
    Row(
        "oam_seq",
        ranking.OAMSeq,
        variants=({}, {"buffer": 7, "C": 1.0, "seed": 5}, {"buffer": 20, "reweight": True}),
        invalid=SAMPLING,
        accuracy=(({}, (83.08, 66.69, 97.30, 72.13, 87.09, 96.20)),),
        opt_out={"one_class_only": ONE_CLASS, "adapts": OLD_SAMPLE},
    ),
    Row(
        "oam_gra",
        ranking.OAMGra,
        variants=({}, {"buffer": 7, "C": 1.0, "seed": 5}, {"buffer": 20, "reweight": True}),
        invalid=SAMPLING,
        accuracy=(({}, (83.10, 66.89, 97.30, 75.93, 87.00, 93.76)),),
        opt_out={"one_class_only": ONE_CLASS, "adapts": OLD_SAMPLE},
    ),
    Row(
        "opauc",
        ranking.OPAUC,
        variants=(
            {},
            {"cov": "diag", "eta": 0.05, "lam": 0.0},
            {"cov": "full", "eta": 0.002, "safe_step": False, "lam": 0.1},
        ),
        semidefinite=("scatter",),
        invalid={"eta": (0.0, -0.1), "lam": (-1e-9,)},
        accuracy=(({}, (84.36, 66.57, 96.89, 73.13, 83.02, 96.80)),),
        opt_out={"one_class_only": ONE_CLASS, "adapts": OLD_MEANS},
    ),
    Row(
        "adaoam",
        ranking.AdaOAM,
        variants=({}, {"cov": "diag", "eta": 0.5, "lam": 0.0}),
        semidefinite=("scatter",),
        invalid={"eta": (0.0, -0.1), "lam": (-1e-9,)},
        accuracy=(({}, (84.26, 66.56, 97.20, 71.67, 83.80, 82.48)),),
        opt_out={"one_class_only": ONE_CLASS, "adapts": OLD_MEANS},
    ),
)

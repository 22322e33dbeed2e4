"""Rows of learners for ratings, similarity and several tasks.

Their documented figures, on suitable data, are tested in tests/unit/learners/test_ratings_and_tasks.py.
"""

from __future__ import annotations

from tests.conformance.table import row_forms
from tests.conformance.table.row import Row
from tests.support.oracle import ratings_and_tasks as oracle

OF_PAIRS = "made-up items do not belong together by any rule"

ROWS = (
    Row(
        "online_mf",
        oracle.OnlineMF,
        variants=(
            {"max_users": 4, "max_items": 3, "rank": 3},
            {"max_users": 5, "max_items": 6, "mode": "cocluster", "every": 4, "hist": 6, "H": 2},
        ),
        invalid={
            "rank": (0, 1001),
            "eta": (0.0, -0.1),
            "reg": (-1e-9,),
            "seed": (-1,),
            "max_users": (0, 10_000_001),
            "max_items": (0, 10_000_001),
            "G": (0, 1001),
            "H": (0, 1001),
            "hist": (0, 1001),
            "every": (0, -1),
        },
        opt_out={
            "learns": "of a row it reads two ids, and nothing else",
            "adapts": "of a row it reads two ids, and nothing else",
        },
        form=row_forms.ratings,
    ),
    Row(
        "oasis_metric",
        oracle.OASIS,
        variants=({}, {"C": 1.0}),
        invalid={"C": (0.0, -1.0)},
        opt_out={
            "one_class_only": "labels are not looked at",
            "learns": "labels are not looked at",
            "adapts": "labels are not looked at",
        },
        form=row_forms.triplets,
    ),
    Row(
        "rdml",
        oracle.RDML,
        variants=({}, {"b": 2.0, "eta": 0.01}),
        semidefinite=("A",),
        invalid={"b": (0.0, -1.0), "eta": (0.0, -0.1)},
        opt_out={"learns": OF_PAIRS, "adapts": OF_PAIRS},
        form=row_forms.pairs,
    ),
    Row(
        "omtl_perceptron",
        oracle.OMTL,
        # With less sharing, tasks of 40 rows each still err on row 219 of `one_class_only`, an outlier.
        variants=({"tasks": 4, "b": 20.0}, {"tasks": 3, "intercept": False}),
        invalid={"tasks": (0, 1_000_001), "b": (-1.1,)},
        adapts=(({"tasks": 4}, 75.0),),
        form=row_forms.tasks,
    ),
)

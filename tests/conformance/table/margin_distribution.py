"""Rows of margin distribution learners."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import margin_distribution as odm

LOSS = {"lam": (0.0, -1.0), "mu": (0.0, 1.01), "theta": (-1e-9, 1.0)}
"""Invalid values of the parameters that every ODM has."""

ROWS = (
    Row(
        "online_odm",
        odm.Online,
        variants=(
            {},
            {"schedule": "const", "eta": 0.005, "mu": 1.0, "theta": 0.0},
            {"lam": 0.3, "safe_step": False, "schedule": "const", "eta": 0.01, "intercept": False},
        ),
        invalid={**LOSS, "eta": (0.0, 1.01)},
        # Measured with the oracle.
        accuracy=(
            ({}, (88.31, 89.03, 97.26, 77.87, 85.31, 97.04)),
            ({"schedule": "const", "eta": 1e-3}, (86.22, 94.40, 97.69, 79.53, 88.92, 93.72)),
        ),
        adapts=(({"schedule": "const", "eta": 1e-3}, 90.0),),
    ),
    Row(
        "restarted_odm",
        odm.Restarted,
        variants=(
            {"epoch": 150},
            {"epoch": 40, "init": "random", "init_scale": 0.5, "seed": 9, "intercept": False},
            {"epoch": 1, "init": "random", "schedule": "const", "eta": 0.3, "intercept": False},
        ),
        invalid={**LOSS, "eta": (0.0, 1.01), "epoch": (0, -1), "init_scale": (-1e-9,), "seed": (-1,)},
        # Measured with the oracle.
        accuracy=(({}, (83.16, 90.84, 97.53, 75.67, 88.51, 95.64)),),
        adapts=(({"epoch": 500}, 80.0),),
    ),
    Row(
        "d_odm",
        odm.Dynamic,
        variants=(
            {},
            {"rate": "adahedge", "f_clip": 3.0, "theta": 0.1, "mu": 1.0},
            {"horizon": 240, "C": 20.0, "V_T": 30.0, "intercept": False},
        ),
        invalid={**LOSS, "f_clip": (-1e-9,), "horizon": (-1,), "C": (0.0, -1.0), "V_T": (-1e-9,)},
        accuracy=(
            ({}, (87.88, 92.38, 97.54, 75.80, 88.74, 96.88)),
            # From section 10.
            ({"meta_loss": "zero_one"}, (88.31, 93.67, 97.61, 77.93, 88.70, 97.08)),
            ({"rate": "adahedge"}, (88.28, 93.86, 97.64, 76.00, 88.36, 96.24)),
            ({"rate": "adahedge", "meta_loss": "zero_one"}, (88.3, 94.0, 97.7, 77.8, 88.4, 97.0)),
            ({"rate": "doubling"}, (84.3, 92.2, 97.4, 75.3, 87.7, 96.5)),
            ({"f_clip": 100.0}, (87.9, 92.4, 97.5, 75.8, 88.8, 96.9)),
        ),
        adapts=(({}, 90.0), ({"rate": "adahedge"}, 91.0)),
    ),
)

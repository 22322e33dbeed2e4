"""Rows of learners for series, for parts of rows, and for rows whose label never arrives.

Unlabelled rows and documented figures are tested in tests/unit/learners/test_series.py and test_few_labels.py.
"""

from __future__ import annotations

import numpy as np

from tests.conformance.table.row import Row
from tests.support.oracle import series_and_few_labels as oracle

IGNORES_FEATURES = "looks at targets only, and these have nothing to do with each other"
OF_ROWS = "targets are not looked at"
SERIES = {"lags": (0, 1001), "radius": (0.0, -1.0, 1e7), "diff": (-1, 11), "eta": (0.0, -0.1)}

ROWS = (
    Row(
        "arma_ogd",
        oracle.OGD,
        variants=({}, {"lags": 3, "diff": 2, "schedule": "const", "radius": 0.5}),
        invalid=SERIES,
        opt_out={"learns": IGNORES_FEATURES, "adapts": IGNORES_FEATURES},
    ),
    Row(
        "arma_ons",
        oracle.ONS,
        variants=({"lags": 4}, {"lags": 3, "diff": 1, "eta": 0.5, "radius": 2.0}),
        symmetric=("inverse",),
        invalid=SERIES,
        opt_out={"learns": IGNORES_FEATURES, "adapts": IGNORES_FEATURES},
    ),
    Row(
        "ossl_gap",
        oracle.Gap,
        variants=({"particles": 60, "q": 0.05}, {"particles": 16, "q": 0.02, "e": 0.2, "seed": 7, "intercept": False}),
        invalid={
            "particles": (0, -1),
            "kappa": (-1e-9, 1.0),
            "e": (0.0, 0.5),
            "prior_var": (0.0, -1.0),
            "q": (-1e-9,),
            "seed": (-1,),
        },
        # usenet2 is left out: 100 columns are too many.
        accuracy=(({}, (89.27, 96.24, 97.70)),),
        opt_out={
            "adapts": "guesses that are quite wrong all count the same, so that none is on its way to turn round",
            "one_class_only": "a guess right by 1 is as good as any: one row in fifty, far out, is taken for another",
        },
    ),
    Row(
        "online_nmf",
        oracle.NMF,
        variants=({"rank": 2, "inner": 8}, {"rank": 3, "inner": 5, "forget": 0.9, "seed": 5}),
        invalid={"rank": (0, 1001), "inner": (0, 1001), "forget": (0.0, 1.1), "seed": (-1,)},
        opt_out={"learns": OF_ROWS, "adapts": OF_ROWS},
        form=np.abs,
    ),
    Row(
        "omr",
        oracle.OMR,
        costly_oracle=True,
        variants=({"tau": 100}, {"tau": 80, "gamma": 0.3, "eta": 0.2, "lam1": 0.0, "lam2": 0.5}),
        invalid={
            "tau": (0, 5001),
            "gamma": (-1e-9,),
            "eta": (0.0, -0.1),
            "lam1": (-1e-9,),
            "lam2": (-1e-9,),
        },
        accuracy=(({}, (84.62, 95.89, 97.52)),),
        adapts=(({"eta": 0.2}, 75.0),),
    ),
)

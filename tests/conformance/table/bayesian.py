"""Rows of bayesian learners."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import bayesian

IGNORES_FEATURES = "looks at labels only"

ROWS: tuple[Row, ...] = (
    Row(
        "beta_bernoulli",
        bayesian.BetaBernoulli,
        variants=({}, {"a0": 0.5, "b0": 4.0, "decay": 0.95}),
        invalid={"a0": (0.0, -1.0), "b0": (0.0, -1.0), "decay": (0.0, 1.5)},
        opt_out={"learns": IGNORES_FEATURES, "adapts": IGNORES_FEATURES},
    ),
    Row(
        "bayes_linear",
        bayesian.BayesLinear,
        variants=({}, {"noise_var": 0.3, "prior_var": 2.0, "q": 1e-2, "p_max": 0.5}, {"q": 1e-3, "intercept": False}),
        symmetric=("P",),
        invalid={"noise_var": (0.0, -1.0), "prior_var": (0.0, -1.0), "q": (-1e-9,), "p_max": (-1e-9,)},
        # The figures of `rls`, which it equals without a random walk.
        accuracy=(({}, (87.16, 66.58, 96.25, 72.93, 79.42, 91.20)),),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
    Row(
        "bayes_probit",
        bayesian.BayesProbit,
        variants=(
            {},
            {"cov": "diag", "q": 1e-2, "prior_var": 2.0, "beta": 0.5},
            {"q": 0.0, "intercept": False},
        ),
        symmetric=("covariance",),
        invalid={"beta": (0.0, -1.0), "prior_var": (0.0, -1.0), "q": (-1e-9,)},
        # The table's spam column was measured with the full matrix; `auto` is diagonal from 257 columns on.
        accuracy=(
            ({"cov": "full"}, (87.06, 95.61, 97.69, 78.53, 88.59, 94.00)),
            ({"cov": "full", "q": 1e-3}, (85.0, 96.4, 97.7, 79.0, 91.9, 94.3)),  # of section 6
            ({"cov": "full", "q": 0.0}, (87.2, 71.6, 96.6, 75.7, 81.8, 92.6)),
            ({"cov": "diag"}, (86.99, 95.99, 97.69, 76.80, 89.34, 93.92)),  # of section 4
            ({"cov": "diag", "q": 0.0}, (87.39, 74.73, 96.77, 75.87, 82.26, 93.76)),
        ),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
)

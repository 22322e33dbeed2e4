"""Rows of cost-sensitive learners."""

from __future__ import annotations

from tests.conformance.table.row import Row
from tests.support.oracle import cost_sensitive

PRICES = dict.fromkeys(("eta", "eta_p", "eta_n", "c_p", "c_n"), (0.0, -1.0))
"""Invalid values of step size and prices.

Variants with an intercept use the objective ``cost``: with ``sum``, rows of class 1 weigh less and less while there is
no other class, and row 219 of `one_class_only`, an outlier, is still taken for the other class.
The reference results have no accuracies: those here were measured. Their balanced accuracies and AUCs are tested with
the family: docs/algorithms/reference-results.md#learners-for-other-tasks.
"""

ROWS = (
    Row(
        "csogd1",
        cost_sensitive.CSOGD1,
        variants=(
            {"objective": "cost", "c_p": 0.7, "c_n": 0.3},
            {"intercept": False},
            {"eta_p": 0.8, "eta_n": 0.2, "intercept": False},
        ),
        exact=True,
        invalid=PRICES,
        accuracy=(({}, (83.28, 95.71, 97.59, 76.80, 92.28, 91.00)),),
        adapts=(({}, 80.0),),
    ),
    Row(
        "csogd2",
        cost_sensitive.CSOGD2,
        variants=(
            {"objective": "cost", "c_p": 0.7, "c_n": 0.3, "eta": 0.1},
            {"intercept": False},
            {"eta_p": 0.8, "eta_n": 0.2, "eta": 0.1, "intercept": False},
        ),
        exact=True,
        invalid=PRICES,
        accuracy=(({}, (83.73, 94.31, 97.58, 71.40, 88.58, 90.04)),),
        adapts=(({"eta": 0.1}, 80.0),),
    ),
    Row(
        "acog",
        cost_sensitive.ACOG,
        variants=(
            {"objective": "cost", "c_p": 0.7, "c_n": 0.3, "q": 1e-3},
            {"intercept": False},
            {
                "cov": "diag",
                "loss": "I",
                "q": 1e-2,
                "a": 2.0,
                "gamma": 3.0,
                "eta": 0.5,
                "eta_p": 0.3,
                "intercept": False,
            },
        ),
        symmetric=("covariance",),
        invalid={**PRICES, "gamma": (0.0, -1.0), "a": (0.0, -1.0), "q": (-1e-9,)},
        accuracy=(
            ({"cov": "full"}, (85.06, 93.39, 97.69, 67.80, 85.28, 88.20)),
            ({"cov": "full", "q": 1e-4}, (83.60, 96.39, 97.62, 69.00, 91.47, 90.00)),
        ),
        adapts=(({"q": 1e-3}, 80.0),),
    ),
)

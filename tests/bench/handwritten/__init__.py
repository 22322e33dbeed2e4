"""One loop per learner as one would write it by hand: the update of the paper and nothing else.

Each takes rows f8[n, d] (with the intercept's column already there, which the learner has to append), y f8[n],
score f8[n, 1] and its own arrays, and runs at the learner's default parameters.
"""

from __future__ import annotations

from tests.bench.handwritten import (
    age_weighted,
    bayesian,
    cost_sensitive,
    ensembles,
    expert_pools,
    kernel_methods,
    least_squares,
    linear,
    majority,
    margin_distribution,
    mixture,
    multiclass,
    multiclass_covariance,
    multiplicative,
    neural,
    quadratic,
    ranking,
    renewed_expert_pools,
    second_order,
    sequences,
    sparse,
    windows,
)
from tests.bench.handwritten.loop import Loop

FAMILIES = (
    linear,
    neural,
    multiplicative,
    quadratic,
    second_order,
    sparse,
    bayesian,
    sequences,
    multiclass,
    multiclass_covariance,
    margin_distribution,
    least_squares,
    cost_sensitive,
    ranking,
    windows,
    kernel_methods,
    ensembles,
    age_weighted,
    expert_pools,
    renewed_expert_pools,
    majority,
    mixture,
)
PLAIN: dict[str, Loop] = {name: loop for family in FAMILIES for name, loop in family.PLAIN.items()}

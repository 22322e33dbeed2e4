"""One loop per learner as one would write it by hand: the update of the paper and nothing else.

Each takes rows f8[n, d] (with the intercept's column already there, which the learner has to append), y f8[n],
score f8[n, 1] and its own arrays, and runs at the learner's default parameters.
"""

from __future__ import annotations

from tests.bench.plain import (
    bayesian,
    cost_sensitive,
    experts,
    forgetting,
    histories,
    kernels,
    linear,
    local_and_deep,
    majority,
    margin_distribution,
    mixture,
    multiclass,
    multiclass_covariance,
    multiplicative,
    pools,
    quadratic,
    ranking,
    renewed_pools,
    second_order,
    sequences,
    sparse,
    windows,
)
from tests.bench.plain.loop import Loop

FAMILIES = (
    linear,
    local_and_deep,
    multiplicative,
    quadratic,
    second_order,
    sparse,
    bayesian,
    sequences,
    multiclass,
    multiclass_covariance,
    margin_distribution,
    forgetting,
    cost_sensitive,
    ranking,
    windows,
    kernels,
    experts,
    histories,
    pools,
    renewed_pools,
    majority,
    mixture,
)
PLAIN: dict[str, Loop] = {name: loop for family in FAMILIES for name, loop in family.PLAIN.items()}

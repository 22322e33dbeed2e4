"""Small problems for the batch procedures, in their format and in that of the oracles."""

from __future__ import annotations

import numpy as np

from driftway.learners.online_to_batch.procedure import Procedure
from driftway.learners.online_to_batch.registry import find
from driftway.learners.online_to_batch.training_set import TrainingSet, collect
from driftway.learners.spec import Spec

LINEAR = Spec.parse("perceptron:ties=correct")
QUADRATIC = Spec.parse("quadratic_perceptron:ties=correct")


def noisy(seed: int, n: int = 60, d: int = 3, noise: float = 0.15, curved: bool = False) -> TrainingSet:
    """Return rows of a linear or quadratic rule with randomly flipped labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 3.0, d) + rng.uniform(-1.0, 1.0, d)
    z = (X - X.mean(0)) / X.std(0)
    value = (z**2) @ rng.standard_normal(d) if curved else z @ rng.standard_normal(d) + 0.3
    y = (value > 0) != (rng.random(n) < noise)
    return collect([(X, y.astype(float))])


def plain(rows: list[tuple[list[float], int]]) -> TrainingSet:
    """Return a problem of unscaled rows, whose last column need not be a constant 1."""
    table = np.array([x for x, _ in rows])
    d = table.shape[1] - 1
    return TrainingSet(table, np.array([(y + 1) / 2 for _, y in rows]), np.zeros(d), np.ones(d))


def as_lists(problem: TrainingSet) -> list[tuple[list[float], int]]:
    """Return rows (x, y) with y = -1 or 1."""
    return [(x.tolist(), 1 if y else -1) for x, y in zip(problem.rows, problem.y, strict=True)]


def new_procedure(problem: TrainingSet, name: str, spec: Spec = LINEAR, seed: int = 3, **parameters) -> Procedure:
    return find(name)(problem, spec, seed, **parameters)


def finished(problem: TrainingSet, name: str, spec: Spec = LINEAR, seed: int = 3, **parameters) -> Procedure:
    procedure = new_procedure(problem, name, spec, seed, **parameters)
    while not procedure.done:
        procedure.advance()
    return procedure

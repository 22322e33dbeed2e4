"""The table: one row per learner runs every check on it. For a new learner, add a row to its family's file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from driftway.learners.learner import CLASSIFICATION, REGRESSION, Learner
from driftway.learners.registry import find
from driftway.learners.spec import Spec
from tests.conformance.table import (
    age_weighted,
    auto,
    baselines,
    bayesian,
    cost_sensitive,
    ensembles,
    expert_pools,
    kernel_methods,
    least_squares,
    linear,
    margin_distribution,
    multiclass,
    multiclass_covariance,
    neural,
    ranking,
    ratings_and_tasks,
    second_order,
    sequences,
    series_and_few_labels,
    sparse,
    trees,
    windows,
)
from tests.conformance.table.row import Row
from tests.support.oracle.standardize import Standardize

TABLE = (
    *baselines.ROWS,
    *linear.ROWS,
    *second_order.ROWS,
    *sparse.ROWS,
    *bayesian.ROWS,
    *sequences.ROWS,
    *multiclass.ROWS,
    *multiclass_covariance.ROWS,
    *margin_distribution.ROWS,
    *least_squares.ROWS,
    *cost_sensitive.ROWS,
    *ranking.ROWS,
    *windows.ROWS,
    *ensembles.ROWS,
    *age_weighted.ROWS,
    *expert_pools.ROWS,
    *kernel_methods.ROWS,
    *ratings_and_tasks.ROWS,
    *series_and_few_labels.ROWS,
    *neural.ROWS,
    *trees.ROWS,
    *auto.ROWS,
)

ROWS = {row.name: row for row in TABLE}


@dataclass(frozen=True)
class Case:
    """A learner with parameters, for a kind of task, with or without the standardiser; `slow`: for slow tests only."""

    row: Row
    kind: str
    parameters: str = "{}"
    standardize: bool = False
    slow: bool = False

    @property
    def marks(self) -> list[pytest.MarkDecorator]:
        """Marks of the tests of the case."""
        return [pytest.mark.slow] if self.slow else []

    @property
    def given(self) -> dict[str, Any]:
        return dict(json.loads(self.parameters))

    @property
    def label(self) -> str:
        text = Spec(self.row.name, tuple(self.given.items())).text
        return (
            text
            + {"binary": "", "multiclass": "@multiclass", "regression": "@regression"}[self.kind]
            + ("+standardize" if self.standardize else "")
        )

    @property
    def task(self) -> str:
        return REGRESSION if self.kind == "regression" else CLASSIFICATION

    def classes(self, wanted: int = 4) -> int:
        return {"binary": 2, "multiclass": wanted, "regression": 0}[self.kind]

    def formed(self, rows: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return X and y, with X in the learner's input form."""
        return self.row.formed(rows[0]), rows[1]

    def make(self, d: int, n_classes: int = 4) -> Learner:
        spec = Spec(self.row.name, tuple(self.given.items()))
        return spec.create(self.row.width(d), self.classes(n_classes) or 2, self.task, self.standardize)

    @property
    def kernel(self) -> tuple[Any, ...]:
        """What its learner's kernels are made of: two variants that share it give the same kernel other numbers."""
        return _kernel(self.row.name, self.kind, self.parameters)

    def oracle(self, d: int, n_classes: int = 4) -> Any:
        width = self.row.width(d)
        plain = self.row.oracle(width, self.classes(n_classes), self.kind, **self.given)
        return Standardize(plain, width, self.make(d).unscaled) if self.standardize else plain


@cache
def _kernel(name: str, kind: str, parameters: str) -> tuple[Any, ...]:
    """Return the parts of a learner's rule; the standardiser changes none of them.

    A rule does not depend on the state, so none is begun: some learners' initial values come from kernels, which would
    be compiled while tests are collected.
    """
    with patch.object(Learner, "_begin"):
        rule = Case(ROWS[name], kind, parameters).make(5).rule()
    parts = rule.score, rule.learn, rule.begin, rule.cache_prediction, rule.learn_delayed, rule.learn_unlabelled
    return name, kind, rule.memory, *parts


def cases() -> list[Case]:
    """Return every row's variants x tasks, and the first two variants also with the standardiser.

    With the standardiser the second one is slow: it runs the kernels of the first one, with other numbers.
    DRIFTWAY_LEARNERS, names with commas between them, leaves out all other learners (`tests.quick`).
    """
    found, chosen = [], {*filter(None, os.environ.get("DRIFTWAY_LEARNERS", "").split(","))}
    for row in (row for row in TABLE if not chosen or row.name in chosen):
        learner = find(row.name)
        for kind in learner.tasks:
            variants = (*row.variants, *row.more.get(kind, ()))
            given = [(json.dumps(dict(variant)), variant in row.slow) for variant in variants]
            found += [Case(row, kind, text, slow=slow) for text, slow in given]
            if learner.uses_features and learner.standardizable:
                found += [Case(row, kind, text, True, slow or i > 0) for i, (text, slow) in enumerate(given[:2])]
    return found

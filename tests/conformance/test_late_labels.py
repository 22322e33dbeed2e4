"""A late label is learned with what was known when its row was scored.

Labels go round, and each comes so late that the last one known is the one to predict. A learner that learned what
follows from the labels known when a label comes, which is another class, would predict almost every row wrong.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.registry import find
from driftway.worker.state.delayed_labels.delay_simulator import DelaySimulator
from tests.conformance.table import TABLE, Case

ROWS, FIRST, D = 600, 200, 3
LATE = {"binary": 1, "regression": 1, "multiclass": 2}
LEAST = {"binary": 0.4, "regression": -1.5, "multiclass": 0.25}
"""Least share of right classes, or of explained variance, below that of learners that do not look at past labels. Some
of them fit noise. Learning with the wrong ones leads to 0, and to -3."""


def in_turn(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that say nothing, and labels that go round once in `LATE` + 1 rows."""
    rng, period = np.random.default_rng(4), LATE[case.kind] + 1
    y = (np.arange(ROWS) % period).astype(float)
    if case.kind == "regression":
        y = 2.0 * y - 1.0 + 0.1 * rng.normal(size=ROWS)
    return case.row.formed(rng.normal(size=(ROWS, D))), y


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.label)
        for row in TABLE
        for kind in find(row.name).tasks
        for case in [Case(row, kind, json.dumps(dict(row.variants[0])))]
    ],
)
def test_a_late_label_is_learned_with_what_was_known_when_its_row_was_scored(case: Case) -> None:
    X, y = in_turn(case)
    learner = case.make(D, LATE[case.kind] + 1)
    delayed = DelaySimulator(LATE[case.kind], learner)
    score, _ = delayed.run(delayed.arrange(np.ascontiguousarray(X), y))
    score, y = score[FIRST:], y[FIRST:]
    if case.kind == "regression":
        good = 1.0 - (score[:, 0] - y) ** 2 / y.var()
    else:
        good = predicted_class(score, learner.kind) == y
    assert good.mean() > LEAST[case.kind]

"""Learners recover from one extreme row: 2,000 rows later each is as good as without it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable

import numpy as np
import pytest

from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.registry import find
from tests.conformance.checks import scores
from tests.conformance.rows import target
from tests.conformance.table import TABLE, Case

N, D, CLASSES = 8000, 5, 3
PLACES = 2, 50, 1000
POWERS = 3, 9, 100, 300
FEATURES = {"one": 1, "all": slice(None)}
LATER = 2000
MOST = 0.01
"""Largest allowed loss of accuracy, or of explained variance in regression."""


def concept(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a linear concept; features differ in scale and location."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D))
    y = target(X, kind, CLASSES, rng, 0.05)
    return X * rng.uniform(0.5, 3.0, D) + rng.uniform(-1.0, 1.0, D), y


def goodness(case: Case, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return, per row, 1 if the class is right; in regression, 1 minus the squared error over the variance."""
    learner = case.make(D, CLASSES)
    score = scores(learner, case.row.formed(X), y)
    if case.kind == "regression":
        return 1.0 - (score[:, 0] - y) ** 2 / y.var()
    return predicted_class(score, learner.kind) == y


Wild = tuple[int, int, str]
"""Row, power of ten, and which of its features have that value."""
EVERY: tuple[Wild, ...] = tuple(itertools.product(PLACES, POWERS, FEATURES))
SOME = (2, 300, "one"), (50, 9, "all"), (1000, 100, "one")
"""Each row with a power of its own; the second one ruins a perceptron without the standardiser."""


def losses(case: Case, wild_rows: Iterable[Wild]) -> dict[Wild, float]:
    """Wild row -> drop in mean goodness from 2,000 rows after it on."""
    X, y = concept(case.kind)
    clean, found = goodness(case, X, y), {}
    for place, power, where in wild_rows:
        wild = X.copy()
        wild[place, FEATURES[where]] = 10.0**power
        later = slice(place + LATER, None)
        found[place, power, where] = float(clean[later].mean() - goodness(case, wild, y)[later].mean())
    return found


def able(case: Case) -> bool:
    """Whether its rows are standardised, or its row of the table says that it recovers without that."""
    learner = find(case.row.name)
    return learner.uses_features and (learner.standardizable or case.row.recovers is not None)


CASES = [
    pytest.param(case, id=f"{case.label}:recovers")
    for row in TABLE
    for kind in find(row.name).tasks
    if able(
        case := Case(
            row, kind, json.dumps(dict(row.variants[0] if row.recovers is None else row.recovers)), standardize=True
        )
    )
    and f"recovers@{kind}" not in row.opt_out
]


@pytest.mark.parametrize("case", CASES)
def test_each_learner_recovers_from_one_extreme_row(case: Case) -> None:
    recovers(case, SOME)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_each_learner_recovers_from_every_extreme_row(case: Case) -> None:
    recovers(case, EVERY)


def recovers(case: Case, wild_rows: Iterable[Wild]) -> None:
    worst = max(losses(case, wild_rows).items(), key=lambda item: item[1])
    assert worst[1] <= MOST, f"(row, power, features) and loss: {worst}"


def test_a_learner_without_the_standardiser_does_not_recover() -> None:
    (row,) = [row for row in TABLE if row.name == "perceptron"]
    assert max(losses(Case(row, "binary"), SOME).values()) > MOST

"""Descriptions of scores: every learner has one, and shares of votes are within their range."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners import LEARNERS
from driftway.learners.registry import find
from driftway.learners.spec import Spec
from driftway.worker.cli.learners import score_of

VOTES = [name for name in LEARNERS if find(name).votes]


def test_every_learner_describes_its_scores() -> None:
    assert all(set(score_of(find(name))) == set(find(name).tasks) for name in LEARNERS)
    assert len(VOTES) >= 9


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", VOTES)
def test_shares_of_votes_are_within_their_range(name: str, n_classes: int) -> None:
    if ("multiclass" if n_classes > 2 else "binary") not in find(name).tasks:
        pytest.skip("not among its tasks")
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(1200, 6)).astype(float)
    y = np.floor(rng.random(1200) * n_classes)
    learner = Spec(name).create(6, n_classes, "classification")
    score = np.empty((1200, learner.n_scores))
    learner.predict_then_update(X, y, score)
    assert score.max() <= 1.0 + 1e-9
    assert score.min() >= (-1.0 if n_classes == 2 else 0.0) - 1e-9
    assert n_classes == 2 or score.sum(axis=1).max() <= 1.0 + 1e-9

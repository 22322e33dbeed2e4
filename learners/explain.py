"""Explain a score by the contribution of each feature.

Only `Learner.predict` is called, so this works for any learner and with any feature maps.
"""

from typing import NamedTuple

import numpy as np

from driftway.learners.engine.state import Array
from driftway.learners.learner import Learner
from driftway.learners.preprocessing.feature_map import Mapped

MEANS = ("standardize.mean", "scaled.mean")
"""State fields that hold the features' means: of the online standardiser, of a fixed scaling."""
BLOCK_NUMBERS = 1_000_000
"""Numbers per block of rows to score: with d features there are d rows of d numbers."""


class Explanation(NamedTuple):
    """A score split into parts: ``score = baseline_score + sum(contributions) + remainder``."""

    baseline: Array
    """x0, f8[d]"""
    baseline_score: float
    contributions: Array
    """f8[d]: s(x0 with feature j from x) - s(x0) for each feature j"""
    remainder: float
    """The joint effect of features beyond their single contributions."""
    score: float


def baseline_of(learner: Learner) -> Array:
    """Return the baseline row, f8[d]: the features' means if the learner has them, else 0.

    Behind feature maps the means are those of the mapped features, not of a row's, so the baseline is 0 there, too.
    """
    if not isinstance(learner, Mapped):
        for name in MEANS:
            if name in learner.state.fields and learner.state[name].shape == (learner.n_features,):
                return np.array(learner.state[name])
    return np.zeros(learner.n_features)


def explain(learner: Learner, x: Array, column: int = 0) -> Explanation:
    """Split the score of one row into contributions, using the learner's current state without changing it.

    With s the score and x0 the baseline, feature j contributes s(x0 with feature j from x) - s(x0). The remainder,
    s(x) - s(x0) - the sum of the contributions, is 0 up to rounding if the score is linear in the features
    (standardised or not); otherwise it is the joint effect of several features. The baseline is `baseline_of`, with the
    row's own ids (`Learner.unscaled`).

    Parameters
    ----------
    learner : Learner
        Any learner.
    x : f8[d]
        The row, finite.
    column : int
        Index of the score, 0 <= column < k; the class in multiclass.

    Raises
    ------
    ValueError
        The row has another shape, or there is no such column.
    """
    d, x0, ids = learner.n_features, baseline_of(learner), list(learner.unscaled)
    if x.shape != (d,):
        raise ValueError(f"the row has shape {x.shape}, expected {(d,)}")
    x0[ids] = x[ids]  # a mean of ids is meaningless, and features have a meaning only within a task
    if not 0 <= column < learner.n_scores:
        raise ValueError(f"there is no score {column}, only 0 to {learner.n_scores - 1}")
    s0, s = scores(learner, np.array([x0, x]), column).tolist()
    block = max(1, BLOCK_NUMBERS // d)
    contributions = np.empty(d)
    for start in range(0, d, block):
        changed = np.arange(start, min(start + block, d))
        rows = np.repeat(x0[np.newaxis], len(changed), axis=0)
        rows[np.arange(len(changed)), changed] = x[changed]
        contributions[changed] = scores(learner, rows, column) - s0
    together = s0
    for contribution in contributions.tolist():
        together += contribution
    return Explanation(x0, s0, contributions, s - together, s)


def scores(learner: Learner, rows: Array, column: int) -> Array:
    """Return one column of the rows' scores, f8[n]. Shapes: rows f8[n, d]."""
    score = np.empty((len(rows), learner.n_scores))
    learner.predict(rows, score)
    return score[:, column].copy()

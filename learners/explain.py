"""Why a learner scores a row as it does: what each feature adds, seen from outside.

Only `Learner.predict` is called, so that this works for any learner, behind any feature maps.
"""

from typing import NamedTuple

import numpy as np

from driftway.learners.engine.state import Array
from driftway.learners.learner import Learner
from driftway.learners.preprocessing.feature_map import Mapped

MEANS = ("standardize.mean", "scaled.mean")
"""Fields that hold the features' means: of the online standardiser, of a fixed scaling."""
BLOCK_NUMBERS = 1_000_000
"""Numbers of the rows that are scored at a time: with d features there are d rows of d numbers."""


class Explanation(NamedTuple):
    """A score taken apart; ``score = baseline_score + contributions + remainder``."""

    baseline: Array
    """x0, f8[d]"""
    baseline_score: float
    contributions: Array
    """f8[d]: s(x0 with x_j put in) - s(x0) for each feature j"""
    remainder: float
    """What features do together and not each alone."""
    score: float


def baseline_of(learner: Learner) -> Array:
    """The row that contributions are counted from, f8[d]: the features' means where the learner keeps them, else 0.

    Behind feature maps the means are those of mapped features, and no row's: it is 0 there, too.
    """
    if not isinstance(learner, Mapped):
        for name in MEANS:
            if name in learner.state.fields and learner.state[name].shape == (learner.n_features,):
                return np.array(learner.state[name])
    return np.zeros(learner.n_features)


def explain(learner: Learner, x: Array, column: int = 0, baseline: Array | None = None) -> Explanation:
    """Take the score of one row apart, from the learner's present state; changes no byte of it.

    With s the score and x0 the baseline, feature j contributes s(x0 with x_j put in) - s(x0). What is left,
    s(x) - s(x0) - the sum of the contributions, is 0 up to rounding where the score is linear in the features
    (standardised or not); elsewhere it is what several features do together.

    Parameters
    ----------
    learner : Learner
        Any.
    x : f8[d]
        The row, finite.
    column : int
        Which score, 0 <= column < k: a class's in multiclass.
    baseline : f8[d] or None
        x0; None: `baseline_of`, with the ids of the row (`Learner.unscaled`).

    Raises
    ------
    ValueError
        A shape is not the stated one, or there is no such column.
    """
    d = learner.n_features
    x0 = baseline_of(learner) if baseline is None else baseline
    if x.shape != (d,) or x0.shape != (d,):
        raise ValueError(f"row and baseline have shapes {x.shape} and {x0.shape}, expected {(d,)}")
    if baseline is None:
        named = list(learner.unscaled)
        x0[named] = x[named]  # a mean of ids is none, and features mean something within a task
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
    """One column of the scores of rows, f8[n]. Shapes: rows f8[n, d]."""
    score = np.empty((len(rows), learner.n_scores))
    learner.predict(rows, score)
    return score[:, column].copy()

"""Linear models with the smallest loss on a complete data set, as comparators for regret.

Batch solvers, each with a proven bound on its distance from the optimum. Nothing here runs row by row.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftway.learners.engine.state import Array

HINGE, LOGISTIC, SQUARE = "hinge", "logistic", "square"
LOSSES = (HINGE, LOGISTIC, SQUARE)

RIDGE = 1e-8
"""l2 of every fit: makes the minimiser unique, but is too small to affect its loss."""
GAP = 1e-6
"""Relative gap between a fit's objective and its proven lower bound at which the fit is done."""
MAX_STEPS = 200
"""Limit of a solver's steps, ten times what it usually takes; a fit that needs more raises."""
TO_THE_EDGE = 0.995
"""Share of the distance to the boundary that an interior-point step may take."""

Solver = Callable[[str, Array, Array, float], Array]


class NoConvergence(ArithmeticError):
    """A solver did not reach its gap; the message names the loss."""


def row_loss(loss: str, score: Array, y: Array) -> Array:
    """Return the loss of each row, as docs/algorithms/conventions.md#loss-functions defines it.

    Parameters
    ----------
    loss : str
        One of `LOSSES`: hinge [1 - m]_+, logistic ln(1 + e^-m), square (s - y)^2 / 2, with m = y s.
    score, y : f8[n]
        Scores, and labels -1, +1 or targets.
    """
    if loss == SQUARE:
        return 0.5 * (score - y) ** 2
    margin = y * score
    return np.maximum(0.0, 1.0 - margin) if loss == HINGE else np.logaddexp(0.0, -margin)


def fit(loss: str, rows: Array, y: Array, ball: float = math.inf) -> Array:
    """Return the weights with the smallest total loss on all rows, f8[d], among those of norm <= `ball`.

    Parameters
    ----------
    loss : str
        One of `LOSSES`.
    rows : f8[n, d]
        Rows; a constant 1 among the features is the intercept, whose weight counts in the norm.
    y : f8[n]
        Labels -1, +1 or targets.
    ball : float
        Largest norm of the weights, > 0.

    Raises
    ------
    NoConvergence
        The relative gap of 1e-6 was not reached.
    """
    solve = _hinge if loss == HINGE else _smooth
    # The minimiser is in the span of the rows. Directions outside it would make the solvers' matrices singular.
    values, vectors = np.linalg.eigh(rows.T @ rows)
    basis = vectors[:, values > values[-1] * len(values) * np.finfo(float).eps]
    inner = _fit_inside(solve, loss, rows @ basis, y, ball)
    weight: Array = basis @ inner
    return weight


def _fit_inside(solve: Solver, loss: str, rows: Array, y: Array, ball: float) -> Array:
    """As `fit`, for rows that span the space.

    The ball's multiplier is the l2 at which the norm is `ball`. The norm decreases in l2, so this is found by regula
    falsi (Illinois variant) in logarithms of both. At any l2 the Lagrangian is a lower bound of the loss in the ball.
    """
    weight = solve(loss, rows, y, RIDGE)
    if math.isinf(ball) or math.sqrt(weight @ weight) <= ball:
        return weight
    low, above = math.log(RIDGE), math.log(math.sqrt(weight @ weight) / ball)
    high, below = math.log(max(1.0, 2.0 * float(np.abs(rows).sum()) / ball)), -math.log(2.0)
    side = 0
    for _ in range(MAX_STEPS):
        l2 = (low * below - high * above) / (below - above)
        weight = solve(loss, rows, y, math.exp(l2))
        squared = float(weight @ weight)
        excess = 0.5 * math.log(max(squared, 1e-300)) - math.log(ball)
        inside = weight * math.exp(-max(0.0, excess))
        reached = float(row_loss(loss, rows @ inside, y).sum())
        bound = float(row_loss(loss, rows @ weight, y).sum()) + 0.5 * math.exp(l2) * (squared - ball**2)
        if reached - bound <= GAP * max(1.0, reached):
            return inside
        if excess > 0.0:
            low, above, below = l2, excess, below * (0.5 if side > 0 else 1.0)
            side = 1
        else:
            high, below, above = l2, excess, above * (0.5 if side < 0 else 1.0)
            side = -1
    raise NoConvergence(f"the best {loss} model of length {ball:g} was not found in {MAX_STEPS} steps")


def _smooth(loss: str, rows: Array, y: Array, l2: float) -> Array:
    """Newton's method with step halving, for the logistic and the square loss.

    The objective is l2-strongly convex, so |gradient|^2 / (2 l2) bounds its distance from the minimum.
    """
    weight = np.zeros(rows.shape[1])
    score = np.zeros(len(rows))
    value = float(row_loss(loss, score, y).sum())
    for _ in range(MAX_STEPS):
        if loss == SQUARE:
            slope, bend = score - y, np.ones(len(rows))
        else:
            p_wrong = np.exp(-np.logaddexp(0.0, y * score))  # probability of the wrong label
            slope, bend = -y * p_wrong, p_wrong * (1.0 - p_wrong)
        gradient = rows.T @ slope + l2 * weight
        step = -np.linalg.solve(rows.T @ (rows * bend[:, None]) + l2 * np.eye(len(weight)), gradient)
        fall = -float(gradient @ step)
        if float(gradient @ gradient) <= 2.0 * l2 * GAP * max(1.0, value) or fall <= 1e-14 * max(1.0, value):
            return weight
        along, share = rows @ step, 1.0
        while True:
            moved = weight + share * step
            reached = float(row_loss(loss, score + share * along, y).sum() + 0.5 * l2 * (moved @ moved))
            if reached <= value - 1e-4 * share * fall or share < 1e-12:
                break
            share *= 0.5
        weight, score, value = moved, score + share * along, reached
    raise NoConvergence(f"the best {loss} model was not found in {MAX_STEPS} steps")


class _Point(NamedTuple):
    """An interior point, or a step from one: weights, slack, excess and the dual variables."""

    weight: Array
    slack: Array
    excess: Array
    dual: Array


def _hinge(loss: str, rows: Array, y: Array, l2: float) -> Array:
    """A primal-dual interior-point method for the hinge loss: 20 to 40 steps of O(n d^2), whatever the number of rows.

    Minimises l2/2 |w|^2 + sum(slack) with excess = A w + slack - 1 >= 0, slack >= 0 and A = diag(y) rows; `dual` in
    (0, 1) is the multiplier of the first bound and 1 - dual that of the second. sum(dual) - |A' dual|^2 / (2 l2) is the
    proven bound.
    """
    A = rows * y[:, None]
    n = len(A)
    at = _Point(np.zeros(A.shape[1]), np.full(n, 2.0), np.ones(n), np.full(n, 0.5))
    for _ in range(MAX_STEPS):
        pull = A.T @ at.dual
        value = float(np.maximum(0.0, 1.0 - A @ at.weight).sum() + 0.5 * l2 * (at.weight @ at.weight))
        if value - float(at.dual.sum() - (pull @ pull) / (2.0 * l2)) <= GAP * max(1.0, value):
            return at.weight
        at = _nearer(A, l2, at)
    raise NoConvergence(f"the best {loss} model was not found in {MAX_STEPS} steps")


def _nearer(A: Array, l2: float, at: _Point) -> _Point:
    """One step of Mehrotra's predictor-corrector: a trial step gives the centring and the second-order correction.

    Shapes: A f8[n, d]. The equations, with `first` and `second` the required changes of the two products:
    dual * excess + first, (1 - dual) * slack + second, l2 w = A' dual, excess = A w + slack - 1.
    """
    weight, slack, excess, dual = at
    other, n = 1.0 - dual, len(A)
    off = A @ weight + slack - 1.0 - excess
    width = excess + dual * slack / other
    curvature = np.linalg.inv(A.T @ (A * (dual / width)[:, None]) + l2 * np.eye(len(weight)))
    lack = A.T @ dual - l2 * weight

    def direction(first: Array, second: Array) -> _Point:
        known = first - dual * off - dual * second / other
        turned = curvature @ (lack + A.T @ (known / width))
        sideways = A @ turned
        by_dual = (known - dual * sideways) / width
        by_slack = (second + slack * by_dual) / other
        return _Point(turned, by_slack, sideways + by_slack + off, by_dual)

    def step_length(by: _Point) -> float:
        bounded = (slack, by.slack), (excess, by.excess), (dual, by.dual), (other, -by.dual)
        return min(_positive_share(values, step) for values, step in bounded)

    first, second = dual * excess, other * slack
    trial = direction(-first, -second)
    share = step_length(trial)
    before = float(first.sum() + second.sum())
    after = float((dual + share * trial.dual) @ (excess + share * trial.excess))
    after += float((other - share * trial.dual) @ (slack + share * trial.slack))
    aim = before / (2 * n) * (after / before) ** 3
    by = direction(aim - first - trial.dual * trial.excess, aim - second + trial.dual * trial.slack)
    share = TO_THE_EDGE * step_length(by)
    return _Point(*(values + share * step for values, step in zip(at, by, strict=True)))


def _positive_share(values: Array, step: Array) -> float:
    """Return the largest share of `step`, at most 1, that keeps every value positive."""
    falling = step < 0.0
    return min(1.0, float(np.min(-values[falling] / step[falling]))) if falling.any() else 1.0

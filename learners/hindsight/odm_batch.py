"""Batch optimal margin distribution machine: the comparator for regret, not a stream learner."""

import numpy as np

from driftway.learners.contract import Array

MAX_STEPS = 100
SUFFICIENT = 1e-4
"""Share of the predicted decrease that a line search step must reach (Armijo)."""


def odm_objective(
    weight: Array, rows: Array, y: Array, lam: float = 3.0, mu: float = 0.5, theta: float = 0.3
) -> tuple[float, Array]:
    """F(w) = |w|^2 / 2 + lam/m sum of l(w; x_i), the mean of the rows' f, and its gradient.

    Shapes: weight f8[d], rows f8[m, d], y f8[m] class indices. docs/algorithms/margin_distribution.md#the-loss.
    """
    sign = 2.0 * y - 1.0
    margin = sign * (rows @ weight)
    short, beyond = np.maximum(1.0 - theta - margin, 0.0), np.maximum(margin - 1.0 - theta, 0.0)
    scale = lam / (len(y) * (1.0 - theta) ** 2)
    value = 0.5 * weight @ weight + scale * (short @ short + mu * beyond @ beyond)
    return float(value), weight + 2.0 * scale * (rows.T @ (sign * (mu * beyond - short)))


def odm_batch(
    rows: Array, y: Array, lam: float = 3.0, mu: float = 0.5, theta: float = 0.3, tolerance: float = 1e-8
) -> Array:
    """Minimise F by Newton's method, with conjugate gradients as linear solver.

    F is strongly convex and piecewise quadratic: once the right pieces are found, the next step is the last.

    Parameters
    ----------
    rows : f8[m, d]
        Rows, with a column of ones for an intercept.
    y : f8[m]
        Class indices, 0 or 1.
    lam, mu, theta : float
        As in `online_odm`.
    tolerance : float
        Norm of the gradient at which to stop.

    Returns
    -------
    f8[d]
        The weights. Their norm is at most sqrt(2 lam), since F(w) <= F(0) <= lam.

    Raises
    ------
    ArithmeticError
        The gradient does not become that small, e.g. because rows are huge.

    Source
    ------
    Zhang, Zhao and Jin, AAAI 2020, "Margin Distribution".
    docs/algorithms/margin_distribution.md#margin-distribution-learners.
    """
    sign, weight = 2.0 * y - 1.0, np.zeros(rows.shape[1])
    value, gradient = odm_objective(weight, rows, y, lam, mu, theta)
    for _ in range(MAX_STEPS):
        if np.linalg.norm(gradient) <= tolerance:
            return weight
        margin = sign * (rows @ weight)
        bend = (margin < 1.0 - theta) + mu * (margin > 1.0 + theta)
        direction = _newton_direction(rows, 2.0 * lam / (len(y) * (1.0 - theta) ** 2) * bend, gradient)
        decrease, step = gradient @ direction, 1.0
        while True:
            tried = weight + step * direction
            new_value, new_gradient = odm_objective(tried, rows, y, lam, mu, theta)
            # Near the minimum rounding hides any decrease of F; a smaller gradient then shows the same.
            shorter = np.linalg.norm(new_gradient) < np.linalg.norm(gradient)
            if new_value <= value + SUFFICIENT * step * decrease or shorter or step < 1e-12:
                break
            step *= 0.5
        weight, value, gradient = tried, new_value, new_gradient
    raise ArithmeticError(f"no minimum after {MAX_STEPS} steps: the gradient's length is {np.linalg.norm(gradient):g}")


def _newton_direction(rows: Array, curvature: Array, gradient: Array) -> Array:
    """Solve (I + sum of curvature_i x_i x_i') p = -gradient by conjugate gradients."""
    p, residual = np.zeros_like(gradient), -gradient
    along, squared = residual.copy(), residual @ residual
    goal = 1e-20 * squared
    for _ in range(10 * len(gradient)):
        if squared <= goal:
            break
        bent = along + rows.T @ (curvature * (rows @ along))
        length = squared / (along @ bent)
        p += length * along
        residual -= length * bent
        before, squared = squared, residual @ residual
        along = residual + squared / before * along
    return p

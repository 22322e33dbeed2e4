"""Parameters of `alma` and `norma` that minimise their mistake bounds, from the quantities in the theorems.

On a stream most of these are unknown: this is for experiments, and to compute the best guarantee of the theorems.
"""

import math
from typing import NamedTuple

from driftway.learners.engine.parameters import ParameterSpec

POSITIVE = ParameterSpec("number", above=0.0)
NOT_NEGATIVE = ParameterSpec("number", at_least=0.0)


class Tuned(NamedTuple):
    """Parameters of the learner, and the bound on its mistakes, or on the rows that it learns if `rho` was given."""

    parameters: dict[str, float]
    bound: float


def tune_alma(
    X: float, B: float, mu: float, K: float = 0.0, D: float = 0.0, p: float = 2.0, rho: float | None = None
) -> Tuned:
    """Return step size, ball and margin of `alma` for the smallest mistake bound.

    Parameters
    ----------
    X : float
        Largest row norm, max |x_t|_p, intercept included, X > 0.
    B : float
        Largest norm of a comparison vector, max |u_t|_q with 1/p + 1/q = 1, B > 0.
    mu : float
        Target margin of the comparison vectors, mu > 0.
    K : float
        Their hinge loss, sum of [mu - y_t u_t'x_t]+, K >= 0. Default 0.0.
    D : float
        Their path length, sum of |u_t+1 - u_t|_q, D >= 0. Default 0.0.
    p : float
        Norm, p >= 2. Default 2.0.
    rho : float or None
        Margin up to which rows are learned, 0 <= rho < mu; the bound is then on the rows learned. None: the largest
        with the mistake bound of rho = 0. Default none.

    Raises
    ------
    ParameterError
        A value outside its bounds.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), theorem 1 (given rho) and 2; equation 3.
    docs/algorithms/linear.md#linear-learners.
    """
    _check(X=X, B=B, mu=mu, K=K, D=D, p=p, rho=rho)
    C = (p - 1.0) / 4.0 * X * X * (B * B + 2.0 * B * D)  # equation 3
    alpha, margin, bound = _step(X, mu, K, C, p, rho)
    return Tuned({"alpha": alpha, "B": B, "rho": margin, "p": p}, bound)


def tune_norma(
    X: float,
    B: float,
    mu: float,
    T: int,
    K: float = 0.0,
    D1: float = 0.0,
    D2: float = 0.0,
    p: float = 2.0,
    rho: float | None = None,
) -> Tuned:
    """Return step size, decay and margin of `norma` for the smallest mistake bound.

    Parameters
    ----------
    X, B, mu, K, p, rho
        As in `tune_alma`.
    T : int
        Rows of the stream, T >= 1.
    D1 : float
        Path length of the comparison vectors, sum of |u_t+1 - u_t|_q, D1 >= 0. Default 0.0.
    D2 : float
        Sum of |u_t+1 - u_t|_q^2, D2 >= 0. Default 0.0.

    Raises
    ------
    ParameterError
        A value outside its bounds.

    Source
    ------
    KSW, theorem 3 (given rho) and 4; equations 7 and 8. docs/algorithms/linear.md#linear-learners. Differs: theorem 4
    states alpha'/(1 - alpha' lam), but its proof is that of theorem 3, which has alpha'/(1 + alpha' lam).
    """
    _check(X=X, B=B, mu=mu, K=K, D1=D1, D2=D2, p=p, rho=rho)
    ParameterSpec("integer", at_least=1).check("T", T)
    C = (p - 1.0) / 4.0 * X * X * (B * B + B * (math.sqrt(T * D2) + D1))  # equation 7
    unshrunk, margin, bound = _step(X, mu, K, C, p, rho)
    lam = math.sqrt(D2 / T) / (B * unshrunk)  # equation 8
    return Tuned({"alpha": unshrunk / (1.0 + unshrunk * lam), "lam": lam, "rho": margin, "p": p}, bound)


def balance(x: float, R: float, S: float) -> float:
    """Return the z in (0, x) that minimises R / (x - z) + S / (z (x - z)): h(x, R, S) of KSW section 4 and lemma 2.

    Source
    ------
    h = sqrt(S/R (x + S/R)) - S/R, x/2 for R = 0, without the cancellation. The lemma says maximum; it is a minimum.
    """
    return x / (1.0 + math.sqrt(1.0 + x * R / S))


def _step(X: float, mu: float, K: float, C: float, p: float, rho: float | None) -> tuple[float, float, float]:
    """Return step size (NORMA's alpha', before the decay), rho and bound; both algorithms have the same formulas."""
    gap = mu - (rho or 0.0)
    r = balance(gap, K, C)
    by_loss, by_geometry = K / gap, C / (gap * gap)
    bound = by_loss + 2.0 * by_geometry + 2.0 * math.sqrt(by_geometry * (by_loss + by_geometry))
    return 2.0 * r / ((p - 1.0) * X * X), mu - r if rho is None else rho, bound


def _check(**given: float | None) -> None:
    """Check each value by its name.

    Raises
    ------
    ParameterError
        A value outside its bounds.
    """
    for name, value in given.items():
        if name in ("X", "B", "mu"):
            POSITIVE.check(name, value)
        elif name == "p":
            ParameterSpec("number", at_least=2.0).check(name, value)
        elif name != "rho":
            NOT_NEGATIVE.check(name, value)
        elif value is not None:
            ParameterSpec("number", at_least=0.0, below=given["mu"]).check(name, value)

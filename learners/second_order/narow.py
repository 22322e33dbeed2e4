"""Narrow adaptive regularisation of weights (NAROW)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Learner, UpdateRule, choice, field, fragment, number, scratch
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.numeric.vectors import axpy_guarded, dot
from driftway.learners.second_order.covariance import (
    COLLAPSED,
    DIAGONAL,
    FULL,
    CovarianceForm,
    CovarianceParameters,
    fill,
    form_of,
    is_full,
)


class NAROW(Learner):
    """Narrow AROW: the covariance shrinks only in directions where it is still wide, then stays.

    While a row's variance is above 1/b, it learns as a second-order learner does; below, the covariance is fixed
    and it learns as a perceptron with margin in the whitened space. It therefore never freezes.

    With k = Sigma x, v = x.k, s = theta.k, a row with y s < 1 gives

    - r = v / (b v - 1) if v > 1/b, else infinity,
    - Sigma -= k k' / (v + r) (diagonal: Sigma^-1 += diag(x x') / r), nothing if r is infinite,
    - theta += y x.

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 8 d + 8 bytes. Diagonal: O(d) per row, 16 d + 8 bytes.

    Source
    ------
    Orabona and Crammer, NIPS 2010. Differs: drift q and the diagonal form of
    docs/algorithms/conventions.md#drift-of-the-covariance and #full-and-diagonal-covariance.
    """

    name = "narow"
    tasks = ("binary",)

    class Params(CovarianceParameters):
        b: float = number(1.0, "Inverse of the variance at which a direction is narrow enough.", above=0.0)
        variant: str = choice(
            "hybrid",
            ("hybrid", "arow"),
            "`hybrid`, the paper's description, or `arow`: common code, which has s = mu.x and the mean step of AROW, "
            "mu += (1 - y s) / (v + r) y k, and so learns nothing once r is infinite.",
        )

    def rule(self) -> UpdateRule:
        p = self.parameters
        score, learn = (score_full, learn_full) if is_full(p.cov, self.width) else (score_diagonal, learn_diagonal)
        given = NAROWNumbers(p.variant == "hybrid", p.b, p.a, p.q)
        return UpdateRule(score, learn, given, NAROWState, form_of(p.cov, self.width))

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)


class NAROWNumbers(NamedTuple):
    """Parameters of `narow`."""

    hybrid: bool
    """Whether to follow the paper's description instead of the mean step of AROW."""
    b: float
    a: float
    q: float


class NAROWState(NamedTuple):
    """State of `narow`."""

    weight: Array = field("f8[d]", "theta, signed sum of rows learned, d with the intercept; in ``arow`` the mean mu")
    covariance: Array = field("f8[form]", "Sigma, [d, d] and bitwise symmetric; [d] in the diagonal form")
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or whose variance is nil")
    k: Array = scratch("f8[d]", "Sigma x")


def score_whitened(form: CovarianceForm) -> Fragment:
    """The `score` of a learner whose covariance has this form."""
    spread = form.spread

    @fragment
    def score(x: Array, p: NAROWNumbers, memory: NAROWState) -> float:
        """theta.k, or mu.x in variant ``arow``; leaves k = Sigma x in memory for `learn`. Shapes: x f8[d]."""
        spread(memory.covariance, x, memory.k)
        return dot(memory.weight, memory.k) if p.hybrid else dot(memory.weight, x)

    return score


def learn_narrowly(form: CovarianceForm) -> Fragment:
    """The `learn` of a learner whose covariance has this form."""
    _, shrink, inflate = form

    @fragment
    def learn(x: Array, y: float, _omega: float, s: float, p: NAROWNumbers, memory: NAROWState) -> None:
        """Add the row and narrow the covariance while the row's variance is above 1/b.

        Shapes: x f8[d]. docs/algorithms/second_order.md#narow; kappa = 1/r = b - 1/v avoids an infinite r.
        """
        finite = math.isfinite(s)
        if not (finite and y * s >= 1.0):
            v = dot(x, memory.k)
            sound = finite and COLLAPSED < v < math.inf
            kappa = max(0.0, p.b - 1.0 / v) if sound else 0.0
            share = kappa / (1.0 + kappa * v)  # 1 / (v + r)
            if p.hybrid:
                learned = sound and axpy_guarded(memory.weight, x, y)
            else:
                learned = sound and axpy_guarded(memory.weight, memory.k, (1.0 - y * s) * share * y)
            if not learned:
                memory.skipped[0] += 1
            elif kappa > 0.0:
                shrink(memory.covariance, x, memory.k, share, kappa)
        if p.q > 0.0:
            inflate(memory.covariance, p.q, p.a)

    return learn


score_full, score_diagonal = score_whitened(FULL), score_whitened(DIAGONAL)
learn_full, learn_diagonal = learn_narrowly(FULL), learn_narrowly(DIAGONAL)

"""Adaptive-regularised cost-sensitive online gradient descent (ACOG)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Learner, UpdateRule, choice, field, fragment, number, scratch
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.imbalanced.imbalance import CostSensitiveParameters, imbalance, prices
from driftway.learners.linear.weights import product
from driftway.learners.numeric.vectors import axpy_guarded
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


class ACOG(Learner):
    """Cost-sensitive gradient descent whose step is shaped by a covariance: small in directions often seen.

    Weighs mistakes as `csogd1` (loss I) or `csogd2` (loss II) does and needs fewer rows. With k = Sigma x,
    v = x.k and rho_t as there, a row with y s < rho_t (I: c = 1) or y s < 1 (II: c = rho_t) gives

    - mu <- mu + eta c y k gamma / (gamma + v), where k gamma / (gamma + v) = Sigma x with the updated Sigma,
    - Sigma <- Sigma - k k' / (gamma + v) (diagonal: Sigma^-1 += diag(x x') / gamma).

    Cost
    ----
    Full: O(d^2) per row, 8 d^2 + 8 d + 24 bytes. Diagonal: O(d) per row, 16 d + 24 bytes.

    Source
    ------
    Zhao, Zhuang, Wu, Li and Hoi, ICDM 2015; Huang, Online Learning, "Applications". docs/algorithms/imbalanced.md#acog.
    Differs: classes are counted online, from 1; drift q of
    docs/algorithms/conventions.md#drift-of-the-covariance; the diagonal form uses the step of the full one.
    """

    name = "acog"
    tasks = ("binary",)

    class Params(CovarianceParameters, CostSensitiveParameters):
        loss: str = choice(
            "II", ("I", "II"), "`I`: the class of larger weight needs a larger margin. `II`: it takes larger steps."
        )
        eta: float = number(1.0, "Step size.", above=0.0)
        gamma: float = number(
            10.0, "Regularisation, unit of a squared feature. Larger = the covariance narrows slower.", above=0.0
        )

    def rule(self) -> UpdateRule:
        p = self.parameters
        learn = learn_full if is_full(p.cov, self.width) else learn_diagonal
        given = ACOGNumbers(p.loss == "II", p.eta, p.gamma, p.a, p.q, *prices(p))
        return UpdateRule(product, learn, given, ACOGState, form_of(p.cov, self.width))

    def initialise(self) -> None:
        fill(self.state["covariance"], self.parameters.a)


class ACOGNumbers(NamedTuple):
    """Parameters of `acog`."""

    steeper: bool
    """Whether to use loss II, with larger steps for class 1, instead of a larger margin."""
    eta: float
    gamma: float
    a: float
    q: float
    price_p: float
    """Weight of class 1."""
    price_n: float
    """Weight of class 0."""
    shared: bool
    """Whether a class shares its weight among its rows; otherwise each row has it."""


class ACOGState(NamedTuple):
    """State of `acog`."""

    weight: Array = field("f8[d]", "mean mu of the weights, d with the intercept")
    covariance: Array = field("f8[form]", "Sigma, [d, d] and bitwise symmetric; [d] in the diagonal form")
    classes: Counts = field("i8[2]", "labelled rows of class 0 and of class 1, plus 1", start=1.0)
    skipped: Counts = field("i8[1]", "labelled rows without a finite step, or whose variance is nil")
    k: Array = scratch("f8[d]", "Sigma x")


def learn_costs(form: CovarianceForm) -> Fragment:
    """The `learn` of a learner whose covariance has this form; both forms use the step of the full one."""
    spread, shrink, inflate = form

    @fragment
    def learn(x: Array, y: float, _omega: float, s: float, p: ACOGNumbers, memory: ACOGState) -> None:
        """Step along the row with the covariance as updated by it, and update the covariance.

        Shapes: x f8[d]. docs/algorithms/imbalanced.md#acog; in the diagonal form kappa = 1/gamma.
        """
        memory.classes[1 if y > 0.0 else 0] += 1
        rho = imbalance(p.price_p, p.price_n, p.shared, memory.classes) if y > 0.0 else 1.0
        if not (math.isfinite(s) and y * s >= (1.0 if p.steeper else rho)):
            v = spread(memory.covariance, x, memory.k)
            step = p.eta * (rho if p.steeper else 1.0) * p.gamma / (p.gamma + v)
            # The step does not contain the score, so it may be finite when the score is not.
            finite = math.isfinite(s) and COLLAPSED < v < math.inf
            if finite and axpy_guarded(memory.weight, memory.k, step * y):
                shrink(memory.covariance, x, memory.k, 1.0 / (p.gamma + v), 1.0 / p.gamma)
            else:
                memory.skipped[0] += 1
        if p.q > 0.0:
            inflate(memory.covariance, p.q, p.a)

    return learn


learn_full, learn_diagonal = learn_costs(FULL), learn_costs(DIAGONAL)

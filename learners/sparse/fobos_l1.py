"""Forward-backward splitting with an L1 penalty (FOBOS)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Learner, Parameters, UpdateRule, choice, flag, fragment, number
from driftway.learners.linear.gradient_descent import LOSSES, SCHEDULES, first_step, slope, step_at, step_schedule
from driftway.learners.linear.weights import SteppedWeights, product
from driftway.learners.sparse.thresholding import step_and_threshold


class FOBOSL1(Learner):
    """Forward-backward splitting: a gradient step on the loss, then the exact minimum of the L1 penalty near it.

    Unlike a subgradient step on the penalty, it makes weights exactly zero at every row.

    - u = w - eta_t g x, with g = -y / (1 + exp(y s)), or that of the hinge loss,
    - w = argmin |w - u|^2 / 2 + eta'_t lam |w|_1, that is w_j = sign(u_j) [|u_j| - eta'_t lam]+.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Duchi and Singer, JMLR 10, 2009, section 5.1; Huang, Online Learning, Algorithm 4.
    docs/algorithms/sparse.md#fobos_l1.
    """

    name = "fobos_l1"
    tasks = ("binary",)
    link: str | None = "logistic"

    class Params(Parameters):
        eta: float = first_step()
        schedule: str = step_schedule()
        lam: float = number(0.001, "Weight of the penalty. Larger = fewer weights.", at_least=0.0)
        eta_half_factor: float = number(1.0, "eta'_t / eta_t: the penalty's step in units of the loss's.", at_least=0.0)
        loss: str = choice("logistic", LOSSES[:2], "`logistic` or `hinge`.")
        intercept: bool = flag(True, "Append a constant 1 to every row; its weight is not penalised.")

    def rule(self) -> UpdateRule:
        p = self.parameters
        loss, schedule = LOSSES.index(p.loss), SCHEDULES.index(p.schedule)
        given = FOBOSL1Numbers(loss, schedule, p.eta, p.eta_half_factor * p.lam, self.n_features)
        return UpdateRule(product, learn, given, SteppedWeights, uses_weight=True)

    def initialise(self) -> None:
        if self.parameters.loss != "logistic":
            self.link = None


class FOBOSL1Numbers(NamedTuple):
    """Parameters of `fobos_l1`."""

    loss: int
    schedule: int
    eta: float
    lam: float
    """Threshold of the weights, in units of the step."""
    penalised: int
    """Index from which on weights are not thresholded."""


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: FOBOSL1Numbers, memory: SteppedWeights) -> None:
    """Step against the gradient, then threshold by eta_t lam.

    Shapes: x f8[d]. docs/algorithms/sparse.md#fobos_l1. A row that would overflow counts for t only.
    """
    memory.learned[0] += 1
    step = step_at(memory.learned[0], p.schedule, p.eta)
    g = slope(p.loss, s, y, 0.0) * omega
    finite = math.isfinite(s)
    if not (finite and step_and_threshold(memory.weight, x, -step * g, step * p.lam, p.penalised)):
        memory.skipped[0] += 1

"""Concept drift via model reuse (CONDOR), in one pass."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    intercept,
    number,
    scratch,
)
from driftway.learners.ensembles.age_weighted import clipped_loss
from driftway.learners.linear.gradient_descent import LOGISTIC, slope
from driftway.learners.linear.weights import product
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.vectors import dot


class Condor(Learner):
    """Gradient descent pulled towards a mean of earlier epochs' models, weighted by their losses on this epoch.

    After each period the weights are added to a pool, in place of the oldest if it is full. A recurring concept has its
    model there, and a new one starts from those that fit it best. w <- w - eta (g x + lam (w - w_p)), g of the logistic
    loss, w_p = sum of beta_k w_k over the pool, beta_k ~ exp(-sqrt(8 ln max(K, 2) / c) L_k), L_k the losses of model k
    on the c rows of this epoch, each clipped to 1.

    Cost
    ----
    O(M d) per row; 8 M d + 16 M + 8 d + 32 bytes, M = pool.

    Source
    ------
    Zhao, Cai and Zhou, Machine Learning 2019. docs/algorithms/ensembles.md#condor. Differs: one pass, where theirs
    solves a batch for each epoch; after an epoch w continues instead of restarting from w_p (95.7 instead of 91.5 on
    2CDT).
    """

    name = "condor"
    tasks = ("binary",)
    link = "logistic"

    class Params(Parameters):
        eta: float = number(0.1, "Step size.", above=0.0)
        lam: float = number(0.01, "Pull towards w_p, at most 1/eta.", at_least=0.0)
        period: int = integer(500, "Labelled rows of an epoch; 0 = one that never ends.", at_least=0)
        pool: int = integer(25, "M, largest number of stored models.", at_least=1)
        intercept: bool = intercept()

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.eta * self.lam > 1.0 + 1e-12:  # tolerates rounding of 1 / eta
                raise ParameterError(f"lam must be <= 1/eta = {1.0 / self.eta:g}, got {self.lam}")

    def rule(self) -> UpdateRule:
        return UpdateRule(product, learn, self.parameters.numbers(), CondorState, {"M": self.parameters.pool})


class CondorState(NamedTuple):
    """State of `condor`."""

    weight: Array = field("f8[d]", "d with the intercept")
    model: Array = field("f8[M, d]", "weights at the ends of epochs, M of them by turns")
    loss: Array = field("f8[M]", "their losses on this epoch")
    beta: Array = field("f8[M]", "their shares in w_p, 0 if there is none yet")
    epochs: Counts = field("i8[1]", "epochs that are over")
    rows: Counts = field("i8[1]", "c, labelled rows of this epoch so far")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")
    drawn: Array = scratch("f8[d]", "w_p, then the weights to come")


@fragment
def learn(x: Array, y: float, _omega: float, s: float, p: Condor.Params, memory: CondorState) -> None:
    """Take a step, add the row to the pool's losses, and end the epoch if it is complete. Shapes: x f8[d]."""
    weight, drawn = memory.weight, memory.drawn
    in_use = min(memory.epochs[0], memory.beta.shape[0])
    for j in range(drawn.shape[0]):
        drawn[j] = 0.0
    for k in range(in_use):
        model, share = memory.model[k], memory.beta[k]
        for j in range(drawn.shape[0]):
            drawn[j] += share * model[j]
    step = p.eta * slope(LOGISTIC, s, y, 0.0)
    pull = p.eta * p.lam
    overflows = not math.isfinite(s)
    for j in range(x.shape[0]):
        drawn[j] = weight[j] - (step * x[j] + pull * (weight[j] - drawn[j]))
        overflows |= drawn[j] - drawn[j] != 0.0
    if overflows:
        memory.skipped[0] += 1
    else:
        for j in range(x.shape[0]):
            weight[j] = drawn[j]
    memory.rows[0] += 1
    judge(x, y, in_use, memory)
    if memory.rows[0] == p.period:
        keep(memory)


@fragment
def judge(x: Array, y: float, in_use: int, memory: Any) -> None:
    """Add the row's losses to those of the models, and recompute their shares. Shapes: x f8[d]."""
    if in_use == 0:
        return
    least, total = math.inf, 0.0
    for k in range(in_use):
        memory.loss[k] += clipped_loss(y * dot(memory.model[k], x))
        least = min(least, memory.loss[k])
    rate = math.sqrt(8.0 * log(float(max(in_use, 2))) / memory.rows[0])
    for k in range(in_use):
        memory.beta[k] = exp(rate * (least - memory.loss[k]))
        total += memory.beta[k]
    for k in range(in_use):
        memory.beta[k] /= total


@fragment
def keep(memory: Any) -> None:
    """Replace the oldest model by the weights and start the next epoch, with equal shares of all models."""
    place = memory.epochs[0] % memory.beta.shape[0]
    memory.epochs[0] += 1
    in_use = min(memory.epochs[0], memory.beta.shape[0])
    for j in range(memory.weight.shape[0]):
        memory.model[place, j] = memory.weight[j]
    for k in range(in_use):
        memory.loss[k] = 0.0
        memory.beta[k] = 1.0 / in_use
    memory.rows[0] = 0

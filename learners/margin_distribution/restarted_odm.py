"""Online optimal margin distribution machine that restarts at fixed intervals."""

import math
from typing import NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    UpdateRule,
    choice,
    field,
    fragment,
    integer,
    kernel,
    number,
)
from driftway.learners.linear.weights import product
from driftway.learners.margin_distribution.loss import MarginLoss
from driftway.learners.margin_distribution.online_odm import OnlineODMNumbers, safe_step
from driftway.learners.margin_distribution.online_odm import learn as learn_online
from driftway.learners.numeric.random import Words, normal, seed


class RestartedODM(Learner):
    """Online ODM that forgets everything after each epoch of labelled rows; a candidate of `d_odm` on its own.

    For T rows whose losses vary by V in total, the best epoch is sqrt(T / V); use `d_odm` if V is unknown.

    Cost
    ----
    O(d) per row; 8 d + 48 bytes.

    Source
    ------
    Zhang, Zhao and Jin, AAAI 2020, Algorithm 1. docs/algorithms/margin_distribution.md#restarted_odm. Differs: the safe
    step, zero weights by default, and a restart after a row, not before the next one, so that predicting changes no
    state.
    """

    name = "restarted_odm"
    tasks = ("binary",)

    class Params(MarginLoss):
        eta: float = number(1.0, "Step of an epoch's first row.", above=0.0, at_most=1.0)
        schedule: str = choice(
            "inv_t", ("const", "inv_t"), "Step at row t of an epoch: `inv_t` eta / t, or `const` eta, 0.001 to 0.1."
        )
        safe_step: bool = safe_step()
        epoch: int = integer(1000, "Labelled rows between restarts.", at_least=1)
        init: str = choice(
            "zero", ("zero", "random"), "Initial weights of an epoch: `zero`, or `random` as in the paper."
        )
        init_scale: float = number(0.01, "Expected length of random weights.", at_least=0.0)
        seed: int = integer(1, "Seed of the random weights.", at_least=0, at_most=2**53)

    @property
    def _spread(self) -> float:
        """Standard deviation of an initial weight."""
        p = self.parameters
        return p.init_scale / math.sqrt(self.width) if p.init == "random" else 0.0

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = OnlineODMNumbers(p.lam, p.mu, p.theta, p.eta, p.schedule == "inv_t", p.safe_step, p.epoch, self._spread)
        return UpdateRule(product, learn, given, RestartedODMState, uses_weight=True)

    def initialise(self) -> None:
        seed(self.state["rng"], np.uint64(self.parameters.seed))
        begin_epoch(self.state["weight"], self._spread, self.state["rng"])


class RestartedODMState(NamedTuple):
    """State of `restarted_odm`. Invariant: age < epoch between rows."""

    weight: Array = field("f8[d]", "d with the intercept")
    age: Counts = field("i8[1]", "t, labelled rows of the present epoch")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")
    rng: Words = field("u8[4]", "the generator")


@kernel
def begin_epoch(weight: Array, spread: float, rng: Words) -> None:
    """Algorithm 1, line 4: initialise the weights, normal or, without spread, zero. Shapes: weight f8[d], rng u8[4]."""
    for j in range(weight.shape[0]):
        weight[j] = spread * normal(rng) if spread > 0.0 else 0.0


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: OnlineODMNumbers, memory: RestartedODMState) -> None:
    """As `online_odm`, and begin a new epoch after the last row of one. Shapes: x f8[d].

    See docs/algorithms/margin_distribution.md#restarted_odm.
    """
    learn_online(x, y, omega, s, p, memory)
    if memory.age[0] == p.epoch:
        begin_epoch(memory.weight, p.spread, memory.rng)
        memory.age[0] = 0

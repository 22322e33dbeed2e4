"""Online optimal margin distribution machine."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    Rule,
    choice,
    flag,
    fragment,
    intercept,
    number,
)
from learners.linear.weights import product
from learners.margin_distribution.loss import excess_price, free_distance, longest_safe_step, loss_weight, odm_step
from learners.vectors import dot


class OnlineODM(Learner):
    """Descends on f(w) = |w|^2 / 2 + lam l(w; x), which wants every margin close to 1, too large ones as well.

    Its regret against the best fixed weights grows as log T under ``inv_t``, which freezes on streams that drift:
    take ``const`` there, or `d_odm`.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Zhang, Zhao and Jin, AAAI 2020, "Candidate Learner"; Hazan, Agarwal and Kale, Machine Learning 69, 2007, for
    eta / t. ALGORITHMS.md 10. Differs: the safe step.
    """

    name = "online_odm"
    tasks = ("binary",)

    class Params(Parameters):
        eta: float = number(1.0, "Step of the first row.", above=0.0, at_most=1.0)
        schedule: str = choice(
            "inv_t", ("const", "inv_t"), "Step at labelled row t: `inv_t` eta / t, or `const` eta, 0.001 to 0.1."
        )
        safe_step: bool = flag(
            True, "Shorten steps to 1 / H, H = 1 + 2 lam x'x / (1 - theta)^2; longer ones may diverge."
        )
        lam: float = loss_weight()
        mu: float = excess_price()
        theta: float = free_distance()
        intercept: bool = intercept()

    def rule(self) -> Rule:
        p = self.parameters
        parameters = Descent(p.lam, p.mu, p.theta, p.eta, p.schedule == "inv_t", p.safe_step)
        fields = {"weight": ("f8", (self.width,)), "age": ("i8", (1,)), "skipped": ("i8", (1,))}
        return Rule(product, learn, parameters, AgedWeights, fields, weighs=True)


class Descent(NamedTuple):
    """Parameters of `online_odm`."""

    lam: float
    mu: float
    theta: float
    eta: float
    inv_t: bool
    safe: bool


class AgedWeights(NamedTuple):
    """Memory of `online_odm`."""

    weight: Array
    """f8[d], d with the intercept."""
    age: Counts
    """i8[1]: t, labelled rows so far."""
    skipped: Counts
    """i8[1]: labelled rows whose score or step was not finite."""


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: Any, memory: Any) -> None:
    """Step against the gradient of the row's f; one that counts omega has lam omega for lam.

    Shapes: x f8[d]; of memory weight f8[d], age i8[1], skipped i8[1]. ALGORITHMS.md 10. A row that would overflow
    counts for t and leaves the weights.
    """
    lam = p.lam * omega
    memory.age[0] += 1
    step = p.eta / memory.age[0] if p.inv_t else p.eta
    if p.safe:
        step = min(step, longest_safe_step(dot(x, x), lam, p.theta))
    if not (math.isfinite(s) and odm_step(memory.weight, x, y, s, step, p.safe, lam, p)):
        memory.skipped[0] += 1

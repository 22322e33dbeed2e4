"""Online optimal margin distribution machine."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Learner, UpdateRule, choice, field, flag, fragment, number
from driftway.learners.linear.weights import product
from driftway.learners.margin_distribution.loss import MarginLoss, longest_safe_step, odm_step
from driftway.learners.numeric.vectors import dot


def safe_step() -> Any:
    """The parameter that keeps a step from overshooting."""
    return flag(True, "Shorten steps to 1 / H, H = 1 + 2 lam x'x / (1 - theta)^2; longer ones may diverge.")


class OnlineODM(Learner):
    """Descends on f(w) = |w|^2 / 2 + lam l(w; x), which draws every margin close to 1, even those that are too large.

    Its regret against the best fixed weights grows as log T under ``inv_t``, which freezes on drifting streams: use
    ``const`` or `d_odm` there.

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Zhang, Zhao and Jin, AAAI 2020, "Candidate Learner"; Hazan, Agarwal and Kale, Machine Learning 69, 2007, for
    eta / t. docs/algorithms/margin_distribution.md#online_odm. Differs: the safe step.
    """

    name = "online_odm"
    tasks = ("binary",)

    class Params(MarginLoss):
        eta: float = number(1.0, "Step of the first row.", above=0.0, at_most=1.0)
        schedule: str = choice(
            "inv_t", ("const", "inv_t"), "Step at labelled row t: `inv_t` eta / t, or `const` eta, 0.001 to 0.1."
        )
        safe_step: bool = safe_step()

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = OnlineODMNumbers(p.lam, p.mu, p.theta, p.eta, p.schedule == "inv_t", p.safe_step)
        return UpdateRule(product, learn, given, OnlineODMState, uses_weight=True)


class OnlineODMNumbers(NamedTuple):
    """Parameters of `online_odm` and `restarted_odm`; only the latter uses the last two."""

    lam: float
    mu: float
    theta: float
    eta: float
    inv_t: bool
    safe: bool
    epoch: int = 0
    """Labelled rows after which weights and t are reset."""
    spread: float = 0.0
    """Standard deviation of an initial weight."""


class OnlineODMState(NamedTuple):
    """State of `online_odm`."""

    weight: Array = field("f8[d]", "d with the intercept")
    age: Counts = field("i8[1]", "t, labelled rows so far")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: OnlineODMNumbers, memory: Any) -> None:
    """Step against the gradient of the row's f, in which the row's weight omega multiplies lam.

    Shapes: x f8[d]; of memory weight f8[d], age i8[1], skipped i8[1].
    docs/algorithms/margin_distribution.md#online_odm. A row that would overflow counts for t only.
    """
    lam = p.lam * omega
    memory.age[0] += 1
    step = p.eta / memory.age[0] if p.inv_t else p.eta
    if p.safe:
        step = min(step, longest_safe_step(dot(x, x), lam, p.theta))
    if not (math.isfinite(s) and odm_step(memory.weight, x, y, s, step, p.safe, lam, p)):
        memory.skipped[0] += 1

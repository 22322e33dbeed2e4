"""Forecasts of a series by gradient descent on autoregressive coefficients (ARMA-OGD)."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    UpdateRule,
    choice,
    field,
    fragment,
    number,
    part,
    scratch,
)
from driftway.learners.linear.gradient_descent import SCHEDULES, step_at
from driftway.learners.numeric.vectors import axpy_guarded, dot
from driftway.learners.other_tasks.series import (
    LARGEST,
    OfLags,
    Past,
    cache_past,
    clip,
    forecast,
    recall_past,
    scaled_error,
    sizes,
    take_in,
    take_in_late,
    values_in,
    weight_of,
    wild,
)


class ARMAOGD(Learner):
    """Forecasts the next target from the last ones, whatever noise drives the series; looks at no feature.

    An autoregression of `lags` terms approximates an ARMA model, whose noise is not observed. With u the last targets
    in units of sigma, the root of their mean square, and e = gamma.u - y / sigma the error: gamma <- gamma - min(eta_t,
    1 / (2 u.u)) 2 e u, clipped to [-radius, radius]. Learns more slowly than `arma_ons` but is cheaper. Use diff = 1
    for series that wander. An outlier among the first 30 targets makes sigma large and steps small for a long time.

    Cost
    ----
    O(lags) per row; 16 lags + 8 D + 24 bytes.

    Source
    ------
    Anava, Hazan, Mannor and Shamir, Online Learning for Time Series Prediction, COLT 2013.
    docs/algorithms/other_tasks.md#arma_ogd-arma_ons. Differs: targets in units of sigma, and a step that never
    overshoots the row. From the 31st on, a target beyond 30 sigma is an outlier: it is not learned, its forecast
    replaces it among the last targets, and it counts in sigma as 30 sigma.
    """

    name = "arma_ogd"
    tasks = ("regression",)
    uses_features = False
    revision = 1  # docs/decisions/0090

    class Params(OfLags):
        eta: float = number(0.1, "Step size of the first row.", above=0.0)
        schedule: str = choice(
            "inv_sqrt", SCHEDULES, "Step at value t: `const` eta, `inv_sqrt` eta / sqrt(t), `inv_t` eta / t."
        )

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = ARMAOGDNumbers(p.radius, p.eta, SCHEDULES.index(p.schedule))
        return UpdateRule(
            score,
            learn,
            given,
            ARMAOGDState,
            sizes(p.lags, p.diff),
            cached_prediction="f8[o]",
            cache_prediction=cache_past,
            recall=recall_past,
            learn_delayed=learn_delayed,
        )


class ARMAOGDNumbers(NamedTuple):
    """Parameters of the kernel."""

    radius: float
    eta: float
    schedule: int


class ARMAOGDState(NamedTuple):
    """State of `arma_ogd`."""

    gamma: Array = field("f8[lags]", "the coefficients")
    past: Past = part(Past, "the series")
    skipped: Counts = field("i8[1]", f"targets beyond {LARGEST:g}, wild, or without a finite step")
    u: Array = scratch("f8[lags]", "the last values in units of sigma")


@fragment
def score(_x: Array, _p: ARMAOGDNumbers, memory: ARMAOGDState) -> float:
    """The forecast."""
    return forecast(memory.gamma, memory.past)


@fragment
def learn(_x: Array, y: float, _omega: float, s: float, p: ARMAOGDNumbers, memory: ARMAOGDState) -> None:
    """Step down the squared error, then append the target. docs/algorithms/other_tasks.md#arma_ogd-arma_ons."""
    step_down(y, s, 1.0, p, memory)
    take_in(y, memory.gamma, memory.past)


@fragment
def learn_delayed(
    _x: Array, y: float, _omega: float, s: float, p: ARMAOGDNumbers, memory: ARMAOGDState, cached_prediction: Array
) -> None:
    """As `learn`, but step by what the row was forecast from, before the target is appended to the latest ones.

    Shapes: cached_prediction f8[o].
    """
    step_down(y, s, weight_of(memory.past, cached_prediction), p, memory)
    take_in_late(y, memory.gamma, memory.past)


@fragment
def step_down(y: float, s: float, omega: float, p: ARMAOGDNumbers, memory: ARMAOGDState) -> None:
    """Step down the squared error, times omega, unless the target is out of range or an outlier."""
    past, u = memory.past, memory.u
    if not abs(y) <= LARGEST or wild(y, past):
        memory.skipped[0] += 1
    elif values_in(past) > 0:
        e = scaled_error(y, s, past, u)
        squared = dot(u, u)
        if squared > 0.0:
            step = min(step_at(values_in(past) + 1, p.schedule, p.eta), 0.5 / squared)
            if math.isfinite(e) and axpy_guarded(memory.gamma, u, -step * 2.0 * e * omega):
                clip(memory.gamma, p.radius)
            else:
                memory.skipped[0] += 1

"""Forecasts of a series by online Newton steps on autoregressive coefficients (ARMA-ONS)."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, Learner, UpdateRule, field, fragment, number, part, scratch
from driftway.learners.numeric.symmetric import downdate, matvec
from driftway.learners.numeric.vectors import axpy_guarded
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
from driftway.learners.second_order.covariance import fill


class ARMAONS(Learner):
    """Forecasts the next target from the last ones, as `arma_ogd` does, with steps that account for their correlation.

    With u the last targets in units of sigma, the root of their mean square, e = gamma.u - y / sigma the error and
    g = 2 e u its gradient: A <- A + g g', which starts as I / radius^2, and gamma <- gamma - A^-1 g / eta, clipped to
    [-radius, radius]. The usual choice for a series; A never forgets, so steps shrink.

    Cost
    ----
    O(lags^2) per row; 8 lags^2 + 16 lags + 8 D + 24 bytes.

    Source
    ------
    Anava, Hazan, Mannor and Shamir, Online Learning for Time Series Prediction, COLT 2013.
    docs/algorithms/other_tasks.md#arma_ogd-arma_ons. Differs: targets in units of sigma; coefficients are clipped,
    where the paper projects in the norm of A; targets beyond 30 sigma are outliers, as for `arma_ogd`.
    """

    name = "arma_ons"
    tasks = ("regression",)
    uses_features = False
    revision = 1  # docs/decisions/0090

    class Params(OfLags):
        eta: float = number(1.0, "Larger = smaller steps.", above=0.0)

    def rule(self) -> UpdateRule:
        p = self.parameters
        return UpdateRule(
            score,
            learn,
            p.numbers(),
            ARMAONSState,
            sizes(p.lags, p.diff),
            cached_prediction="f8[o]",
            cache_prediction=cache_past,
            recall=recall_past,
            learn_delayed=learn_delayed,
        )

    def initialise(self) -> None:
        fill(self.state["inverse"], self.parameters.radius**2)


class ARMAONSState(NamedTuple):
    """State of `arma_ons`."""

    gamma: Array = field("f8[lags]", "the coefficients")
    inverse: Array = field("f8[lags, lags]", "A^-1, bitwise symmetric, starts at radius^2 I")
    past: Past = part(Past, "the series")
    skipped: Counts = field("i8[1]", f"targets beyond {LARGEST:g}, wild, or without a finite step")
    u: Array = scratch("f8[lags]", "the last values in units of sigma, then the gradient")
    k: Array = scratch("f8[lags]", "A^-1 g")


@fragment
def score(_x: Array, _p: ARMAONS.Params, memory: ARMAONSState) -> float:
    """The forecast."""
    return forecast(memory.gamma, memory.past)


@fragment
def learn(_x: Array, y: float, _omega: float, s: float, p: ARMAONS.Params, memory: ARMAONSState) -> None:
    """Step down the squared error by Newton's method, then append the target.

    See docs/algorithms/other_tasks.md#arma_ogd-arma_ons.
    """
    step_down(y, s, 1.0, p, memory)
    take_in(y, memory.gamma, memory.past)


@fragment
def learn_delayed(
    _x: Array, y: float, _omega: float, s: float, p: ARMAONS.Params, memory: ARMAONSState, cached_prediction: Array
) -> None:
    """As `learn`, but step by what the row was forecast from, before the target is appended to the latest ones.

    Shapes: cached_prediction f8[o].
    """
    step_down(y, s, weight_of(memory.past, cached_prediction), p, memory)
    take_in_late(y, memory.gamma, memory.past)


@fragment
def step_down(y: float, s: float, omega: float, p: ARMAONS.Params, memory: ARMAONSState) -> None:
    """Step down the squared error, times omega, by Newton's method, unless the target is out of range or an outlier."""
    past, g, k = memory.past, memory.u, memory.k
    if not abs(y) <= LARGEST or wild(y, past):
        memory.skipped[0] += 1
    elif values_in(past) > 0:
        e = scaled_error(y, s, past, g)
        for i in range(g.shape[0]):
            g[i] *= 2.0 * e
        v = matvec(memory.inverse, g, k)
        # A_new^-1 g = k / (1 + v), by the Sherman-Morrison formula.
        if math.isfinite(v) and axpy_guarded(memory.gamma, k, -omega / (p.eta * (1.0 + omega * v))):
            clip(memory.gamma, p.radius)
            downdate(memory.inverse, k, omega / (1.0 + omega * v), 1.0)
        else:
            memory.skipped[0] += 1

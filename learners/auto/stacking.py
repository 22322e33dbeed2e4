"""The mixture of regression experts: their mean weighted by recent errors, corrected by least squares on them.

The mean uses exponential weights: an expert's likelihood over some hundred rows, if errors are normal with the variance
of the best expert's. The residual is fitted to the experts' distances from the mean by a Kalman filter that starts with
no correction. The forecast weights the plain and the corrected mean by their likelihoods.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.auto.bounds import bounded
from driftway.learners.auto.late_residuals import LateResiduals, correlation
from driftway.learners.auto.target_history import FAR
from driftway.learners.contract import Array, field, kernel, part, scratch
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.symmetric import downdate, matvec

FADING = 0.99
"""Decay per row of the earlier losses."""
DRIFT = 1e-6
"""Variance that each row adds to a weight of the correction."""
FIRST = 0.05
"""Initial variance of a weight, and the limit above which drift adds none."""
LEAST = 1e-9
"""Minimum variance of errors, in units of the targets' variance."""
FURTHEST = 50.0
"""Limit of differences between log-likelihoods."""


class StackingState(NamedTuple):
    """Memory of the mixture of forecasts."""

    loss: Array = field("f8[E]", "the experts' squared errors, fading")
    of_both: Array = field("f8[2]", "the same of the mean and of the corrected mean")
    weight: Array = field("f8[E]", "weights of the correction")
    P: Array = field("f8[E, E]", "their covariance; bitwise symmetric")
    share: Array = field("f8[E]", "the experts' weights in the mean, as after the last row")
    late: Any = part(LateResiduals, "residuals of the targets that came late, which say how much such a target counts")
    forecasts: Array = scratch("f8[E]", "the experts' forecasts, in deviations of the targets")
    away: Array = scratch("f8[E]", "how far they are from the mean")
    both: Array = scratch("f8[2]", "the mean, and the corrected one")
    k: Array = scratch("f8[E]", "P away")


@kernel
def mix(stacking: StackingState) -> float:
    """Return the mixture's forecast, in standard deviations of the targets."""
    forecasts, away, both = stacking.forecasts, stacking.away, stacking.both
    both[0] = 0.0
    for e in range(forecasts.shape[0]):
        forecasts[e] = bounded(forecasts[e], FAR)
        both[0] += stacking.share[e] * forecasts[e]
    both[1] = both[0]
    for e in range(forecasts.shape[0]):
        away[e] = forecasts[e] - both[0]
        both[1] += stacking.weight[e] * away[e]
    both[1] = bounded(both[1], FAR)
    ahead = (stacking.of_both[0] - stacking.of_both[1]) / (2.0 * variance_of(stacking))
    mean_weight = exp(bounded(-ahead, FURTHEST))
    return (mean_weight * both[0] + both[1]) / (mean_weight + 1.0)


@kernel
def variance_of(stacking: StackingState) -> float:
    """Return the variance of the best expert's recent errors."""
    least = math.inf
    for e in range(stacking.loss.shape[0]):
        least = min(least, stacking.loss[e])
    return max((1.0 - FADING) * least, LEAST)


@kernel
def update_stacking(stacking: StackingState, y: float, late: bool) -> None:
    """Update losses, shares and correction with a target, in standard deviations.

    If successive residuals of `late` targets are alike, each of them says little that is new, see `late_residuals`.
    """
    loss, of_both, both = stacking.loss, stacking.of_both, stacking.both
    P, away, k = stacking.P, stacking.away, stacking.k
    count = count_of(stacking, y - both[1]) if late else 1.0
    fading = 1.0 - count * (1.0 - FADING)
    for e in range(loss.shape[0]):
        loss[e] = fading * loss[e] + count * (y - stacking.forecasts[e]) * (y - stacking.forecasts[e])
        if P[e, e] < FIRST:
            P[e, e] += count * DRIFT
    for i in range(2):
        of_both[i] = fading * of_both[i] + count * (y - both[i]) * (y - both[i])
    update_shares(stacking)
    noise = max((1.0 - FADING) * of_both[1], LEAST) / count
    part = 1.0 / (noise + max(matvec(P, away, k), 0.0))
    for e in range(k.shape[0]):
        stacking.weight[e] += (y - both[1]) * part * k[e]
    downdate(P, k, part, 1.0)


@kernel
def count_of(stacking: StackingState, residual: float) -> float:
    """Return how many targets a late one counts as: as many independent ones would fix the mean residual as well."""
    stacking.late.now[0] = residual
    rho = correlation(stacking.late)
    return (1.0 - rho) / (1.0 + rho)


@kernel
def update_shares(stacking: StackingState) -> None:
    """Set the shares in the mean to the normalised likelihoods."""
    loss, share, twice, total = stacking.loss, stacking.share, 2.0 * variance_of(stacking), 0.0
    least = math.inf
    for e in range(loss.shape[0]):
        least = min(least, loss[e])
    for e in range(loss.shape[0]):
        share[e] = exp(-min((loss[e] - least) / twice, FURTHEST))
        total += share[e]
    for e in range(loss.shape[0]):
        share[e] /= total

"""The mixture of classification experts: logistic regression on their scores, with second-order updates.

Each expert provides two inputs. Its raw score adds to the others' as evidence does; its squashed score is a vote with
about the same weight however confident it is, which suits noisy labels. Weights are shared by all classes, and a label
is an observation that its class is ahead of all others: logistic regression, with more than two classes multinomial, by
the extended Kalman filter of `second_order`. The weights hardly drift, except while the recent loss is far above that
of many rows: experts that were right before a drift must not keep their weights.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.auto.first_order import sigmoid
from driftway.learners.auto.late_residuals import LateResiduals, correlation
from driftway.learners.auto.others import lead_over_others
from driftway.learners.auto.recent_loss import RecentLoss, has_risen
from driftway.learners.auto.second_order import Noise, observe
from driftway.learners.contract import Array, field, fragment, kernel, part, scratch
from driftway.learners.multiclass.margins import best_wrong
from driftway.learners.numeric.symmetric import downdate
from driftway.learners.numeric.vectors import axpy, dot

FIRST = 0.03
"""Initial variance of a weight, and the limit above which drift adds none."""
NOISE = Noise(1e-6, FIRST, 0.01)
LOOSE = 3e-3
"""Variance that each row whose label is not late adds to a weight while the loss has risen."""
TRUST = 0.5
"""Norm of the initial weights, which are all equal."""
SUREST = 8.0
"""Limit of a class's distance from the best class."""
LEAST = 0.5
"""Least sum of the weights after a late label; a label that would make it smaller is left out. When the labels of one
class come long before those of others, these contradict all that the experts said before, and would invert it."""
FADING = 0.999
"""Decay per row of the experts' shares."""


class MixingState(NamedTuple):
    """Memory of the mixture; the second E of its 2 E inputs are the squashed first ones."""

    weight: Array = field("f8[M]", "weights of the inputs")
    P: Array = field("f8[M, M]", "their covariance; bitwise symmetric")
    share: Array = field("f8[E]", "how much of the lead each expert has made up, in a fading mean")
    loss: Any = part(RecentLoss, "its squared loss, which shows a drift")
    late: Any = part(LateResiduals, "residuals of the labels that came late, which say how much such a label counts")
    raw: Array = scratch("f8[E, K]", "the experts' scores of each class")
    input: Array = scratch("f8[M, K]", "the same as it is mixed")
    by_class: Array = scratch("f8[K]", "1 for the row's class, minus the others' shares in what it is ahead of")
    lead: Array = scratch("f8[M]", "inputs of the row's class less those of the others, by their shares")
    k: Array = scratch("f8[M]", "P lead")


@kernel
def mix(mixing: MixingState, S: Array, surest: float) -> None:
    """Compute the inputs from the experts' scores, and write their weighted sum for each class.

    `surest` limits a class's distance from the best one. Shapes: S f8[K].
    """
    E, K = mixing.raw.shape
    for c in range(K):
        S[c] = 0.0
    for e in range(E):
        scores, evidence, squashed = mixing.raw[e], mixing.input[e], mixing.input[E + e]
        top = 0
        for c in range(1, K):
            if scores[c] > scores[top]:
                top = c
        second = scores[best_wrong(scores, top)]
        for c in range(K):
            evidence[c] = max(scores[c] - scores[top], -surest)
            ahead = 2.0 * (scores[c] - (second if c == top else scores[top]))
            squashed[c] = ahead / (1.0 + abs(ahead))
            S[c] += mixing.weight[e] * evidence[c] + mixing.weight[E + e] * squashed[c]


@kernel
def update_mixing(mixing: MixingState, S: Array, y: int, late: bool) -> float:
    """Learn that class y was ahead of all others; return the squared loss. Shapes: S f8[K], as `mix` wrote it.

    A `late` label belongs to the scores of the time when its row came. For a while after a drift these are of what the
    experts had learned before it, so late labels do not loosen the weights, and must not invert them. And if successive
    residuals are alike, each of them counts less, see `late_residuals`.
    """
    lead, k = mixing.lead, mixing.k
    margin = lead_over_others(S, y, mixing.by_class)
    for i in range(lead.shape[0]):
        lead[i] = dot(mixing.input[i], mixing.by_class)
    update_shares(mixing)
    wrong = 1.0 - sigmoid(margin)
    share, gain = observe(mixing.P, lead, k, margin, NOISE, count_of(mixing, wrong) if late else 1.0)
    if not late or sum_after(mixing.weight, k, gain) >= LEAST:
        axpy(mixing.weight, k, gain)
        downdate(mixing.P, k, share, 1.0)
    if has_risen(mixing.loss, wrong * wrong) and not late:
        loosen(mixing)
    return wrong * wrong


@fragment
def sum_after(weight: Array, k: Array, gain: float) -> float:
    """Return the sum of the weights after a step. Shapes: weight f8[M], k f8[M]."""
    total = 0.0
    for i in range(weight.shape[0]):
        total += weight[i] + gain * k[i]
    return total


@kernel
def count_of(mixing: MixingState, wrong: float) -> float:
    """Return how many labels a late one counts as: the share of its residuals' variance that the last ones leave."""
    for c in range(mixing.by_class.shape[0]):
        mixing.late.now[c] = wrong * mixing.by_class[c]
    rho = correlation(mixing.late)
    return 1.0 - rho * rho


@kernel
def cache_scores(raw: Array, first: int, scored: bool, cached_prediction: Array, place: int) -> int:
    """Cache the scores of the experts from `first` on, NaN without `scored`; return the place behind them.

    Only differences matter: one number suffices for two classes. Shapes: raw f8[E, K], cached_prediction f4[o].
    """
    E, K = raw.shape
    for e in range(first, E):
        for c in range(0 if K > 2 else 1, K):
            score = raw[e, c] - (0.0 if K > 2 else raw[e, 0])
            cached_prediction[place] = score if scored else math.nan
            place += 1
    return place


@kernel
def restore_scores(raw: Array, first: int, cached_prediction: Array, place: int) -> int:
    """Restore what `cache_scores` cached; return the place behind it. Shapes: raw f8[E, K], cached_prediction f4[o]."""
    E, K = raw.shape
    for e in range(first, E):
        raw[e, 0] = 0.0
        for c in range(0 if K > 2 else 1, K):
            raw[e, c] = cached_prediction[place]
            place += 1
    return place


@kernel
def loosen(mixing: MixingState) -> None:
    """Add variance to the weights, so that they follow the next rows."""
    for i in range(mixing.P.shape[0]):
        if mixing.P[i, i] < FIRST:
            mixing.P[i, i] += LOOSE


@kernel
def update_shares(mixing: MixingState) -> None:
    """Update each expert's share of the row's lead by absolute contribution; the row's contributions sum to 1."""
    share, E, total = mixing.share, mixing.share.shape[0], 0.0
    for e in range(E):
        total += contribution_of(mixing, e)
    if total > 0.0:
        for e in range(E):
            share[e] = FADING * share[e] + (1.0 - FADING) * contribution_of(mixing, e) / total


@fragment
def contribution_of(mixing: MixingState, e: int) -> float:
    """Return the absolute contribution of expert e to the row's lead."""
    E = mixing.share.shape[0]
    return abs(mixing.weight[e] * mixing.lead[e] + mixing.weight[E + e] * mixing.lead[E + e])

"""Class probabilities of an expert: from its scores, or its vote if they are margins."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from driftway.learners.contract import Array, fragment
from driftway.learners.ensembles.expert import Expert, finite_or_zero
from driftway.learners.numeric.elementary.error_function import erfc
from driftway.learners.numeric.elementary.exponential import exp

HALF_ROOT = math.sqrt(0.5)


@cache
def likelihood_of(expert: Expert, link: str | None) -> Callable[..., Any]:
    """Make ``likely(one, margin, chances f8[K])``, which writes them; `link` is that of its learner for K classes."""
    if link in ("logistic", "probit"):
        return of_margin(link == "probit")
    return of_scores(link == "softmax") if link in ("softmax", "direct") else of_vote(expert)


@cache
def of_margin(probit: bool) -> Callable[..., Any]:
    """Make `likely` for two classes, by their margin."""

    @fragment
    def likely(_one: Any, margin: float, chances: Array) -> None:
        s = finite_or_zero(margin)
        chances[1] = 0.5 * erfc(-s * HALF_ROOT) if probit else 1.0 / (1.0 + exp(-s))
        chances[0] = 1.0 - chances[1]

    return likely


@cache
def of_scores(softmax: bool) -> Callable[..., Any]:
    """Make `likely` for more classes, by their scores, which are probabilities as they are or by softmax."""

    @fragment
    def likely(one: Any, _margin: float, chances: Array) -> None:
        largest, total = finite_or_zero(one.S[0]), 0.0
        for r in range(one.S.shape[0]):
            largest = max(largest, finite_or_zero(one.S[r]))
        for r in range(one.S.shape[0]):
            chances[r] = exp(finite_or_zero(one.S[r]) - largest) if softmax else finite_or_zero(one.S[r])
            total += chances[r]
        if softmax:
            for r in range(one.S.shape[0]):
                chances[r] /= total

    return likely


@cache
def of_vote(expert: Expert) -> Callable[..., Any]:
    """Make `likely` with probability 1 for the expert's predicted class."""
    choose = expert.predicted_class

    @fragment
    def likely(one: Any, margin: float, chances: Array) -> None:
        for r in range(chances.shape[0]):
            chances[r] = 0.0
        chances[choose(one, margin)] = 1.0

    return likely

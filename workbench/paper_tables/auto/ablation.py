"""Ablation of `auto`: accuracy without one family of its experts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto import (
    classification,
    first_order,
    label_history,
    naive_bayes,
    neighbours,
    second_order,
)
from driftway.learners.auto.auto import Auto
from driftway.learners.auto.mixing import MixingState
from driftway.learners.auto.second_mixture import for_classes
from driftway.learners.auto.single_values import class_values
from driftway.learners.contract import Array, ParameterError, UpdateRule, choice, fragment, kernel
from driftway.learners.learner import REGRESSION
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.preprocessing.standardizer import OnlineStandardizer

SQUASHED = "squashed inputs"
NOTHING = "nothing"
HISTORY = "label history"
IN_ORDER = (HISTORY, "linear", "naive Bayes", "waves", "second order", "neighbours")
"""Order of the families in `driftway.learners.auto.classification`."""
FORESTS, NETWORK = "forests", "network"
VALUES = "single values"
FAMILIES = (*IN_ORDER, FORESTS, NETWORK, VALUES, SQUASHED)


class Ablation(NamedTuple):
    """Parameters of the kernel: which experts exist, and which of them the mixture ignores."""

    waves: bool
    filters: bool
    near: bool
    forests: bool
    network: bool
    values: bool
    first: int
    end: int
    squashed: bool
    second: int
    second_end: int


@fragment
def score(x: Array, p: Any, memory: Any) -> None:
    """Score as `auto` does, then mix again without the experts left out. Shapes: x f8[n]; p is an `Ablation`."""
    classification.score(x, p, memory)
    mix_ablated(memory.mixing, memory.S, p.first, p.end, p.squashed)
    if p.forests:
        for_classes.add(memory.second, memory.bulk, memory.clipped, memory.z, memory.S)
        if p.second < p.second_end and memory.second.usage.used[0] == 1:
            mix_ablated(memory.second.mixing, memory.S, p.second, p.second_end, False)
    if p.values:
        class_values.add(memory.values, x, memory.z, memory.S)


@kernel
def mix_ablated(mixing: MixingState, S: Array, first: int, end: int, squashed: bool) -> None:
    """Write the weighted sum without experts first..end - 1, or without the squashed inputs. Shapes: S f8[K].

    Inputs left out are 0 for every class, so their weights never change.
    """
    E, K = mixing.raw.shape
    for c in range(K):
        S[c] = 0.0
    for e in range(E):
        evidence, vote = mixing.input[e], mixing.input[E + e]
        for c in range(K):
            if first <= e < end:
                evidence[c] = 0.0
            if squashed or first <= e < end:
                vote[c] = 0.0
            S[c] += mixing.weight[e] * evidence[c] + mixing.weight[E + e] * vote[c]


class AblatedAuto(Auto):
    """`auto` on classes whose mixture ignores one family; not in the registry, since it is for measurements only.

    Cost
    ----
    As `auto`: the ignored family still predicts and learns.

    Source
    ------
    `driftway.learners.auto`.
    """

    name = "auto_without"

    class Params(Auto.Params):
        family: str = choice(NOTHING, (NOTHING, *FAMILIES), "Family to leave out.")

    def rule(self) -> UpdateRule:
        if self.task == REGRESSION:
            raise ParameterError("only experts on classes can be left out")
        full = super().rule()
        ablation = ablation_of(full.parameters, self.parameters.family)
        return UpdateRule(score, full.learn, ablation, full.memory, full.sizes, full.classes)


def ablation_of(asked: classification.ClassificationNumbers, family: str) -> Ablation:
    """Return the range of a family among the experts that exist."""
    sizes = (
        label_history.EXPERTS,
        first_order.EXPERTS,
        naive_bayes.EXPERTS,
        first_order.EXPERTS * asked.waves,
        second_order.EXPERTS * asked.filters,
        neighbours.EXPERTS * asked.near,
    )
    behind = 1 + for_classes.FORESTS
    if family in (FORESTS, NETWORK):
        return Ablation(*asked, 0, 0, False, *((1, behind) if family == FORESTS else (behind, behind + asked.network)))
    if family == VALUES:
        return Ablation(*asked[:-1], False, 0, 0, False, 0, 0)
    if family not in IN_ORDER:
        return Ablation(*asked, 0, 0, family == SQUASHED, 0, 0)
    index = IN_ORDER.index(family)
    first = sum(sizes[:index])
    return Ablation(*asked, first, first + sizes[index], False, 0, 0)


class AblationRun(NamedTuple):
    """A run of `auto` without a family over the first `limit` rows of a stream (None: all)."""

    stream: str
    n_classes: int
    family: str
    data_dir: str | None
    seed: int = 1
    limit: int | None = None


@cache
def rows_of(
    open_stream: Callable[..., Any], stream: str, data_dir: str | None, limit: int | None
) -> tuple[Array, Array]:
    """Return a stream's first rows, cached for the next run on it."""
    from driftway.worker.evaluation.rows import first_rows

    blocks = list(first_rows(open_stream(stream, seed=1, data_dir=data_dir).blocks(), limit))
    X, y = (np.ascontiguousarray(np.concatenate([block[i] for block in blocks])) for i in range(2))
    return X, y


def ablated_accuracy(open_stream: Callable[..., Any], work: AblationRun) -> float:
    """Measure prequential accuracy in per cent, behind the standardiser."""
    X, y = rows_of(open_stream, work.stream, work.data_dir, work.limit)
    learner = OnlineStandardizer(AblatedAuto(X.shape[1], work.n_classes, family=work.family, seed=work.seed))
    scores = np.empty((len(X), learner.n_scores))
    learner.predict_then_update(X, y, scores)
    return float(100.0 * (predicted_class(scores, learner.kind) == y).mean())

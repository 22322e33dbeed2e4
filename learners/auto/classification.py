"""`auto` for classification: the steps by which a row is scored and learned from."""

import math
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto import (
    first_order,
    label_history,
    mixing,
    naive_bayes,
    neighbours,
    network,
    second_order,
)
from driftway.learners.auto import (
    random_fourier as waves,
)
from driftway.learners.auto.bounds import clip_row
from driftway.learners.auto.budget import affordable
from driftway.learners.auto.bulk import Bulk, follow, spread_out
from driftway.learners.auto.forests import class_forest
from driftway.learners.auto.label_history import LabelHistory
from driftway.learners.auto.mixing import SUREST, MixingState, cache_scores, mix, restore_scores, update_mixing
from driftway.learners.auto.naive_bayes import DiagonalGaussians
from driftway.learners.auto.neighbours import NearestNeighbours
from driftway.learners.auto.random_fourier import FourierFeatures
from driftway.learners.auto.second_mixture import for_classes
from driftway.learners.auto.second_mixture.usage import PATIENCE, with_second_mixture
from driftway.learners.auto.second_order import Filters
from driftway.learners.auto.single_values import class_values
from driftway.learners.auto.single_values.class_values import ClassValues
from driftway.learners.contract import Array, UpdateRule, field, fragment, part, scratch, separate_kernel
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.random import seed as seed_words

LINEAR_RATE = 0.05
WAVE_RATE = 0.3
"""Step sizes of the experts with logistic loss."""
FILTERS_WORTH = 1.25
"""Value of filters in `affordable`; waves and neighbours have 1. With 140 features filters gain 0.11 points, the others
0.04 (docs/decisions/0031)."""

FORESTS_WORTH = 1.0
"""Value of the forests in `affordable`."""
NETWORK_WORTH, VALUES_WORTH = 0.3, 0.05
"""Values of the network and of the weights of single values: wide rows and small budgets leave them out first."""


class ClassificationNumbers(NamedTuple):
    """Which of the more expensive experts are included."""

    waves: bool
    filters: bool
    near: bool
    forests: bool
    network: bool
    values: bool


class ClassificationState(NamedTuple):
    """Memory of `auto` for classification."""

    history: Any = part(LabelHistory, "experts on the labels' order")
    linear: Array = field("f8[L, w]", "weights of the linear experts, 4 C rows; C = K, or 1 with two classes")
    waves: Any = part(FourierFeatures, "experts on waves of the features")
    filters: Any = part(Filters, "experts of second order")
    bells: Any = part(DiagonalGaussians, "experts by naive Bayes")
    near: Any = part(NearestNeighbours, "experts by neighbours")
    mixing: Any = part(MixingState, "what makes one judgement of all those above")
    second: Any = part(for_classes.SecondClassMixture, "forests, a network, and what adds them to that judgement")
    values: Any = part(ClassValues, "expert on single values, and what adds it to all others")
    bulk: Any = part(Bulk, "where most values of the features are")
    clipped: Array = scratch("f8[w]", "the row, bounded, and a constant 1 behind it")
    z: Array = scratch("f8[w]", "the same, spread out where the bulk of a feature is narrow")
    S: Array = scratch("f8[K]", "the score of each class")


def rule_for(n: int, K: int, budget: float) -> UpdateRule:
    """Return the rule for n features and K classes."""
    C = 1 if K == 2 else K
    with_waves, filters, near, forests, with_network, values = affordable(
        budget,
        (waves.WAVES * (n + 2 * first_order.EXPERTS * C), 1.0),
        (2 * second_order.EXPERTS * (n + 1) * (n + 1), FILTERS_WORTH),
        (neighbours.WINDOW * n, 1.0),
        (class_forest.cost(n, K) * for_classes.FORESTS, FORESTS_WORTH),
        (network.cost(n + 1, C), NETWORK_WORTH),
        (class_values.cost(n, C), VALUES_WORTH),
    )
    asked = ClassificationNumbers(with_waves, filters, near, forests, with_network and forests, values)
    second = for_classes.FORESTS * asked.forests + asked.network
    E = len(names(asked)) - second - class_values.EXPERTS * asked.values
    R, H = label_history.contexts(K)
    sizes: Sizes = {
        "w": n + 1,
        "C": C,
        "L": first_order.EXPERTS * C,
        "V": first_order.EXPERTS * C * asked.waves,
        "D": waves.WAVES * asked.waves,
        "s": (n + 1) * asked.filters,
        "W": neighbours.WINDOW * asked.near,
        "R": R,
        "r": K,
        "H": H,
        "E": E,
        "M": 2 * E,
        "o": label_history.EXPERTS + C * (E + second + 2 * asked.values),
        **for_classes.sizes(n, K, asked.forests, asked.network),
        **class_values.sizes(n, C, asked.values),
    }
    return UpdateRule(
        score,
        learn,
        asked,
        ClassificationState,
        sizes,
        classes=True,
        cached_prediction="f4[o]",
        cache_prediction=cache_prediction,
        learn_delayed=learn_delayed,
        separate_calls=separate_calls,
    )


def separate_calls(p: ClassificationNumbers, memory: ClassificationState) -> tuple[tuple[Any, ...], ...]:
    """Return the calls of separate kernels, see `UpdateRule.separate_calls`."""
    return (teach, 0, p, memory), *(for_classes.separate_calls(memory.second) if p.forests else ())


def begin(state: State, seed: int) -> None:
    """Write the initial values into a zeroed state."""
    inputs, share = state["mixing.weight"], state["mixing.share"]
    inputs[:] = mixing.TRUST / math.sqrt(len(inputs))
    share[:] = 1.0 / len(share)
    np.fill_diagonal(state["mixing.P"], mixing.FIRST)
    for P in state["filters.P"]:
        np.fill_diagonal(P, second_order.FIRST)
    for name in ("second.mixing", "second.alone", "values.mixing"):
        for field_name in ("weight", "share"):
            state[f"{name}.{field_name}"][:1] = 1.0  # the score of the mixture before it, as it is
        np.fill_diagonal(state[f"{name}.P"], mixing.FIRST)
    state["second.usage.fails"][0] = PATIENCE - 3
    for place, name in enumerate(for_classes.SecondClassMixture._fields[: for_classes.FORESTS]):
        seed_words(state[f"second.{name}.trees.words"], np.uint64((seed + 1 + place) % 2**64))
    network.begin(state, "second.network", (seed + 1 + for_classes.FORESTS) % 2**64)
    waves.draw(np.uint64(seed), state["waves.frequency"], state["waves.phase"], np.empty(4, np.uint64))


def names(asked: ClassificationNumbers) -> tuple[str, ...]:
    """Return the names of the experts, in order."""
    found: tuple[str, ...] = label_history.NAMES + first_order.NAMES + naive_bayes.NAMES
    found += tuple(f"waves_{name}" for name in first_order.NAMES) * asked.waves
    found += second_order.NAMES * asked.filters + neighbours.NAMES * asked.near
    found += for_classes.NAMES * asked.forests + network.NAMES * asked.network
    return found + class_values.NAMES * asked.values


def shares(asked: ClassificationNumbers, state: State) -> Array:
    """Return each expert's share in the score, in the order of `names`; they sum to 1."""
    found = with_second_mixture(state["mixing.share"], state) if asked.forests else state["mixing.share"]
    return class_values.with_values(found, state) if asked.values else found


@fragment
def score(x: Array, p: ClassificationNumbers, memory: ClassificationState) -> None:
    """Evaluate all experts and mix their scores. Shapes: x f8[n], or f8[2 n] with the row as it came behind it."""
    z, raw = memory.z, memory.mixing.raw
    clip_row(x, memory.clipped)
    spread_out(memory.bulk, memory.clipped, z)
    label_history.predict(memory.history, raw)
    # Each family writes after the previous one; with literal offsets numba would compile a kernel for each.
    e = first_order.margins(memory.linear, z, raw, label_history.EXPERTS)
    e = naive_bayes.log_likelihoods(memory.bells, z, raw, e)
    if p.waves:
        waves.transform(memory.waves, z)
        e = first_order.margins(memory.waves.weight, memory.waves.wave, raw, e)
    if p.filters:
        e = second_order.margins(memory.filters, z, raw, e)
    if p.near:
        neighbours.search(memory.near, z)
        neighbours.vote(memory.near, raw, e)
    mix(memory.mixing, memory.S, SUREST)
    if p.forests:
        for_classes.add(memory.second, memory.bulk, memory.clipped, z, memory.S)
    if p.values:
        class_values.add(memory.values, x, z, memory.S)


@fragment
def learn(
    x: Array, y: int, _omega: float, _finite: bool, p: ClassificationNumbers, memory: ClassificationState
) -> None:
    """Update the mixtures by the experts' scores, then update each expert."""
    S = memory.S
    if p.values:
        class_values.learn(memory.values, memory.z, S, y)
        S = memory.values.before
    if p.forests:
        update_mixing(memory.mixing, memory.second.first, y, False)
        for_classes.learn(memory.second, S, y)
    else:
        update_mixing(memory.mixing, S, y, False)
    label_history.update(y, memory.history)
    teach(y, p, memory)
    follow(memory.bulk, x)


@separate_kernel
def teach(y: int, p: ClassificationNumbers, memory: ClassificationState) -> None:
    """Update each expert on features, using the scores that `score` has just computed."""
    z, raw = memory.z, memory.mixing.raw
    e = first_order.descend(memory.linear, z, raw, label_history.EXPERTS, y, LINEAR_RATE) + naive_bayes.EXPERTS
    naive_bayes.update(memory.bells, z, y)
    if p.waves:
        e = first_order.descend(memory.waves.weight, memory.waves.wave, raw, e, y, WAVE_RATE)
    if p.filters:
        second_order.update(memory.filters, z, raw, e, y)
    if p.near:
        neighbours.append(memory.near, z, float(y))


@fragment
def cache_prediction(cached_prediction: Array, p: ClassificationNumbers, memory: ClassificationState) -> None:
    """Cache the experts' scores of a row and its label contexts. Shapes: cached_prediction f4[o]."""
    place = cache_scores(memory.mixing.raw, 0, True, cached_prediction, 0)
    after_run, after_past = label_history.current_contexts(memory.history)
    cached_prediction[place], cached_prediction[place + 1] = after_run, after_past
    place += label_history.EXPERTS
    if p.forests:
        place = for_classes.cache(memory.second, cached_prediction, place)
    if p.values:
        class_values.cache(memory.values, cached_prediction, place)


@fragment
def learn_delayed(
    x: Array,
    y: int,
    _omega: float,
    _finite: bool,
    p: ClassificationNumbers,
    memory: ClassificationState,
    cached_prediction: Array,
) -> None:
    """Update the mixtures by the cached scores, and count the label in the contexts cached with them.

    The experts' current scores, which include what was learned during the delay, must not set the weights for rows
    whose labels are delayed as well. Shapes: cached_prediction f4[o].
    """
    teach(y, p, memory)
    if p.values:
        class_values.teach(memory.values, memory.z, y)
    contexts = restore_scores(memory.mixing.raw, 0, cached_prediction, 0)
    after_run, after_past = int(cached_prediction[contexts]), int(cached_prediction[contexts + 1])
    mix(memory.mixing, memory.S, SUREST)
    update_mixing(memory.mixing, memory.S, y, True)
    place = contexts + label_history.EXPERTS
    if p.forests:
        place = for_classes.learn_delayed(memory.second, memory.S, y, cached_prediction, place)
    if p.values:
        class_values.update_delayed(memory.values, memory.S, y, cached_prediction, place)
    label_history.count_at(y, after_run, after_past, memory.history)
    label_history.advance(y, memory.history)
    follow(memory.bulk, x)

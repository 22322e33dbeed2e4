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
    second_order,
)
from driftway.learners.auto import (
    random_fourier as waves,
)
from driftway.learners.auto.bounds import clip_row
from driftway.learners.auto.budget import affordable
from driftway.learners.auto.forests import class_forest, trees
from driftway.learners.auto.forests.class_forest import CAREFUL, EAGER, MODERATE, ClassForest
from driftway.learners.auto.forests.usage import PATIENCE, Usage, judge
from driftway.learners.auto.first_order import sigmoid
from driftway.learners.auto.label_history import LabelHistory
from driftway.learners.auto.mixing import SUREST, MixingState, mix, update_mixing
from driftway.learners.auto.naive_bayes import DiagonalGaussians
from driftway.learners.auto.neighbours import NearestNeighbours
from driftway.learners.auto.random_fourier import FourierFeatures
from driftway.learners.auto.second_order import Filters
from driftway.learners.contract import Array, UpdateRule, field, fragment, kernel, part, scratch
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.multiclass.margins import best_wrong
from driftway.learners.numeric.random import seed as seed_words

LINEAR_RATE = 0.05
WAVE_RATE = 0.3
"""Step sizes of the experts with logistic loss."""
FILTERS_WORTH = 1.25
"""Value of filters in `affordable`; waves and neighbours have 1. With 140 features filters gain 0.11 points, the others
0.04 (docs/decisions/0031)."""


FOREST_NAMES = "forest_careful", "forest_moderate", "forest_eager"
FORESTS = len(FOREST_NAMES)
FORESTS_WORTH = 1.0
"""Their value in `affordable`."""
SUREST_ABOVE = 35.0
"""Limit of a class's distance from the best class in the second mixture."""
WORTH = 0.01
"""Share of the squared loss that the forests must gain to be used."""
COUNTS = 2**20
"""Largest number of counts of a forest; with many classes its leaves have fewer slots."""
SLOTS = 64


class ClassificationNumbers(NamedTuple):
    """Which of the more expensive experts are included."""

    waves: bool
    filters: bool
    near: bool
    forests: bool


class ClassificationState(NamedTuple):
    """Memory of `auto` for classification."""

    history: Any = part(LabelHistory, "experts on the labels' order")
    linear: Array = field("f8[L, w]", "weights of the linear experts, 4 C rows; C = K, or 1 with two classes")
    waves: Any = part(FourierFeatures, "experts on waves of the features")
    filters: Any = part(Filters, "experts of second order")
    bells: Any = part(DiagonalGaussians, "experts by naive Bayes")
    near: Any = part(NearestNeighbours, "experts by neighbours")
    mixing: Any = part(MixingState, "what makes one judgement of all those above")
    careful: Any = part(ClassForest, "forest whose leaves split late")
    moderate: Any = part(ClassForest, "forest in between")
    eager: Any = part(ClassForest, "forest whose leaves split early")
    above: Any = part(MixingState, "the second mixture, of the first one's score and the forests'", E="F", M="G")
    alone: Any = part(MixingState, "the same of the first one's score alone", E="O", M="Q")
    usage: Any = part(Usage, "whether the forests are used")
    z: Array = scratch("f8[w]", "the row, bounded, and a constant 1 behind it")
    S: Array = scratch("f8[K]", "the score of each class")
    first: Array = scratch("f8[K]", "that of the first mixture")
    without: Array = scratch("f8[K]", "that of the second one without the forests")
    bins: Array = scratch("f8[n]", "bins of the row's features")
    now: Array = scratch("f8[E, K]", "what the experts say now, while it is judged what they said then")


def rule_for(n: int, K: int, budget: float) -> UpdateRule:
    """Return the rule for n features and K classes."""
    C = 1 if K == 2 else K
    asked = ClassificationNumbers(
        *affordable(
            budget,
            (waves.WAVES * (n + 2 * first_order.EXPERTS * C), 1.0),
            (2 * second_order.EXPERTS * (n + 1) * (n + 1), FILTERS_WORTH),
            (neighbours.WINDOW * n, 1.0),
            (class_forest.cost(n, K) * FORESTS, FORESTS_WORTH),
        )
    )
    E, (R, H) = len(names(asked)) - FORESTS * asked.forests, label_history.contexts(K)
    m, T = min(n, trees.OBSERVED), class_forest.TREES * asked.forests
    A = min(max(COUNTS // (class_forest.TREES * m * class_forest.BINS * K), 1), SLOTS)
    sizes: Sizes = {
        "w": n + 1,
        "C": C,
        "L": first_order.EXPERTS * C,
        "V": first_order.EXPERTS * C * asked.waves,
        "D": waves.WAVES * asked.waves,
        "s": (n + 1) * asked.filters,
        "W": neighbours.WINDOW * asked.near,
        "R": R,
        "H": H,
        "E": E,
        "M": 2 * E,
        "T": T,
        "N": min(trees.NODES, 16 * A),
        "A": A,
        "m": m,
        "c": n,
        "B": class_forest.BINS,
        "F": 1 + FORESTS,
        "G": 2 * (1 + FORESTS),
        "O": 1,
        "Q": 2,
        "o": E * C + label_history.EXPERTS + FORESTS * K,
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
    )


def begin(state: State, seed: int) -> None:
    """Write the initial values into a zeroed state."""
    inputs, share = state["mixing.weight"], state["mixing.share"]
    inputs[:] = mixing.TRUST / math.sqrt(len(inputs))
    share[:] = 1.0 / len(share)
    np.fill_diagonal(state["mixing.P"], mixing.FIRST)
    for P in state["filters.P"]:
        np.fill_diagonal(P, second_order.FIRST)
    for name in ("above", "alone"):
        state[f"{name}.weight"][0] = state[f"{name}.share"][0] = 1.0  # the first mixture's score as it is
        np.fill_diagonal(state[f"{name}.P"], mixing.FIRST)
    state["usage.fails"][0] = PATIENCE - 3
    waves.draw(np.uint64(seed), state["waves.frequency"], state["waves.phase"], np.empty(4, np.uint64))
    for place, name in enumerate(("careful", "moderate", "eager")):
        seed_words(state[f"{name}.trees.words"], np.uint64((seed + 1 + place) % 2**64))


def names(asked: ClassificationNumbers) -> tuple[str, ...]:
    """Return the names of the experts, in order."""
    found: tuple[str, ...] = label_history.NAMES + first_order.NAMES + naive_bayes.NAMES
    found += tuple(f"waves_{name}" for name in first_order.NAMES) * asked.waves
    return found + second_order.NAMES * asked.filters + neighbours.NAMES * asked.near + FOREST_NAMES * asked.forests


@fragment
def score(x: Array, p: ClassificationNumbers, memory: ClassificationState) -> None:
    """Evaluate all experts and mix their scores. Shapes: x f8[n]."""
    z, raw = memory.z, memory.mixing.raw
    clip_row(x, z)
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
        supplement(memory)


@kernel
def supplement(memory: ClassificationState) -> None:
    """Replace S, the score of all other experts, by the second mixture: with the forests if they are used."""
    for c in range(memory.S.shape[0]):
        memory.first[c] = memory.alone.raw[0, c] = memory.S[c]
    mix(memory.alone, memory.without, SUREST_ABOVE)
    if memory.usage.used[0] == 1:
        ask_forests(memory)
        mix(memory.above, memory.S, SUREST_ABOVE)
    else:
        for c in range(memory.S.shape[0]):
            memory.S[c] = memory.without[c]


@kernel
def ask_forests(memory: ClassificationState) -> None:
    """Write the second mixture's inputs: the first one's score, and the forests' log-probabilities."""
    raw = memory.above.raw
    trees.quantize(memory.z, memory.bins, class_forest.BINS)
    for c in range(memory.first.shape[0]):
        raw[0, c] = memory.first[c]
    class_forest.predict(memory.careful, memory.bins, raw[1])
    class_forest.predict(memory.moderate, memory.bins, raw[2])
    class_forest.predict(memory.eager, memory.bins, raw[3])


@fragment
def learn(
    _x: Array, y: int, _omega: float, _finite: bool, p: ClassificationNumbers, memory: ClassificationState
) -> None:
    """Update the mixture by the experts' scores, then update each expert."""
    if p.forests:
        update_mixing(memory.mixing, memory.first, y)
        both = memory.usage.used[0] == 1
        if both:
            update_mixing(memory.above, memory.S, y)
        teach_forests(y, both, memory)
    else:
        update_mixing(memory.mixing, memory.S, y)
    label_history.update(y, memory.history)
    teach(y, p, memory)


@kernel
def teach_forests(y: int, both: bool, memory: ClassificationState) -> None:
    """Update the forests, if they are used, and decide whether they are from now on.

    `both` says whether S was mixed with them.
    """
    without = loss_of(memory.without, y)
    update_mixing(memory.alone, memory.without, y)
    if memory.usage.used[0] == 1:
        class_forest.learn(memory.careful, memory.bins, y, CAREFUL)
        class_forest.learn(memory.moderate, memory.bins, y, MODERATE)
        class_forest.learn(memory.eager, memory.bins, y, EAGER)
    judge(memory.usage, without, loss_of(memory.S, y) if both else without, WORTH)


@kernel
def loss_of(S: Array, y: int) -> float:
    """Return the squared loss of class y against its rival. Shapes: S f8[K]."""
    wrong = 1.0 - sigmoid(S[y] - S[best_wrong(S, y)])
    return wrong * wrong


@kernel
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
def cache_prediction(opinion: Array, p: ClassificationNumbers, memory: ClassificationState) -> None:
    """Cache the experts' scores of a row and its label contexts. Shapes: opinion f4[C E + 2]."""
    raw, (E, K) = memory.mixing.raw, memory.mixing.raw.shape
    place = 0
    for e in range(E):
        # Only differences matter: one number suffices for two classes.
        for c in range(0 if K > 2 else 1, K):
            opinion[place] = raw[e, c] - (0.0 if K > 2 else raw[e, 0])
            place += 1
    after_run, after_past = label_history.current_contexts(memory.history)
    opinion[place], opinion[place + 1] = after_run, after_past
    if p.forests:
        place += label_history.EXPERTS
        for e in range(1, memory.above.raw.shape[0]):
            for c in range(K):
                opinion[place] = memory.above.raw[e, c] if memory.usage.used[0] == 1 else math.nan
                place += 1


@kernel
def restore_second(opinion: Array, place: int, y: int, memory: ClassificationState) -> bool:
    """Update the second mixture by the cached scores of the forests, if they were used then; return whether they were.

    S is the first mixture's score by the cached scores. Shapes: opinion f4[o], the forests' from `place` on.
    """
    raw, K = memory.above.raw, memory.S.shape[0]
    for c in range(K):
        memory.alone.raw[0, c] = raw[0, c] = memory.S[c]
    mix(memory.alone, memory.without, SUREST_ABOVE)
    if math.isnan(opinion[place]):
        return False
    for e in range(1, raw.shape[0]):
        for c in range(K):
            raw[e, c] = opinion[place]
            place += 1
    mix(memory.above, memory.S, SUREST_ABOVE)
    update_mixing(memory.above, memory.S, y)
    return True


@fragment
def learn_delayed(
    _x: Array,
    y: int,
    _omega: float,
    _finite: bool,
    p: ClassificationNumbers,
    memory: ClassificationState,
    opinion: Array,
) -> None:
    """Update the mixture by the cached scores, and count the label in the contexts cached with them.

    The experts' current scores, which include what was learned during the delay, must not set the weights for rows
    whose labels are delayed as well. Shapes: opinion f4[C E + 2].
    """
    raw, now, (E, K) = memory.mixing.raw, memory.now, memory.mixing.raw.shape
    place = 0
    for e in range(E):
        for c in range(K):
            now[e, c] = raw[e, c]
            if K > 2 or c > 0:
                raw[e, c] = opinion[place]
                place += 1
            else:
                raw[e, c] = 0.0
    mix(memory.mixing, memory.S, SUREST)
    update_mixing(memory.mixing, memory.S, y)
    for e in range(E):
        for c in range(K):
            raw[e, c] = now[e, c]
    if p.forests:
        teach_forests(y, restore_second(opinion, place + label_history.EXPERTS, y, memory), memory)
    label_history.count_at(y, int(opinion[place]), int(opinion[place + 1]), memory.history)
    label_history.advance(y, memory.history)
    teach(y, p, memory)


def shares(asked: ClassificationNumbers, state: State) -> Array:
    """Return each expert's share in the score, in the order of `names`; they sum to 1."""
    own = state["mixing.share"]
    if not asked.forests:
        return own
    first, *forests = state["above.share"] if state["usage.used"][0] else (1.0, *(0.0,) * FORESTS)
    return np.concatenate([own * first, forests])

"""The second mixture of `auto` for classification: it adds forests and a network to the score of all other experts.

While they are not used, a mixture of that score alone replaces it. It calibrates the score, so that the comparison
shows only what they add.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.auto import network
from driftway.learners.auto.bulk import Bulk
from driftway.learners.auto.forests import class_forest
from driftway.learners.auto.forests.binning import quantize
from driftway.learners.auto.forests.class_forest import BINS, CAREFUL, EAGER, MODERATE, TREES, ClassForest
from driftway.learners.auto.forests.trees import NODES, OBSERVED
from driftway.learners.auto.mixing import MixingState, cache_scores, mix, restore_scores, update_mixing
from driftway.learners.auto.network import Network
from driftway.learners.auto.second_mixture.usage import Usage, judge
from driftway.learners.contract import Array, fragment, kernel, part, scratch
from driftway.learners.engine.state_layout import Sizes

NAMES = "forest_careful", "forest_moderate", "forest_eager"
FORESTS = len(NAMES)
SUREST = 35.0
"""Limit of a class's distance from the best class."""
WORTH = 0.01
"""Share of the squared loss that they must gain to be used."""
SLOTS = 64
COUNTS = 2**20
"""Largest number of counts of a forest; with many classes its leaves have fewer slots."""


class SecondClassMixture(NamedTuple):
    """Memory of the forests, the network and the second mixture."""

    careful: Any = part(ClassForest, "forest whose leaves split late")
    moderate: Any = part(ClassForest, "forest in between")
    eager: Any = part(ClassForest, "forest whose leaves split early")
    network: Any = part(Network, "network with one hidden layer")
    mixing: Any = part(MixingState, "the second mixture, of the first one's score and theirs", E="F", M="G")
    alone: Any = part(MixingState, "the same of the first one's score alone", E="O", M="Q")
    usage: Any = part(Usage, "whether they are used")
    bins: Array = scratch("f8[n]", "bins of the row's features")
    first: Array = scratch("f8[K]", "the score of the first mixture")
    without: Array = scratch("f8[K]", "that of the second one without them")


def sizes(n: int, K: int, used: bool, with_network: bool) -> Sizes:
    """Return the lengths in the shapes for n features and K classes, without trees if there are no forests."""
    m = min(n, OBSERVED)
    A = min(max(COUNTS // (TREES * m * BINS * K), 1), SLOTS)
    mixed = (1 + FORESTS + with_network) * used
    return {
        "T": TREES * used,
        "N": min(NODES, 16 * A),
        "A": A,
        "m": m,
        "c": n,
        "B": BINS,
        "F": mixed,
        "G": 2 * mixed,
        "O": 1 * used,
        "Q": 2 * used,
        **network.sizes(n + 1, 1 if K == 2 else K, 1, with_network),
    }


def separate_calls(second: SecondClassMixture) -> tuple[tuple[Any, ...], ...]:
    """Return the calls of separate kernels, see `UpdateRule.separate_calls`."""
    learned = class_forest.learn, second.careful, second.bins, 0, CAREFUL
    with_network = ((network.learn_class, second.network, 0),) if second.network.inputs.size else ()
    return learned, (class_forest.predict, second.careful, second.bins, second.first), *with_network


@kernel
def add(second: SecondClassMixture, bulk: Bulk, clipped: Array, z: Array, S: Array) -> None:
    """Replace S, the score of all other experts, by the second mixture. Shapes: clipped and z f8[n + 1], S f8[K]."""
    raw, output, K = second.mixing.raw, second.network.output, S.shape[0]
    for c in range(K):
        second.first[c] = second.alone.raw[0, c] = raw[0, c] = S[c]
    mix(second.alone, second.without, SUREST)
    if second.usage.used[0] == 1:
        quantize(bulk, clipped, second.bins, BINS)
        class_forest.predict(second.careful, second.bins, raw[1])
        class_forest.predict(second.moderate, second.bins, raw[2])
        class_forest.predict(second.eager, second.bins, raw[3])
        if raw.shape[0] > 1 + FORESTS:
            network.set_inputs(second.network, z)
            network.predict(second.network)
            raw[1 + FORESTS, 0] = 0.0
            for o in range(output.shape[0]):
                raw[1 + FORESTS, K - output.shape[0] + o] = output[o]
        mix(second.mixing, S, SUREST)
    else:
        for c in range(S.shape[0]):
            S[c] = second.without[c]


@kernel
def learn(second: SecondClassMixture, S: Array, y: int) -> None:
    """Update the second mixture and what it adds with class y of a row that `add` has seen. Shapes: S f8[K]."""
    mixed = second.usage.used[0] == 1
    teach(second, y, mixed, update_mixing(second.mixing, S, y, False) if mixed else 0.0, False)


@fragment
def cache(second: SecondClassMixture, cached_prediction: Array, place: int) -> int:
    """Cache their scores of a row from `place` on; return the place behind. Shapes: cached_prediction f4[o]."""
    return cache_scores(second.mixing.raw, 1, second.usage.used[0] == 1, cached_prediction, place)


@kernel
def learn_delayed(second: SecondClassMixture, S: Array, y: int, cached_prediction: Array, place: int) -> int:
    """As `learn`, but the second mixture is updated by scores cached from `place` on, if there were any.

    S is the first mixture's score by cached ones. Returns the place behind. Shapes: S f8[K], cached_prediction f4[o].
    """
    raw, mixed = second.mixing.raw, not math.isnan(cached_prediction[place])
    for c in range(S.shape[0]):
        second.alone.raw[0, c] = raw[0, c] = S[c]
    mix(second.alone, second.without, SUREST)
    behind = restore_scores(raw, 1, cached_prediction, place)
    if mixed:
        mix(second.mixing, S, SUREST)
    teach(second, y, mixed, update_mixing(second.mixing, S, y, True) if mixed else 0.0, True)
    return behind


@kernel
def teach(second: SecondClassMixture, y: int, mixed: bool, both: float, late: bool) -> None:
    """Update forests and network, if they are used, and decide whether they are from now on.

    `both` is the loss of the score with them, if `mixed` says that there is one; `late` as in `update_mixing`.
    """
    without = update_mixing(second.alone, second.without, y, late)
    if second.usage.used[0] == 1:
        class_forest.learn(second.careful, second.bins, y, CAREFUL)
        class_forest.learn(second.moderate, second.bins, y, MODERATE)
        class_forest.learn(second.eager, second.bins, y, EAGER)
        if second.network.output.shape[0] > 0:
            network.learn_class(second.network, y)
    judge(second.usage, without, both if mixed else without, WORTH)

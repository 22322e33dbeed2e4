"""The second mixture of `auto` for regression: it adds forests and a network to the forecast of all other experts."""

import math
from typing import Any, NamedTuple

from driftway.learners.auto import network, stacking
from driftway.learners.auto.bounds import bounded
from driftway.learners.auto.bulk import Bulk, position
from driftway.learners.auto.forests import target_forest
from driftway.learners.auto.forests.binning import bin_of, quantize
from driftway.learners.auto.forests.target_forest import BINS, TREES, TargetForest
from driftway.learners.auto.forests.trees import NODES, OBSERVED, Columns
from driftway.learners.auto.network import Network
from driftway.learners.auto.second_mixture.usage import Usage, judge
from driftway.learners.auto.stacking import StackingState
from driftway.learners.auto.target_history import FAR, NOW, TargetHistory, scales
from driftway.learners.contract import Array, field, fragment, kernel, part, scratch
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.fading_mean import newest_share

NAMES = "forest_level", "forest_history", "forest_change", "forest_left", "forest_left_history"
FORESTS = len(NAMES)
OF_NETWORK = "network_level", "network_left"
"""Names of the network's outputs."""
PAST = 3
"""Last targets among the features."""
WORTH = 0.01
"""Share of the squared error that they must gain to be used."""
SPREAD_KEEP = 0.999
"""Decay per row of the mean square of what the others leave."""
LEAST_SPREAD = 1e-9
"""Least value of that mean square."""
SLOTS = 48
COUNTS = 2**19
"""Largest number of counts of a forest; with many features its leaves have fewer slots."""


class SecondTargetMixture(NamedTuple):
    """Memory of forests and network; c = n + 4 features are the others' forecast, the row and the last targets."""

    level: Any = part(TargetForest, "forest of the target")
    history: Any = part(TargetForest, "the same with the last targets as features")
    change: Any = part(TargetForest, "forest of the change from the last target, with the last targets as features")
    left: Any = part(TargetForest, "forest of what the others leave, with their forecast as a feature")
    left_history: Any = part(TargetForest, "the same with the last targets as features")
    network: Any = part(Network, "network of the target, and of what the others leave in units of `spread`")
    spread: Array = field("f8[1]", "root of the mean square of what the others leave", start=1.0)
    mixing: Any = part(StackingState, "the second mixture, of the first one's forecast and theirs", E="F")
    usage: Any = part(Usage, "whether they are used")
    bins: Array = scratch("f8[c]", "bins of the features")


def sizes(n: int, used: bool, with_network: bool) -> Sizes:
    """Return the lengths in the shapes for n features, all 0 but for `c` if there are no forests."""
    m = min(n, OBSERVED)
    return {
        "T": TREES * used,
        "N": NODES,
        "A": min(COUNTS // (TREES * m * BINS), SLOTS),
        "m": m,
        "c": 1 + n + PAST,
        "B": BINS,
        "F": (1 + FORESTS + len(OF_NETWORK) * with_network) * used,
        **network.sizes(n + PAST + 2, len(OF_NETWORK), len(OF_NETWORK), with_network),
    }


def separate_calls(second: SecondTargetMixture) -> tuple[tuple[Any, ...], ...]:
    """Return the calls of separate kernels, see `UpdateRule.separate_calls`."""
    learned = target_forest.learn, second.level, second.bins, 0.0, Columns(0, 1)
    with_network = ((network.learn_targets, second.network),) if second.network.inputs.size else ()
    return learned, (target_forest.forecast, second.level, second.bins), *with_network


@kernel
def set_features(
    second: SecondTargetMixture, bulk: Bulk, first: float, clipped: Array, z: Array, history: TargetHistory
) -> None:
    """Write the features of a row if they are used; `first` is the forecast of the other experts.

    Shapes: clipped and z f8[n + 1].
    """
    if second.usage.used[0] == 0:
        return
    bins, inputs, n, (of_level, _) = second.bins, second.network.inputs, z.shape[0] - 1, scales(history)
    bins[0] = bin_of(position(first, 1.0), 0.0, BINS)
    quantize(bulk, clipped, bins[1 : 1 + n], BINS)
    for i in range(PAST):
        past = bounded((history.last[i] - history.mean[NOW]) / of_level, FAR)
        bins[1 + n + i] = bin_of(position(past, 1.0), 0.0, BINS)
        if inputs.shape[0] > 0:
            inputs[n + 2 + i] = past
    if inputs.shape[0] > 0:
        network.set_inputs(second.network, z)
        inputs[n + 1] = first


@kernel
def add(second: SecondTargetMixture, first: float, last: float, history: TargetHistory) -> float:
    """Return the forecast with them if they are used, else `first`, the forecast of the other experts.

    All forecasts, and `last`, the last target, are distances from the mean in standard deviations of the targets.
    """
    forecasts, bins = second.mixing.forecasts, second.bins
    forecasts[0] = first
    if second.usage.used[0] == 0:
        return first
    of_level, of_changes = scales(history)
    forecasts[1] = target_forest.forecast(second.level, bins)
    forecasts[2] = target_forest.forecast(second.history, bins)
    forecasts[3] = last + target_forest.forecast(second.change, bins) * (of_changes / of_level)
    forecasts[4] = first + target_forest.forecast(second.left, bins)
    forecasts[5] = first + target_forest.forecast(second.left_history, bins)
    if forecasts.shape[0] > 1 + FORESTS:
        network.predict(second.network)
        forecasts[6] = second.network.output[0]
        forecasts[7] = first + second.network.output[1] * second.spread[0]
    return stacking.mix(second.mixing)


@kernel
def learn(second: SecondTargetMixture, level: float, last: float, history: TargetHistory) -> None:
    """Update the second mixture and what it adds with a target in standard deviations."""
    first = both = second.mixing.forecasts[0]
    teach(second, level, last, history)
    if second.usage.used[0] == 1:
        both = stacking.mix(second.mixing)
        stacking.update_stacking(second.mixing, level, False)
    judge(second.usage, (level - first) * (level - first), (level - both) * (level - both), WORTH)


@kernel
def cache(second: SecondTargetMixture, cached_prediction: Array, place: int) -> int:
    """Cache their forecasts of a row from `place` on, NaN if they are not used; return the place behind.

    Shapes: cached_prediction f8[o].
    """
    experts = second.mixing.forecasts.shape[0] - 1
    for e in range(experts):
        cached_prediction[place + e] = second.mixing.forecasts[1 + e] if second.usage.used[0] == 1 else math.nan
    return place + experts


@kernel
def update_delayed(
    second: SecondTargetMixture, level: float, first: float, cached_prediction: Array, place: int
) -> int:
    """Update the second mixture by the forecasts cached from `place` on, if there were any.

    `first` is the first mixture's forecast by cached ones. Returns the place behind. Shapes: cached_prediction f8[o].
    """
    forecasts, both, experts = second.mixing.forecasts, first, second.mixing.forecasts.shape[0] - 1
    if not math.isnan(cached_prediction[place]):
        forecasts[0] = first
        for e in range(experts):
            forecasts[1 + e] = cached_prediction[place + e]
        both = stacking.mix(second.mixing)
        stacking.update_stacking(second.mixing, level, True)
    judge(second.usage, (level - first) * (level - first), (level - both) * (level - both), WORTH)
    return place + experts


@kernel
def teach(second: SecondTargetMixture, level: float, last: float, history: TargetHistory) -> None:
    """Update forests and network, if they are used, with the target of the row that `add` has seen."""
    if second.usage.used[0] == 0:
        return
    bins, (of_level, of_changes), n = second.bins, scales(history), second.bins.shape[0] - 1 - PAST
    left = level - second.mixing.forecasts[0]
    change = bounded((level - last) * (of_level / of_changes), FAR)
    target_forest.learn(second.level, bins, level, Columns(1, n))
    target_forest.learn(second.history, bins, level, Columns(1, n + PAST))
    target_forest.learn(second.change, bins, change, Columns(1, n + PAST))
    target_forest.learn(second.left, bins, left, Columns(0, 1 + n))
    target_forest.learn(second.left_history, bins, left, Columns(1, n + PAST))
    if second.network.error.shape[0] > 0:
        teach_network(second, level, left)


@fragment
def teach_network(second: SecondTargetMixture, level: float, left: float) -> None:
    """Update the network with a target and with what the others have left of it, and the scale of the latter."""
    error, spread = second.network.error, second.spread
    error[0], error[1] = level, left / spread[0]
    network.learn_targets(second.network)
    share = newest_share(second.network.rows[0], 1.0 - SPREAD_KEEP)
    spread[0] = math.sqrt(max(spread[0] * spread[0] + share * (left * left - spread[0] * spread[0]), LEAST_SPREAD))

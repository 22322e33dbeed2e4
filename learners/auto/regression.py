"""`auto` for regression: the steps by which a target is forecast and learned from.

Most experts forecast the change from the last target: with weights of 0 they forecast no change, which is hard to beat
for slowly varying targets, and with the last target among their inputs they can still represent any level.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto import block_least_squares, neighbours, network, products, stacking
from driftway.learners.auto.block_least_squares import Blocks
from driftway.learners.auto.bounds import bounded, clip_row
from driftway.learners.auto.budget import affordable
from driftway.learners.auto.bulk import Bulk, follow, spread_out
from driftway.learners.auto.forests import target_forest
from driftway.learners.auto.least_squares import fold, forecast
from driftway.learners.auto.neighbours import NearestNeighbours
from driftway.learners.auto.second_mixture import for_targets
from driftway.learners.auto.second_mixture.usage import with_second_mixture
from driftway.learners.auto.single_values import target_values
from driftway.learners.auto.single_values.target_values import TargetValues
from driftway.learners.auto.stacking import StackingState
from driftway.learners.auto.target_history import (
    FAR,
    LAGS,
    LARGEST,
    NOW,
    TargetHistory,
    advance,
    is_wild,
    look_back,
    scales,
)
from driftway.learners.contract import (
    Array,
    Counts,
    UpdateRule,
    field,
    fragment,
    kernel,
    part,
    scratch,
    separate_kernel,
)
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.random import seed as seed_words
from driftway.learners.numeric.vectors import dot

NAMES = "mean", "last", "step_slow", "step_fast"
"""The last two are first-order experts that forecast the change."""
ALWAYS = len(NAMES)
SLOW = 0.05
FAST = 0.3
NAMES_CHANGE = "change_all", "change_1000", "change_50"
"""Least squares on changes; the suffix is the effective number of rows."""
NAMES_CURVE = "curve_all", "curve_1000"
"""Least squares on changes, with products of features as further inputs."""
NAMES_LEVEL = "level_all", "level_1000", "level_50"
ON_CHANGES, ON_CURVES, ON_LEVELS = len(NAMES_CHANGE), len(NAMES_CURVE), len(NAMES_LEVEL)
SQUARES_WORTH = 2.5
"""Value of least squares in `affordable`; neighbours have 1. With 60 or more features neighbours gain hardly anything,
while least squares halve the error at best (docs/decisions/0031)."""
ENOUGH = 25
"""Rows before neighbours are used."""
FORESTS_WORTH = 2.5
"""Value of the forests in `affordable`."""
NETWORK_WORTH = 0.6
"""Value of the network in `affordable`: least squares on wide rows are worth more."""
VALUES_WORTH = 0.3
"""Value of the weights of single values: they cost little, and halve the error at best (docs/decisions/0091)."""


class RegressionNumbers(NamedTuple):
    """Which of the more expensive experts are included."""

    blocks: bool
    """Least squares in blocks, instead of all others if these do not fit."""
    squares: bool
    curves: bool
    near: bool
    forests: bool
    network: bool
    values: bool


class RegressionState(NamedTuple):
    """Memory of `auto` for regression."""

    history: Any = part(TargetHistory, "the targets' scale and past")
    step: Array = field("f8[2, u]", "weights of the two that step along the row")
    change: Array = field("f8[b, uB]", "weights of least squares on changes")
    change_P: Array = field("f8[b, uB, uB]", "their P; bitwise symmetric")
    level: Array = field("f8[b, wB]", "weights of least squares on targets")
    level_P: Array = field("f8[b, wB, wB]", "their P; bitwise symmetric")
    curve: Array = field("f8[G, q]", "weights of least squares on changes, with products of features")
    curve_P: Array = field("f8[G, q, q]", "their P; bitwise symmetric")
    blocks: Any = part(Blocks, "least squares on targets of wide rows")
    near: Any = part(NearestNeighbours, "neighbours, and what the best of the above had left of their targets")
    stacking: Any = part(StackingState, "what makes one forecast of all those above")
    second: Any = part(for_targets.SecondTargetMixture, "forests, a network, and what adds them to that forecast")
    values: Any = part(TargetValues, "experts on single values, and what adds them to all others")
    skipped: Counts = field("i8[1]", "steps of least squares that were not finite")
    bulk: Any = part(Bulk, "where most values of the features are")
    clipped: Array = scratch("f8[w]", "the row, bounded, and a constant 1 behind it")
    z: Array = scratch("f8[w]", "the same, spread out where the bulk of a feature is narrow")
    bent: Array = scratch("f8[q]", "products of features, then u")
    k_level: Array = scratch("f8[wB]", "P x of least squares on targets")
    k_change: Array = scratch("f8[uB]", "the same on changes")
    k_curve: Array = scratch("f8[q]", "the same with products")
    latest: Array = scratch("f8[5]", "the last targets, while those of an earlier row stand in their place")


def rule_for(n: int, budget: float) -> UpdateRule:
    """Return the rule for n features."""
    u, w = n + 1 + LAGS, n + 1
    q = products.width(n, u)
    in_blocks = block_least_squares.cost(u)
    blocks, squares, curves, near, forests, with_network, values = affordable(
        budget,
        (in_blocks, SQUARES_WORTH),
        (2 * (ON_CHANGES * u * u + ON_LEVELS * w * w) - in_blocks, SQUARES_WORTH),
        (2 * ON_CURVES * q * q, SQUARES_WORTH),
        (neighbours.WINDOW * n, 1.0),
        (target_forest.cost() * for_targets.FORESTS, FORESTS_WORTH),
        (network.cost(w + for_targets.PAST + 1, len(for_targets.OF_NETWORK)), NETWORK_WORTH),
        (target_values.cost(n), VALUES_WORTH),
    )
    asked = RegressionNumbers(blocks and not squares, squares, curves, near, forests, with_network and forests, values)
    second = for_targets.FORESTS * asked.forests + len(for_targets.OF_NETWORK) * asked.network
    g, h = block_least_squares.shape(u)
    sizes: Sizes = {
        "w": w,
        "u": u,
        "b": ON_CHANGES,
        "uB": u * asked.squares,
        "wB": w * asked.squares,
        "G": ON_CURVES,
        "q": q * asked.curves,
        "g": g * asked.blocks,
        "h": h * asked.blocks,
        "W": neighbours.WINDOW * asked.near,
        "E": len(names(asked)) - second - target_values.EXPERTS * asked.values,
        "o": LAGS + len(names(asked)) + 2 * asked.values,
        "r": 1,
        **for_targets.sizes(n, asked.forests, asked.network),
        **target_values.sizes(n, asked.values),
    }
    return UpdateRule(
        score,
        learn,
        asked,
        RegressionState,
        sizes,
        cached_prediction="f8[o]",
        cache_prediction=cache_prediction,
        recall=recall,
        learn_delayed=learn_delayed,
        separate_calls=separate_calls,
    )


def separate_calls(p: RegressionNumbers, memory: RegressionState) -> tuple[tuple[Any, ...], ...]:
    """Return the calls of separate kernels, see `UpdateRule.separate_calls`."""
    return (teach, 0.0, p, memory), *(for_targets.separate_calls(memory.second) if p.forests else ())


def begin(state: State, seed: int) -> None:
    """Write the initial values into a zeroed state."""
    for name in ("second.mixing", "values.mixing"):
        np.fill_diagonal(state[f"{name}.P"], stacking.FIRST)
        state[f"{name}.share"][:1] = 1.0  # the forecast of the mixture before it, as it is
    for place, name in enumerate(for_targets.SecondTargetMixture._fields[: for_targets.FORESTS]):
        seed_words(state[f"second.{name}.trees.words"], np.uint64((seed + place) % 2**64))
    network.begin(state, "second.network", (seed + for_targets.FORESTS) % 2**64)
    share = state["stacking.share"]
    share[:] = 1.0 / len(share)
    np.fill_diagonal(state["stacking.P"], stacking.FIRST)
    for name in ("change_P", "level_P", "curve_P", "blocks.P"):
        for P in state[name]:
            np.fill_diagonal(P, 1.0)
    block_least_squares.open_last(state["blocks.P"], state["step"].shape[1] - LAGS)


def names(asked: RegressionNumbers) -> tuple[str, ...]:
    """Return the names of the experts, in order."""
    found: tuple[str, ...] = NAMES + NAMES_CHANGE * asked.squares + NAMES_CURVE * asked.curves
    found += (block_least_squares.NAME,) * asked.blocks + NAMES_LEVEL * asked.squares
    found += ("neighbours",) * asked.near
    found += for_targets.NAMES * asked.forests + for_targets.OF_NETWORK * asked.network
    return found + target_values.NAMES * asked.values


def shares(asked: RegressionNumbers, state: State) -> Array:
    """Return each expert's weight in the forecast, in the order of `names`; they sum to 1."""
    found = with_second_mixture(state["stacking.share"], state) if asked.forests else state["stacking.share"]
    return target_values.with_values(found, state) if asked.values else found


@fragment
def score(x: Array, p: RegressionNumbers, memory: RegressionState) -> float:
    """Evaluate all experts and mix their forecasts; after two wild targets return the last. Shapes: x f8[n]."""
    clip_row(x, memory.clipped)
    spread_out(memory.bulk, memory.clipped, memory.z)
    look_back(memory.history, memory.z)
    ask(p, memory)
    forecast = stacking.mix(memory.stacking)
    if p.forests:
        last = memory.stacking.forecasts[1]
        for_targets.set_features(memory.second, memory.bulk, forecast, memory.clipped, memory.z, memory.history)
        forecast = for_targets.add(memory.second, forecast, last, memory.history)
    if p.values:
        forecast = target_values.add(memory.values, x, memory.z, forecast)
    if memory.history.wild[0] == 1 and memory.history.run[0] > 1:
        return memory.history.last[0]
    of_level, _ = scales(memory.history)
    return forecast * of_level + memory.history.mean[NOW]


@kernel
def ask(p: RegressionNumbers, memory: RegressionState) -> None:
    """Write all forecasts, in standard deviations of the targets."""
    forecasts, z, u = memory.stacking.forecasts, memory.z, memory.history.u
    of_level, of_changes = scales(memory.history)
    forecasts[0] = 0.0
    forecasts[1] = last = (memory.history.last[0] - memory.history.mean[NOW]) / of_level
    e = ALWAYS - memory.step.shape[0]
    e = forecast(memory.step, u, forecasts, e)
    if p.squares:
        e = forecast(memory.change, u, forecasts, e)
    if p.curves:
        products.bend(z, u, memory.bent)
        e = forecast(memory.curve, memory.bent, forecasts, e)
    for changed in range(2, e):
        forecasts[changed] = last + forecasts[changed] * (of_changes / of_level)
    if p.blocks:
        forecasts[e] = block_least_squares.forecast_row(memory.blocks, u)
        e += 1
    if p.squares:
        e = forecast(memory.level, z, forecasts, e)
    if p.near:
        neighbours.search(memory.near, z)
        forecasts[e] = forecasts[best_of(p)] + neighbours.mean_of(memory.near, ENOUGH) / of_level


@fragment
def best_of(p: RegressionNumbers) -> int:
    """Return the expert that neighbours correct, with a memory of a thousand rows if there is one, and most inputs."""
    if p.curves:
        return ALWAYS + ON_CHANGES * p.squares + 1
    return ALWAYS + 1 if p.squares else ALWAYS - 1 + p.blocks


@fragment
def learn(x: Array, y: float, _omega: float, _forecast: float, p: RegressionNumbers, memory: RegressionState) -> None:
    """Update the mixture and each expert, then the history: all of them scored the row on the old scales.

    Neither a wild target nor the one after it, which was forecast from it, is learned from. Nor is any as long as all
    targets are equal, since their deviation is not known yet.
    """
    target, history = bounded(y, LARGEST), memory.history
    wild = is_wild(history, target)
    if is_instructive(wild, history):
        level = in_deviations(target, memory)
        stacking.update_stacking(memory.stacking, level, False)
        if p.forests:
            for_targets.learn(memory.second, level, memory.stacking.forecasts[1], history)
        if p.values:
            target_values.learn(memory.values, memory.z, level)
        teach(target, p, memory)
    move_on(target, wild, history.last[0], p, memory)
    follow(memory.bulk, x)


@fragment
def is_instructive(wild: bool, history: TargetHistory) -> bool:
    """Whether the experts and the mixtures learn from the next target."""
    return not wild and history.wild[0] == 0 and history.squares[NOW] > 0.0


@fragment
def cache_prediction(cached_prediction: Array, p: RegressionNumbers, memory: RegressionState) -> None:
    """Cache the last targets, NaN if there were none, and all forecasts. Shapes: cached_prediction f8[o]."""
    history, E = memory.history, memory.stacking.forecasts.shape[0]
    for i in range(LAGS):
        cached_prediction[i] = history.last[i] if history.rows[NOW] > 0 else math.nan
    for e in range(E):
        cached_prediction[LAGS + e] = memory.stacking.forecasts[e]
    place = LAGS + E
    if p.forests:
        place = for_targets.cache(memory.second, cached_prediction, place)
    if p.values:
        target_values.cache(memory.values, cached_prediction, place)


@fragment
def recall(cached_prediction: Array, p: RegressionNumbers, memory: RegressionState) -> None:
    """Put the last targets back that were known when the row was forecast, if there were any.

    The experts must learn what follows from targets as old as those that they will forecast from.
    Shapes: cached_prediction f8[o].
    """
    last = memory.history.last
    for i in range(LAGS):
        memory.latest[i] = last[i]
        if not math.isnan(cached_prediction[i]):
            last[i] = cached_prediction[i]


@fragment
def learn_delayed(
    x: Array,
    y: float,
    _omega: float,
    _forecast: float,
    p: RegressionNumbers,
    memory: RegressionState,
    cached_prediction: Array,
) -> None:
    """As `learn`, but the mixtures are updated by the cached forecasts, and the others by the last targets of then.

    Shapes: cached_prediction f8[o].
    """
    target, history = bounded(y, LARGEST), memory.history
    wild = is_wild(history, target)
    if is_instructive(wild, history):
        level = in_deviations(target, memory)
        if p.forests:
            for_targets.teach(memory.second, level, memory.stacking.forecasts[1], history)
        if p.values:
            target_values.teach(memory.values, memory.z, level)
        teach(target, p, memory)
        update_mixtures(level, p, memory, cached_prediction)
    before = history.last[0]
    for i in range(LAGS):
        history.last[i] = memory.latest[i]
    move_on(target, wild, before, p, memory)
    follow(memory.bulk, x)


@kernel
def update_mixtures(level: float, p: RegressionNumbers, memory: RegressionState, cached_prediction: Array) -> None:
    """Update all mixtures by the cached forecasts, which replace the present ones. Shapes: cached_prediction f8[o]."""
    forecasts, place = memory.stacking.forecasts, LAGS
    for e in range(forecasts.shape[0]):
        forecasts[e] = cached_prediction[place]
        place += 1
    first = stacking.mix(memory.stacking)
    stacking.update_stacking(memory.stacking, level, True)
    if p.forests:
        place = for_targets.update_delayed(memory.second, level, first, cached_prediction, place)
    if p.values:
        target_values.update_delayed(memory.values, level, cached_prediction, place)


@kernel
def move_on(target: float, wild: bool, before: float, p: RegressionNumbers, memory: RegressionState) -> None:
    """Add the target to the history; least squares in blocks follow the scale, unless it is another one.

    `before` was the last target when this one was forecast.
    """
    history, mean, (deviation, _) = memory.history, memory.history.mean[NOW], scales(memory.history)
    known = history.squares[NOW] > 0.0
    replaced = advance(history, target, wild, before)
    if p.blocks and known and not wild and not replaced:
        after, _ = scales(history)
        shift = (mean - history.mean[NOW]) / after
        block_least_squares.rescale(memory.blocks, deviation / after, shift, memory.z.shape[0])


@kernel
def in_deviations(y: float, memory: RegressionState) -> float:
    """Return a target as its bounded distance from the mean, in standard deviations."""
    of_level, _ = scales(memory.history)
    return bounded((y - memory.history.mean[NOW]) / of_level, FAR)


@separate_kernel
def teach(y: float, p: RegressionNumbers, memory: RegressionState) -> None:
    """Update all experts."""
    forecasts, z, u, skipped = memory.stacking.forecasts, memory.z, memory.history.u, memory.skipped
    of_level, of_changes = scales(memory.history)
    level = in_deviations(y, memory)
    change = bounded((level - forecasts[1]) * (of_level / of_changes), FAR)
    if p.near:
        neighbours.append(memory.near, z, (level - forecasts[best_of(p)]) * of_level)
    squared = dot(u, u)
    for m in range(2):
        step = (SLOW if m == 0 else FAST) * (change - dot(memory.step[m], u)) / squared
        for j in range(u.shape[0]):
            memory.step[m, j] += step * u[j]
    if p.blocks:
        block_least_squares.learn_row(memory.blocks, level, skipped)
    if p.squares:
        fold(memory.level, memory.level_P, z, level, memory.k_level, skipped)
        fold(memory.change, memory.change_P, u, change, memory.k_change, skipped)
    if p.curves:
        fold(memory.curve, memory.curve_P, memory.bent, change, memory.k_curve, skipped)

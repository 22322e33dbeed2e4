"""`auto` on targets: what a row passes through, in order, to be forecast and to be learned from.

Most experts forecast the change from the last target: with weights of 0 they say that nothing changes, which is hard to
beat where targets go on and on, and the last target among their inputs lets them say anything else.
"""

from typing import Any, NamedTuple

import numpy as np

from driftway.learners.auto import neighbours, stacking
from driftway.learners.auto.bounds import bounded, clip_row
from driftway.learners.auto.budget import affordable
from driftway.learners.auto.least_squares import fold, forecast
from driftway.learners.auto.neighbours import NearestNeighbours
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
    kernel_without_refcounts,
    part,
    scratch,
)
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes
from driftway.learners.numeric.vectors import dot

NAMES = "mean", "last", "step_slow", "step_fast"
"""The last two step along the row, towards the change."""
ALWAYS = len(NAMES)
SLOW = 0.05
FAST = 0.3
NAMES_CHANGE = "change_all", "change_1000", "change_50"
"""By least squares; how many rows count."""
NAMES_CURVE = "curve_all", "curve_1000"
"""On changes, from products of features too."""
NAMES_LEVEL = "level_all", "level_1000", "level_50"
ON_CHANGES, ON_CURVES, ON_LEVELS = len(NAMES_CHANGE), len(NAMES_CURVE), len(NAMES_LEVEL)
WIDEST = 12
"""Features of which all products are made; of more, their squares only."""
SQUARES_WORTH = 2.5
"""Of least squares when budgets are spent, beside 1 of neighbours, who among 60 features or more gain hardly anything:
least squares make errors up to half smaller there (docs/decisions/0031)."""
ENOUGH = 25
"""Rows before neighbours are asked."""


class RegressionNumbers(NamedTuple):
    """Which of the dearer experts there are."""

    squares: bool
    curves: bool
    near: bool


class RegressionState(NamedTuple):
    """Memory of `auto` on targets."""

    history: Any = part(TargetHistory, "the targets' scale and past")
    step: Array = field("f8[2, u]", "weights of the two that step along the row")
    change: Array = field("f8[B, uB]", "weights of least squares on changes")
    change_P: Array = field("f8[B, uB, uB]", "their P; bitwise symmetric")
    level: Array = field("f8[B, wB]", "weights of least squares on targets")
    level_P: Array = field("f8[B, wB, wB]", "their P; bitwise symmetric")
    curve: Array = field("f8[G, q]", "weights of least squares on changes, with products of features")
    curve_P: Array = field("f8[G, q, q]", "their P; bitwise symmetric")
    near: Any = part(NearestNeighbours, "neighbours, and what the best of the above had left of their targets")
    stacking: Any = part(StackingState, "what makes one forecast of all")
    skipped: Counts = field("i8[1]", "steps of least squares that were not finite")
    z: Array = scratch("f8[w]", "the row, bounded, and a constant 1 behind it")
    bent: Array = scratch("f8[q]", "products of features, then u")
    k_level: Array = scratch("f8[wB]", "P x of least squares on targets")
    k_change: Array = scratch("f8[uB]", "the same on changes")
    k_curve: Array = scratch("f8[q]", "the same with products")
    now: Array = scratch("f8[E]", "what the experts say now, while it is judged what they said then")


def rule_for(n: int, budget: float) -> UpdateRule:
    """Of targets by n features."""
    u, w = n + 1 + LAGS, n + 1
    q = u + (n * (n + 1) // 2 if n <= WIDEST else n)
    asked = RegressionNumbers(
        *affordable(
            budget,
            (2 * (ON_CHANGES * u * u + ON_LEVELS * w * w), SQUARES_WORTH),
            (2 * ON_CURVES * q * q, SQUARES_WORTH),
            (neighbours.WINDOW * n, 1.0),
        )
    )
    sizes: Sizes = {
        "w": w,
        "u": u,
        "B": ON_CHANGES,
        "uB": u * asked.squares,
        "wB": w * asked.squares,
        "G": ON_CURVES,
        "q": q * asked.curves,
        "W": neighbours.WINDOW * asked.near,
        "E": len(names(asked)),
    }
    return UpdateRule(
        score,
        learn,
        asked,
        RegressionState,
        sizes,
        cached_prediction="f4[E]",
        cache_prediction=cache_prediction,
        learn_delayed=learn_delayed,
    )


def begin(state: State) -> None:
    """Write what a zeroed state begins as."""
    share = state["stacking.share"]
    share[:] = 1.0 / len(share)
    np.fill_diagonal(state["stacking.P"], stacking.FIRST)
    for name in ("change_P", "level_P", "curve_P"):
        for P in state[name]:
            np.fill_diagonal(P, 1.0)


def names(asked: RegressionNumbers) -> tuple[str, ...]:
    """Of the experts, in order."""
    found = NAMES + NAMES_CHANGE * asked.squares + NAMES_CURVE * asked.curves
    return found + NAMES_LEVEL * asked.squares + ("neighbours",) * asked.near


@fragment
def score(x: Array, p: RegressionNumbers, memory: RegressionState) -> float:
    """Ask all experts, and mix what they say; after two wild targets it is as the last. Shapes: x f8[n]."""
    clip_row(x, memory.z)
    look_back(memory.history, memory.z)
    ask(p, memory)
    of_level, _ = scales(memory.history)
    if memory.history.wild[0] == 1 and memory.history.run[0] > 1:
        return memory.history.last[0]
    return stacking.mix(memory.stacking) * of_level + memory.history.mean[NOW]


@kernel_without_refcounts
def ask(p: RegressionNumbers, memory: RegressionState) -> None:
    """Write all forecasts, in deviations of the targets."""
    said, z, u = memory.stacking.said, memory.z, memory.history.u
    of_level, of_changes = scales(memory.history)
    said[0] = 0.0
    said[1] = last = (memory.history.last[0] - memory.history.mean[NOW]) / of_level
    e = ALWAYS - memory.step.shape[0]
    e = forecast(memory.step, u, said, e)
    if p.squares:
        e = forecast(memory.change, u, said, e)
    if p.curves:
        bend(z, u, memory.bent)
        e = forecast(memory.curve, memory.bent, said, e)
    for changed in range(2, e):
        said[changed] = last + said[changed] * (of_changes / of_level)
    if p.squares:
        e = forecast(memory.level, z, said, e)
    if p.near:
        neighbours.search(memory.near, z)
        said[e] = said[best_of(p)] + neighbours.mean_of(memory.near, ENOUGH) / of_level


@fragment
def best_of(p: RegressionNumbers) -> int:
    """Which expert neighbours correct: of those on changes that remember a thousand rows, the one with most inputs."""
    return ALWAYS + ON_CHANGES * p.squares + 1 if p.curves else ALWAYS + 1 if p.squares else ALWAYS - 1


@kernel_without_refcounts
def bend(z: Array, u: Array, bent: Array) -> None:
    """Write half the products of features, or of more than 12 half their squares, then u. Shapes: z f8[w], u f8[u]."""
    n, place = z.shape[0] - 1, 0
    for i in range(n):
        for j in range(0 if n <= WIDEST else i, i + 1):
            bent[place] = 0.5 * z[i] * z[j]
            place += 1
    for j in range(u.shape[0]):
        bent[place + j] = u[j]


@fragment
def learn(_x: Array, y: float, _omega: float, _forecast: float, p: RegressionNumbers, memory: RegressionState) -> None:
    """Judge what was said, let each expert learn, then move on, since all saw the row on the old scales.

    A wild target teaches nobody, nor does the one behind it, which was forecast from it.
    """
    target, history = bounded(y, LARGEST), memory.history
    wild = is_wild(history, target)
    if not wild and history.wild[0] == 0:
        stacking.update_stacking(memory.stacking, in_deviations(target, memory))
        teach(target, p, memory)
    advance(history, target, wild)


@fragment
def cache_prediction(opinion: Array, _p: RegressionNumbers, memory: RegressionState) -> None:
    """Write down what the experts say of a row. Shapes: opinion f4[E]."""
    for e in range(opinion.shape[0]):
        opinion[e] = memory.stacking.said[e]


@fragment
def learn_delayed(
    _x: Array, y: float, _omega: float, _forecast: float, p: RegressionNumbers, memory: RegressionState, opinion: Array
) -> None:
    """As `learn`, but what is judged is what was said when the row came. Shapes: opinion f4[E]."""
    target, history, said, now = bounded(y, LARGEST), memory.history, memory.stacking.said, memory.now
    wild = is_wild(history, target)
    if not wild and history.wild[0] == 0:
        for e in range(said.shape[0]):
            now[e] = said[e]
            said[e] = opinion[e]
        stacking.mix(memory.stacking)
        stacking.update_stacking(memory.stacking, in_deviations(target, memory))
        for e in range(said.shape[0]):
            said[e] = now[e]
        teach(target, p, memory)
    advance(history, target, wild)


@kernel_without_refcounts
def in_deviations(y: float, memory: RegressionState) -> float:
    """A target in deviations from the mean of those before."""
    of_level, _ = scales(memory.history)
    return bounded((y - memory.history.mean[NOW]) / of_level, FAR)


@kernel_without_refcounts
def teach(y: float, p: RegressionNumbers, memory: RegressionState) -> None:
    """Let all experts learn."""
    said, z, u, skipped = memory.stacking.said, memory.z, memory.history.u, memory.skipped
    of_level, of_changes = scales(memory.history)
    level = in_deviations(y, memory)
    change = bounded((level - said[1]) * (of_level / of_changes), FAR)
    if p.near:
        neighbours.append(memory.near, z, (level - said[best_of(p)]) * of_level)
    squared = dot(u, u)
    for m in range(2):
        step = (SLOW if m == 0 else FAST) * (change - dot(memory.step[m], u)) / squared
        for j in range(u.shape[0]):
            memory.step[m, j] += step * u[j]
    if p.squares:
        fold(memory.level, memory.level_P, z, level, memory.k_level, skipped)
        fold(memory.change, memory.change_P, u, change, memory.k_change, skipped)
    if p.curves:
        fold(memory.curve, memory.curve_P, memory.bent, change, memory.k_curve, skipped)

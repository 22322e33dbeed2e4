"""What forests for classes and for targets have in common: their members, and when one is replaced."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Counts, field, fragment
from driftway.learners.drift.adwin import ADWIN, LEVELS
from driftway.learners.engine.jit import member
from driftway.learners.engine.state import State
from driftway.learners.numeric.random import seed
from driftway.learners.trees.class_leaves import words_of
from driftway.learners.trees.class_trees import tree_sizes
from driftway.learners.trees.monitors import BUCKETS, Detectors, forget, increased
from driftway.learners.trees.nominal import NONE
from driftway.learners.trees.target_leaves import WORDS

WARNING, DRIFT = 0, 1
"""The two detectors of a tree."""
NONE_GONE = -1


class Members(NamedTuple):
    """The trees of a forest. Trees t and F + t belong together: one predicts, one is in the background or not used."""

    active: Counts = field("i8[F]", "0 if tree t predicts, 1 if tree F + t does", largest="1")
    waiting: Counts = field("i8[F]", "whether the other one is in the background", largest="1")
    right: Counts = field("i8[T]", "rows that a tree predicted right")
    rows: Counts = field("i8[T]", "rows that it predicted")
    drifts: Counts = field("i8[1]", "trees replaced so far")


class ForestNumbers(NamedTuple):
    """Parameters of the fragments."""

    growth: Any
    """When leaves are split."""
    weight: float
    """Mean of the Poisson distribution of a row's weight."""
    warning: Any
    """Parameters of the ADWINs that warn."""
    drift: Any
    """Parameters of the ADWINs that find drifts."""


def given(parameters: Any, growth: Any) -> ForestNumbers:
    """Return the parameters of a forest's fragments."""
    warning, drift = (ADWIN.Params(delta=delta).numbers() for delta in (parameters.warning, parameters.drift))
    return ForestNumbers(growth, parameters.weight, warning, drift)


def forest_sizes(parameters: Any, q: int, m: int, K: int) -> Mapping[str, int | tuple[int, ...]]:
    """Return the sizes of a forest whose trees use q columns, and their leaves m of these; K = 0 for targets."""
    W = words_of(K, parameters.nominal != NONE) if K else WORDS
    sizes = tree_sizes(2 * parameters.trees, parameters.max_leaves, q, m, W)
    return {**sizes, "F": parameters.trees, "B2": WORDS - 2, "levels": LEVELS, "M": BUCKETS, "w": 2}


def root_of_columns(d: int) -> int:
    """Return the number of columns at which a leaf of a random forest looks: sqrt(d) + 1, at most d."""
    return min(math.isqrt(d) + 1, d)


def columns_of_patch(share: float, d: int) -> int:
    """Return the number of columns of a tree: a share of all, but not a single one if there are more, as in MOA."""
    m = round(share * d)
    return min(m + 1 if m < 2 else m, d)


def seed_forest(state: State, start: int) -> None:
    """Seed the generator of weights, and that of each tree. Shapes: trees.generator u8[T, 4] in the state."""
    seed(state["generator"], np.uint64(start))
    for t, words in enumerate(state["trees.generator"]):
        seed(words, np.uint64(start + 1 + t))


@fragment
def active_tree(members: Members, t: int) -> int:
    """Return the place of the tree that predicts."""
    return t + members.active[t] * members.active.shape[0]


@fragment
def spare_tree(members: Members, t: int) -> int:
    """Return the place of the other one."""
    return t + (1 - members.active[t]) * members.active.shape[0]


@fragment
def watch_tree(members: Members, detectors: Detectors, t: int, error: float, p: ForestNumbers) -> int:
    """Show a tree's error to its detectors; return the place of a tree that must be reset, or -1.

    At a warning that is the one in the background, where a new one begins; at a drift it is the one that predicted.
    """
    both = member(detectors, t)
    warned = increased(member(both, WARNING), error, p.warning)
    drifted = increased(member(both, DRIFT), error, p.drift)
    if drifted:
        gone = active_tree(members, t)
        members.drifts[0] += 1
        if members.waiting[t] == 1:
            members.active[t] = 1 - members.active[t]
            members.waiting[t] = 0
        members.rows[gone] = members.right[gone] = 0
        forget(member(both, WARNING))
        forget(member(both, DRIFT))
        return gone
    if warned:
        spare = spare_tree(members, t)
        members.waiting[t] = 1
        members.rows[spare] = members.right[spare] = 0
        return spare
    return NONE_GONE

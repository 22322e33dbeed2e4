"""The trees of a forest, in arrays of fixed size: routing a row to its leaf, and growing.

Features are compared by their bin, a whole number, so that all statistics of a leaf are counts per bin. A leaf that may
split has statistics of a few features, drawn when it is created, in one of the tree's slots. When a leaf splits, the
child with more rows gets its slot; the other child gets a free slot or, if there is none, never splits. A tree whose
nodes are all in use stops growing.
"""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel, scratch
from driftway.learners.numeric.random import Words, randint, uniform

NODES = 511
OBSERVED = 12
"""Largest number of features that a leaf observes."""
FEWEST = 0.01
"""Smallest share of a leaf's rows that may go to a child."""
FULL = 16384.0
"""Weight of rows without a split behind which a slot begins to count anew: counts have 16 bits."""
MANY = 2 * OBSERVED
"""Number of features from which on a leaf observes some that are chosen by what their splits gained."""
BEST = OBSERVED // 3
"""How many of the features that it observes are chosen so."""
NEWEST = 0.05
"""Share of the last gain in the mean gain of a feature."""
CHANCE = 4.0
"""What the best split on a feature without effect gains, divided by the number of rows."""
FREE = 0
"""Owner of a slot that is not in use, and slot of a leaf without one; others are an index + 1."""


class Columns(NamedTuple):
    """Which of a row's features the trees of a forest see."""

    first: int
    number: int


class Trees(NamedTuple):
    """T binary trees of up to N nodes; node 0 is the root, and children stand behind their parent."""

    child: Any = field("u2[T, N]", "first of a node's two children; not above the node itself: a leaf", largest="N - 2")
    feature: Any = field("i4[T, N]", "feature that a node compares", largest="c - 1")
    bin: Any = field("u1[T, N]", "largest bin of that feature that goes to the first child")
    slot: Any = field("u2[T, N]", "1 + slot of a leaf that may split", largest="A")
    owner: Any = field("u2[T, A]", "1 + leaf that a slot belongs to", largest="N")
    observed: Any = field("i4[T, A, m]", "features that a slot observes", largest="c - 1")
    seen: Array = field("f8[T, A]", "weight of the rows that a slot has observed")
    tried: Array = field("f8[T, A]", "the same when a split was last tried")
    nodes: Counts = field("i8[T]", "nodes in use, 0 before the first row", largest="N")
    gain: Array = field("f8[c]", "what splits on each feature gain, a fading mean over all leaves")
    words: Words = field("u8[4]", "random words")
    leaf: Array = scratch("f8[T]", "leaf of the row in each tree")
    order: Array = scratch("f8[c]", "features, as they are drawn")


@kernel
def find_leaves(trees: Trees, bins: Array) -> None:
    """Write the leaf of the row in each tree. Shapes: bins f8[w or more]."""
    for t in range(trees.leaf.shape[0]):
        child, feature, last = trees.child[t], trees.feature[t], trees.bin[t]
        node, below = 0, int(child[0])
        while below > node:
            node = below + (1 if bins[feature[node]] > last[node] else 0)
            below = int(child[node])
        trees.leaf[t] = node


@kernel
def bagging_weight(words: Words) -> int:
    """Return how often a tree learns a row: Poisson with mean 1, at most 3 (Oza and Russell's online bagging)."""
    u = uniform(words)
    return 0 if u < 0.3678794 else 1 if u < 0.7357589 else 2 if u < 0.9196986 else 3


@fragment
def power(base: float, exponent: int) -> float:
    """Return base ** exponent for exponents 1, 2 and 3."""
    return base if exponent == 1 else base * base if exponent == 2 else base * base * base


@kernel
def observe_features(trees: Trees, t: int, a: int, columns: Columns) -> None:
    """Draw the features that slot a observes, without repetition, and clear its counts of rows.

    If there are many more, some of them are the best of a random part of all features, so that few with an effect are
    found among hundreds without.
    """
    order, count, m = trees.order, columns.number, trees.observed.shape[2]
    for j in range(count):
        order[j] = columns.first + j
    best = BEST if count >= MANY else 0
    for i in range(count if best > 0 else m):
        j = i + randint(trees.words, count - i)
        order[i], order[j] = order[j], order[i]
    for i in range(best):
        top = i
        for j in range(i, count, best):
            if trees.gain[int(order[j])] > trees.gain[int(order[top])]:
                top = j
        order[i], order[top] = order[top], order[i]
    for i in range(m):
        trees.observed[t, a, i] = int(order[i])
    trees.seen[t, a] = trees.tried[t, a] = 0.0


@fragment
def count_gain(trees: Trees, t: int, a: int, i: int, gain: float) -> None:
    """Count what a split on the i-th feature that slot a observes would gain, as a share of the largest impurity."""
    j = trees.observed[t, a, i]
    trees.gain[j] += NEWEST * (max(gain - CHANCE / trees.seen[t, a], 0.0) - trees.gain[j])


@kernel
def begin_tree(trees: Trees, t: int, columns: Columns) -> None:
    """Reduce tree t to its root, which observes features in slot 0."""
    trees.nodes[t] = 1
    trees.child[t, 0] = 0
    for a in range(trees.owner.shape[1]):
        trees.owner[t, a] = FREE
    give_slot(trees, t, 0, 0, columns)


@fragment
def give_slot(trees: Trees, t: int, node: int, a: int, columns: Columns) -> None:
    """Let a leaf observe features in slot a."""
    trees.slot[t, node], trees.owner[t, a] = a + 1, node + 1
    observe_features(trees, t, a, columns)


@fragment
def may_split(trees: Trees, t: int) -> bool:
    """Whether tree t has room for two more nodes."""
    return trees.nodes[t] + 2 <= trees.child.shape[1]


@kernel
def split(trees: Trees, t: int, i: int, last: int, first_is_larger: bool, columns: Columns) -> int:
    """Split the row's leaf in tree t by the i-th feature that it observes; return the first of its children.

    Rows up to bin `last` go to the first child. The counts of the children's slots are left to the forest.
    """
    node, first = int(trees.leaf[t]), trees.nodes[t]
    a = int(trees.slot[t, node]) - 1
    trees.nodes[t] += 2
    trees.child[t, node], trees.feature[t, node], trees.bin[t, node] = first, trees.observed[t, a, i], last
    trees.slot[t, node] = FREE
    for child in range(first, first + 2):
        trees.child[t, child], trees.slot[t, child] = 0, FREE
    larger = first if first_is_larger else first + 1
    give_slot(trees, t, larger, a, columns)
    other = free_slot(trees, t)
    if other >= 0:
        give_slot(trees, t, first + first + 1 - larger, other, columns)
    return first


@kernel
def free_slot(trees: Trees, t: int) -> int:
    """Return the first slot of tree t that is free, or -1."""
    for a in range(trees.owner.shape[1]):
        if trees.owner[t, a] == FREE:
            return a
    return -1

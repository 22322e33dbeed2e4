"""Detectors in the inner nodes of a tree, one ADWIN in each, and the comparison of a subtree with its alternate."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.drift import adwin
from driftway.learners.drift.adwin import ADWIN
from driftway.learners.drift.detector import DRIFT
from driftway.learners.engine.jit import member
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.trees import arena
from driftway.learners.trees.arena import Nodes

BUCKETS = 6
"""Buckets of one length that a detector has room for, one more than it keeps."""
SETTLED = 300
"""Rows in the windows of a subtree and of its alternate before they are compared."""
DOUBT = 0.05
"""Probability with which the comparison may be wrong."""
NOT_YET, KEEP, REPLACE = range(3)
"""Outcomes of a comparison."""


class Monitors(NamedTuple):
    """A detector for each node, see `driftway.learners.drift.adwin.ADWINState`."""

    rows: Counts = field("i8[T, N, 1]", "errors seen")
    width: Counts = field("i8[T, N, 1]", "errors in the window")
    whole: Array = field("f8[T, N, 2]", "their sum, and the sum of squared deviations from their mean")
    buckets: Counts = field("i8[T, N, levels]", "how many buckets there are of each level", largest="M - 1")
    total: Array = field("f8[T, N, levels, M]", "sums of the buckets")
    squares: Array = field("f8[T, N, levels, M]", "sums of squared deviations from their means")
    begun: Counts = field("i8[T, N, 1]", "`born` of the node that is watched")


class Detectors(NamedTuple):
    """One or two detectors for each tree of a forest, see `driftway.learners.drift.adwin.ADWINState`."""

    rows: Counts = field("i8[T, w, 1]", "errors seen, by what warns and by what finds drifts")
    width: Counts = field("i8[T, w, 1]", "errors in their windows")
    whole: Array = field("f8[T, w, 2]", "their sums, and the sums of squared deviations from their means")
    buckets: Counts = field("i8[T, w, levels]", "how many buckets there are of each level", largest="M - 1")
    total: Array = field("f8[T, w, levels, M]", "sums of the buckets")
    squares: Array = field("f8[T, w, levels, M]", "sums of squared deviations from their means")


@kernel
def forget(one: Any) -> None:
    """Forget all errors; `one` is a single detector."""
    one.rows[0] = one.width[0] = 0
    one.whole[0] = one.whole[1] = 0.0
    for level in range(one.buckets.shape[0]):
        one.buckets[level] = 0


@kernel
def begin_watch(one: Monitors, row: int) -> None:
    """Forget all errors; `one` is the detector of a node that began at a row."""
    forget(one)
    one.begun[0] = row


@fragment
def increased(one: Any, error: float, p: ADWIN.Params) -> bool:
    """Add an error to a node's detector; return whether it found that errors have become more."""
    before = mean_of(one)
    return adwin.detect(error, p, one) == DRIFT and mean_of(one) > before


@fragment
def mean_of(one: Any) -> float:
    """Return the mean error in the window."""
    return one.whole[0] / max(one.width[0], 1)


@kernel
def compare(own: Monitors, other: Monitors) -> int:
    """Compare a subtree's errors with its alternate's: replace it, keep it (and drop the alternate), or wait."""
    if own.width[0] <= SETTLED or other.width[0] <= SETTLED:
        return NOT_YET
    mine, theirs = mean_of(own), mean_of(other)
    spread = 1.0 / own.width[0] + 1.0 / other.width[0]
    bound = math.sqrt(2.0 * max(mine * (1.0 - mine), 0.0) * log(2.0 / DOUBT) * spread)
    if mine - theirs > bound:
        return REPLACE
    return KEEP if theirs - mine > bound else NOT_YET


@kernel
def worse(nodes: Nodes, monitors: Monitors, i: int, error: float, p: ADWIN.Params) -> bool:
    """Show node i an error; return whether errors have become more."""
    own = member(monitors, i)
    if own.begun[0] != nodes.born[i]:
        begin_watch(own, nodes.born[i])
    return increased(own, error, p)


@kernel
def watch_node(nodes: Nodes, monitors: Monitors, i: int, error: float, p: ADWIN.Params) -> bool:
    """Show inner node i an error; return whether an alternate subtree, an empty leaf, has begun there."""
    if worse(nodes, monitors, i, error, p) and nodes.alternate[i] < 0:
        alternate = arena.begin_alternate(nodes, i)
        if alternate >= 0:
            begin_watch(member(monitors, alternate), 0)
            return True
    return False


@kernel
def settle(nodes: Nodes, monitors: Monitors, i: int, error: float, p: ADWIN.Params) -> bool:
    """Show an alternate's error to its detector, and replace or drop what is worse; return whether it was replaced."""
    own, other = member(monitors, i), member(monitors, nodes.alternate[i])
    increased(other, error, p)
    outcome = compare(own, other)
    if outcome != NOT_YET:
        arena.end_alternate(nodes, i, outcome == REPLACE)
    return outcome == REPLACE

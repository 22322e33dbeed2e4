"""Clusters of users and items, from which `online_mf` predicts ratings in its mode ``cocluster``."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel
from driftway.learners.other_tasks.ids import index_of


class Clusters(NamedTuple):
    """State of ``cocluster``. Groups of ratings are kept as sum and count."""

    g: Counts = field("i8[users]", "cluster of each user, -1 before the first rating", start=-1, largest="G - 1")
    h: Counts = field("i8[items]", "cluster of each item, -1 before the first rating", start=-1, largest="H - 1")
    user_sum: Array = field("f8[users]", "ratings of each user")
    user_count: Counts = field("i8[users]", "how many")
    item_sum: Array = field("f8[items]", "ratings of each item")
    item_count: Counts = field("i8[items]", "how many")
    row_sum: Array = field("f8[G]", "ratings by users who were in each cluster then")
    row_count: Counts = field("i8[G]", "how many")
    column_sum: Array = field("f8[H]", "ratings of items that were in each cluster then")
    column_count: Counts = field("i8[H]", "how many")
    block_sum: Array = field("f8[G, H]", "ratings of both")
    block_count: Counts = field("i8[G, H]", "how many")
    total_sum: Array = field("f8[1]", "all ratings")
    total_count: Counts = field("i8[1]", "how many")
    rated: Counts = field("i8[users, hist]", "of each user the last items, a ring", largest="items - 1")
    ratings: Array = field("f8[users, hist]", "and their ratings")
    raters: Counts = field("i8[items, hist]", "of each item the last users, a ring", largest="users - 1")
    received: Array = field("f8[items, hist]", "and their ratings")
    skipped: Counts = field("i8[1]", "ratings by or of an unknown id, or that would overflow a sum")


@fragment
def mean_of(total: float, count: int, otherwise: float) -> float:
    """Mean of `count` ratings, or `otherwise` if there are none."""
    return total / count if count > 0 else otherwise


@kernel
def estimate(u: int, i: int, g: int, h: int, memory: Any) -> float:
    """Estimate the rating of item i by user u in clusters g and h; -1 is an unknown id or cluster."""
    everything = mean_of(memory.total_sum[0], memory.total_count[0], 0.0)
    of_user, of_item = everything, everything
    if g >= 0:
        of_user = mean_of(memory.user_sum[u], memory.user_count[u], everything)
    if h >= 0:
        of_item = mean_of(memory.item_sum[i], memory.item_count[i], everything)
    if g < 0 or h < 0:
        return of_user if g >= 0 else of_item
    block = mean_of(memory.block_sum[g, h], memory.block_count[g, h], everything)
    row = mean_of(memory.row_sum[g], memory.row_count[g], everything)
    column = mean_of(memory.column_sum[h], memory.column_count[h], everything)
    return float(block + (of_user - row) + (of_item - column))


@fragment
def rate(x: Array, _p: Any, memory: Clusters) -> float:
    """The predicted rating; if one of the ids is unknown, the mean of the other one. Shapes: x f8[2]."""
    u, i = index_of(x[0], memory.g.shape[0]), index_of(x[1], memory.h.shape[0])
    return estimate(u, i, memory.g[u] if u >= 0 else -1, memory.h[i] if i >= 0 else -1, memory)


@fragment
def regroup(x: Array, y: float, _omega: float, _s: float, p: Any, memory: Clusters) -> None:
    """Add a rating, then choose the clusters of user and item again if that is due. Shapes: x f8[2].

    docs/algorithms/other_tasks.md#online_mf. Earlier ratings stay in the clusters in which they were counted.
    """
    u, i = index_of(x[0], memory.g.shape[0]), index_of(x[1], memory.h.shape[0])
    if u < 0 or i < 0 or not count_in(u, i, y, memory):
        memory.skipped[0] += 1
        return
    if memory.user_count[u] % p.every == 0:
        memory.g[u] = choose(u, True, memory.rated[u], memory.ratings[u], memory)
    if memory.item_count[i] % p.every == 0:
        memory.h[i] = choose(i, False, memory.raters[i], memory.received[i], memory)


@kernel
def count_in(u: int, i: int, y: float, memory: Any) -> bool:
    """Add a rating to its sums and to both rings; return False without a change if a sum would overflow."""
    g, h = memory.g[u], memory.h[i]
    if g < 0:
        g = u % memory.row_sum.shape[0]
    if h < 0:
        h = i % memory.column_sum.shape[0]
    # The total does not bound the other sums, since they may have different signs.
    finite = math.isfinite(memory.user_sum[u] + y) and math.isfinite(memory.item_sum[i] + y)
    finite = finite and math.isfinite(memory.row_sum[g] + y) and math.isfinite(memory.column_sum[h] + y)
    finite = finite and math.isfinite(memory.block_sum[g, h] + y) and math.isfinite(memory.total_sum[0] + y)
    if not finite:
        return False
    memory.g[u], memory.h[i] = g, h
    slot, place = memory.user_count[u] % memory.rated.shape[1], memory.item_count[i] % memory.raters.shape[1]
    memory.rated[u, slot], memory.ratings[u, slot] = i, y
    memory.raters[i, place], memory.received[i, place] = u, y
    memory.user_sum[u] += y
    memory.user_count[u] += 1
    memory.item_sum[i] += y
    memory.item_count[i] += 1
    memory.row_sum[g] += y
    memory.row_count[g] += 1
    memory.column_sum[h] += y
    memory.column_count[h] += 1
    memory.block_sum[g, h] += y
    memory.block_count[g, h] += 1
    memory.total_sum[0] += y
    memory.total_count[0] += 1
    return True


@kernel
def choose(one: int, is_user: bool, others: Counts, ratings: Array, memory: Any) -> int:
    """The cluster with the least squared error over the ratings in a ring, the first one on ties.

    Shapes: others i8[hist], ratings f8[hist].
    """
    count = memory.user_count[one] if is_user else memory.item_count[one]
    clusters = memory.row_sum.shape[0] if is_user else memory.column_sum.shape[0]
    best, least = 0, math.inf
    for cluster in range(clusters):
        squared = 0.0
        for k in range(min(count, others.shape[0])):
            other = others[k]
            if is_user:
                error = estimate(one, other, cluster, memory.h[other], memory) - ratings[k]
            else:
                error = estimate(other, one, memory.g[other], cluster, memory) - ratings[k]
            squared += error * error
        if squared < least:
            best, least = cluster, squared
    return best

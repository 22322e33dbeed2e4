"""Regret against linear models chosen in hindsight: one for all rows, or a sequence with switches.

The models are those of `driftway.learners.hindsight.comparators`; this module combines them into sequences.
docs/algorithms/hindsight.md#regret.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftway.learners.engine.state import Array
from driftway.learners.hindsight.comparators import fit, row_loss


class Switching(NamedTuple):
    """The best sequence with a number of switches: its total loss, and the blocks (from 1) where a new model starts."""

    loss: float
    starts: tuple[int, ...]


def best_switching(cost: Array, switches: int) -> Switching:
    """Find the cheapest partition of blocks 0..m-1 into at most `switches` + 1 runs.

    Parameters
    ----------
    cost : f8[m, m]
        cost[i, j], i <= j: loss of one model for blocks i to j. Entries below the diagonal are not read.
    switches : int
        k >= 0.

    Notes
    -----
    Dynamic programming, O(k m^2): least[c, j] = min over i <= j of least[c - 1, i - 1] + cost[i, j]. Ties go to fewer
    switches, then to earlier ones.
    """
    m = len(cost)
    runs = min(switches, m - 1) + 1
    least, start = np.full((runs, m), math.inf), np.zeros((runs, m), np.int64)
    least[0] = cost[0]
    for c in range(1, runs):
        for j in range(c, m):
            totals = least[c - 1, c - 1 : j] + cost[c : j + 1, j]
            start[c, j] = c + int(np.argmin(totals))
            least[c, j] = totals.min()
    used = int(np.argmin(least[:, m - 1]))
    total, starts, j = float(least[used, m - 1]), [], m - 1
    for c in range(used, 0, -1):
        starts.append(int(start[c, j]))
        j = starts[-1] - 1
    return Switching(total, tuple(reversed(starts)))


def segment_costs(
    loss: str,
    rows: Array,
    y: Array,
    edges: Sequence[int],
    ball: float = math.inf,
) -> Array:
    """Return cost[i, j], the total loss of the best single model for the rows edges[i]..edges[j + 1] - 1.

    Parameters
    ----------
    loss, rows, y, ball
        As in `fit`.
    edges : sequence of int
        0 = edges[0] < edges[1] < ... < edges[m] = n.

    Raises
    ------
    NoConvergence
        As in `fit`.
    """
    m = len(edges) - 1
    cost = np.full((m, m), math.inf)
    for i in range(m):
        for j in range(i, m):
            part, labels = rows[edges[i] : edges[j + 1]], y[edges[i] : edges[j + 1]]
            cost[i, j] = row_loss(loss, part @ fit(loss, part, labels, ball), labels).sum()
    return cost

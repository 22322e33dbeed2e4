"""Nearest neighbours among the last few hundred rows: decision boundaries of any shape, learned immediately."""

import math
from typing import NamedTuple

from driftway.learners.contract import Array, Counts, field, fragment, kernel, scratch
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.windows.distances import squared_distances

NAMES = "nearest", "nearest_five"
EXPERTS = len(NAMES)
WINDOW = 512
NEAREST = 5
LANES = 64
"""Slots i, i + 64, i + 128 and so on are a lane. The least distances of several lanes are computed at a time."""


class NearestNeighbours(NamedTuple):
    """The last W labelled rows, stored by columns so that several distances are computed at a time."""

    column: Array = field("f8[n, W]", "their features")
    label: Array = field("f8[W]", "their classes or targets", largest="K - 1")
    taken: Counts = field("i8[1]", "labelled rows so far; row t stands at t mod W")
    distance: Array = scratch("f8[W]", "squared distances from the row")
    in_lane: Array = scratch("f8[64]", "the least of them in each lane")
    lane: Counts = scratch("i8[64]", "lanes that may have one of the nearest rows")
    candidate: Counts = scratch("i8[W]", "rows that may be one of them")
    least: Array = scratch("f8[5]", "the least distances, in ascending order; inf where there are fewer rows")
    who: Array = scratch("f8[5]", "labels of the nearest")


@kernel
def search(near: NearestNeighbours, x: Array) -> None:
    """Find the nearest rows; ties go to the lower slot. Shapes: x f8[n or more]."""
    distance, lane, candidate, W = near.distance, near.lane, near.candidate, near.label.shape[0]
    n = min(near.taken[0], W)
    squared_distances(x, near.column, n, distance)
    for i in range(n, W):
        distance[i] = math.inf
    limit, lanes, candidates = limit_of(near), 0, 0
    # Both loops write each number, and count it only if it is wanted: the processor would mispredict branches.
    for i in range(LANES):
        lane[lanes] = i
        lanes += int(near.in_lane[i] <= limit)
    for start in range(0, W, LANES):
        for place in range(lanes):
            candidate[candidates] = start + lane[place]
            candidates += int(distance[start + lane[place]] <= limit)
    for place in range(NEAREST):
        near.least[place] = math.inf
    for place in range(candidates):
        insert(near, candidate[place])


@kernel
def limit_of(near: NearestNeighbours) -> float:
    """Write the least distance of each lane; return a distance that at least `NEAREST` rows do not exceed."""
    distance, in_lane, limit = near.distance, near.in_lane, 0.0
    for i in range(LANES):
        in_lane[i] = distance[i]
    for start in range(LANES, distance.shape[0], LANES):
        for i in range(LANES):
            in_lane[i] = min(in_lane[i], distance[start + i])
    for first in range(NEAREST):
        least = in_lane[first]
        for i in range(first + NEAREST, LANES, NEAREST):
            least = min(least, in_lane[i])
        limit = max(limit, least)
    return limit


@fragment
def insert(near: NearestNeighbours, i: int) -> None:
    """Insert row i into the nearest rows if it is one of them."""
    least, who = near.least, near.who
    if near.distance[i] < least[NEAREST - 1]:
        least[NEAREST - 1], who[NEAREST - 1] = near.distance[i], near.label[i]
        for place in range(NEAREST - 1, 0, -1):
            before, label, d, own = least[place - 1], who[place - 1], least[place], who[place]
            least[place - 1], who[place - 1] = (d, own) if d < before else (before, label)
            least[place], who[place] = (before, label) if d < before else (d, own)


@kernel
def vote(near: NearestNeighbours, raw: Array, first: int) -> None:
    """Write two experts' unnormalised log-probabilities of each class. Shapes: raw f8[E, K], from row `first` on."""
    K = raw.shape[1]
    for c in range(K):
        raw[first, c] = raw[first + 1, c] = 1.0 / K
    for place in range(NEAREST):
        if near.least[place] < math.inf:
            raw[first + 1, int(near.who[place])] += 1.0
    if near.least[0] < math.inf:
        raw[first, int(near.who[0])] += 1.0
    for c in range(K):
        raw[first, c] = log(raw[first, c])
        raw[first + 1, c] = log(raw[first + 1, c])


@kernel
def mean_of(near: NearestNeighbours, enough: int) -> float:
    """Return the mean of the nearest rows' targets, or 0 before `enough` rows."""
    total = 0.0
    for place in range(NEAREST):
        total += near.who[place]
    return total / NEAREST if near.taken[0] >= enough else 0.0


@kernel
def append(near: NearestNeighbours, x: Array, y: float) -> None:
    """Overwrite the oldest row. Shapes: x f8[n or more]; y a class or a target."""
    slot = near.taken[0] % near.label.shape[0]
    for j in range(near.column.shape[0]):
        near.column[j, slot] = x[j]
    near.label[slot] = y
    near.taken[0] += 1

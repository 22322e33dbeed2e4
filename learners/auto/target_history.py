"""Where targets have been: their scale, that of their changes, and the last few, as inputs of experts.

One target a million deviations away, a sensor's error say, would spoil the scale for thousands of rows, and what
experts have learned in it. So what is too far away is wild: it moves no scale and teaches nobody. Five wild ones are no
error but a stream that has moved. All targets since the first of them have made a scale of their own, on trial, which
now takes the place of the old one; what experts know in deviations goes on to be true.
"""

import math
from typing import NamedTuple

from driftway.learners.auto.bounds import FURTHEST, bounded
from driftway.learners.contract import Array, Counts, field, fragment, kernel_without_refcounts, scratch

LAGS = 5
"""The last targets that experts see: the last one, and the changes between them."""
LARGEST = 1e100
"""Larger targets count as this: sums of their squares stay finite."""
FAR = 10.0
"""Deviations of a target; what an expert says beyond counts as this."""
WILD = 20.0
"""Deviations beyond which a target is wild: no real one of the six streams of targets here is, sru1's come to 19."""
WIDER = 4.0
"""How much further a target may be after a wild one: what comes now and then is no error, however far it is."""
NARROWER = 1.0 - 1.0 / 4096.0
"""What each target that is not wild leaves of that; wild ones 6,000 rows apart stay wild."""
RUN = 5
"""Wild targets, less others since, that end the trial; also the targets before the first that can be wild."""
NOW, TRIAL = 0, 1
"""Places of the scale in force and of that on trial."""


class TargetHistory(NamedTuple):
    """Past of the targets, and two scales: the one in force, and the one on trial."""

    mean: Array = field("f8[2]", "mean of the targets")
    squares: Array = field("f8[2]", "sum of their squared deviations from the mean")
    changes: Array = field("f8[2]", "sum of the squared changes from one to the next")
    rows: Counts = field("i8[2]", "targets that the scale counts")
    reach: Array = field("f8[1]", "deviations beyond which a target is wild", start=WILD)
    run: Counts = field("i8[1]", "wild targets since the trial began, less the others; 0: no trial")
    wild: Counts = field("i8[1]", "1 if the last target was wild")
    last: Array = field("f8[5]", "the last targets, the newest first")
    u: Array = scratch("f8[u]", "the row in deviations, a constant 1, and the past of the targets")


@fragment
def deviation(squares: float, rows: int) -> float:
    """What a scale is made of; 1 where there is none."""
    return math.sqrt(squares / rows) if rows > 0 and squares > 0.0 else 1.0


@kernel_without_refcounts
def look_back(history: TargetHistory, z: Array) -> None:
    """Write u: z, then the last target in deviations from the mean, then the last changes. Shapes: z f8[w]."""
    u, last, w = history.u, history.last, z.shape[0]
    for j in range(w):
        u[j] = z[j]
    of_level, of_changes = scales(history)
    u[w] = bounded((last[0] - history.mean[NOW]) / of_level, FAR)
    for i in range(1, LAGS):
        u[w + i] = bounded((last[i - 1] - last[i]) / of_changes, FURTHEST)


@kernel_without_refcounts
def scales(history: TargetHistory) -> tuple[float, float]:
    """Deviation of the targets, and of their changes."""
    rows = history.rows[NOW]
    return deviation(history.squares[NOW], rows), deviation(history.changes[NOW], rows)


@kernel_without_refcounts
def is_wild(history: TargetHistory, y: float) -> bool:
    """Whether the next target is too far away to be believed."""
    of_level, _ = scales(history)
    return history.rows[NOW] >= RUN and abs(y - history.mean[NOW]) > history.reach[0] * of_level


@kernel_without_refcounts
def advance(history: TargetHistory, y: float, wild: bool) -> None:
    """Take in the next target, |y| <= LARGEST."""
    last, run, reach = history.last, history.run, history.reach
    if history.rows[NOW] == 0:
        for i in range(LAGS):
            last[i] = y
    if not wild:
        count_in(history, NOW, y, history.wild[0] == 0)
        reach[0] = max(reach[0] * NARROWER, WILD)
    elif run[0] == 0:
        reach[0] *= WIDER
    if wild or run[0] > 0:
        count_in(history, TRIAL, y, history.rows[TRIAL] > 0)
        run[0] += 1 if wild else -1
    history.wild[0] = 1 if wild and run[0] < RUN else 0
    if run[0] == RUN:
        put(history, NOW, history.mean[TRIAL], history.squares[TRIAL], history.changes[TRIAL], history.rows[TRIAL])
        run[0] = 0
    if run[0] == 0:
        put(history, TRIAL, 0.0, 0.0, 0.0, 0)
    for i in range(LAGS - 1, 0, -1):
        last[i] = last[i - 1]
    last[0] = y


@fragment
def count_in(history: TargetHistory, scale: int, y: float, follows: bool) -> None:
    """Let a scale count y, and the change to it if the scale counts the target before, too."""
    history.rows[scale] += 1
    if follows:
        history.changes[scale] += (y - history.last[0]) * (y - history.last[0])
    away = y - history.mean[scale]
    history.mean[scale] += away / history.rows[scale]
    history.squares[scale] += away * (y - history.mean[scale])


@fragment
def put(history: TargetHistory, scale: int, mean: float, squares: float, changes: float, rows: int) -> None:
    """Make a scale what it is to be."""
    history.mean[scale], history.squares[scale] = mean, squares
    history.changes[scale], history.rows[scale] = changes, rows

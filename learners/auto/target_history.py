"""The history of the targets: their scale, that of their changes, and the last few as inputs of experts.

A single target a million deviations away, e.g. a sensor error, would spoil the scale for thousands of rows, and with it
what the experts have learned. So a target that is too far away is called wild and updates neither the scale nor the
experts. Five wild targets mean that the level of the stream has changed. A trial scale, which includes all targets
since the first wild one, then replaces the old one; what the experts learned in deviations remains valid.

Among the first targets none can be called wild, and one of 1e12 there would make all later ones equal. So until a scale
counts 1,024 targets, that of recent ones replaces it if it is a thousand times smaller.
"""

import math
from typing import NamedTuple

from driftway.learners.auto.bounds import FURTHEST, bounded
from driftway.learners.contract import Array, Counts, field, fragment, kernel, scratch

LAGS = 5
"""Number of last targets among the experts' inputs: the last one, and the changes between them."""
LARGEST = 1e100
"""Bound of a target's size, so that sums of squares stay finite."""
FAR = 10.0
"""Bound of targets and forecasts, in standard deviations."""
WILD = 20.0
"""Deviations beyond which a target is wild; none in the six regression streams here is, sru1's reach 19."""
WIDER = 4.0
"""Factor on that limit after a wild target: values that recur are not errors, however far away they are."""
NARROWER = 1.0 - 1.0 / 4096.0
"""Factor by which each other target reduces the limit again; wild ones 6,000 rows apart remain wild."""
RUN = 5
"""Wild targets, minus others since, that end the trial; also the number of targets before the first can be wild."""
NOW, TRIAL = 0, 1
"""Indices of the current scale and of the trial scale, which is that of recent targets as long as there is no trial."""
FIRST_LOOK, LAST_LOOK = 32, 1024
"""The recent targets begin anew, and are compared with all, at 32 targets, 64, 128 .. 1024."""
FEWEST = 16
"""Recent targets without which there is no comparison: a trial leaves few."""
APART = 1e6
"""Ratio of the variances of all targets and of recent ones from which on the recent ones replace the others."""
FEW = 10.0
"""Least ratio of the variance of all targets to the squared distance of their mean from that of recent ones, for that.
If a share p of all is far away, the ratio is (1 - p) / p: from a tenth on they are no outliers, but another level."""


class TargetHistory(NamedTuple):
    """The last targets and two scales: the current one and the trial one."""

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
    """Return sqrt(squares / rows), or 1 if that is 0 or undefined."""
    return math.sqrt(squares / rows) if rows > 0 and squares > 0.0 else 1.0


@kernel
def look_back(history: TargetHistory, z: Array) -> None:
    """Write u: z, the last target's distance from the mean in deviations, the last changes. Shapes: z f8[w]."""
    u, last, w = history.u, history.last, z.shape[0]
    for j in range(w):
        u[j] = z[j]
    of_level, of_changes = scales(history)
    u[w] = bounded((last[0] - history.mean[NOW]) / of_level, FAR)
    for i in range(1, LAGS):
        u[w + i] = bounded((last[i - 1] - last[i]) / of_changes, FURTHEST)


@kernel
def scales(history: TargetHistory) -> tuple[float, float]:
    """Return the standard deviation of the targets and the root mean square of their changes."""
    rows = history.rows[NOW]
    return deviation(history.squares[NOW], rows), deviation(history.changes[NOW], rows)


@kernel
def is_wild(history: TargetHistory, y: float) -> bool:
    """Whether the next target is too far from the mean to be learned from."""
    of_level, _ = scales(history)
    return history.rows[NOW] >= RUN and abs(y - history.mean[NOW]) > history.reach[0] * of_level


@kernel
def advance(history: TargetHistory, y: float, wild: bool, before: float) -> bool:
    """Add the next target, |y| <= LARGEST; return whether another scale has replaced the current one.

    `before` was the last target when this one was forecast.
    """
    last, run, reach, rows = history.last, history.run, history.reach, history.rows
    replaced = False
    if rows[NOW] == 0:
        before = y
        for i in range(LAGS):
            last[i] = y
    if not wild:
        count_in(history, NOW, y, history.wild[0] == 0, before)
        reach[0] = max(reach[0] * NARROWER, WILD)
    elif run[0] == 0:
        reach[0] *= WIDER
        put(history, TRIAL, 0.0, 0.0, 0.0, 0)
    if wild or run[0] > 0:
        count_in(history, TRIAL, y, rows[TRIAL] > 0, before)
        run[0] += 1 if wild else -1
        replaced = run[0] == RUN
        ended = replaced or run[0] == 0
    else:
        ended = rows[NOW] > LAST_LOOK
        if not ended:
            count_in(history, TRIAL, y, rows[TRIAL] > 0, before)
            ended = rows[NOW] >= FIRST_LOOK and rows[NOW] & (rows[NOW] - 1) == 0
            replaced = ended and is_too_large(history)
    history.wild[0] = 1 if wild and run[0] < RUN else 0
    if replaced:
        put(history, NOW, history.mean[TRIAL], history.squares[TRIAL], history.changes[TRIAL], rows[TRIAL])
        run[0] = 0
    if ended:
        put(history, TRIAL, 0.0, 0.0, 0.0, 0)
    for i in range(LAGS - 1, 0, -1):
        last[i] = last[i - 1]
    last[0] = y
    return replaced


@fragment
def is_too_large(history: TargetHistory) -> bool:
    """Whether the current scale is that of a few far targets, by the recent ones; constant ones say nothing."""
    rows, squares = history.rows, history.squares
    if rows[TRIAL] < FEWEST or squares[TRIAL] <= 0.0:
        return False
    away, variance = history.mean[NOW] - history.mean[TRIAL], squares[NOW] / rows[NOW]
    return variance > max(APART * (squares[TRIAL] / rows[TRIAL]), FEW * away * away)


@fragment
def count_in(history: TargetHistory, scale: int, y: float, follows: bool, before: float) -> None:
    """Add y to a scale, and the change since `before` if the scale counts the last target, too."""
    history.rows[scale] += 1
    if follows:
        history.changes[scale] += (y - before) * (y - before)
    away = y - history.mean[scale]
    history.mean[scale] += away / history.rows[scale]
    history.squares[scale] += away * (y - history.mean[scale])


@fragment
def put(history: TargetHistory, scale: int, mean: float, squares: float, changes: float, rows: int) -> None:
    """Overwrite a scale."""
    history.mean[scale], history.squares[scale] = mean, squares
    history.changes[scale], history.rows[scale] = changes, rows

"""Which records of a topic have a timestamp that is contradicted by those around them.

A record is *ahead* if its timestamp is later than those before it, and records after it are earlier again. It is
*behind* if its timestamp is earlier than those before it; if most of those after it are behind, too, the clocks were
set back. Differences of up to a second are ignored. Nothing is concluded about the last record that has arrived: it is
*open* until others follow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.worker.wire.columns import Integers

IN_LINE, AHEAD, BEHIND, OPEN = range(4)
NO_TIME = -1
SLACK_MILLIS = 1000
LOOK_AHEAD, CONFIRMING_SHARE, FIRST_SHARE, FIRST_FOLLOWERS = 256, 8, 2, 8
"""Up to so many following records are asked whether a stamp is ahead, and one in so many of the first of them is
enough; where nothing before it is known, half of eight or more."""
CONFIRMATIONS = 3
"""Following records that must not be earlier for a jump in time to be believed."""
FALL_BACK = 8
"""Following records after which the clocks were set back, if more than half of these, and of all, are behind."""


class CheckedStamps(NamedTuple):
    """Stamps, in ms, and what is wrong with them."""

    stamps: Integers
    verdicts: NDArray[np.int64]
    """i8[n]: IN_LINE, AHEAD, BEHIND or OPEN."""
    line: Integers
    """i8[n]: the latest stamp that is in line, up to each record."""

    def set_back(self, latest: int) -> int:
        """Return the number of records before the first after which the line is earlier; all if there is none."""
        falls = self.line < np.concatenate([[latest], self.line[:-1]])
        return int(falls.argmax()) if falls.any() else len(falls)


def judged(stamps: Integers, latest: int) -> CheckedStamps:
    """Judge the stamps of consecutive records; `latest` is the last one in line before them, or NO_TIME."""
    verdicts, line = np.empty(len(stamps), np.int64), np.empty(len(stamps), np.int64)
    judge(stamps, latest, verdicts, line)
    return CheckedStamps(stamps, verdicts, line)


@kernel
def judge(stamps: Integers, latest: int, verdicts: Integers, line: Integers) -> None:
    """Write verdicts and line of each record. Shapes: i8[n]."""
    n = stamps.shape[0]
    for j in range(n):
        t, rest, share = stamps[j], min(n - j - 1, LOOK_AHEAD), FIRST_SHARE if latest == NO_TIME else CONFIRMING_SHARE
        agreeing, between, behind, soon, earlier, contradicted = 0, 0, 0, 0, 0, False
        if t > latest + SLACK_MILLIS or t < latest - SLACK_MILLIS:
            for k in range(1, rest + 1):
                agreeing += stamps[j + k] >= t - SLACK_MILLIS
                behind += stamps[j + k] < latest - SLACK_MILLIS
                if k <= FALL_BACK:
                    soon, earlier = behind, earlier + (stamps[j + k] < t - SLACK_MILLIS)
                between = k - agreeing - behind
                # Of any number of followers: a few seconds later most agree with a stamp that is ahead by as much.
                # Not one of several: it may itself be behind, of a stamp that is only seconds later than the last.
                enough = between > 1 or rest == 1 if latest != NO_TIME else k == rest or k >= FIRST_FOLLOWERS
                contradicted |= enough and between > 0 and between * share >= k
        verdicts[j] = IN_LINE
        if t > latest + SLACK_MILLIS:
            if contradicted:
                verdicts[j] = AHEAD
            elif agreeing < CONFIRMATIONS:
                verdicts[j] = OPEN
            else:
                latest = t
        elif t < latest - SLACK_MILLIS:
            if rest >= FALL_BACK and 2 * behind > rest and 2 * soon > FALL_BACK >= 2 * earlier:
                latest = t
            else:
                verdicts[j] = BEHIND
        else:
            latest = max(latest, t)
        line[j] = latest

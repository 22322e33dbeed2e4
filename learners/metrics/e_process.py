"""Is one learner better than another? An e-process, which may be looked at after every row.

Two sides bet on each row that one of two learners wins: it alone is right, or in regression closer to the target. One
side bets on the challenger, the other on the champion. Nobody gets rich by betting on a learner that is not better.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, field, kernel
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.state_layout import as_views, check_ranges, fields_of, write_defaults
from driftway.learners.numeric.elementary.logarithm import log

SIDES = "better", "worse"
LEVEL = 0.05
"""Probability that a side that has no reason to win is ever said to have won."""
STAKES = 8
"""Stakes of 1/2, 1/4, .. 1/256 of the capital. The best one is the lead: (won - lost) / (won + lost)."""
SIZES = {"stakes": STAKES}
MOST = 2.0**40
"""What a side wins above this is thrown away, which is to its own disadvantage: no p is below 9e-13, no number
overflows, and what was won long ago is soon lost when a drift changes which learner is better."""
NEVER = -1


class EProcessState(NamedTuple):
    """State of the test: for the side that bets on the challenger, and for the one that bets on the champion."""

    won: Counts = field("i8[2]", "rows won by the challenger, and by the champion")
    staked: Array = field("f8[2, stakes]", "capital of each stake")
    capital: Array = field("f8[2]", "capital of all stakes, and what has not been staked yet: the e-value", 1.0)
    largest: Array = field("f8[2]", "largest capital so far", 1.0)
    since: Counts = field("i8[2]", "offset of the row at which it first reached 1 / LEVEL", NEVER)


class EProcess:
    """Tests whether a challenger is better than the champion, and whether it is worse.

    With probability 1 - a or more, whenever a side's capital is 1 / a or more, there is a stretch of rows up to then on
    which its learner was expected to win more rows than the other. So 1 / the largest capital is a p-value that may be
    looked at after every row.

    Source
    ------
    docs/decisions/0050. Waudby-Smith and Ramdas, JRSS B 86, 2024: betting. Choe and Ramdas, Operations Research 72,
    2024: means that change. Shin, Ramdas and Rinaldo, NEJSDS 2, 2024: the sum over starts. Differs: each start has its
    share of one capital, so the sum is an e-process, and errors are bounded over the whole stream.
    """

    def __init__(self) -> None:
        self.state = State(fields_of(EProcessState, SIZES))
        write_defaults(EProcessState, self.state)
        self._memory = as_views(EProcessState, self.state)

    def check_state(self, memory: Bytes) -> None:
        """As `driftway.learners.learner.Learner.check_state`."""
        check_ranges(EProcessState, SIZES, State(self.state.fields, memory))

    def counter(self, champion: Array, challenger: Array, offsets: Counts) -> Callable[[int, int], None]:
        """Prepare a batch and return ``count(start, end)``, which adds that range of its rows.

        Parameters
        ----------
        champion, challenger : f8[n]
            Errors: 1 for a mistake and 0 for a hit, or a loss; NaN for a row without a label, which is skipped.
        offsets : i8[n]
            Offsets of the rows.
        """
        places = np.require(offsets, np.int64, ["C", "A", "W"])  # as `driftway.learners.learner.as_behaved`

        def count(start: int, end: int) -> None:
            bet(champion[start:end], challenger[start:end], places[start:end], self._memory)

        return count

    def compile_kernels(self) -> None:
        """Compile or load the kernels; a row that nobody wins changes nothing."""
        self.counter(np.zeros(1), np.zeros(1), np.zeros(1, np.int64))(0, 1)
        self.point()

    def point(self) -> dict[str, Any]:
        """For each of SIDES ``_log_e``, ln of the present capital; ``_p``; ``_since``, None while p > LEVEL."""
        found: dict[str, Any] = {}
        for i, side in enumerate(SIDES):
            since = int(self._memory.since[i])
            found[f"{side}_log_e"] = log_of(float(self._memory.capital[i]))
            found[f"{side}_p"] = 1.0 / float(self._memory.largest[i])
            found[f"{side}_since"] = None if since == NEVER else since
        return found


@kernel
def bet(champion: Array, challenger: Array, offsets: Counts, memory: EProcessState) -> None:
    """Let both sides bet on each row that one learner wins.

    After n such rows, 1 / sqrt(n + 1) of the first capital has not been staked; row n stakes what is released before
    it, an equal part with each stake. Shapes: champion, challenger f8[n], offsets i8[n].
    """
    won, staked, capital, largest, since = memory
    n = won[0] + won[1]
    reserve = 1.0 / math.sqrt(n + 1.0)
    for t in range(champion.shape[0]):
        g = int(challenger[t] < champion[t]) - int(challenger[t] > champion[t])  # no branch, which would be guessed
        if g == 0:
            continue
        n += 1
        won[0 if g > 0 else 1] += 1
        before = reserve
        reserve = 1.0 / math.sqrt(n + 1.0)
        released = (before - reserve) * (1.0 / STAKES)
        for side in range(2):
            stake = float(g if side == 0 else -g)
            total = 0.0
            for k in range(STAKES):
                stake *= 0.5
                staked[side, k] = (staked[side, k] + released) * (1.0 + stake)
                total += staked[side, k]
            if total > MOST:
                for k in range(STAKES):
                    staked[side, k] *= MOST / total
                total = MOST
            capital[side] = total + reserve
            if capital[side] > largest[side]:
                largest[side] = capital[side]
                if since[side] == NEVER and capital[side] * LEVEL >= 1.0:
                    since[side] = offsets[t]


@kernel
def log_of(x: float) -> float:
    """Natural logarithm as a kernel, which is cached; a fragment that Python calls is compiled in every process."""
    return log(x)

"""The voted perceptron, with a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, integer
from learners.state import Fields
from learners.vectors import dot


class VotedPerceptron(Learner):
    """Learns as the perceptron and lets all weights it ever had vote, each with as many votes as rows it lasted.

    s = sum of c_i sign(w_i'x), sign(0) = 1. When the newest w errs (y w'x <= 0), w + y x follows it with one vote;
    otherwise it gains a vote. A full budget drops the one with the fewest votes, the newest apart.

    Parameters
    ----------
    budget : int
        Most weight vectors kept, budget >= 2. Default 256.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    hypotheses : f8[B, d]   weight vectors by age, d with the intercept, of which `count` are in use
    votes : f8[B]           votes of each
    count : i8[1]           vectors in use, 1 at the start: zero weights without a vote
    skipped : i8[1]         labelled rows whose newest score or step was not finite

    Cost
    ----
    O(B d) per row; 8 B (d + 1) + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Freund and Schapire, Machine Learning 37, 1999, figure 1. ALGORITHMS.md 3. Differs: the budget.
    """

    name = "voted_perceptron"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        budget: int = integer(256, at_least=2)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        size = self.parameters.budget
        return {
            "hypotheses": ("f8", (size, self.width)),
            "votes": ("f8", (size,)),
            "count": ("i8", (1,)),
            "skipped": ("i8", (1,)),
        }

    def initialise(self) -> None:
        self.state["count"][0] = 1

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s = self.state
        voted_perceptron(rows, y, score, s["hypotheses"], s["votes"], s["count"], s["skipped"])


@bare_kernel
def voted_perceptron(
    rows: Array,
    y: Array,
    score: Array,
    hypotheses: Array,
    votes: Array,
    count: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Predict by vote, then give the newest weights a vote or a successor.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], hypotheses f8[B, d], votes f8[B], count i8[1], skipped i8[1].
    ALGORITHMS.md 3. Invariant: hypotheses[:count] are in order of age.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        s, newest = 0.0, 0.0
        for i in range(count[0]):
            newest = dot(hypotheses[i], x)
            s += votes[i] if not newest < 0.0 else -votes[i]
        score[t, 0] = s
        label = 2.0 * y[t] - 1.0
        if math.isnan(label):
            continue
        last = count[0] - 1
        if math.isfinite(newest) and label * newest > 0.0:
            votes[last] += 1.0
            continue
        overflows = not math.isfinite(newest)
        for j in range(d):
            overflows |= not math.isfinite(hypotheses[last, j] + label * x[j])
        if overflows:
            skipped[0] += 1
            continue
        if count[0] == votes.shape[0]:
            weakest = 0
            for i in range(1, last):
                if votes[i] < votes[weakest]:
                    weakest = i
            for i in range(weakest, last):
                votes[i] = votes[i + 1]
                for j in range(d):
                    hypotheses[i, j] = hypotheses[i + 1, j]
        else:
            last += 1
            count[0] += 1
        votes[last] = 1.0
        newer = max(last - 1, 0)
        for j in range(d):
            hypotheses[last, j] = hypotheses[newer, j] + label * x[j]

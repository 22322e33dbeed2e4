"""The voted perceptron, with a budget."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    intercept,
    scratch,
)
from driftway.learners.numeric.vectors import dot


class VotedPerceptron(Learner):
    """Learns as the perceptron and lets all weights it ever had vote, each with as many votes as rows it lasted.

    s = sum of c_i sign(w_i'x), sign(0) = 1. When the newest w errs (y w'x <= 0), w + y x follows it with one vote;
    otherwise it gains a vote. A full budget drops the vector with the fewest votes, but never the newest.

    Cost
    ----
    O(B d) per row; 8 B (d + 1) + 16 bytes.

    Source
    ------
    Freund and Schapire, Machine Learning 37, 1999, figure 1.
    docs/algorithms/linear.md#averaged_perceptron-voted_perceptron. Differs: the budget.
    """

    name = "voted_perceptron"
    tasks = ("binary",)

    class Params(Parameters):
        budget: int = integer(256, "Largest number of stored weight vectors.", at_least=2)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return UpdateRule(score, learn, (), VotedPerceptronState, {"B": self.parameters.budget}, uses_weight=True)


class VotedPerceptronState(NamedTuple):
    """State of `voted_perceptron`."""

    hypotheses: Array = field("f8[B, d]", "weight vectors by age, d with the intercept, of which `count` are in use")
    votes: Array = field("f8[B]", "votes of each")
    # `tuple.count` is a method.
    count: Counts = field("i8[1]", "vectors in use, 1 at the start: zero weights without a vote", start=1, largest="B")  # type: ignore[assignment]
    skipped: Counts = field("i8[1]", "labelled rows whose newest score or step was not finite")
    newest: Array = scratch("f8[1]", "the score of the newest weights")


@fragment
def score(x: Array, _parameters: Any, memory: VotedPerceptronState) -> float:
    """The votes for class 1 minus those for class 0. Shapes: x f8[d]."""
    hypotheses, votes = memory.hypotheses, memory.votes
    s, newest = 0.0, 0.0
    for i in range(memory.count[0]):
        newest = dot(hypotheses[i], x)
        s += votes[i] if not newest < 0.0 else -votes[i]
    memory.newest[0] = newest
    return s


@fragment
def learn(x: Array, y: float, omega: float, _s: float, _parameters: Any, memory: VotedPerceptronState) -> None:
    """Give the newest weights a vote or, if they are wrong, a successor.

    Shapes: x f8[d]. docs/algorithms/linear.md#averaged_perceptron-voted_perceptron. Invariant: hypotheses[:count] are
    in order of age.
    """
    hypotheses, votes = memory.hypotheses, memory.votes
    last = memory.count[0] - 1
    newest = memory.newest[0]
    finite = math.isfinite(newest)
    if finite and y * newest > 0.0:
        votes[last] += 1.0
        return
    step, overflows = y * omega, not finite
    for j in range(x.shape[0]):
        overflows |= not math.isfinite(hypotheses[last, j] + step * x[j])
    if overflows:
        memory.skipped[0] += 1
        return
    if memory.count[0] == votes.shape[0]:
        weakest = 0
        for i in range(1, last):
            if votes[i] < votes[weakest]:
                weakest = i
        for i in range(weakest, last):
            votes[i] = votes[i + 1]
            for j in range(x.shape[0]):
                hypotheses[i, j] = hypotheses[i + 1, j]
    else:
        last += 1
        memory.count[0] += 1
    votes[last] = 1.0
    newer = max(last - 1, 0)
    for j in range(x.shape[0]):
        hypotheses[last, j] = hypotheses[newer, j] + step * x[j]

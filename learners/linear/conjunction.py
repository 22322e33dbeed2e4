"""The elimination learner of conjunctions."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Learner, Parameters, UpdateRule, field, fragment


class Conjunction(Learner):
    """Finds the conjunction of literals (x_j, not x_j) that is true of class 1, by striking out what a row refutes.

    For boolean features: a value above 0.5 is true, and features are never standardised. Makes at most d + 1
    mistakes if such a conjunction exists; otherwise a single mislabelled row of class 1 ruins it for good.

    Cost
    ----
    O(d) per row; 16 d + 8 bytes.

    Source
    ------
    Tao and Lu, From Online to Non-i.i.d. Batch Learning, section 2.3 (Valiant, CACM 27, 1984).
    docs/algorithms/linear.md#conjunction.
    """

    name = "conjunction"
    tasks = ("binary",)
    votes = True
    standardizable = False

    Params = Parameters

    def rule(self) -> UpdateRule:
        return UpdateRule(score, learn, (), ConjunctionState)


class ConjunctionState(NamedTuple):
    """State of `conjunction`."""

    positive: Counts = field("i8[d]", "1 where x_j is still in the conjunction, at first everywhere", start=1)
    negative: Counts = field("i8[d]", "1 where not x_j still is, likewise", start=1)
    inconsistent: Counts = field("i8[1]", "rows of class 0 for which it was true: no conjunction can repair them")


@fragment
def score(x: Array, _parameters: Any, memory: ConjunctionState) -> float:
    """1 if every literal holds, else -1. Shapes: x f8[d]."""
    violated = 0
    for j in range(x.shape[0]):
        violated |= memory.negative[j] if x[j] > 0.5 else memory.positive[j]
    return 1.0 if violated == 0 else -1.0


@fragment
def learn(x: Array, y: float, _omega: float, s: float, _parameters: Any, memory: ConjunctionState) -> None:
    """Drop the literals that a row of class 1 refutes; none is ever added back. Shapes: x f8[d].

    See docs/algorithms/linear.md#conjunction.
    """
    if y > 0.0 and s < 0.0:
        for j in range(x.shape[0]):
            if x[j] > 0.5:
                memory.negative[j] = 0
            else:
                memory.positive[j] = 0
    elif y < 0.0 and s > 0.0:
        memory.inconsistent[0] += 1

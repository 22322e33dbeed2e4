"""Learn++.NSE: one expert per batch, weighted by its errors on all batches since."""

from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Parameters,
    UpdateRule,
    choice,
    field,
    fragment,
    integer,
    number,
    scratch,
)
from driftway.learners.engine.jit import member
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.ensemble import DEFAULT, Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import Expert, Fragment, distance, finite_or_zero, largest
from driftway.learners.ensembles.expert_pool import enter, leave, shares, total_weight, voting
from driftway.learners.learner import REGRESSION
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log
from driftway.learners.numeric.selection import kth_smallest

PRUNE = ("age", "error")
LEAST = 1e-10
"""Lower bound of beta: an expert without errors has weight ln 1e10."""
STEEPEST = 500.0
"""Bound of a sigmoid's argument: e^500 = 1e217."""


class LearnPPNSE(Ensemble):
    """Each batch of rows trains one new expert; all are weighted by their errors on it and on earlier batches.

    Rows that the ensemble predicts wrongly count more in an expert's error, and recent batches more than early ones, by
    a sigmoid. Old experts are kept: use it if concepts recur. Until the first batch is full all scores are 0, or in
    regression the mean of the targets so far.

    Cost
    ----
    O(M base) per row, M = max_members, and at a batch's end as much again for each of its rows; M times the base's
    state and 8 batch (d + 1) + 32 M + 24 bytes.

    Source
    ------
    Elwell and Polikar, IEEE Transactions on Neural Networks 22, 2011. docs/algorithms/ensembles.md#learn_pp_nse.
    Differs: the pool is always pruned, as for the measured figures, but never the newest expert. An expert learns its
    batch in one pass, so learning it again would change nothing: its error on it above 1/2 counts as 1/2, too.
    Regression is an adaptation: an expert's error is its absolute error relative to the largest in the batch; the
    ensemble's, E, is the mean of such shares, and its wrong rows are those with an error above the median.
    """

    name = "learn_pp_nse"
    tasks = ("binary", "multiclass", "regression")
    votes = True

    class Params(Parameters):
        base: str = learner(DEFAULT, "Learner of every expert; `default` is `gaussian_nb`, and `rls` in regression.")
        batch: int = integer(250, "Rows on which an expert is trained.", at_least=1)
        a: float = number(0.5, "Slope of the sigmoid that weighs batches.", above=0.0)
        b: float = number(10.0, "Batches after an expert's own at which the sigmoid is halfway up.", at_least=0.0)
        max_members: int = integer(15, "M, largest number of experts.", at_least=2)
        prune: str = choice(
            "age",
            PRUNE,
            "Which expert leaves a full pool: `age` the oldest, `error` the one that errs most on the last batch.",
        )

    @property
    def max_experts(self) -> int:
        return int(self.parameters.max_members)

    def rule(self) -> UpdateRule:
        p = self.parameters
        own, sizes = LearnPPNSENumbers(p.a, p.b, p.prune == "error"), {"B": p.batch, "w": self.base.width}
        regression = self.task == REGRESSION
        pieces = (of_targets if regression else of_classes)(self.expert)
        return self.around(*pieces, LearnPPNSEState, classes=not regression, sizes=sizes, own=own)


class LearnPPNSENumbers(NamedTuple):
    """Parameters of `learn_pp_nse`."""

    a: float
    b: float
    by_error: bool
    """Whether a full pool removes the expert with the largest error."""


class LearnPPNSEState(NamedTuple):
    """State of `learn_pp_nse`."""

    members: Any
    """As in `ExpertPool`."""
    fresh: Array
    """f8[M, words]: the experts' initial states."""
    weight: Array = field("f8[M]", "the experts' weights; the first `experts` are in use")
    experts: Counts = field("i8[1]", "experts in use", largest="M")
    learned: Counts = field("i8[1]", "labelled rows so far")
    born: Counts = field("i8[M]", "the number of an expert's own batch, from 1")
    sigmoids: Array = field("f8[M]", "the sum of the sigmoids of its batches")
    costs: Array = field("f8[M]", "the sum of these times its beta = error / (1 - error) on them")
    rows: Array = field("f8[B, w]", "rows of the batch so far")
    labels: Array = field("f8[B]", "their classes or targets")
    states: Array = field("f8[M, words]", "the experts' states, one after the other, the oldest first")
    margins: Array = scratch("f8[M]", "the experts' predictions of the row")
    votes: Array = scratch("f8[M]", "the classes that they vote for")
    importance: Array = scratch("f8[B]", "D, how much a row of the batch counts; they sum to 1")
    off: Array = scratch("f8[B]", "how far the ensemble is off a row's target")
    errors: Array = scratch("f8[M]", "the experts' errors on the batch")
    S: Array = scratch("f8[K]", "share of the weight that votes for each class; 0 while nobody has any")


@fragment
def prune(by_error: bool, memory: LearnPPNSEState) -> None:
    """Remove an expert from a full pool, the oldest or that with the largest error; ties go to the oldest."""
    n = memory.experts[0]
    if n < memory.states.shape[0]:
        return
    gone = 0
    for e in range(1, n):
        if by_error and memory.errors[e] > memory.errors[gone]:
            gone = e
    for e in range(gone, n - 1):
        memory.born[e], memory.errors[e] = memory.born[e + 1], memory.errors[e + 1]
        memory.sigmoids[e], memory.costs[e] = memory.sigmoids[e + 1], memory.costs[e + 1]
    leave(gone, memory)


@fragment
def weigh(t: int, own: LearnPPNSENumbers, memory: LearnPPNSEState) -> None:
    """Update the weights after batch number t by the experts' errors on it (step 4)."""
    for e in range(memory.experts[0]):
        error = min(memory.errors[e], 0.5)
        beta = max(error / (1.0 - error), LEAST)
        steep = min(max(-own.a * (t - memory.born[e] - own.b), -STEEPEST), STEEPEST)
        sigmoid = 1.0 / (1.0 + exp(steep))
        memory.sigmoids[e] += sigmoid
        memory.costs[e] += sigmoid * beta
        memory.weight[e] = max(log(memory.sigmoids[e] / memory.costs[e]), 0.0)


@fragment
def give_importance(E: float, memory: LearnPPNSEState) -> None:
    """Compute D of the batch's rows, whose `importance` is 1 if the ensemble is wrong on them, else 0 (step 1)."""
    m, wrong = memory.labels.shape[0], 0.0
    for i in range(m):
        wrong += memory.importance[i]
    total = wrong + (m - wrong) * E  # the sum of D before it is normalised, times m
    for i in range(m):
        weight = 1.0 if memory.importance[i] > 0.0 else E
        memory.importance[i] = weight / total if E > 0.0 else 1.0 / m


@cache
def learn_step(expert: Expert, judge: Fragment, err: Fragment) -> Fragment:
    """Make `learn`, for classes or targets: `judge` computes D, and `err` an expert's error by it."""
    predict, _, teach, begin = expert

    @fragment
    def learn(x: Array, y: float, _omega: float, _score: float, p: EnsembleNumbers, memory: LearnPPNSEState) -> None:
        """Elwell and Polikar's algorithm at the end of a batch. Shapes: x f8[d].

        See docs/algorithms/ensembles.md#learn_pp_nse.
        """
        m = memory.labels.shape[0]
        i = memory.learned[0] % m
        memory.learned[0] += 1
        memory.labels[i] = y
        for j in range(x.shape[0]):
            memory.rows[i, j] = x[j]
        if i == m - 1:
            judge(p, memory)
            for e in range(memory.experts[0]):
                err(e, p, memory)
            prune(p.own.by_error, memory)
            t, newest = memory.learned[0] // m, memory.experts[0]
            enter(0.0, memory)
            begin(p, memory)
            memory.born[newest], memory.sigmoids[newest], memory.costs[newest] = t, 0.0, 0.0
            one = member(memory.members, newest)
            for i in range(m):  # step 2
                predict(memory.rows[i], p.base, one, memory.margins, newest)
                teach(memory.rows[i], memory.labels[i], 1.0, p.base, one, memory.margins[newest])
            err(newest, p, memory)
            weigh(t, p.own, memory)

    return learn


@cache
def of_classes(expert: Expert) -> tuple[Fragment, Fragment]:
    """Make `score` and `learn` for experts that vote."""
    predict, choose, vote = expert.predict, expert.predicted_class, voting(expert)

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: LearnPPNSEState) -> None:
        vote(x, p, memory)
        shares(memory)

    @fragment
    def judge(p: EnsembleNumbers, memory: LearnPPNSEState) -> None:
        m, wrong = memory.labels.shape[0], 0.0
        for i in range(m):
            score(memory.rows[i], p, memory)
            missed = memory.experts[0] > 0 and largest(memory.S) != int(memory.labels[i])
            memory.importance[i] = 1.0 if missed else 0.0
            wrong += memory.importance[i]
        give_importance(wrong / m, memory)

    @fragment
    def err(e: int, p: EnsembleNumbers, memory: LearnPPNSEState) -> None:
        """Compute an expert's error on the batch (step 3)."""
        memory.errors[e] = 0.0
        one = member(memory.members, e)
        for i in range(memory.labels.shape[0]):
            predict(memory.rows[i], p.base, one, memory.margins, e)
            if choose(one, memory.margins[e]) != int(memory.labels[i]):
                memory.errors[e] += memory.importance[i]

    return score, learn_step(expert, judge, err)


@cache
def of_targets(expert: Expert) -> tuple[Fragment, Fragment]:
    """Make `score` and `learn` for experts that predict targets; a non-finite output counts as 0."""
    predict = expert.predict

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: LearnPPNSEState) -> float:
        s, total = 0.0, total_weight(memory)
        for e in range(memory.experts[0]):
            predict(x, p.base, member(memory.members, e), memory.margins, e)
            share = memory.weight[e] / total if total > 0.0 else 1.0 / memory.experts[0]
            s += finite_or_zero(memory.margins[e]) * share
        if memory.experts[0] == 0:
            for i in range(min(memory.learned[0], memory.labels.shape[0])):
                s += memory.labels[i] / memory.learned[0]
        return s

    @fragment
    def judge(p: EnsembleNumbers, memory: LearnPPNSEState) -> None:
        m, most, total = memory.labels.shape[0], 0.0, 0.0
        for i in range(m):
            memory.off[i] = distance(score(memory.rows[i], p, memory), memory.labels[i]) if memory.experts[0] else 0.0
            most, total = max(most, memory.off[i]), total + memory.off[i]
            memory.importance[i] = memory.off[i]
        median = kth_smallest(memory.importance, (m - 1) // 2)
        for i in range(m):
            memory.importance[i] = 1.0 if memory.off[i] > median else 0.0
        give_importance(total / most / m if most > 0.0 else 0.0, memory)

    @fragment
    def err(e: int, p: EnsembleNumbers, memory: LearnPPNSEState) -> None:
        """Compute an expert's error on the batch (step 3)."""
        most, total = 0.0, 0.0
        one = member(memory.members, e)
        for i in range(memory.labels.shape[0]):
            predict(memory.rows[i], p.base, one, memory.margins, e)
            off = distance(memory.margins[e], memory.labels[i])
            most, total = max(most, off), total + memory.importance[i] * off
        memory.errors[e] = total / most if most > 0.0 else 0.0

    return score, learn_step(expert, judge, err)

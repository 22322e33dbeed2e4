"""Online accuracy updated ensemble (OAUE)."""

from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, UpdateRule, field, fragment, integer, scratch
from driftway.learners.engine.jit import member
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.ensemble import DEFAULT, Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import LARGEST_ERROR, Expert, distance, finite_or_zero, move, renew
from driftway.learners.ensembles.expert_pool import lightest
from driftway.learners.ensembles.likelihood import likelihood_of
from driftway.learners.learner import REGRESSION
from driftway.learners.metrics.probabilities import link_of

LEAST = 1e-12
"""Added to errors before dividing by them."""


class OAUE(Ensemble):
    """Experts weighted by their squared errors in a window of rows; the end of each window adds one trained on it.

    All learn every row. The weight of an expert is 1 / (its error + that of a guess by class shares alone), so that a
    new one, whose error counts as 0, has influence at once. Forgets mildly: old experts lose weight slowly.

    Cost
    ----
    O(n base) per row; n + 1 times the base's state and 8 (n + 1) window + 24 n + 8 K + 16 bytes.

    Source
    ------
    Brzezinski and Stefanowski, Information Sciences 265, 2014. docs/algorithms/ensembles.md#oaue. Experts whose scores
    give no probabilities count as certain of their vote. Regression is an adaptation: squared errors of targets, and
    the guess's error is the variance of the targets in the window.
    """

    name = "oaue"
    tasks = ("binary", "multiclass", "regression")
    votes = True

    class Params(Parameters):
        base: str = learner(DEFAULT, "Learner of every expert; `default` is `gaussian_nb`, and `rls` in regression.")
        window: int = integer(
            500, "Rows whose errors set the experts' weights, and after which a new one joins.", at_least=1
        )
        n: int = integer(10, "Largest number of experts, besides the one to join next.", at_least=1)

    @property
    def max_experts(self) -> int:
        return int(self.parameters.n) + 1

    def rule(self) -> UpdateRule:
        p = self.parameters
        sizes = {"E": p.n, "window": p.window, "T": max(self.n_classes, 2)}
        if self.task == REGRESSION:
            return self.around(*of_targets(self.expert), OAUEState, classes=False, sizes=sizes)
        pieces = of_classes(self.expert, link_of(self.base))
        return self.around(*pieces, OAUEState, classes=True, sizes=sizes)


class OAUEState(NamedTuple):
    """State of `oaue`. The last slot of the states is that of the candidate, the expert that is added next."""

    members: Any
    """As in `ExpertPool`."""
    fresh: Array
    """f8[M, words]: the experts' initial states."""
    weight: Array = field("f8[E]", "the experts' weights; the first `experts` are in use")
    experts: Counts = field("i8[1]", "experts in use, without the candidate", largest="E")
    learned: Counts = field("i8[1]", "labelled rows so far")
    born: Counts = field("i8[E]", "labelled rows before an expert joined")
    mse: Array = field("f8[E]", "an expert's mean squared error in the window, or since it joined")
    error: Array = field("f8[E, window]", "its squared errors on the last rows, a ring buffer")
    seen: Array = field("f8[window]", "the labels of the last rows, a ring buffer", largest="K - 1")
    summary: Array = field("f8[T]", "the classes' counts in the window; of targets mean and sum of squared deviations")
    states: Array = field("f8[M, words]", "the experts' states, one after the other")
    margins: Array = scratch("f8[M]", "the experts' predictions of the row")
    chances: Array = scratch("f8[M, K]", "how likely they hold each class")
    S: Array = scratch("f8[K]", "their weighted mean")


@fragment
def count_error(e: int, error: float, memory: OAUEState) -> None:
    """Replace an expert's oldest squared error by that of the row, which `learned` does not count yet."""
    window = memory.seen.shape[0]
    slot, age = memory.learned[0] % window, memory.learned[0] + 1 - memory.born[e]
    if age <= window:
        memory.mse[e] += (error - memory.mse[e]) / age
    else:
        memory.mse[e] = max(memory.mse[e] + (error - memory.error[e, slot]) / window, 0.0)
    memory.error[e, slot] = error
    if slot == window - 1:  # recompute: running sums would accumulate rounding errors (experts join at such a slot)
        total = 0.0
        for i in range(window):
            total += memory.error[e, i]
        memory.mse[e] = total / window


@fragment
def guess_by_shares(label: int, memory: OAUEState) -> float:
    """Count a label; return the squared error of a guess by the classes' shares in the window."""
    window = memory.seen.shape[0]
    slot = memory.learned[0] % window
    if memory.learned[0] >= window:
        memory.summary[int(memory.seen[slot])] -= 1.0
    memory.summary[label] += 1.0
    memory.seen[slot] = label
    m, guess = min(memory.learned[0] + 1, window), 0.0
    for r in range(memory.summary.shape[0]):
        share = memory.summary[r] / m
        guess += share * (1.0 - share) * (1.0 - share)
    return guess


@fragment
def guess_by_mean(y: float, memory: OAUEState) -> float:
    """Count a target; return the variance of those in the window."""
    window, summary = memory.seen.shape[0], memory.summary
    slot = memory.learned[0] % window
    target, old, mean = min(max(y, -LARGEST_ERROR), LARGEST_ERROR), memory.seen[slot], summary[0]
    memory.seen[slot] = target
    m = min(memory.learned[0] + 1, window)
    if slot == window - 1:
        summary[0] = 0.0
        for i in range(window):
            summary[0] += memory.seen[i] / window
        summary[1] = 0.0
        for i in range(window):
            summary[1] += (memory.seen[i] - summary[0]) * (memory.seen[i] - summary[0])
    elif memory.learned[0] < window:
        summary[0] += (target - mean) / m
        summary[1] += (target - mean) * (target - summary[0])
    else:
        summary[0] += (target - old) / window
        summary[1] = max(summary[1] + (target - old) * ((target - summary[0]) + (old - mean)), 0.0)
    return summary[1] / m


@fragment
def join(guess: float, memory: OAUEState) -> None:
    """Add the candidate to the experts, or replace the lightest of n if it is lighter; start a new candidate."""
    last, weight = memory.states.shape[0] - 1, 1.0 / (guess + LEAST)
    e = memory.experts[0] if memory.experts[0] < last else lightest(memory)
    if e == memory.experts[0] or memory.weight[e] < weight:
        memory.experts[0] = max(memory.experts[0], e + 1)
        memory.weight[e], memory.mse[e], memory.born[e] = weight, 0.0, memory.learned[0]
        move(last, e, memory)
    renew(last, memory)


@cache
def learn_step(expert: Expert) -> Any:
    """Make the part of `learn` after the row's errors, for classes and targets."""
    predict, _, teach, begin = expert

    @fragment
    def weigh_and_teach(x: Array, y: float, guess: float, p: EnsembleNumbers, memory: OAUEState) -> None:
        """Update weights and experts. Shapes: x f8[d]. docs/algorithms/ensembles.md#oaue."""
        last = memory.states.shape[0] - 1
        for e in range(memory.experts[0]):
            memory.weight[e] = 1.0 / (guess + memory.mse[e] + LEAST)
            teach(x, y, 1.0, p.base, member(memory.members, e), memory.margins[e])
        one = member(memory.members, last)
        if memory.experts[0] > 0:  # otherwise `score` has done it
            predict(x, p.base, one, memory.margins, last)
        teach(x, y, 1.0, p.base, one, memory.margins[last])
        memory.learned[0] += 1
        if memory.learned[0] % p.own.window == 0:
            join(guess, memory)
            begin(p, memory)

    return weigh_and_teach


@cache
def of_classes(expert: Expert, link: str | None) -> tuple[Any, Any]:
    """Make `score` and `learn` for experts with class probabilities."""
    predict, likely, weigh_and_teach = expert.predict, likelihood_of(expert, link), learn_step(expert)

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: OAUEState) -> None:
        alone = memory.experts[0] == 0
        total = 0.0
        for r in range(memory.S.shape[0]):
            memory.S[r] = 0.0
        for i in range(1 if alone else memory.experts[0]):
            e = memory.states.shape[0] - 1 if alone else i
            one, weight = member(memory.members, e), 1.0 if alone else memory.weight[i]
            predict(x, p.base, one, memory.margins, e)
            likely(one, memory.margins[e], memory.chances[e])
            total += weight
            for r in range(memory.S.shape[0]):
                memory.S[r] += weight * memory.chances[e, r]
        for r in range(memory.S.shape[0]):
            memory.S[r] /= total

    @fragment
    def learn(x: Array, label: int, _omega: float, _finite: bool, p: EnsembleNumbers, memory: OAUEState) -> None:
        """Shapes: x f8[d]."""
        for e in range(memory.experts[0]):
            missing = 1.0 - memory.chances[e, label]
            count_error(e, missing * missing, memory)
        weigh_and_teach(x, label, guess_by_shares(label, memory), p, memory)

    return score, learn


@cache
def of_targets(expert: Expert) -> tuple[Any, Any]:
    """Make `score` and `learn` for experts that predict targets; a non-finite output counts as 0."""
    predict, weigh_and_teach = expert.predict, learn_step(expert)

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: OAUEState) -> float:
        last, s, total = memory.states.shape[0] - 1, 0.0, 0.0
        if memory.experts[0] == 0:
            predict(x, p.base, member(memory.members, last), memory.margins, last)
            return finite_or_zero(memory.margins[last])
        for e in range(memory.experts[0]):
            total += memory.weight[e]
        for e in range(memory.experts[0]):
            predict(x, p.base, member(memory.members, e), memory.margins, e)
            s += finite_or_zero(memory.margins[e]) * (memory.weight[e] / total)
        return s

    @fragment
    def learn(x: Array, y: float, _omega: float, _s: float, p: EnsembleNumbers, memory: OAUEState) -> None:
        """Shapes: x f8[d]."""
        for e in range(memory.experts[0]):
            off = distance(memory.margins[e], y)
            count_error(e, off * off, memory)
        weigh_and_teach(x, y, guess_by_mean(y, memory), p, memory)

    return score, learn

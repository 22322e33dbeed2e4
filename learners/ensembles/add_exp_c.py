"""Additive expert ensemble for regression (AddExp.C)."""

from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    ParameterError,
    Parameters,
    UpdateRule,
    choice,
    field,
    fragment,
    number,
    scratch,
)
from driftway.learners.engine.jit import member
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.additive import LEAST, PRUNE, decay_factor, normalise, outgoing, pool_size, succeed
from driftway.learners.ensembles.ensemble import Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import Expert, finite_or_zero
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log_for_python

FURTHEST = 1e100
"""Bound of `y_min` and `y_max`."""


class AddExpC(Ensemble):
    """The weighted mean of experts, whose weights shrink by their errors; a large error of the mean adds a new expert.

    Errors are relative to the range of targets: given, or from the smallest to the largest so far, which one outlier
    widens for good. Predictions are clipped to the range. Use it if the relation changes abruptly.

    Cost
    ----
    O(M base) per row, with M exponentials; M times the base's state and 8 M + 32 bytes, M = max_experts.

    Source
    ------
    Kolter and Maloof, ICML 2005, AddExp.C. docs/algorithms/ensembles.md#add_exp_c. Differs: the weakest is removed,
    `prune=oldest` is as in the proof; a target outside the current range widens it before errors are computed.
    """

    name = "add_exp_c"
    tasks = ("regression",)

    class Params(Parameters):
        base: str = learner("rls", "Learner of every expert.")
        beta: float = decay_factor("an error of the whole range")
        gamma: float = number(
            0.1, "Weight of a new expert, as a share of the experts' weighted errors.", above=0.0, at_most=1.0
        )
        tau: float = number(
            0.05, "Error from which a new expert is added, as a share of the range.", at_least=0.0, at_most=1.0
        )
        max_experts: int = pool_size()
        prune: str = choice(
            "weakest", PRUNE, "Which expert leaves a full pool for a new one; the proof is for `oldest`."
        )
        y_min: float = number(
            0.0,
            "Least target; with y_min = y_max = 0 the range is the one seen so far.",
            at_least=-FURTHEST,
            at_most=FURTHEST,
        )
        y_max: float = number(0.0, "Largest target, see y_min.", at_least=-FURTHEST, at_most=FURTHEST)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.y_max <= self.y_min and (self.y_min, self.y_max) != (0.0, 0.0):
                raise ParameterError(f"y_max must be > {self.y_min:g}, got {self.y_max:g}, where y_min is not 0 too")

    @property
    def max_experts(self) -> int:
        return int(self.parameters.max_experts)

    def rule(self) -> UpdateRule:
        p = self.parameters
        own = AddExpCNumbers(log_for_python(p.beta), p.gamma, p.tau, p.prune == "oldest", p.y_min < p.y_max)
        return self.around(*build_fragments(self.expert), AddExpCState, classes=False, own=own)

    def initialise(self) -> None:
        super().initialise()
        self.state["weight"][0] = 1.0
        self.state["experts"][0] = 1
        self.state["bounds"][:] = self.parameters.y_min, self.parameters.y_max


class AddExpCNumbers(NamedTuple):
    """Parameters of `add_exp_c`."""

    log_beta: float
    gamma: float
    tau: float
    oldest: bool
    """Whether a full pool removes the oldest."""
    known: bool
    """Whether the range of targets is given."""


class AddExpCState(NamedTuple):
    """State of `add_exp_c`."""

    members: Any
    """As in `ExpertPool`."""
    fresh: Array
    """f8[M, words]: the experts' initial states."""
    weight: Array = field("f8[M]", "the experts' weights, which sum to 1; the first `experts` are in use")
    experts: Counts = field("i8[1]", "experts in use", largest="M")
    learned: Counts = field("i8[1]", "labelled rows so far")
    bounds: Array = field("f8[2]", "least and largest target")
    states: Array = field("f8[M, words]", "the experts' states, one after the other, the oldest first")
    margins: Array = scratch("f8[M]", "the experts' predictions of the row")
    error: Array = scratch("f8[M]", "how far they are off, as shares of the range")


@fragment
def position(value: float, bounds: Array) -> float:
    """Return a value's position in the range, from 0 to 1; a non-finite value counts as 0. Shapes: bounds f8[2]."""
    low, high = bounds[0], bounds[1]
    half = 0.5 * high - 0.5 * low  # the difference itself may overflow
    if not half > 0.0:
        return 0.0
    within = min(max(finite_or_zero(value), low), high)
    return (0.5 * within - 0.5 * low) / half


@fragment
def mean(memory: AddExpCState) -> float:
    """Return the weighted mean of the positions of the experts' predictions in the range."""
    total, combined = 0.0, 0.0
    for e in range(memory.experts[0]):
        total += memory.weight[e]
        combined += memory.weight[e] * position(memory.margins[e], memory.bounds)
    return combined / total


@fragment
def widen(y: float, known: bool, memory: AddExpCState) -> None:
    """Count a row and, unless the range is given, widen it to include the target."""
    if not known:
        memory.bounds[0] = y if memory.learned[0] == 0 else min(memory.bounds[0], y)
        memory.bounds[1] = y if memory.learned[0] == 0 else max(memory.bounds[1], y)
    memory.learned[0] += 1


@cache
def build_fragments(expert: Expert) -> tuple[Any, Any]:
    """Make `score` and `learn` for experts of one kind."""
    predict, _, teach, begin = expert

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: AddExpCState) -> float:
        for e in range(memory.experts[0]):
            predict(x, p.base, member(memory.members, e), memory.margins, e)
        s = mean(memory)
        return (1.0 - s) * memory.bounds[0] + s * memory.bounds[1]

    @fragment
    def learn(x: Array, y: float, _omega: float, _s: float, p: EnsembleNumbers, memory: AddExpCState) -> None:
        """Decay the weights, add an expert, learn. Shapes: x f8[d]. docs/algorithms/ensembles.md#add_exp_c."""
        widen(y, p.own.known, memory)
        target, missed = position(y, memory.bounds), 0.0
        wrong = abs(mean(memory) - target) >= p.own.tau
        for e in range(memory.experts[0]):
            memory.error[e] = abs(position(memory.margins[e], memory.bounds) - target)
            missed += memory.weight[e] * memory.error[e]
            memory.weight[e] = max(memory.weight[e] * exp(memory.error[e] * p.own.log_beta), LEAST)
        gone = outgoing(p.own.oldest, memory) if wrong else -1
        # Remaining experts learn before slots are moved, while their predictions are still valid.
        for e in range(memory.experts[0]):
            if e != gone:
                teach(x, y, 1.0, p.base, member(memory.members, e), memory.margins[e])
        if wrong:
            born = succeed(gone, p.own.gamma * missed, memory)
            begin(p, memory)
            one = member(memory.members, born)
            predict(x, p.base, one, memory.margins, born)
            teach(x, y, 1.0, p.base, one, memory.margins[born])
        normalise(memory)

    return score, learn

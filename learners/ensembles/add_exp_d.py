"""Additive expert ensemble for classification (AddExp.D)."""

from functools import cache
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Parameters, UpdateRule, choice, fragment, number
from driftway.learners.engine.jit import member
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.additive import LEAST, PRUNE, decay_factor, normalise, outgoing, pool_size, succeed
from driftway.learners.ensembles.ensemble import Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import Expert, largest
from driftway.learners.ensembles.expert_pool import ExpertPool, shares, total_weight, voting


class AddExpD(Ensemble):
    """Experts vote with weights that shrink by their mistakes; every mistake of the vote adds a new expert.

    It starts with little weight, and gains influence when the older ones err more often. Every expert learns every row.
    Follows faster than `dwm`, since nothing waits for the end of a period, but noise adds experts as well.

    Cost
    ----
    O(M base) per row; M times the base's state and 8 M + 16 bytes, M = max_experts.

    Source
    ------
    Kolter and Maloof, ICML 2005, AddExp.D. docs/algorithms/ensembles.md#add_exp_d. Differs: a new expert's weight is a
    share of the weights after the decay, and the weakest is removed; `new_weight=before` and `prune=oldest` are as in
    the proof.
    """

    name = "add_exp_d"
    tasks = ("binary", "multiclass")
    votes = True

    class Params(Parameters):
        base: str = learner("gaussian_nb", "Learner of every expert.")
        beta: float = decay_factor("a mistake")
        gamma: float = number(
            0.1,
            "Weight of a new expert, as a share of the sum of all; the proof requires < (1 - beta) / 2.",
            above=0.0,
            at_most=1.0,
        )
        max_experts: int = pool_size()
        prune: str = choice(
            "weakest", PRUNE, "Which expert leaves a full pool for a new one; the proof is for `oldest`."
        )
        new_weight: str = choice(
            "after", ("after", "before"), "Whether that sum is taken after the decay, or before it as in the proof."
        )

    @property
    def max_experts(self) -> int:
        return int(self.parameters.max_experts)

    def rule(self) -> UpdateRule:
        p = self.parameters
        own = AddExpDNumbers(p.beta, p.gamma, p.prune == "oldest", p.new_weight == "before")
        return self.around(*build_fragments(self.expert), ExpertPool, classes=True, own=own)

    def initialise(self) -> None:
        super().initialise()
        self.state["weight"][0] = 1.0
        self.state["experts"][0] = 1


class AddExpDNumbers(NamedTuple):
    """Parameters of `add_exp_d`."""

    beta: float
    gamma: float
    oldest: bool
    """Whether a full pool removes the oldest."""
    before: bool
    """Whether a new expert's weight is a share of the weights before the decay."""


@cache
def build_fragments(expert: Expert) -> tuple[Any, Any]:
    """Make `score` and `learn` for experts of one kind."""
    predict, _, teach, begin = expert
    vote = voting(expert)

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: ExpertPool) -> None:
        vote(x, p, memory)
        shares(memory)

    @fragment
    def learn(x: Array, label: int, _omega: float, _finite: bool, p: EnsembleNumbers, memory: ExpertPool) -> None:
        """Decay the weights, add an expert, learn. Shapes: x f8[d]. S is from `score` of the row.

        See docs/algorithms/ensembles.md#add_exp_d.
        """
        memory.learned[0] += 1
        wrong = largest(memory.S) != label
        total = total_weight(memory)
        for e in range(memory.experts[0]):
            if int(memory.votes[e]) != label:
                memory.weight[e] = max(memory.weight[e] * p.own.beta, LEAST)
        gone = outgoing(p.own.oldest, memory) if wrong else -1
        # Remaining experts learn before slots are moved, while their predictions are still valid.
        for e in range(memory.experts[0]):
            if e != gone:
                teach(x, label, 1.0, p.base, member(memory.members, e), memory.margins[e])
        if wrong:
            born = succeed(gone, p.own.gamma * (total if p.own.before else total_weight(memory)), memory)
            begin(p, memory)
            one = member(memory.members, born)
            predict(x, p.base, one, memory.margins, born)
            teach(x, label, 1.0, p.base, one, memory.margins[born])
        normalise(memory)

    return score, learn

"""Dynamic weighted majority."""

from functools import cache
from typing import Any

from driftway.learners.contract import Array, Parameters, UpdateRule, fragment, integer, number
from driftway.learners.engine.jit import member
from driftway.learners.engine.parameters import learner
from driftway.learners.ensembles.ensemble import Ensemble, EnsembleNumbers
from driftway.learners.ensembles.expert import Expert, largest
from driftway.learners.ensembles.expert_pool import ExpertPool, enter, leave, lightest, shares, tally, voting


class DWM(Ensemble):
    """Experts vote with weights that shrink by their mistakes; light ones are removed, a joint mistake adds a new one.

    Weights and the pool change every `period` rows. Every expert learns every row, so those created after a drift know
    nothing from before it. Use it if concepts change abruptly.

    Cost
    ----
    O(M base) per row; M times the base's state and 8 M + 16 bytes, M = max_experts.

    Source
    ------
    Kolter and Maloof, JMLR 8, 2007. docs/algorithms/ensembles.md#dwm. The score is from the weights before the row.
    """

    name = "dwm"
    tasks = ("binary", "multiclass")
    votes = True

    class Params(Parameters):
        base: str = learner("gaussian_nb", "Learner of every expert.")
        beta: float = number(0.5, "Factor of an expert's weight after a mistake.", above=0.0, below=1.0)
        theta: float = number(0.01, "Weight below which an expert leaves, the largest being 1.", above=0.0, below=1.0)
        period: int = integer(50, "Rows between changes of the weights and of the pool.", at_least=1)
        max_experts: int = integer(
            25, "Largest number of experts; a new one then replaces the one of least weight.", at_least=2
        )

    @property
    def max_experts(self) -> int:
        return int(self.parameters.max_experts)

    def rule(self) -> UpdateRule:
        return self.around(*build_fragments(self.expert), ExpertPool, classes=True)

    def initialise(self) -> None:
        super().initialise()
        self.state["weight"][0] = 1.0
        self.state["experts"][0] = 1


@cache
def build_fragments(expert: Expert) -> tuple[Any, Any]:
    """Make `score` and `learn` for experts of one kind."""
    vote = voting(expert)
    _, _, teach, begin = expert

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: ExpertPool) -> None:
        vote(x, p, memory)
        shares(memory)

    @fragment
    def learn(x: Array, label: int, _omega: float, _finite: bool, p: EnsembleNumbers, memory: ExpertPool) -> None:
        """Kolter and Maloof's Figure 1, from line 6 on. Shapes: x f8[d]."""
        memory.learned[0] += 1
        if memory.learned[0] % p.own.period == 0:
            for e in range(memory.experts[0]):
                if int(memory.votes[e]) != label:
                    memory.weight[e] *= p.own.beta
            tally(memory)
            wrong = largest(memory.S) != label
            prune(p.own.theta, memory)
            if wrong:
                if memory.experts[0] == memory.states.shape[0]:
                    leave(lightest(memory), memory)
                enter(1.0, memory)
            begin(p, memory)  # slots were reassigned
            vote(x, p, memory)
        for e in range(memory.experts[0]):
            teach(x, label, 1.0, p.base, member(memory.members, e), memory.margins[e])

    return score, learn


@fragment
def prune(theta: float, memory: ExpertPool) -> None:
    """Scale the weights to a maximum of 1, and remove the experts below theta."""
    heaviest = 0.0
    for e in range(memory.experts[0]):
        heaviest = max(heaviest, memory.weight[e])
    for e in range(memory.experts[0]):
        memory.weight[e] /= heaviest
    for e in range(memory.experts[0] - 1, -1, -1):
        if memory.weight[e] < theta:
            leave(e, memory)

"""The weighted majority algorithm over learners of different kinds."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    field,
    fragment,
    number,
    scratch,
)
from driftway.learners.engine.parameters import learners
from driftway.learners.engine.state import Bytes, State
from driftway.learners.ensembles.additive import LEAST, decay_factor, normalise
from driftway.learners.ensembles.ensemble import DEFAULT, EnsembleNumbers
from driftway.learners.ensembles.expert_pool import tally
from driftway.learners.ensembles.heterogeneous import (
    HeterogeneousExpert,
    HeterogeneousPool,
    beginning,
    teaching,
    voting,
)
from driftway.learners.spec import Spec

OF_TWO = "ogd_logistic+aromma+bayes_probit/q=0.001"
OF_MORE = "gaussian_nb+mc_softmax+mc_aromma+mc_arow/q=0.0001"
"""The experts of `default` for two and for more classes: learners with a long, a short and a changing memory."""


class WeightedMajority(Learner):
    """Learners of any kinds, all of which learn every row, vote with weights that shrink by each mistake.

    If the best of M makes m mistakes, it makes at most 2.41 (m + log2 M) with two classes and floor=0, and usually
    about m. The floor lets a learner that was bad for long regain influence soon after it has become good. Use it if
    you do not know which of several learners suits your stream, or if that changes.

    Cost
    ----
    O(M) per row plus that of the experts; their states and 8 M bytes, M being their number.

    Source
    ------
    Littlestone and Warmuth, Information and Computation 108, 1994: WML, which with floor=0 is WM.
    docs/algorithms/ensembles.md#weighted_majority. The score uses the weights before the row. Differs: weights sum to
    1, and none decays below 1e-300.
    """

    name = "weighted_majority"
    tasks = ("binary", "multiclass")
    votes = True
    composite = True

    class Params(Parameters):
        experts: str = learners(
            DEFAULT, f"The pool, two at least; `default` is `{OF_TWO}`, and with more classes `{OF_MORE}`."
        )
        beta: float = decay_factor("a mistake")
        floor: float = number(
            0.05, "Share of the mean weight below which a mistake costs nothing more; 0: none.", at_least=0.0, below=1.0
        )

    def rule(self) -> UpdateRule:
        given = EnsembleNumbers(self.parameters.numbers(), self.kinds.parameters)
        sizes = {"M": len(self.kinds.experts), "words": len(self.kinds.fresh)}
        score, learn = build_fragments(self.kinds.fragments)
        return UpdateRule(
            score, learn, given, WeightedMajorityState, sizes, classes=True, begin=beginning(self.kinds.fragments)
        )

    def scratch_arrays(self, *axes: int) -> dict[str, Any]:
        experts = np.array([len(self.kinds.experts)])
        return {**super().scratch_arrays(*axes), "members": self.kinds.within(self.state["states"]), "experts": experts}

    def row_buffer(self, n: int) -> Array:
        return self.kinds.widest.row_buffer(n)

    def initialise(self) -> None:
        self.state["states"][:] = self.kinds.fresh
        self.state["weight"][:] = 1.0 / len(self.kinds.experts)

    def check_state(self, memory: Bytes) -> None:
        super().check_state(memory)
        self.kinds.check(State(self.state.fields, memory)["states"])

    def _read(self, parameters: Mapping[str, Any]) -> Any:
        read = super()._read(parameters)
        text = read.experts
        if text == DEFAULT:
            text = OF_MORE if self.n_classes > 2 else OF_TWO
        try:
            experts = [spec.create(self.n_features, self.n_classes, self.task) for spec in Spec.parse_list(text)]
        except ValueError as error:
            raise ParameterError(f"experts of {self.name} must be learners of this task: {error}") from None
        for one in experts:
            if one.composite:
                raise ParameterError(f"experts of {self.name} must be plain learners, not {one.name}")
        if len(experts) < 2:
            raise ParameterError(f"experts of {self.name} must be at least two, not {text} alone")
        self.kinds = HeterogeneousPool(experts)
        self.uses_features = any(one.uses_features for one in experts)
        self.standardizable = all(one.standardizable for one in experts)
        self.unscaled = tuple(sorted({column for one in experts for column in one.unscaled}))
        return read

    def _prepare(self, X: Array) -> Array:
        return self.kinds.widest._prepare(X)  # noqa: SLF001 - all experts get the same rows, prepared once


class WeightedMajorityState(NamedTuple):
    """State of `weighted_majority`."""

    members: Any
    """Views of `states`, one for each expert."""
    experts: Counts
    """i8[1]: M, where the fragments of pools expect it."""
    weight: Array = field("f8[M]", "the experts' weights, which sum to 1")
    states: Array = field("f8[words]", "the experts' states, one after the other")
    margins: Array = scratch("f8[M]", "the experts' predictions of the row")
    votes: Array = scratch("f8[M]", "the classes that they vote for")
    S: Array = scratch("f8[K]", "share of the weight that votes for each class")


@cache
def build_fragments(kinds: tuple[HeterogeneousExpert, ...]) -> tuple[Any, Any]:
    """Make `score` and `learn` for experts of these kinds."""
    vote, teach = voting(kinds), teaching(kinds)

    @fragment
    def score(x: Array, p: EnsembleNumbers, memory: WeightedMajorityState) -> None:
        vote(x, p, memory)
        tally(memory)

    @fragment
    def learn(
        x: Array, label: int, _omega: float, _finite: bool, p: EnsembleNumbers, memory: WeightedMajorityState
    ) -> None:
        """Littlestone and Warmuth's WML. Shapes: x f8[d]."""
        low, decayed = p.own.floor / memory.experts[0], False
        for e in range(memory.experts[0]):
            if int(memory.votes[e]) != label and memory.weight[e] > low:
                memory.weight[e] = max(memory.weight[e] * p.own.beta, LEAST)
                decayed = True
        if decayed:
            normalise(memory)
        teach(x, label, p, memory)

    return score, learn

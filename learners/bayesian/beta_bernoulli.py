"""A coin's bias under a Beta prior."""

from typing import Any, NamedTuple

from driftway.learners.contract import Array, Learner, Parameters, UpdateRule, field, fragment, number
from driftway.learners.numeric.elementary.logarithm import log


class BetaBernoulli(Learner):
    """The share of class 1 under a Beta prior, whatever the features: each posterior is the next row's prior.

    A baseline whose score is a probability: s = ln(a / b), the log-odds of the posterior mean a / (a + b).

    Cost
    ----
    O(1) per row; 16 bytes.

    Source
    ------
    Huang, Online Learning, "Bayesian Online Learning", the coin. docs/algorithms/bayesian.md#beta_bernoulli. Differs:
    `decay`, towards the prior.
    """

    name = "beta_bernoulli"
    tasks = ("binary",)
    link = "logistic"
    uses_features = False

    class Params(Parameters):
        a0: float = number(1.0, "Weight of the prior, in rows of class 1.", above=0.0)
        b0: float = number(1.0, "Weight of the prior, in rows of class 0.", above=0.0)
        decay: float = number(
            1.0,
            "Factor of the weight of earlier rows at each row; a memory of about 1 / (1 - decay) rows, 1 never "
            "forgets.",
            above=0.0,
            at_most=1.0,
        )

    def rule(self) -> UpdateRule:
        return UpdateRule(score, learn, self.parameters.numbers(), BetaBernoulliState)

    def initialise(self) -> None:
        self.state["a"][0], self.state["b"][0] = self.parameters.a0, self.parameters.b0


class BetaBernoulliState(NamedTuple):
    """State of `beta_bernoulli`."""

    a: Array = field("f8[1]", "a0 and the rows of class 1, discounted")
    b: Array = field("f8[1]", "b0 and the rows of class 0, discounted")


@fragment
def score(_x: Array, _parameters: Any, memory: BetaBernoulliState) -> float:
    """Return the log-odds of the posterior mean."""
    return log(memory.a[0] / memory.b[0])


@fragment
def learn(_x: Array, y: float, _omega: float, _s: float, p: BetaBernoulli.Params, memory: BetaBernoulliState) -> None:
    """Decay the posterior towards the prior and count the row. Invariant: a >= a0, b >= b0.

    See docs/algorithms/bayesian.md#beta_bernoulli.
    """
    if p.decay < 1.0:
        memory.a[0] = p.a0 + p.decay * (memory.a[0] - p.a0)
        memory.b[0] = p.b0 + p.decay * (memory.b[0] - p.b0)
    if y > 0.0:
        memory.a[0] += 1.0
    else:
        memory.b[0] += 1.0

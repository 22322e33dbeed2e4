"""The learner that needs no tuning."""

import math
from typing import Any

import numpy as np

from learners.auto import (
    classes,
    first_order,
    label_history,
    mixing,
    neighbours,
    second_order,
    stacking,
    targets,
    waves,
)
from learners.auto.target_history import LAGS
from learners.contract import Learner, Parameters, Rule, integer, number
from learners.learner import REGRESSION
from learners.memory import Sizes

PER_STEP = 0.25e-3
"""Microseconds that a multiplication and an addition are taken to take, with what belongs to them."""


class Auto(Learner):
    """Experts of many kinds, asked side by side, and a mixture that learns from every label which of them to believe.

    Nothing is to be chosen: features are standardised inside; long and short memories, straight and curved borders,
    neighbours and the order of the labels are all among the experts, and the mixture follows the stream from one to
    another. Scores of classes are log-odds and stand for probabilities.

    Cost
    ----
    Labels: O(n (W + D)) + O(n^2) + O(E^2) per row with W = 512 neighbours, D = 128 waves and E = 17 experts; targets:
    O(n^4) up to 12 features, O(n^2) above. What does not fit `budget` is left out.

    Source
    ------
    Mixing of log-odds is Mahoney's, *Adaptive Weighing of Context Models*, 2005, analysed by Mattern, DCC 2012; here
    with the covariance of an extended Kalman filter, and weights shared by all classes. Exponential weights: Vovk,
    COLT 1990. docs/decisions/0031 tells what was tried.
    """

    name = "auto"
    tasks = ("binary", "multiclass", "regression")
    standardizable = False
    mixes = True
    link = "logistic"
    multiclass_link = "softmax"

    class Params(Parameters):
        budget: float = number(
            30.0,
            "Microseconds that a row may take: experts whose cost grows with the square of the features, or with "
            "neighbours, are left out where all together would take more, by the count of their multiplications.",
            above=0.0,
        )
        seed: int = integer(1, "Draw of the waves' frequencies.", at_least=0, at_most=2**53)

    def affordable(self, *steps: float) -> list[bool]:
        """Which of several are taken, one after the other, if so many multiplications each fit into the budget."""
        left, taken = self.parameters.budget / PER_STEP, []
        for cost in steps:
            taken.append(cost <= left)
            left -= cost if cost <= left else 0.0
        return taken

    def experts(self) -> dict[str, float]:
        """Of classes, how much of the lead of rows' classes each made up over the last thousand rows.

        Of targets, its weight in the mean now.
        """
        asked = self.rule().parameters
        names = targets.names(asked) if self.task == REGRESSION else classes.names(asked)
        shares = self.state["stacking.share" if self.task == REGRESSION else "mixing.share"]
        return dict(zip(names, shares.tolist(), strict=True))

    def rule(self) -> Rule:
        return self._of_targets() if self.task == REGRESSION else self._of_classes()

    def _of_classes(self) -> Rule:
        n, K = self.n_features, self.n_classes
        C = 1 if K == 2 else K
        asked = classes.Asked(
            *self.affordable(
                waves.WAVES * (n + 2 * first_order.EXPERTS * C),
                2 * second_order.EXPERTS * (n + 1) ** 2,
                neighbours.WINDOW * n,
            )
        )
        E = classes.ALWAYS + first_order.EXPERTS * asked.waves + second_order.EXPERTS * asked.filters
        E += neighbours.EXPERTS * asked.near
        longest, past = label_history.lengths(K)
        sizes: Sizes = {
            "w": n + 1,
            "C": C,
            "L": first_order.EXPERTS * C,
            "V": first_order.EXPERTS * C if asked.waves else 0,
            "D": waves.WAVES if asked.waves else 0,
            "s": n + 1 if asked.filters else 0,
            "W": neighbours.WINDOW if asked.near else 0,
            "R": longest,
            "H": K**past,
            "E": E,
            "M": 2 * E,
        }
        return Rule(classes.score, classes.learn, asked, classes.Experts, sizes, classes=True)

    def _of_targets(self) -> Rule:
        n = self.n_features
        u = n + 1 + LAGS
        q = u + (n * (n + 1) // 2 if n <= targets.WIDEST else n)
        asked = targets.Asked(
            *self.affordable(
                2 * (targets.ON_CHANGES * u**2 + targets.ON_LEVELS * (n + 1) ** 2),
                2 * targets.ON_CURVES * q**2,
                neighbours.WINDOW * n,
            )
        )
        E = targets.ALWAYS + (targets.ON_CHANGES + targets.ON_LEVELS) * asked.squares
        E += targets.ON_CURVES * asked.curves + asked.near
        sizes: Sizes = {
            "w": n + 1,
            "u": u,
            "B": targets.ON_CHANGES,
            "uB": u if asked.squares else 0,
            "wB": n + 1 if asked.squares else 0,
            "G": targets.ON_CURVES,
            "q": q if asked.curves else 0,
            "W": neighbours.WINDOW if asked.near else 0,
            "E": E,
        }
        return Rule(targets.score, targets.learn, asked, targets.Experts, sizes)

    def initialise(self) -> None:
        begin: dict[str, Any] = {
            "mixing.P": mixing.FIRST,
            "filters.P": second_order.FIRST,
            "stacking.P": stacking.FIRST,
        }
        for name in self.state:
            if name == "P" or name.endswith(("_P", ".P")):
                matrices = self.state[name]
                for P in matrices if matrices.ndim == 3 else [matrices]:
                    np.fill_diagonal(P, begin.get(name, 1.0))
        if self.task == REGRESSION:
            self.state["stacking.share"][:] = 1.0 / len(self.state["stacking.share"])
            return
        inputs = self.state["mixing.weight"]
        inputs[:] = mixing.TRUST / math.sqrt(len(inputs))
        self.state["mixing.share"][:] = 2.0 / len(inputs)
        frequency, phase = self.state["waves.frequency"], self.state["waves.phase"]
        waves.draw(np.uint64(self.parameters.seed), frequency, phase, np.empty(4, np.uint64))

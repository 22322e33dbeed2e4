"""The perceptron."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.state import Fields
from learners.vectors import dot, step_along


class Perceptron(Learner):
    """Adds every row that it gets wrong; changes nothing otherwise.

    Parameters
    ----------
    eta : float
        Step size, eta > 0. From zero weights it only scales the score. Default 1.0.
    ties : str
        A score of exactly 0: ``update`` takes it for a mistake whatever the label, ``correct`` takes it for
        class 1 (mistake only if the label is class 0). Default ``update``.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row; 8 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Huang, Online Learning, "Online Perceptron"; Kivinen, Smola and Williamson 2002, section 3 (NORMA without
    margin and decay). Mistakes <= (R / gamma)^2 on separable data (Novikoff).
    """

    name = "perceptron"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(1.0, above=0.0)
        ties: str = choice("update", ("update", "correct"))
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        perceptron(rows, y, score, p.eta, p.ties == "update", s["weight"], s["skipped"])


@bare_kernel
def perceptron(
    rows: Array,
    y: Array,
    score: Array,
    eta: float,
    zero_is_mistake: bool,
    weight: Array,
    skipped: NDArray[np.int64],
) -> None:
    """Predict, then add the row if its label is on the other side.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], skipped i8[1]. ALGORITHMS.md 3.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        right = finite and label * s > 0.0
        if right or math.isnan(label):
            continue
        if s == 0.0 and label > 0.0 and not zero_is_mistake:
            continue
        if not (finite and step_along(weight, x, eta * label)):
            skipped[0] += 1

"""The p-norm perceptron."""

from __future__ import annotations

import math
from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.alma import alma
from learners.linear.p_norm import exponent, exponent_for, room_for_weights
from learners.parameters import Parameters, choice, flag, number
from learners.state import Fields


class PNormPerceptron(Learner):
    """The perceptron in other geometries: from the sum of the rows it got wrong (p = 2) almost to Winnow (p = ln d).

    theta <- theta + alpha y x if y s <= 0; s = w'x with w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2).

    Parameters
    ----------
    alpha : float
        Step size, alpha > 0. Default 1.0.
    p : float
        Norm of the dual vector, p >= 2; large for sparse concepts; ``auto`` = max(2, 2 ln d). Default 2.0.
    ties : str
        A score of exactly 0: ``update`` takes it for a mistake whatever the label, ``correct`` takes it for
        class 1 (mistake only if the label is class 0). Default ``update``.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    theta : f8[d]       dual weights, d with the intercept
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row, with 2 d powers for each that is learned unless p = 2; 8 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3 and equation 1, after Grove, Littlestone and Schuurmans.
    ALGORITHMS.md 3.
    """

    name = "p_norm_perceptron"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        alpha: float = number(1.0, above=0.0)
        p: float | str = exponent()
        ties: str = choice("update", ("update", "correct"))
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"theta": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        a, s = self.parameters, self.state
        p = exponent_for(a.p, self.width)
        alma(
            rows,
            y,
            score,
            p,
            a.alpha,
            0.0,
            a.ties == "update",
            math.inf,
            s["theta"],
            s["skipped"],
            room_for_weights(p, s["theta"]),
        )

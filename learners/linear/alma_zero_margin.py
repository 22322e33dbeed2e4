"""ALMA without a margin: a perceptron within a ball."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.alma import alma
from learners.linear.p_norm import exponent, exponent_for, room_for_weights
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class ALMAZeroMargin(Learner):
    """Learns the rows that it gets wrong and keeps the weights in a ball.

    theta' = theta + alpha y x if y s <= 0; theta <- theta' / max(1, |theta'|_p / B); s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2).

    Parameters
    ----------
    alpha : float
        Step size, alpha > 0. Default 0.1.
    B : float
        Longest dual vector, B > 0; longer ones are scaled back. Default 10.0.
    p : float
        Norm of the dual vector, p >= 2; large for sparse concepts; ``auto`` = max(2, 2 ln d). Default 2.0.
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
    Kivinen, Smola and Williamson 2002 (KSW), section 3: ALMA simplified to fixed alpha, with
    rho = 0. ALGORITHMS.md 3.
    """

    name = "alma_zero_margin"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        alpha: float = number(0.1, above=0.0)
        B: float = number(10.0, above=0.0)
        p: float | str = exponent()
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
            True,
            a.B,
            s["theta"],
            s["skipped"],
            room_for_weights(p, s["theta"]),
        )

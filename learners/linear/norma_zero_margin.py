"""NORMA without a margin: a perceptron that forgets."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.norma import norma
from learners.linear.p_norm import exponent, exponent_for, room_for_weights
from learners.parameters import ParameterError, Parameters, flag, number
from learners.state import Fields


class NORMAZeroMargin(Learner):
    """Learns the rows that it gets wrong and forgets the old ones at a steady rate.

    theta <- (1 - alpha lam) theta + alpha sigma y x with sigma = 1 if y s <= 0, else 0; s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2). The intercept decays too.

    Parameters
    ----------
    alpha : float
        Step size, alpha > 0. Default 0.1.
    lam : float
        Decay, 0 <= lam < 1/alpha: theta loses its share alpha lam at every labelled row. Default 0.01.
    p : float
        Norm of the dual vector, p >= 2; large for sparse concepts; ``auto`` = max(2, 2 ln d). Default 2.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    theta : f8[d]       dual weights divided by scale, d with the intercept
    scale : f8[1]       factor of theta, starts at 1
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row, with 2 d powers for each that is learned unless p = 2; 8 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, lam >= 1/alpha, or a task other than two classes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3, equation 2 with rho = 0. ALGORITHMS.md 3.
    """

    name = "norma_zero_margin"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        alpha: float = number(0.1, above=0.0)
        lam: float = number(0.01, at_least=0.0)
        p: float | str = exponent()
        intercept: bool = flag(True)

        def __post_init__(self) -> None:
            super().__post_init__()
            if not self.alpha * self.lam < 1.0:
                raise ParameterError(f"lam must be < 1/alpha = {1.0 / self.alpha:g}, got {self.lam}")

    def fields(self) -> Fields:
        return {"theta": ("f8", (self.width,)), "scale": ("f8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        self.state["scale"][0] = 1.0

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        a, s = self.parameters, self.state
        p = exponent_for(a.p, self.width)
        norma(
            rows,
            y,
            score,
            p,
            a.alpha,
            0.0,
            1.0 - a.alpha * a.lam,
            s["theta"],
            s["scale"],
            s["skipped"],
            room_for_weights(p, s["theta"]),
        )

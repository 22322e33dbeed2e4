"""Recursive least squares with a forgetting factor (DFOP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.forgetting.recursion import recursive_least_squares
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class DFOP(Learner):
    """Distribution-free one-pass learning: least squares in which the past fades exponentially.

    Old rows weigh (1 - mu)^age, so the model follows a drifting stream with a memory of about 1/mu rows.

    Parameters
    ----------
    mu : float
        Forgetting factor, 0 <= mu < 1; rows older than 1/mu weigh less than 1/e. Default 0.005.
    delta : float
        Ridge of the start, P = I/delta, delta > 0. Default 1.0.
    p_max : float
        Wind-up guard: largest diagonal entry of P, p_max > 0. Default 1e4.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      least-squares weights, d with the intercept
    P : f8[d, d]        inverse of the discounted second-moment matrix, bitwise symmetric
    skipped : i8[1]     labelled rows whose step was not finite

    Cost
    ----
    O(d^2) per row; 8 d^2 + 8 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or more than two classes.

    Source
    ------
    Zhao and Zhou, Distribution-Free One-Pass Learning, Algorithm 2 with constant lambda. Differs: predicts
    before the update, mirrors P, guards against wind-up (ALGORITHMS.md 11).
    """

    name = "dfop"
    tasks = ("binary", "regression")

    @dataclass(frozen=True)
    class Params(Parameters):
        mu: float = number(0.005, at_least=0.0, below=1.0)
        delta: float = number(1.0, above=0.0)
        p_max: float = number(1e4, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        d = self.width
        return {"weight": ("f8", (d,)), "P": ("f8", (d, d)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        np.fill_diagonal(self.state["P"], 1.0 / self.parameters.delta)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        recursive_least_squares(
            rows,
            y,
            score,
            self.kind == "binary",
            1.0 - p.mu,
            p.p_max,
            s["weight"],
            s["P"],
            s["skipped"],
            np.empty(self.width),
        )

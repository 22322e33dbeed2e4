"""Recursive least squares without forgetting (RLS)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from learners.forgetting.recursion import recursive_least_squares
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class RLS(Learner):
    """Ridge regression on all rows so far, one row at a time: every row weighs the same for ever.

    The best linear fit of a stream that does not drift; on one that does, the yardstick for forgetting.

    Parameters
    ----------
    delta : float
        Ridge of the start, P = I/delta, delta > 0. Default 1.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      least-squares weights, d with the intercept
    P : f8[d, d]        inverse of delta I + sum x x', bitwise symmetric
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
    Zhao and Zhou, Distribution-Free One-Pass Learning, eq. 3 with mu = 0 (ALGORITHMS.md 11). Without
    forgetting P only shrinks, so there is no wind-up to guard against.
    """

    name = "rls"
    tasks = ("binary", "regression")

    @dataclass(frozen=True)
    class Params(Parameters):
        delta: float = number(1.0, above=0.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        d = self.width
        return {"weight": ("f8", (d,)), "P": ("f8", (d, d)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        np.fill_diagonal(self.state["P"], 1.0 / self.parameters.delta)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s = self.state
        recursive_least_squares(
            rows,
            y,
            score,
            self.kind == "binary",
            1.0,
            math.inf,
            s["weight"],
            s["P"],
            s["skipped"],
            np.empty(self.width),
        )

"""ROMMA, the relaxed online maximum margin algorithm."""

from __future__ import annotations

from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.relaxed_margin import relaxed_maximum_margin
from learners.parameters import Parameters, flag
from learners.state import Fields


class ROMMA(Learner):
    """Keeps the shortest weights that give the row it got wrong a margin of 1 and all before it no less than they had.

    What was learned before is held as one half-space instead of all rows: w'u >= |w|^2. On y s <= 0, with mu the
    margin: w <- c w + e x, c = (|x|^2 |w|^2 - mu y s) / D, e = |w|^2 (mu y - s) / D, D = |x|^2 |w|^2 - s^2.

    Parameters
    ----------
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    mu : f8[1]          margin aimed at, in units of `weight`: 1 until the weights are scaled down
    skipped : i8[1]     labelled rows whose score or step was not finite, zero rows among them

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Li and Long, Machine Learning 46, 2002, ROMMA. ALGORITHMS.md 3. Differs: (w, mu) is rescaled together, which changes
    no prediction; rows parallel to the weights only correct their length.
    """

    name = "romma"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "mu": ("f8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        self.state["mu"][0] = 1.0

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s = self.state
        relaxed_maximum_margin(rows, y, score, False, s["weight"], s["mu"], s["skipped"])

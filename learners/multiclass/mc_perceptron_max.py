"""The multiclass perceptron that blames the highest wrong class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.learner import Array, Learner
from learners.multiclass.ultraconservative import MAX, ultraconservative
from learners.parameters import Parameters, flag
from learners.state import Fields


class MCPerceptronMax(Learner):
    """Adds every row that it gets wrong to its class and takes it from the class that was predicted.

    The plainest learner of several classes: W_y <- W_y + x, W_s <- W_s - x, with s the best wrong class, where a class
    other than y is predicted; no change otherwise.

    Parameters
    ----------
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[K, d]   one row per class, d with the intercept
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(K d) per row; 8 K d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task without classes.

    Source
    ------
    Crammer and Singer, JMLR 2003, the ultraconservative family; Huang, Online Learning, "Multi-class Online Learning",
    max-score update. ALGORITHMS.md 8. Of two classes, a tie is no mistake on a row of class 0, though its score
    of 0 stands for class 1: `perceptron` is the better choice there.
    """

    name = "mc_perceptron_max"
    tasks = ("binary", "multiclass")

    @dataclass(frozen=True)
    class Params(Parameters):
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.n_classes, self.width)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        S, step = np.empty(self.n_classes), np.empty(self.n_classes)
        ultraconservative(rows, y, score, MAX, self.state["weight"], self.state["skipped"], S, step)

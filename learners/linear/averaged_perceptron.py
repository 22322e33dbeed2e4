"""The averaged perceptron."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag
from learners.state import Fields
from learners.vectors import dots, step_both


class AveragedPerceptron(Learner):
    """Learns as the perceptron and predicts with the sum of all weights it ever had, each as often as it lasted.

    With c = 1 + rows seen: s = c w'x - u'x; on y w'x <= 0: w <- w + y x, u <- u + c y x. It never forgets.

    Parameters
    ----------
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      w, the perceptron's, d with the intercept
    late : f8[d]        u, each update times the row it came at: what the sum lacks of c w
    learned : i8[1]     c - 1, labelled rows so far
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row; 16 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Freund and Schapire, Machine Learning 37, 1999, section 5, `avg`. ALGORITHMS.md 3.
    """

    name = "averaged_perceptron"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        d = self.width
        return {"weight": ("f8", (d,)), "late": ("f8", (d,)), "learned": ("i8", (1,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s = self.state
        averaged_perceptron(rows, y, score, s["weight"], s["late"], s["learned"], s["skipped"])


@bare_kernel
def averaged_perceptron(
    rows: Array,
    y: Array,
    score: Array,
    weight: Array,
    late: Array,
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Predict with the sum of all weights so far, then learn as the perceptron.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], late f8[d], learned i8[1], skipped i8[1].
    ALGORITHMS.md 3. Either both vectors take a step or none does.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        newest, before = dots(weight, late, x)
        c = 1.0 + learned[0]
        s = c * newest - before
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        if math.isnan(label):
            continue
        learned[0] += 1
        if finite and label * newest > 0.0:
            continue
        if not (finite and step_both(late, c * label, weight, label, x)):
            skipped[0] += 1

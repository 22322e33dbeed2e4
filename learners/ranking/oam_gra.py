"""Online AUC maximisation by gradient (OAMgra)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, integer, number
from learners.random import Words, seed
from learners.ranking.class_means import centred_score, join_class
from learners.ranking.reservoir import offer, pair_weight, sampled_fields
from learners.state import Fields
from learners.vectors import step_along


class OAMGra(Learner):
    """Ranks rows of class 1 above those of class 0 by one gradient step against a sample of the other class.

    For few positives among many negatives. All sampled rows that the row fails to beat by a margin of 1 pull at once;
    `oam_seq` steps pair after pair. Nothing is learned before both classes have been seen.

    w <- w + C c_t / B y times the sum of x - x' over the sampled x' of the other class with y w.(x - x') <= 1.
    s = w.x - w.(c_0 + c_1) / 2, the class means drawing the line.

    Parameters
    ----------
    buffer : int
        B, the rows sampled of each class, buffer >= 1. Default 100.
    C : float
        Step size if every pair pulls, C > 0. Larger = faster and more trusting. Default 0.1.
    reweight : bool
        Let a sample weigh as much as all rows that it stands for, c_t = N / B; then steps grow with the stream.
        Default false.
    seed : int
        Of the generator that samples, 0 <= seed <= 2^53. Default 1.

    State
    -----
    weight : f8[d]          zero until both classes were seen
    classes : i8[2]         rows counted of class 0 and of class 1
    mean : f8[2, d]         c, per class
    sample : f8[2, B, d]    rows of each class
    generator : u8[4]       of the random numbers
    skipped : i8[1]         labelled rows whose mean or step would have overflowed

    Cost
    ----
    O(B d) per row; 16 B d + 24 d + 56 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Zhao, Hoi, Jin and Yang, ICML 2011, OAMgra with reservoir sampling. ALGORITHMS.md 14. Differs: C is shared among
    the pairs of a row, c_t = 1 by default, and the line between the classes.
    """

    name = "oam_gra"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        buffer: int = integer(100, at_least=1)
        C: float = number(0.1, above=0.0)
        reweight: bool = flag(False)
        seed: int = integer(1, at_least=0, at_most=2**53)

    def fields(self) -> Fields:
        return sampled_fields(self.parameters.buffer, self.width)

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        views = s["weight"], s["classes"], s["mean"], s["sample"], s["generator"], s["skipped"]
        oam_gra(rows, y, score, p.C, p.reweight, *views, np.empty(self.width))


@bare_kernel
def oam_gra(
    rows: Array,
    y: Array,
    score: Array,
    C: float,
    reweight: bool,
    weight: Array,
    classes: NDArray[np.int64],
    mean: Array,
    sample: Array,
    generator: Words,
    skipped: NDArray[np.int64],
    pull: Array,
) -> None:
    """Predict, step by what all sampled rows of the other class ask for, then offer the row to its own sample.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], classes i8[2], mean f8[2, d], sample f8[2, B, d],
    generator u8[4], skipped i8[1], pull f8[d] scratch. ALGORITHMS.md 14. Every test is made with the same weights.
    """
    d, size = rows.shape[1], sample.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        s = centred_score(weight, x, mean)
        score[t, 0] = s if math.isfinite(s) else 0.0
        if math.isnan(y[t]):
            continue
        own = int(y[t])
        other = 1 - own
        label = 2.0 * own - 1.0
        if not join_class(x, own, classes, mean):
            skipped[0] += 1
            continue
        for j in range(d):
            pull[j] = 0.0
        for i in range(min(classes[other], size)):
            z = sample[other, i]
            margin = 0.0
            for j in range(d):
                margin += weight[j] * (x[j] - z[j])
            if not label * margin > 1.0:
                for j in range(d):
                    pull[j] += x[j] - z[j]
        if not step_along(weight, pull, pair_weight(C, size, reweight, classes[other]) * label):
            skipped[0] += 1
        offer(x, classes[own], sample[own], generator)

"""Online AUC maximisation, pair after pair (OAMseq)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import Parameters, flag, integer, number
from learners.random import Words, seed
from learners.ranking.class_means import centred_score, join_class
from learners.ranking.reservoir import offer, pair_weight, sampled_fields
from learners.state import Fields


class OAMSeq(Learner):
    """Ranks rows of class 1 above those of class 0 by comparing each row with a sample of the other class.

    For few positives among many negatives. One passive-aggressive step per pair, each from the weights that the one
    before it left; `oam_gra` takes all pairs at once. Nothing is learned before both classes have been seen.

    For each sampled x' of the other class: w <- w + tau y (x - x'),
    tau = min(C c_t / B, [1 - y w.(x - x')]_+ / |x - x'|^2).
    s = w.x - w.(c_0 + c_1) / 2, the class means drawing the line.

    Parameters
    ----------
    buffer : int
        B, the rows sampled of each class, buffer >= 1. Default 100.
    C : float
        Largest sum of a row's steps, C > 0. Larger = faster and more trusting. Default 0.1.
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
    skipped : i8[1]         labelled rows whose mean, or some of whose steps, would have overflowed

    Cost
    ----
    O(B d) per row; 16 B d + 24 d + 56 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Zhao, Hoi, Jin and Yang, ICML 2011, OAMseq with reservoir sampling. ALGORITHMS.md 14. Differs: C is shared among
    the pairs of a row, c_t = 1 by default, and the line between the classes.
    """

    name = "oam_seq"
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
        oam_seq(rows, y, score, p.C, p.reweight, *views)


@bare_kernel
def oam_seq(
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
) -> None:
    """Predict, step once per sampled row of the other class in slot order, then offer the row to its own sample.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], classes i8[2], mean f8[2, d], sample f8[2, B, d],
    generator u8[4], skipped i8[1]. ALGORITHMS.md 14.
    """
    size = sample.shape[1]
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
        most = pair_weight(C, size, reweight, classes[other])
        refused = False
        for i in range(min(classes[other], size)):
            z = sample[other, i]
            margin, apart2 = 0.0, 0.0
            for j in range(x.shape[0]):
                apart = x[j] - z[j]
                margin += weight[j] * apart
                apart2 += apart * apart
            loss = 1.0 - label * margin
            if not math.isfinite(loss):
                refused = True
            elif loss > 0.0 and apart2 > 0.0:
                refused |= not step_apart(weight, x, z, min(most, loss / apart2) * label)
        if refused:
            skipped[0] += 1
        offer(x, classes[own], sample[own], generator)


@fragment
def step_apart(weight: Array, x: Array, z: Array, step: float) -> bool:
    """Add step * (x - z) to `weight`, all of it or, if some coordinate would overflow, nothing; say which.

    Shapes: weight f8[d], x f8[d], z f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        moved = weight[j] + step * (x[j] - z[j])
        overflows |= moved - moved != 0.0
    if overflows:
        return False
    for j in range(x.shape[0]):
        weight[j] += step * (x[j] - z[j])
    return True

"""A support vector machine on a sliding window."""

from typing import NamedTuple

import numpy as np

from learners.contract import Array, Counts, Learner, Rule, field, fragment, integer, part, scratch
from learners.linear.weights import product
from learners.random import Words, seed
from learners.vectors import step_along
from learners.windows.coordinate_descent import (
    Ring,
    Training,
    count_from,
    rows_in,
    slot_of_next,
    take_in,
    train,
    usable,
)


class SVMWin(Learner):
    """A support vector machine that is always trained on the last `window` rows, and goes on from its last solution.

    Follows a drift within a window, at the price of a training per row. A row that leaves the window takes its
    alpha y x out of the weights; the others keep their alpha. Choose a window as long as a concept may be trusted.

    Cost
    ----
    O(window max_sweeps d) per labelled row, with the defaults 2,000 visits of a row, or in one of `retrain_every` and
    O(d) in the others; 8 (window + 1) d + 24 window + 48 bytes.

    Source
    ------
    de Souza, Silva, Gama and Batista, SDM 2015 (the window); Hsieh and others, ICML 2008 (the training). ALGORITHMS.md
    12.1. Differs: the weights are summed anew each time the window has turned over, so that rounding does not add up;
    rows whose squared length is 0 or overflows do not enter the window.
    """

    name = "svm_win"
    tasks = ("binary",)

    class Params(Training):
        window: int = integer(200, "W, the labelled rows that are remembered.", at_least=1)
        retrain_every: int = integer(1, "Labelled rows from one training to the next.", at_least=1)

    def rule(self) -> Rule:
        return Rule(product, learn, self.parameters.numbers(), Machine, {"W": self.parameters.window})

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


class Machine(NamedTuple):
    """Memory of `svm_win`."""

    weight: Array = field("f8[d]", "sum of alpha y x over the window, d with the intercept")
    alpha: Array = field("f8[W]", "coefficient of each row of the window, within 0 and C")
    ring: Ring = part(Ring, "the window")
    generator: Words = field("u8[4]", "of the order of rows")
    skipped: Counts = field("i8[1]", "labelled rows whose squared length was 0 or not finite")
    order: Array = scratch("f8[W]", "slots in the order of a sweep")


@fragment
def learn(x: Array, y: float, _omega: float, _s: float, p: SVMWin.Params, memory: Machine) -> None:
    """Let the oldest row go and the new one in, then train if it is time. Shapes: x f8[d]. ALGORITHMS.md 12.1."""
    if not usable(x):
        memory.skipped[0] += 1
        return
    weight, alpha, ring, order = memory.weight, memory.alpha, memory.ring, memory.order
    slot = slot_of_next(ring)
    if alpha[slot] > 0.0:
        step_along(weight, ring.X[slot], -alpha[slot] * ring.Y[slot])
        alpha[slot] = 0.0
    take_in(x, y, ring)
    if slot == 0:
        sum_anew(memory)
    if ring.taken[0] % p.retrain_every == 0:
        n = rows_in(ring)
        count_from(0, n, order[:n])
        train(weight, alpha, order[:n], ring, p, memory.generator)


@fragment
def sum_anew(memory: Machine) -> None:
    """Make the weights what the coefficients say; a row that would overflow them loses its coefficient."""
    weight, alpha, ring = memory.weight, memory.alpha, memory.ring
    for j in range(weight.shape[0]):
        weight[j] = 0.0
    for i in range(alpha.shape[0]):
        if alpha[i] > 0.0 and not step_along(weight, ring.X[i], alpha[i] * ring.Y[i]):
            alpha[i] = 0.0

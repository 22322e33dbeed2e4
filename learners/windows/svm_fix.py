"""A support vector machine that is trained anew at fixed intervals on a fixed window."""

from typing import NamedTuple

import numpy as np

from learners.contract import Array, Counts, Learner, Rule, field, fragment, integer, part, scratch
from learners.linear.weights import product
from learners.random import Words, seed
from learners.windows.coordinate_descent import Ring, Training, count_from, rows_in, take_in, train_anew, usable


class SVMFix(Learner):
    """After every `batch` rows a support vector machine is trained from scratch on the last `window`.

    Between two trainings it costs what a perceptron costs. Choose it where a concept lasts for many batches; a drift
    is noticed `batch` rows late, and forgotten rows pull for a whole window.

    Cost
    ----
    O(d) per row, and O(window max_sweeps d) in one labelled row of `batch`: with the defaults 5,000 visits of a row;
    8 (window + 1) d + 16 window + 48 bytes.

    Source
    ------
    Syed, Liu and Sung, IJCAI 1999 (batches; papers say "batch SVM with a fixed window" and no size); Hsieh and others,
    ICML 2008 (the training). ALGORITHMS.md 12.1. Differs: rows whose squared length is 0 or overflows do not count.
    """

    name = "svm_fix"
    tasks = ("binary",)

    class Params(Training):
        window: int = integer(500, "W, the labelled rows that are remembered.", at_least=1)
        batch: int = integer(100, "Labelled rows from one training to the next.", at_least=1)

    def rule(self) -> Rule:
        return Rule(product, learn, self.parameters.numbers(), Machine, {"W": self.parameters.window})

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


class Machine(NamedTuple):
    """Memory of `svm_fix`."""

    weight: Array = field("f8[d]", "of the last training, d with the intercept")
    ring: Ring = part(Ring, "the window")
    generator: Words = field("u8[4]", "of the order of rows")
    skipped: Counts = field("i8[1]", "labelled rows whose squared length was 0 or not finite")
    alpha: Array = scratch("f8[W]", "coefficients, which every training begins at 0")
    order: Array = scratch("f8[W]", "slots in the order of a sweep")


@fragment
def learn(x: Array, y: float, _omega: float, _s: float, p: SVMFix.Params, memory: Machine) -> None:
    """Take the row in, and train if it ends a batch. Shapes: x f8[d]. ALGORITHMS.md 12.1."""
    if not usable(x):
        memory.skipped[0] += 1
        return
    ring, order = memory.ring, memory.order
    take_in(x, y, ring)
    if ring.taken[0] % p.batch == 0:
        n = rows_in(ring)
        count_from(0, n, order[:n])
        train_anew(memory.weight, memory.alpha, order[:n], ring, p, memory.generator)

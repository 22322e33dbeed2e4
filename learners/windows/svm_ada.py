"""A support vector machine that chooses how far back its window reaches."""

from typing import NamedTuple

import numpy as np

from learners.contract import Array, Counts, Learner, Rule, field, fragment, integer, number, part, scratch
from learners.linear.weights import product
from learners.random import Words, seed
from learners.vectors import dot
from learners.windows.coordinate_descent import Ring, Training, count_from, slot_of_next, take_in, train_anew, usable


class SVMAda(Learner):
    """After every `batch` rows: one support vector machine per window of 1, 2, 3 .. batches, and the best one stays.

    The best is that with the least xi-alpha-estimate of its leave-one-out error on the newest batch, the share of its
    rows with rho alpha R^2 + xi >= 1, where xi = [1 - y w.x]_+ and R is the longest row of the window; of equals the
    longest window. A steady concept has it long, a drift short. A quick guess, not a test: it errs on small batches.

    Cost
    ----
    O(d) per row, and O(batch max_batches^2 max_sweeps d) in one labelled row of `batch`: with the defaults 210,000
    visits of a row; 8 (batch max_batches + 1) d + 16 batch max_batches + 48 bytes.

    Source
    ------
    Klinkenberg and Joachims, ICML 2000, section 4; Klinkenberg, Intelligent Data Analysis 8, 2004; Hsieh and others,
    ICML 2008 (the training). ALGORITHMS.md 12.1. Differs: R^2 is max k(x, x), not max k(x, x) - k(x, x') over pairs;
    at most `max_batches` batches; rows whose squared length is 0 or overflows do not count.
    """

    name = "svm_ada"
    tasks = ("binary",)

    class Params(Training):
        batch: int = integer(100, "Labelled rows from one choice to the next.", at_least=1)
        max_batches: int = integer(20, "Batches in the longest window.", at_least=1)
        rho: float = number(1.0, "Factor of alpha R^2 in the estimate; 2 makes it a proven bound.", above=0.0)

    def rule(self) -> Rule:
        p = self.parameters
        return Rule(product, learn, p.numbers(), Machine, {"W": p.batch * p.max_batches})

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


class Machine(NamedTuple):
    """Memory of `svm_ada`."""

    weight: Array = field("f8[d]", "of the machine chosen last, d with the intercept")
    ring: Ring = part(Ring, "the longest window")
    generator: Words = field("u8[4]", "of the order of rows")
    skipped: Counts = field("i8[1]", "labelled rows whose squared length was 0 or not finite")
    candidate: Array = scratch("f8[d]", "weights of the machine in training")
    alpha: Array = scratch("f8[W]", "its coefficients, which every training begins at 0")
    order: Array = scratch("f8[W]", "slots in the order of a sweep")


@fragment
def learn(x: Array, y: float, _omega: float, _s: float, p: SVMAda.Params, memory: Machine) -> None:
    """Take the row in, and choose a machine if it ends a batch. Shapes: x f8[d]."""
    if not usable(x):
        memory.skipped[0] += 1
        return
    take_in(x, y, memory.ring)
    if memory.ring.taken[0] % p.batch == 0:
        choose(p, memory)


@fragment
def choose(p: SVMAda.Params, memory: Machine) -> None:
    """Train on the last h batches for h = 1, 2 .. and keep the weights that promise the fewest errors."""
    ring, order, candidate = memory.ring, memory.order, memory.candidate
    n_slots, end = ring.Y.shape[0], slot_of_next(ring)
    fewest = p.batch + 1
    for h in range(1, min(ring.taken[0] // p.batch, p.max_batches) + 1):
        n = h * p.batch
        count_from(end - n + n_slots, n_slots, order[:n])
        train_anew(candidate, memory.alpha, order[:n], ring, p, memory.generator)
        errors = estimated_errors(end, longest(order[:n], ring), p, memory)
        if errors <= fewest:
            fewest = errors
            for j in range(candidate.shape[0]):
                memory.weight[j] = candidate[j]


@fragment
def longest(order: Array, ring: Ring) -> float:
    """R^2, the largest squared length of some rows. Shapes: order f8[m]."""
    largest = 0.0
    for place in range(order.shape[0]):
        largest = max(largest, ring.squared[int(order[place])])
    return largest


@fragment
def estimated_errors(end: int, R2: float, p: SVMAda.Params, memory: Machine) -> int:
    """Rows of the newest batch that the candidate might get wrong had it not been trained on them (xi-alpha)."""
    ring = memory.ring
    n_slots = ring.Y.shape[0]
    errors = 0
    for back in range(1, p.batch + 1):
        i = (end - back + n_slots) % n_slots
        xi = max(1.0 - ring.Y[i] * dot(memory.candidate, ring.X[i]), 0.0)
        # Not `>= 1`: what is not finite is an error.
        if not p.rho * memory.alpha[i] * R2 + xi < 1.0:
            errors += 1
    return errors

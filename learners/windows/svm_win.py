"""A support vector machine on a sliding window."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from driftway.learners.contract import Array, Counts, Learner, UpdateRule, field, fragment, integer, part, scratch
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.linear.weights import product
from driftway.learners.numeric.random import Words, seed
from driftway.learners.windows import gaussian, ring
from driftway.learners.windows.coordinate_descent import (
    DualVariables,
    Value,
    WindowSVMParameters,
    by_values,
    by_weights,
    recompute_vector,
    remove_row,
    trainer,
)
from driftway.learners.windows.gaussian import GaussianRing, weigh_near
from driftway.learners.windows.ring import Ring, rows_in, slot_of_next


class SVMWin(Learner):
    """A support vector machine that is always trained on the last `window` rows, from its previous solution.

    Follows a drift within a window, at the price of a training per row. When a row leaves the window, its alpha y x is
    subtracted from the weights; the others keep their alpha. Choose a window as long as concepts can be expected to
    last, and the Gaussian kernel if classes are not linearly separable.

    Cost
    ----
    Linear: O(window max_sweeps d) per labelled row, with the defaults 2,000 visits of a row, or in one of
    `retrain_every` and O(d) in the others, 8 (window + 1) d + 24 window + 48 bytes. Gaussian: O(window (d +
    max_sweeps window)) per labelled row, 8 window (window + d) + 32 window + 48 bytes.

    Source
    ------
    de Souza, Silva, Gama and Batista, SDM 2015 (the window); Hsieh and others, ICML 2008 (the training).
    docs/algorithms/windows.md#svm_win. Differs: the weights are recomputed each time the ring wraps around, so that
    rounding errors do not accumulate; rows whose squared norm is 0 (without a kernel) or overflows do not enter the
    window.
    """

    name = "svm_win"
    tasks = ("binary",)

    class Params(WindowSVMParameters):
        window: int = integer(200, "W, number of stored labelled rows.", at_least=1)
        retrain_every: int = integer(1, "Labelled rows between trainings.", at_least=1)

        @property
        def slots(self) -> int:
            return self.window

    def rule(self) -> UpdateRule:
        p = self.parameters
        score, learn, memory = RULES[p.kernel]
        return UpdateRule(score, learn, p.numbers_for(self.n_features), memory, {"R": p.slots})

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


class LinearWindowState(NamedTuple):
    """State of `svm_win` without a kernel."""

    weight: Array = field("f8[d]", "sum of alpha y x over the window, d with the intercept")
    alpha: Array = field("f8[R]", "coefficient of each row of the window, within 0 and C")
    ring: Ring = part(Ring, "the window")
    generator: Words = field("u8[4]", "of the order of rows")
    skipped: Counts = field("i8[1]", "labelled rows whose squared length was 0 or not finite")
    order: Array = scratch("f8[R]", "slots in the order of a sweep")


class GaussianWindowState(NamedTuple):
    """State of `svm_win` with the Gaussian kernel."""

    value: Array = field("f8[R]", "sum of alpha_i y_i k(x_i, x) at each row x of the window")
    alpha: Array = field("f8[R]", "coefficient of each row of the window, within 0 and C")
    ring: GaussianRing = part(GaussianRing, "the window")
    generator: Words = field("u8[4]", "of the order of rows")
    skipped: Counts = field("i8[1]", "labelled rows whose squared length was not finite")
    order: Array = scratch("f8[R]", "slots in the order of a sweep")


@fragment
def linear_dual(memory: LinearWindowState) -> DualVariables:
    """Return the problem whose vector is the weights."""
    rows = memory.ring
    return DualVariables(memory.weight, rows.X, memory.alpha, rows.Y, rows.squared)


@fragment
def gaussian_dual(memory: GaussianWindowState) -> DualVariables:
    """Return the problem whose vector is the values at the rows."""
    rows = memory.ring
    return DualVariables(memory.value, rows.block, memory.alpha, rows.Y, rows.squared)


@fragment
def settle(slot: int, memory: GaussianWindowState) -> None:
    """Set the value at a row that was just added to its score, to which its own coefficient of 0 adds nothing."""
    memory.value[slot] = combined(memory)


@fragment
def combined(memory: GaussianWindowState) -> float:
    """Return the sum of alpha y k over the window, for the row whose kernel values are in `near`."""
    rows = memory.ring
    total = 0.0
    for i in range(rows_in(rows)):
        total += memory.alpha[i] * rows.Y[i] * rows.near[i]
    return total


@fragment
def kernel_score(x: Array, p: Any, memory: GaussianWindowState) -> float:
    """Return the score. Shapes: x f8[d]."""
    weigh_near(x, p, memory.ring)
    return combined(memory)


@fragment
def no_op(_slot: int, _memory: LinearWindowState) -> None:
    """Do nothing: the weights have no entry per row."""


@cache
def learning(usable: Fragment, take_in: Fragment, settle: Fragment, dual_of: Fragment, value: Value) -> Fragment:
    """Make `learn`, for either form."""
    train = trainer(value)

    @fragment
    def learn(x: Array, y: float, _omega: float, _s: float, p: SVMWin.Params, memory: Any) -> None:
        """Replace the oldest row by the new one, then train if it is due. Shapes: x f8[d].

        See docs/algorithms/windows.md#svm_win.
        """
        if not usable(x):
            memory.skipped[0] += 1
            return
        rows, dual = memory.ring, dual_of(memory)
        slot = slot_of_next(rows)
        remove_row(dual, slot)
        take_in(x, y, p, rows)
        settle(slot, memory)
        if slot == 0:
            recompute_vector(dual)
        if rows.taken[0] % p.retrain_every == 0:
            order = memory.order[: rows_in(rows)]
            for i in range(order.shape[0]):
                order[i] = i
            train(dual, order, p, memory.generator)

    return learn


RULES = {
    "linear": (product, learning(ring.usable, ring.append_row, no_op, linear_dual, by_weights), LinearWindowState),
    "gaussian": (
        kernel_score,
        learning(gaussian.usable, gaussian.append_row, settle, gaussian_dual, by_values),
        GaussianWindowState,
    ),
}

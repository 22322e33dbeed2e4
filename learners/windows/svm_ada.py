"""A support vector machine that adapts the length of its window."""

from functools import cache
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Learner, UpdateRule, fragment, integer, number
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.numeric.random import seed
from driftway.learners.windows.coordinate_descent import DualVariables, Value
from driftway.learners.windows.decision_functions import FORMS
from driftway.learners.windows.incremental_training import BatchTraining, begin_training, proceeding


class SVMAda(Learner):
    """After every `batch` rows, trains a support vector machine per window of 1, 2, 3 .. batches and keeps the best.

    The best is that with the smallest xi-alpha-estimate of its leave-one-out error on the newest batch, the share of
    its rows with rho alpha R^2 + xi >= 1, where xi = [1 - y w.x]_+ and R is the largest norm in the window; ties go to
    the longest window. The window is long for a stable concept and short after a drift. The estimate is quick, but
    unreliable on small batches. The work is split evenly over the last row of the batch and at most `spread` - 1 rows
    after it, and its result is used when complete: `spread` = 1 chooses at once, `spread` = `batch` costs each row the
    same.

    Cost
    ----
    Linear: O(d) per row, and in `spread` labelled rows of `batch` at most batch max_batches (max_batches + 1) / 2
    max_sweeps / spread visits of a row, with the defaults 21,000, O(d) each; 8 (W + 3) d + 32 W + 96 bytes, W = batch
    max_batches + spread - 1. Gaussian: O(W d) per row and visits of O(W); 8 W (W + d) + 56 W + 96 bytes, W = batch
    (max_batches + 1) + spread - 1, with the defaults 36 MB.

    Source
    ------
    Klinkenberg and Joachims, ICML 2000, section 4; Klinkenberg, Intelligent Data Analysis 8, 2004; Hsieh and others,
    ICML 2008 (the training). docs/algorithms/windows.md#svm_ada. Differs: R^2 is max k(x, x), not max k(x, x) - k(x,
    x') over pairs; at most `max_batches` batches; a machine may be `spread` - 1 rows late; rows whose squared norm is 0
    (without a kernel) or overflows are skipped.
    """

    name = "svm_ada"
    tasks = ("binary",)

    class Params(BatchTraining):
        max_batches: int = integer(20, "Batches in the longest window.", at_least=1)
        rho: float = number(1.0, "Factor of alpha R^2 in the estimate; 2 makes it a proven bound.", above=0.0)

        @property
        def longest(self) -> int:
            return self.batch * self.max_batches

    def rule(self) -> UpdateRule:
        p, form = self.parameters, FORMS[self.parameters.kernel]
        sizes = {"R": p.slots}
        return UpdateRule(form.score, learning(p.kernel), p.numbers_for(self.n_features), form.memory, sizes)

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


@cache
def learning(kernel: str) -> Fragment:
    """Make `learn`, for either form."""
    form = FORMS[kernel]
    usable, take_in, dual_of, keep, adopt = form.usable, form.append_row, form.dual, form.keep, form.adopt
    proceed, errors_of = proceeding(form.value), estimating(form.value)

    @fragment
    def learn(x: Array, y: float, _omega: float, _s: float, p: SVMAda.Params, memory: Any) -> None:
        """Add the row, start a selection if it ends a batch, and continue the current one. Shapes: x f8[d]."""
        if not usable(x):
            memory.skipped[0] += 1
            return
        ring, dual, course = memory.ring, dual_of(memory), memory.course
        take_in(x, y, p, ring)
        batches = ring.taken[0] // p.batch
        most, end = min(batches, p.max_batches), batches * p.batch % ring.Y.shape[0]
        if ring.taken[0] % p.batch == 0:
            course.fewest[0] = p.batch + 1
            begin_training(p.batch, end, dual, course)
        left = -(-p.batch * p.max_batches * (p.max_batches + 1) // 2 * p.max_sweeps // p.spread)
        while left > 0 and course.rows[0] > 0:
            n = course.rows[0]
            left = proceed(dual, course, p, memory.generator, left)
            if course.rows[0] == 0:
                errors = errors_of(dual, course.order[:n], end, p)
                if errors <= course.fewest[0]:
                    course.fewest[0] = errors
                    keep(memory)
                if n < most * p.batch:
                    begin_training(n + p.batch, end, dual, course)
                else:
                    adopt(memory)

    return learn


@cache
def estimating(value: Value) -> Fragment:
    """Make the estimate, for either form."""

    @fragment
    def estimated_errors(dual: DualVariables, order: Array, end: int, p: SVMAda.Params) -> int:
        """Estimate the errors on the batch before slot `end` that the machine would make if not trained on it.

        Shapes: order f8[m], the slots of its window.
        """
        n_slots, R2, errors = dual.Y.shape[0], 0.0, 0
        for place in range(order.shape[0]):
            R2 = max(R2, dual.squared[int(order[place])])
        for back in range(1, p.batch + 1):
            i = (end - back + n_slots) % n_slots
            xi = max(1.0 - dual.Y[i] * value(dual.vector, dual.rows, i), 0.0)
            # Not `>= 1`, so that a non-finite value counts as an error.
            if not p.rho * dual.alpha[i] * R2 + xi < 1.0:
                errors += 1
        return errors

    return estimated_errors

"""A support vector machine that is retrained at fixed intervals on a fixed window."""

from functools import cache
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Learner, UpdateRule, fragment, integer
from driftway.learners.engine.update_loop import Fragment
from driftway.learners.numeric.random import seed
from driftway.learners.windows.decision_functions import FORMS
from driftway.learners.windows.incremental_training import BatchTraining, begin_training, proceeding
from driftway.learners.windows.ring import slot_of_next


class SVMFix(Learner):
    """After every `batch` rows a support vector machine is trained from scratch on the last `window`.

    The training's work is split evenly over the last row of the batch and at most `spread` - 1 rows after it, and its
    result is used when complete: `spread` = 1 trains at once. Use it if concepts last for many batches; a drift is
    noticed `batch` rows late, and outdated rows have influence for a whole window.

    Cost
    ----
    Linear: O(d) per row, and in `spread` labelled rows of `batch` at most window max_sweeps / spread visits of a row,
    O(d) each; 8 (W + 3) d + 32 W + 96 bytes, W = window + spread - 1. Gaussian: O(W d) per row and visits of O(W);
    8 W (W + d) + 56 W + 96 bytes, W = window + batch + spread - 1.

    Source
    ------
    Syed, Liu and Sung, IJCAI 1999 (batches; papers say "batch SVM with a fixed window" without a size); Hsieh and
    others, ICML 2008 (the training). docs/algorithms/windows.md#svm_fix. Differs: a machine may be `spread` - 1 rows
    late; rows whose squared norm is 0 (without a kernel) or overflows are skipped.
    """

    name = "svm_fix"
    tasks = ("binary",)

    class Params(BatchTraining):
        window: int = integer(500, "W, number of stored labelled rows.", at_least=1)

        @property
        def longest(self) -> int:
            return self.window

    def rule(self) -> UpdateRule:
        p, form = self.parameters, FORMS[self.parameters.kernel]
        return UpdateRule(form.score, learning(p.kernel), p.numbers_for(self.n_features), form.memory, {"R": p.slots})

    def initialise(self) -> None:
        seed(self.state["generator"], np.uint64(self.parameters.seed))


@cache
def learning(kernel: str) -> Fragment:
    """Make `learn`, for either form."""
    form = FORMS[kernel]
    usable, take_in, dual_of, keep, adopt = form.usable, form.append_row, form.dual, form.keep, form.adopt
    proceed = proceeding(form.value)

    @fragment
    def learn(x: Array, y: float, _omega: float, _s: float, p: SVMFix.Params, memory: Any) -> None:
        """Add the row, start a training if it ends a batch, and continue the current one. Shapes: x f8[d].

        See docs/algorithms/windows.md#svm_fix.
        """
        if not usable(x):
            memory.skipped[0] += 1
            return
        ring, dual, course = memory.ring, dual_of(memory), memory.course
        take_in(x, y, p, ring)
        if ring.taken[0] % p.batch == 0:
            begin_training(min(ring.taken[0], p.window), slot_of_next(ring), dual, course)
        if course.rows[0] > 0:
            proceed(dual, course, p, memory.generator, -(-p.window * p.max_sweeps // p.spread))
            if course.rows[0] == 0:
                keep(memory)
                adopt(memory)

    return learn

"""Several learners of one kind in one buffer, for ensembles that run them inside one compiled loop.

Each member's state is one row of a field f8[M, words], so that copying, moving or resetting a member is copying a row.
A kernel takes member i out of the stacked views by `driftway.learners.engine.jit.member` and calls the fragments of its
rule with it; a rule that has `begin` wants it called for a member that was put there by copying.
"""

from typing import Any

import numpy as np

from driftway.learners.engine.state import Array
from driftway.learners.engine.state_layout import group_views
from driftway.learners.engine.update_loop import UpdateRule
from driftway.learners.learner import Learner


class StackedStates:
    """What an ensemble needs to know of its members, all of which have the same parameters.

    Parameters
    ----------
    one : Learner
        Fresh; the others are like it. One with a seed has seed, seed + 1, ... for them, so that they differ.
    count : int
        M >= 1.
    """

    def __init__(self, one: Learner, count: int) -> None:
        self.prototype, self.count = one, count
        self.rule: UpdateRule = one.rule()
        self.initial_states = np.stack([self.create_member(m).state.memory.view(np.float64) for m in range(count)])
        """f8[M, words]: the members as they begin; row m into a buffer's row m resets that member."""

    def views(self, states: Array) -> Any:
        """The NamedTuple of the rule's memory with one more axis in front, over f8[M, words] in C order."""
        views = {}
        for name in self.prototype.state:
            view, start = self.prototype.state[name], self.prototype.state.start(name)
            shape, strides = (self.count, *view.shape), (states.strides[0], *view.strides)
            views[name] = np.ndarray(shape, view.dtype, states.data, start, strides)
        return group_views(self.rule.memory, {**views, **self.prototype.scratch_arrays(self.count)})

    def create_member(self, m: int) -> Learner:
        """Member m as it begins, on its own."""
        given = self.prototype.parameters.as_dict()
        if "seed" in given:
            given["seed"] += m
        return type(self.prototype)(
            self.prototype.n_features, self.prototype.n_classes or 2, self.prototype.task, **given
        )

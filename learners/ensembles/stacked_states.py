"""Several learners of one kind in one buffer, for ensembles that run them inside one compiled loop.

Each member's state is one row of a field f8[M, words], so that copying, moving or resetting a member is copying a row.
A kernel takes member i out of the stacked views by `driftway.learners.engine.jit.member` and calls the fragments of its
rule with it; a rule that has `begin` wants it called for a member that was put there by copying.
"""

from typing import Any

import numpy as np

from driftway.learners.engine.state import Array
from driftway.learners.engine.state_layout import named
from driftway.learners.engine.update_loop import Rule
from driftway.learners.learner import Learner


class Members:
    """What an ensemble needs to know of its members, all of which have the same parameters.

    Parameters
    ----------
    one : Learner
        Fresh; the others are like it. One with a seed has seed, seed + 1, ... for them, so that they differ.
    count : int
        M >= 1.
    """

    def __init__(self, one: Learner, count: int) -> None:
        self.one, self.count = one, count
        self.rule: Rule = one.rule()
        self.fresh = np.stack([self.like(m).state.memory.view(np.float64) for m in range(count)])
        """f8[M, words]: the members as they begin; row m into a buffer's row m resets that member."""

    def stacked(self, states: Array) -> Any:
        """The NamedTuple of the rule's memory with one more axis in front, over f8[M, words] in C order."""
        views = {}
        for name in self.one.state:
            view, start = self.one.state[name], self.one.state.start(name)
            shape, strides = (self.count, *view.shape), (states.strides[0], *view.strides)
            views[name] = np.ndarray(shape, view.dtype, states.data, start, strides)
        return named(self.rule.memory, {**views, **self.one.room(self.count)})

    def like(self, m: int) -> Learner:
        """Member m as it begins, on its own."""
        given = self.one.parameters.as_dict()
        if "seed" in given:
            given["seed"] += m
        return type(self.one)(self.one.n_features, self.one.n_classes or 2, self.one.task, **given)

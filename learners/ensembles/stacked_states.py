"""Several learners of one kind in one buffer, for ensembles that run them inside one compiled loop.

Each member's state is one row of a field f8[M, words], so that moving or resetting a member means copying a row. A
kernel takes member i from the stacked views by `driftway.learners.engine.jit.member` and passes it to the fragments of
its rule; if the rule has `begin`, it must be called for a member whose row was copied.
"""

from typing import Any

import numpy as np

from driftway.learners.engine.state import Array
from driftway.learners.engine.state_layout import group_views
from driftway.learners.engine.update_loop import UpdateRule
from driftway.learners.learner import Learner


class StackedStates:
    """The members of an ensemble, all with the same parameters, with their rule, initial states and views.

    Parameters
    ----------
    one : Learner
        Untrained prototype of the members. If it has a seed, they get seed, seed + 1, ..., so that they differ.
    count : int
        M >= 1.
    """

    def __init__(self, one: Learner, count: int) -> None:
        self.prototype, self.count = one, count
        self.rule: UpdateRule = one.rule()
        self.initial_states = np.stack([self.create_member(m).state.memory.view(np.float64) for m in range(count)])
        """f8[M, words]: the initial states; copying row m into a buffer's row m resets that member."""

    def views(self, states: Array) -> Any:
        """Return the rule's memory with an additional leading axis, as views of f8[M, words] in C order."""
        views = {}
        for name in self.prototype.state:
            view, start = self.prototype.state[name], self.prototype.state.start(name)
            shape, strides = (self.count, *view.shape), (states.strides[0], *view.strides)
            views[name] = np.ndarray(shape, view.dtype, states.data, start, strides)
        return group_views(self.rule.memory, {**views, **self.prototype.scratch_arrays(self.count)})

    def check(self, states: Array) -> None:
        """As `Learner.check_state`, for the members' states in f8[M, words]."""
        for words in states:
            self.prototype.check_state(words.view(np.uint8))

    def create_member(self, m: int) -> Learner:
        """Create member m, untrained and with its own buffer."""
        given = self.prototype.parameters.as_dict()
        if "seed" in given:
            given["seed"] += m
        return type(self.prototype)(
            self.prototype.n_features, self.prototype.n_classes or 2, self.prototype.task, **given
        )

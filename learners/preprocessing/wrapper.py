"""The base class of learners that wrap other learners: one buffer, one snapshot, and the contract of any learner."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftway.learners.averaging.shared_model import SharedModel
from driftway.learners.contract import Array, Fields, Learner
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.engine.state import Bytes, State
from driftway.learners.engine.update_loop import DelayedRows


class Wrapper(Learner):
    """A learner that wraps others and delegates to them; their states are at the end of its own.

    Parameters
    ----------
    behind : tuple of Learner
        At least one, all alike. Their states move into this one's buffer; do not use them on their own afterwards.
    n_features, n_classes, task
        As in `Learner`.

    Raises
    ------
    ParameterError
        As in `Learner`.
    """

    composite = True
    by_feature: bool = False
    """Whether `driftway.learners.preprocessing.feature_changes` can change the features in the wrapper's own state."""

    def __init__(self, behind: tuple[Learner, ...], n_features: int, n_classes: int, task: str) -> None:
        self.behind = behind
        super().__init__(n_features, n_classes or 2, task)

    @property
    def inner(self) -> Learner:
        """The wrapped learner, or the first of several."""
        return self.behind[0]

    @property
    def mixes(self) -> bool:  # type: ignore[override]
        """Whether its only inner learner does; False if there are several, since their weights differ."""
        return len(self.behind) == 1 and self.inner.mixes

    @property
    def revision(self) -> int:  # type: ignore[override]
        """Version of the inner learners' update rules."""
        return self.inner.revision

    def prediction_cache(self, slots: int) -> Array:
        return self.inner.prediction_cache(slots) if len(self.behind) == 1 else np.zeros((slots, 0), np.float32)

    @property
    def uses_unlabelled(self) -> bool:
        """Whether its only inner learner does; False if there are several."""
        return len(self.behind) == 1 and self.inner.uses_unlabelled

    def compile_separate_kernels(self) -> None:
        self.inner.compile_separate_kernels()

    def _set_delayed(self, late: DelayedRows | None) -> None:
        self.inner._set_delayed(late)  # noqa: SLF001 - its kernel scores the rows

    def experts(self) -> dict[str, float]:
        return self.inner.experts() if self.mixes else {}

    def reset(self) -> None:
        for learner in self.behind:
            learner.reset()
        own = self.state.nbytes - sum(learner.state.nbytes for learner in self.behind)
        self.state.memory[:own] = 0
        self.initialise()

    @property
    def sharing(self) -> SharedFields | None:
        """None unless overridden, as the meaning of the inner model may depend on the wrapper's own state."""
        return None

    def shared_model(self) -> SharedModel | None:
        return self.inner.shared_model()

    def set_shared_model(self, model: SharedModel) -> bool:
        return self.inner.set_shared_model(model)

    def check_state(self, memory: Bytes) -> None:
        for learner, part in zip(self.behind, self._inner_parts(memory), strict=True):
            learner.check_state(part)

    def own_fields(self) -> Fields:
        """Return the state fields of the wrapper itself; none unless overridden."""
        return {}

    def fields(self) -> Fields:
        return {**self.own_fields(), **self.inner.state.fields}

    def _begin(self) -> None:
        self.initialise()

    def _read(self, _parameters: Mapping[str, Any]) -> Any:
        return self.inner.parameters

    def _prepare(self, X: Array) -> Array:
        return X

    def _place_state(self, memory: Bytes | None) -> None:
        self.state = State(self.fields(), memory)
        for learner, part in zip(self.behind, self._inner_parts(self.state.memory), strict=True):
            learner.move_state_to(part)

    def _inner_parts(self, memory: Bytes) -> list[Bytes]:
        """The bytes of each wrapped learner's state in those of this one's."""
        sizes = [learner.state.nbytes for learner in self.behind]
        return np.split(memory[memory.nbytes - sum(sizes) :], np.cumsum(sizes)[:-1])

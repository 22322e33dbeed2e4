"""A fixed scaling in front of a learner: that of its training rows."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from driftway.learners.contract import Array, Fields, Learner, ParameterError, kernel
from driftway.learners.learner import CLASSIFICATION
from driftway.learners.preprocessing.wrapper import Wrapper

LARGEST = float(np.finfo(np.float64).max)
"""Bound of a scaled feature: a tiny deviation could make an extreme value infinite."""


class FixedScaler(Wrapper):
    """A learner behind a fixed mean and deviation for each feature; only the learner keeps learning.

    A learner trained in batch saw rows scaled by the mean and deviation of the whole data set. These are kept in the
    state, so that later rows are scaled the same way. It takes no online standardiser in front. Created by name, its
    means are 0 and its deviations 1, which changes nothing; `around` sets them.

    Parameters
    ----------
    make : callable
        Class of the inner learner, or a wrapper around one: called with n_features, n_classes, task and parameters.
    n_features, n_classes, task
        As in `Learner`.
    **parameters
        Those of the inner learner.

    State
    -----
    scaled.mean : f8[d]             means to subtract from the features, without intercept
    scaled.deviation : f8[d]        divisors; a feature whose deviation is 0 becomes 0
    and the learner's own, as one contiguous buffer

    Cost
    ----
    O(d) per row and 16 d bytes, plus the inner learner's.

    Raises
    ------
    ParameterError
        A parameter of the inner learner is not valid, it ignores features, or it is already scaled.

    Source
    ------
    docs/algorithms/preprocessing.md#standardiser (population standard deviation of the whole set, for online-to-batch
    training).
    """

    standardizable = False

    def __init__(
        self,
        make: Callable[..., Learner],
        n_features: int,
        n_classes: int = 2,
        task: str = CLASSIFICATION,
        **parameters: Any,
    ) -> None:
        inner = make(n_features, n_classes, task, **parameters)
        self.name = f"scaled:{inner.name}"
        if not inner.uses_features:
            raise ParameterError(f"{self.name}: {inner.name} ignores features; there is nothing to scale")
        if isinstance(inner, FixedScaler):
            raise ParameterError(f"{self.name}: {inner.name} already has its scaling")
        self._make = make
        self.tasks, self.unscaled = inner.tasks, inner.unscaled
        self.link, self.multiclass_link = inner.link, inner.multiclass_link
        super().__init__((inner,), inner.n_features, inner.n_classes, inner.task)

    @classmethod
    def around(cls, inner: Learner, mean: Array, deviation: Array) -> Self:
        """Wrap a trained learner, with the scaling of its training rows: mean f8[d], deviation f8[d].

        Raises
        ------
        ValueError
            They are not one finite number per feature, or a deviation is negative.
        """
        shape = (inner.n_features,)
        fit = mean.shape == shape == deviation.shape and np.isfinite(mean).all() and np.isfinite(deviation).all()
        if not fit or (deviation < 0.0).any():
            raise ValueError(f"mean and deviation must be {shape[0]} finite numbers each, deviations >= 0")
        made = cls(
            lambda *_shape, **_parameters: inner.clone_empty(), inner.n_features, inner.n_classes or 2, inner.task
        )
        made.state["scaled.mean"][:] = mean
        made.state["scaled.deviation"][:] = deviation
        made.inner.state.memory[:] = inner.state.memory
        return made

    def own_fields(self) -> Fields:
        d = self.n_features
        return {"scaled.mean": ("f8", (d,)), "scaled.deviation": ("f8", (d,))}

    def initialise(self) -> None:
        self.state["scaled.deviation"][:] = 1.0

    def clone_empty(self) -> Learner:
        return FixedScaler(self._make, self.n_features, self.n_classes or 2, self.task, **self.parameters.as_dict())

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        inner, s = self.inner, self.state
        scaled = inner.row_buffer(len(rows))  # already has the intercept
        scale(rows, scaled, s["scaled.mean"], s["scaled.deviation"])
        for column in self.unscaled:
            scaled[:, column] = rows[:, column]
        inner._run(scaled, y, score)  # noqa: SLF001 - a learner calls its inner learner's kernel


@kernel
def scale(rows: Array, scaled: Array, mean: Array, deviation: Array) -> None:
    """Subtract the mean from every feature and divide by the deviation; 0 if that is 0.

    Shapes: rows f8[n, >= d], scaled f8[n, >= d] written in its first d columns (may be rows itself), mean f8[d],
    deviation f8[d].
    """
    for t in range(rows.shape[0]):
        for j in range(mean.shape[0]):
            z = (rows[t, j] - mean[j]) / deviation[j] if deviation[j] > 0.0 else 0.0
            scaled[t, j] = min(LARGEST, max(-LARGEST, z))

"""One against all: multiclass learners made from a binary one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftway.learners.contract import Array, Fields, Learner, ParameterError
from driftway.learners.learner import CLASSIFICATION
from driftway.learners.preprocessing.wrapper import Wrapper


class OneVsAll(Wrapper):
    """K copies of a binary learner, each of which separates one class from all others.

    Predicts the class whose copy has the highest score. Scores of different copies are compared uncalibrated. With two
    classes the score is S_1 - S_0.

    Parameters
    ----------
    make : callable
        Class of the inner learner, or a wrapper around one: called with n_features, n_classes, task and parameters.
    n_features, n_classes, task
        As in `Learner`.
    **parameters
        Those of the inner learner; all copies have the same, including a seed.

    State
    -----
    class_0.x, class_1.x, ... : the state x of the copy for each class, one after the other in one buffer

    Cost
    ----
    K times that of the inner learner.

    Raises
    ------
    ParameterError
        A parameter of the inner learner is not valid, it does not learn two classes, or the task is regression.

    Source
    ------
    Huang, Online Learning, "Multi-class Online Learning". docs/algorithms/multiclass.md#multiclass-learners.
    """

    tasks = ("binary", "multiclass")
    by_feature = True

    def __init__(
        self,
        make: Callable[..., Learner],
        n_features: int,
        n_classes: int = 2,
        task: str = CLASSIFICATION,
        **parameters: Any,
    ) -> None:
        first = make(n_features, 2, task, **parameters)
        self.name = f"ova:{first.name}"
        if first.kind != "binary":
            raise ParameterError(f"{self.name} does not learn {first.kind}; it learns: {', '.join(self.tasks)}")
        if n_classes < 2:
            raise ParameterError(f"n_classes must be >= 2, got {n_classes}")
        self._make = make
        self.uses_features, self.standardizable = first.uses_features, first.standardizable
        self.unscaled = first.unscaled
        copies = first, *(first.clone_empty() for _ in range(n_classes - 1))
        super().__init__(copies, n_features, n_classes, task)

    def fields(self) -> Fields:
        behind = self.inner.state.fields
        return {f"class_{c}.{name}": spec for c in range(self.n_classes) for name, spec in behind.items()}

    def clone_empty(self) -> Learner:
        return OneVsAll(self._make, self.n_features, self.n_classes, self.task, **self.parameters.as_dict())

    def row_buffer(self, n: int) -> Array:
        return self.inner.row_buffer(n)

    def _prepare(self, X: Array) -> Array:
        return self.inner._prepare(X)  # noqa: SLF001 - all copies get the same rows, prepared once

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        known = ~np.isnan(y)
        S = np.empty((self.n_classes, len(rows), 1))
        for c, copy in enumerate(self.behind):
            one = np.where(known, y == c, np.nan)
            copy._run(rows, one, S[c])  # noqa: SLF001 - a learner calls its inner learner's kernel
        if score.shape[1] == 1:
            with np.errstate(over="ignore"):
                np.subtract(S[1], S[0], out=score)
            score[~np.isfinite(score)] = 0.0
        else:
            score[:] = S[:, :, 0].T

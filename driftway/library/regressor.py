"""The regressor of the library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.learner import REGRESSION
from driftway.library.columns import NO_NUMBERS, Array, Columns, finite
from driftway.library.estimator import Estimator


class Regressor(Estimator):
    """Learns numbers row by row, with the bits of a worker that reads the same rows.

    >>> model = Regressor("dfop:mu=0.99")
    >>> for x, y in rows:
    ...     predicted = model.predict_one(x)
    ...     model.learn_one(x, y)

    Parameters
    ----------
    learner : str
        As on the command line: ``NAME`` or ``NAME:parameter=value,...``; it must be able to learn numbers.
    standardize : bool
        Whether features are standardised online, as in a worker.

    Raises
    ------
    ParameterError, UnknownLearner
        The learner or a parameter is not valid; raised with the first row.
    """

    task = REGRESSION

    def predict_one(self, x: Any) -> float:
        columns = self._columns or Columns.of_row(x)
        row = columns.row(x)
        return float(self._ready(columns).score(row)[0])

    def score(self, X: Any, y: Any) -> float:
        """Return the coefficient of determination of rows, without learning from them."""
        predicted = self.predict(X)
        y = self._targets(self._labels_of(y, len(predicted)))
        deviations = float(((y - y.mean()) ** 2).sum())
        return 1.0 - float(((y - predicted) ** 2).sum()) / deviations if deviations else 0.0

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags(poor_score=True)
        return tags

    def _target(self, y: Any) -> float:
        return finite(y, "the label")

    def _targets(self, y: NDArray[Any]) -> Array:
        try:
            # numpy would take the real part, count nanoseconds, or read text
            if y.dtype.kind in "cmMUS" or (y.dtype.kind == "O" and any(isinstance(one, NO_NUMBERS) for one in y.flat)):
                raise TypeError
            targets = y.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError("y holds labels that are not numbers") from None
        if not np.isfinite(targets).all():
            raise ValueError("y holds NaN or infinity: labels are finite numbers")
        return targets

    def _predictions(self, score: Array) -> NDArray[Any]:
        return score[:, 0].copy()

    def _n_classes(self) -> int:
        return 0

    def _known_labels(self) -> list[Any]:
        return []

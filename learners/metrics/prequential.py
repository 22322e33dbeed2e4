"""Prequential evaluation: predict first, then learn, block after block, without Kafka."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.state import Array
from driftway.learners.learner import Learner


class Observer(Protocol):
    """Consumer of scores and labels, such as the metrics of `driftway.learners.metrics.rolling`."""

    def observe(self, score: Array, y: Array) -> None:
        """Add the scores of a block, f8[n, k], and its labels, f8[n] with NaN for unknown."""


def predicted_class(score: Array, kind: str) -> NDArray[Any]:
    """Convert scores to predictions; the only definition in the project.

    Parameters
    ----------
    score : f8[n, k]
        As written by a learner.
    kind : str
        The learner's `kind`: ``binary``, ``multiclass`` or ``regression``.

    Returns
    -------
    i8[n] or f8[n]
        Class index (binary: 1 if the score is >= 0; multiclass: first arg-max), or the score in regression.
    """
    if kind == "regression":
        return score[:, 0]
    if kind == "binary":
        return (score[:, 0] >= 0.0).astype(np.int64)
    first_largest: NDArray[np.int64] = np.argmax(score, axis=1).astype(np.int64, copy=False)
    return first_largest


def prequential(
    learner: Learner, blocks: Iterable[tuple[Array, Array]], metrics: Observer | None = None
) -> Iterator[Array]:
    """Run a learner over blocks of a stream and yield each block's scores, f8[n, k].

    Parameters
    ----------
    learner : Learner
        Continues from its current state.
    blocks : iterable of (X, y)
        As for `Learner.predict_then_update`; how the stream is split does not affect the result.
    metrics : Observer or None
        Called with every block after it was scored.

    Raises
    ------
    ValueError
        A block's shape, dtype or memory layout is wrong.
    """
    for X, y in blocks:
        score = np.empty((len(X), learner.n_scores))
        learner.predict_then_update(X, y, score)
        if metrics is not None:
            metrics.observe(score, y)
        yield score

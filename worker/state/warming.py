"""Compile a model's kernels before its first message."""

from __future__ import annotations

import numpy as np

from learners.parameters import ParameterError
from worker.errors import Failure
from worker.settings import ModelSettings
from worker.state.model import Model
from worker.wire import packed
from worker.wire.codec import PACKED, encode_events
from worker.wire.events import MAX_FEATURES, Records
from worker.wire.strings import Listed


def warm(settings: ModelSettings) -> None:
    """Compile every kernel of a batch's way on scratch data, so that no message waits for a compiler.

    Raises
    ------
    Failure, UnknownLearner
        A learner or one of its parameters is not valid.
    """
    known = None if settings.warm is None else settings.warm.schema
    d = settings.n_features or (_least(settings) if known is None else known.n_features)
    model = Model(settings, partition=0)
    for values in _scratch_events(d, settings.form):
        outputs = model.advance(Records(0, np.zeros(1, np.int64), Listed([values]), Listed([None]), [0]))
        outputs.predictions.listed()


def _least(settings: ModelSettings) -> int:
    """Features that the parameters of all learners fit, where no event has told how many there are."""
    least = 1
    for spec in settings.specs:
        try:
            least = max(least, spec.narrowest(settings.target.n_classes, settings.target.task))
        except ParameterError as error:
            raise Failure(f"learner {spec.text}: {error}") from None
    return min(least, MAX_FEATURES)  # a first event has no more


def _scratch_events(d: int, form: str) -> list[bytes]:
    X, y = np.full((2, d), 0.5), np.array([0.0, np.nan])
    return packed.encode_events(X, y) if form == PACKED else encode_events(X, y, 0)

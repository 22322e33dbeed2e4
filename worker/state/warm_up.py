"""Compile a model's kernels before its first message."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from driftway.learners.engine.parameters import ParameterError
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition
from driftway.worker.state.model import Model
from driftway.worker.wire import packed
from driftway.worker.wire.codec import JSON, PACKED, encode_events
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import MAX_FEATURES, Records

NO_FIELDS = b'{"payload":{"after":{}}}'
"""An event without any field, in every envelope."""


def compile_kernels(settings: ModelSettings) -> None:
    """Compile every kernel of a batch's way on scratch data, so that no message waits for a compiler.

    Raises
    ------
    Failure, UnknownLearner
        A learner or one of its parameters is not valid.
    """
    if settings.wait is not None:  # labels may have a topic of their own
        event, label = (Records(0, np.zeros(1, np.int64), ListColumn([b"{}"]), ListColumn([None]), [t]) for t in (1, 0))
        flow = LabelMerger(MergeOrder(MergePosition(0, 0)))
        flow.add_labels(label)
        flow.take(event, 0.0)
    if settings.events is not None:
        settings = replace(settings, events=settings.events.lenient(), form=JSON, registry=None)
    model = Model(settings, partition=0)
    for values in _scratch_events(settings):
        outputs = model.advance(Records(0, np.zeros(1, np.int64), ListColumn([values]), ListColumn([None]), [0]))
        outputs.predictions.to_list()


def _least(settings: ModelSettings) -> int:
    """Features that the parameters of all learners fit, where no event has told how many there are."""
    least = 1
    for spec in settings.specs:
        try:
            least = max(least, spec.min_features(settings.target.n_classes, settings.target.task))
        except ParameterError as error:
            raise Failure(f"learner {spec.text}: {error}") from None
    return min(least, MAX_FEATURES)  # a first event has no more


def _scratch_events(settings: ModelSettings) -> list[bytes]:
    if settings.events is not None:
        return [NO_FIELDS]
    known = settings.shape or (None if settings.warm is None else settings.warm.schema)
    X, y = np.full((2, known.n_features if known else _least(settings)), 0.5), np.array([0.0, np.nan])
    return (
        packed.encode_events(X, y)
        if settings.form == PACKED
        else encode_events(X, y, 0, known.names if known else None)
    )

"""A second model of a partition, which predicts from the last committed state and never learns.

The task has a copy of the state from the last commit, so this costs the loop nothing. The copy is loaded here at a
request, at most once for each commit.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftway.learners.engine.state import Bytes
from driftway.learners.engine.update_loop import NOT_DELAYED, DelayedRows
from driftway.learners.metrics.prequential import predicted_class
from driftway.worker.state.model import Model, SavedState, StateContext
from driftway.worker.state.monitoring.confidence import ModelOutput, as_written
from driftway.worker.wire.codec import encode_predictions
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import LATE_LABEL, Batch, Records


class PredictionAnswers(NamedTuple):
    """The answers to some events, in their order."""

    offset: int
    """Where the state stands: the prediction is that of an event at this offset."""
    plan: int
    answers: list[bytes | str]
    """Of each event its prediction as JSON, as the predictions topic has it, or the reason of its rejection."""


class CommittedModel:
    """Predicts as a partition's worker would. One thread at a time may use it.

    Parameters
    ----------
    partition : int
        The partition.
    group : str
        The consumer group.
    """

    def __init__(self, partition: int, group: str) -> None:
        self._partition, self._group = partition, group
        self._loaded: SavedState | None = None
        self._model: Model | None = None
        self._copied: list[tuple[int, Bytes]] = []
        """What predictions depend on: its index in a saved state, and where the model has it."""

    def predict(
        self, saved: SavedState, events: Sequence[bytes], keys: Sequence[bytes | None] | None = None
    ) -> PredictionAnswers:
        """Predict events, each as if it came next.

        Parameters
        ----------
        saved : SavedState
            A task's, with a schema and a context.
        events : sequence of bytes
            n events, as on the topic.
        keys : sequence of (bytes or None), or None
            Their keys; None: they have none.

        Raises
        ------
        ValueError
            The state has no context, or does not fit it.
        """
        model, context = self._at(saved)
        # What fills in missing values learns from each event, so several at once would see one another.
        size = 1 if model.imputer is not None else len(events)
        named = [None] * len(events) if keys is None else keys
        answers = [
            answer
            for start in range(0, len(events), size)
            for answer in _predicted(model, context, events[start : start + size], named[start : start + size])
        ]
        return PredictionAnswers(context.offset or 0, context.plan.number, answers)

    def _at(self, saved: SavedState) -> tuple[Model, StateContext]:
        context = saved.context
        if context is None or context.offset is None:
            raise ValueError("a state from which nothing can be predicted: it is not told where it stands")
        if self._model is None or not self._goes_on(saved, context):
            self._model = Model(context.settings, self._partition, self._group, context.plan)
            self._model.load(saved)
            self._copied = _used(self._model)
        elif self._loaded is not saved:
            for index, memory in self._copied:
                memory[:] = saved.parts[index]
        self._loaded = saved
        return self._model, context

    def _goes_on(self, saved: SavedState, context: StateContext) -> bool:
        """Whether a state is of the model that is loaded: then its bytes are all that differs."""
        last = self._loaded
        if last is None or last.context is None or last.context.settings is not context.settings:
            return False
        if (last.schema, last.calibration, len(last.parts)) != (saved.schema, saved.calibration, len(saved.parts)):
            return False
        return all(last.parts[index].nbytes == saved.parts[index].nbytes for index, _ in self._copied)


def _used(model: Model) -> list[tuple[int, Bytes]]:
    """Return the states that a champion's predictions depend on, with their indices in a saved one."""
    used = [model.champion.state.memory, *(one.state.memory for one in model.monitors.confidence.models[0].stateful)]
    if model.imputer is not None:
        used.append(model.imputer.state.memory)
    return [(index, part) for index, part in enumerate(model.parts()) if any(part is one for one in used)]


def _predicted(
    model: Model, context: StateContext, events: Sequence[bytes], keys: Sequence[bytes | None]
) -> list[bytes | str]:
    n, first = len(events), context.offset or 0
    times = np.full(n, int(1000 * time.time()))
    # Each event gets an offset of its own, by which it is found again: that of the state, and those after it.
    records = Records(
        model.partition, np.arange(first, first + n), ListColumn(list(events)), ListColumn(list(keys)), times
    )
    batch, emitted = predict_without_learning(model, records)
    found: list[bytes | str] = [LATE_LABEL] * n
    for bad in batch.rejected:
        found[bad.offset - first] = bad.reason
    rows = batch.offsets - first
    batch.offsets = np.full(len(rows), first)
    settings = model.settings
    score, kind = emitted.score, model.champion.kind
    predicted, confidence = predicted_class(score, kind), as_written(emitted, settings.target.n_classes)
    name, plan = settings.names[0], context.plan.number
    encoded = encode_predictions(batch, score, predicted, settings.target, name, plan, confidence)
    for row, text in zip(rows.tolist(), encoded.to_list(), strict=True):
        found[row] = text or b""
    encoded.release()  # its buffer is the loop's, too
    return found


def predict_without_learning(model: Model, records: Records) -> tuple[Batch, ModelOutput]:
    """Return decoded records, and what the champion emits for them; the model's state stays as it is.

    Parameters
    ----------
    model : Model
        A model with a schema; nobody else uses it meanwhile.
    records : Records
        n events; only one if the model fills in missing values.
    """
    champion, confidence = model.champion, model.monitors.confidence.models[0]
    touched = [] if model.imputer is None else [model.imputer.state.memory]
    if confidence.coverage is not None:  # counts how many thresholds it has emitted
        touched.append(confidence.coverage.conformal.state.memory)
    before = [memory.copy() for memory in touched]
    try:
        batch = model.decode(records)
        score, unknown = np.empty((len(batch), champion.n_scores)), np.full(len(batch), np.nan)
        if model.settings.wait is None:
            champion.predict(batch.X, score)
        else:  # by the kernel that the worker has compiled
            delayed = DelayedRows(np.full(len(batch), NOT_DELAYED), champion.prediction_cache(1))
            champion.predict_then_update_delayed(batch.X, unknown, score, delayed)
        emitted, _ = confidence.emit(score, unknown)
    finally:
        for memory, own in zip(touched, before, strict=True):
            memory[:] = own
    return batch, emitted

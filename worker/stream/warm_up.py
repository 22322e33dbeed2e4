"""Compile kernels before the first message, in a child process whose end frees the compiler's memory.

A worker that compiled its kernels itself used 200 MB more until it ended.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from driftway.learners.engine.parameters import ParameterError
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_factory import warm_client
from driftway.worker.processes import run_in_process
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition
from driftway.worker.state.model import Model
from driftway.worker.wire import packed
from driftway.worker.wire.codec import JSON, PACKED, encode_events
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import MAX_FEATURES, Records

NO_FIELDS = b'{"payload":{"after":{}}}'
"""An event without any field, valid in every envelope."""


def prepare_kernels(settings: WorkerSettings, cancelled: Callable[[], bool] = lambda: False) -> None:
    """Compile or load every kernel that a batch needs; `cancelled` is polled meanwhile, to stop early.

    Raises
    ------
    Failure, UnknownLearner
        A learner or one of its parameters is not valid.
    """
    from driftway.learners.engine.kernel_cache import mark_of

    mark = mark_of(_kernels_needed(settings.model, settings.client))
    if mark is not None and not mark.exists():
        run_in_process(_compile_silently, (settings.model, settings.client), cancelled)
    if cancelled():
        return
    _compile(settings.model, settings.client)
    if mark is not None:
        with contextlib.suppress(OSError):  # on a full disk the next start needs a child process again
            mark.touch()


def _compile_silently(job: tuple[ModelSettings, str]) -> None:
    """As `_compile`, without logging: if the cache is not writable, the parent compiles again and logs that."""
    logging.getLogger("driftway").disabled = True
    _compile(*job)


def _compile(settings: ModelSettings, client: str) -> None:
    compile_kernels(settings)
    warm_client(client)


def _kernels_needed(settings: ModelSettings, client: str) -> str:
    """Everything that decides which kernels are needed, and for which types."""
    specs = sorted({spec.text for spec in (*settings.specs, *settings.maps)})
    target = settings.target
    forms = settings.form, settings.output_form, settings.standardize, target.task, target.n_classes > 2
    filled = settings.missing.word, settings.indicators, settings.wait is not None
    events = None if settings.events is None else settings.events.as_dict()
    watched = sorted(spec.name for spec in settings.detectors)
    return f"{specs} {forms} {filled} {events} {watched} {settings.share} {settings.warm is not None} {client}"


def compile_kernels(settings: ModelSettings) -> None:
    """Compile every kernel that a batch needs, on scratch data, so that no message waits for the compiler.

    Raises
    ------
    Failure, UnknownLearner
        A learner or one of its parameters is not valid.
    """
    if settings.wait is not None:  # labels may have a topic of their own
        event, label = (Records(0, np.zeros(1, np.int64), ListColumn([b"{}"]), ListColumn([None]), [t]) for t in (1, 0))
        merger = LabelMerger(MergeOrder(MergePosition(0, 0)))
        merger.add_labels(label)
        merger.take(event, 0.0)
    if settings.events is not None:
        settings = replace(settings, events=settings.events.lenient(), form=JSON, registry=None)
    model = Model(settings, partition=0)
    for values in _scratch_events(settings):
        outputs = model.advance(Records(0, np.zeros(1, np.int64), ListColumn([values]), ListColumn([None]), [0]))
        outputs.predictions.to_list()


def _least(settings: ModelSettings) -> int:
    """Smallest number of features that suits the parameters of all learners, for when no event has fixed it."""
    least = 1
    for spec in settings.specs:
        try:
            least = max(least, spec.min_features(settings.target.n_classes, settings.target.task))
        except ParameterError as error:
            raise Failure(f"learner {spec.text}: {error}") from None
    return min(least, MAX_FEATURES)  # no event has more


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

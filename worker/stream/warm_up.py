"""Compile kernels before the first message, in child processes whose end frees the compiler's memory.

A worker that compiles its kernels itself uses 200 MB more until it ends. Two processes compile the same list of parts,
one from its beginning and one from its end; more processes would need more memory than a small container has. A kernel
that both need is compiled once (`driftway.learners.engine.kernel_cache`).
"""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from driftway.learners.engine.compilations import Listener, listening
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.engine.update_loop import NOT_DELAYED, DelayedRows
from driftway.learners.learner import REGRESSION
from driftway.learners.metrics.e_process import EProcess
from driftway.learners.spec import Spec
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_factory import warm_client
from driftway.worker.processes import ChildProcesses
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition
from driftway.worker.state.factory import make_learner
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.calibration import LearnerCalibration
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.wire import packed
from driftway.worker.wire.codec import JSON, PACKED, encode_events, write_json
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import MAX_FEATURES, Records, Schema
from driftway.worker.wire.registered.framing import BINARY_OUTPUTS

NO_FIELDS = b'{"schema":{},"payload":{"after":{}}}'
"""An event without any field, valid in every envelope; the schema is Kafka Connect's."""
STAND_IN = "no_change"
"""The learner with which reading and writing are compiled; for any task, and quickly compiled."""
LARGE_SECONDS, LEARNER_SECONDS, OTHER_SECONDS = {"auto": 8.0}, 1.5, 5.0
"""About how long compiling takes: large learners, any other one, and all the rest."""
GC_THRESHOLD = 50_000
"""New objects after which garbage collection starts while kernels are compiled; after Python's 700 it costs 7 %."""
REPORT_SECONDS = 5.0
"""Time between two lines of the log while kernels are compiled."""


class Job(NamedTuple):
    """What one process compiles: everything, from one end or from the other."""

    settings: ModelSettings
    client: str
    backwards: bool


class KernelPreparation:
    """Compiles or loads every kernel that a batch needs.

    If any must be compiled, child processes begin at once. A process without other threads forks them, which takes less
    time (`driftway.worker.processes.start_method`).

    Parameters
    ----------
    settings : ModelSettings
        The model.
    client : str
        The client, see `driftway.worker.kafka.client_factory`.
    event_log : EventLog
        Where progress is logged, if anything must be compiled.

    Raises
    ------
    Failure, UnknownLearner
        A learner or one of its parameters is not valid.
    """

    def __init__(self, settings: ModelSettings, client: str, event_log: EventLog) -> None:
        from driftway.learners.engine.kernel_cache import FOLDER, KEEP_CODE, count_cached

        self._settings, self._client, self._event_log = settings, client, event_log
        self._children: ChildProcesses | None = None
        self._loaded = KEEP_CODE and load_kernels(settings, client)
        if self._loaded or not KEEP_CODE:
            return
        self._before, foreign = count_cached()
        # What a child compiles is of use only if it can be kept.
        jobs = _jobs(settings, client) if os.access(FOLDER, os.W_OK) else []
        useless = foreign > 0 and self._before == 0
        why = {"note": f"those in {FOLDER} are for another processor, Python or numba"} if useless else {}
        event_log.event("compiling kernels", about_seconds=_about_seconds(settings, len(jobs)), **why)
        self._began = time.monotonic()
        self._children = ChildProcesses(_compile_parts, jobs)

    def finish(self, cancelled: Callable[[], bool] = lambda: False) -> int:
        """Wait until all are compiled and loaded; return how many were compiled.

        `cancelled` is called meanwhile; true ends the child processes, and nothing more is compiled or loaded.
        """
        compiled = 0
        if self._children is not None:
            compiled = self._await(self._children, cancelled)
        if not (self._loaded or cancelled()):
            with suppress(_Cancelled), listening(_stop_once(cancelled)):
                compile_kernels(self._settings, self._client)
        return compiled

    def _await(self, children: ChildProcesses, cancelled: Callable[[], bool]) -> int:
        from driftway.learners.engine.kernel_cache import count_cached

        reported_at = time.monotonic()

        def over() -> bool:
            nonlocal reported_at
            if (now := time.monotonic()) - reported_at >= REPORT_SECONDS:
                done, seconds = count_cached()[0] - self._before, round(now - self._began)
                self._event_log.event("compiling kernels", done=done, seconds=seconds)
                reported_at = now
            return cancelled()

        children.wait(over)
        return count_cached()[0] - self._before


class _Cancelled(Exception):
    """The rest of the kernels is not wanted any more."""


def _stop_once(cancelled: Callable[[], bool]) -> Listener:
    """Return what keeps this thread from compiling any further kernel once `cancelled` returns true."""
    thread = threading.get_ident()

    def stop(begins: bool) -> None:
        if begins and threading.get_ident() == thread and cancelled():
            raise _Cancelled

    return stop


def prepare_kernels(
    settings: ModelSettings, client: str, event_log: EventLog, cancelled: Callable[[], bool] = lambda: False
) -> int:
    """As `KernelPreparation`, with `finish`."""
    return KernelPreparation(settings, client, event_log).finish(cancelled)


def load_kernels(settings: ModelSettings, client: str) -> bool:
    """Load every kernel that a batch needs; return False as soon as one is not compiled.

    Raises
    ------
    Failure, UnknownLearner
        A learner or one of its parameters is not valid.
    """
    from driftway.learners.engine.kernel_cache import NotCached, cached_only

    try:
        with cached_only():
            compile_kernels(settings, client)
    except NotCached:
        return False
    return True


def _jobs(settings: ModelSettings, client: str) -> list[Job]:
    """Two, if there are as many cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return [Job(settings, client, backwards) for backwards in (False, True)[:cores]]


def _about_seconds(settings: ModelSettings, processes: int) -> int:
    """Return roughly how long compiling takes on an empty cache."""
    learners = sum(LARGE_SECONDS.get(name, LEARNER_SECONDS) for name in {spec.name for spec in settings.specs})
    return round(max(learners, OTHER_SECONDS) if processes > 1 else learners + OTHER_SECONDS)


def _compile_parts(job: Job) -> None:
    """Compile everything in a child process, without logging: the parent repeats it, and logs what there is to log."""
    logging.getLogger("driftway").disabled = True
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    parts = _parts(job.settings, job.client)
    for part in reversed(parts) if job.backwards else parts:
        part()


def _parts(settings: ModelSettings, client: str) -> list[Callable[[], object]]:
    """Return functions that compile parts of the kernels.

    A learner is linked to its separate kernels: the process from the other end has compiled them by then. All that is
    left for a model of the stand-in is in the middle.
    """
    writes_json = settings.output_form not in BINARY_OUTPUTS
    stand_in = replace(settings, specs=(Spec.parse(STAND_IN),), warm=None, share=None)
    return [
        *(partial(_compile_learner, spec, settings) for spec in settings.specs),
        *([EProcess().compile_kernels] if len(settings.specs) > 1 else []),
        *([partial(encode_events, np.zeros((1, 1)), np.zeros(1), 0, None)] if writes_json else []),
        partial(warm_client, client),
        partial(_compile_model, stand_in),
        *([] if settings.target.task == REGRESSION else [partial(_compile_calibration, stand_in)]),
        *(partial(_compile_separate_kernels, spec, settings) for spec in reversed(settings.specs)),
    ]


def _compile_calibration(settings: ModelSettings) -> None:
    calibrated = LearnerCalibration(make_learner(settings.specs[0], settings, _n_features(settings)), settings.window)
    calibrated.calibrator.compile_kernels()
    calibrated.reliability.compile_kernels()


def _compile_separate_kernels(spec: Spec, settings: ModelSettings) -> None:
    make_learner(spec, settings, _n_features(settings)).compile_separate_kernels()


def _compile_learner(spec: Spec, settings: ModelSettings) -> None:
    learner = make_learner(spec, settings, _n_features(settings))
    if settings.wait is None:
        learner.compile_kernels()
        return
    X, y, score = np.zeros((1, learner.n_features)), np.zeros(1), np.empty((1, learner.n_scores))
    delayed = DelayedRows(np.full(1, NOT_DELAYED), learner.prediction_cache(1))
    learner.predict_then_update_delayed(X, y, score, delayed)


def compile_kernels(settings: ModelSettings, client: str) -> None:
    """Compile or load every kernel that a batch needs, so that no message waits for the compiler.

    Raises
    ------
    Failure, UnknownLearner
        A learner or one of its parameters is not valid.
    """
    _compile_model(settings)
    warm_client(client)


def _compile_model(settings: ModelSettings) -> None:
    """Let a model advance by scratch events."""
    if settings.wait is not None:  # labels may have a topic of their own
        event, label = (Records(0, np.zeros(1, np.int64), ListColumn([b"{}"]), ListColumn([None]), [t]) for t in (1, 0))
        merger = LabelMerger(MergeOrder(MergePosition(0, 0)))
        merger.add_labels(label)
        merger.take(event, 0.0)
    if settings.events is not None:
        warm = None if settings.warm is None else replace(settings.warm, filling=b"")  # that of other policies
        settings = replace(settings, events=settings.events.lenient(), form=JSON, registry=None, warm=warm)
    model = Model(settings, partition=0)
    for values in _scratch_events(settings):
        outputs = model.advance(Records(0, np.zeros(1, np.int64), ListColumn([values]), ListColumn([None]), [0]))
        outputs.predictions.to_list()
    model.latest_points()


def _known_schema(settings: ModelSettings) -> Schema | None:
    return settings.shape or (None if settings.warm is None else settings.warm.schema)


def _n_features(settings: ModelSettings) -> int:
    known = _known_schema(settings)
    return known.n_features if known else _least(settings)


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
    known, d = _known_schema(settings), _n_features(settings)
    if settings.form == PACKED:
        return packed.encode_events(np.full((2, d), 0.5), np.array([0.0, np.nan]))
    x = dict.fromkeys(known.names, 0.5) if known and known.names else [0.5] * d
    return [write_json(event) for event in ({"id": 0, "x": x, "y": 0}, {"id": 1, "x": x})]

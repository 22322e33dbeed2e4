"""Kernels, compiled before the first message and in a process of their own: the compiler's memory ends with that.

A worker that had compiled its kernels itself held 200 MB more for the rest of its life.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from driftway.worker.kafka.client_factory import warm_client
from driftway.worker.processes import run_in_process
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.warm_up import compile_kernels


def prepare_kernels(settings: WorkerSettings, cancelled: Callable[[], bool] = lambda: False) -> None:
    """Have every kernel of a batch's way ready; `cancelled` is asked meanwhile whether that is still wanted.

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
        with contextlib.suppress(OSError):  # a disk that is full costs a process at the next start
            mark.touch()


def _compile_silently(job: tuple[ModelSettings, str]) -> None:
    """As `_compile`; what cannot be kept is said by the process that stays, which then compiles it once more."""
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
    filled = settings.missing.word, settings.events is not None, settings.wait is not None
    return f"{specs} {forms} {filled} {settings.warm is not None} {client}"

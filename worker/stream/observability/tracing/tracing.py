"""What the loop calls for spans: nothing here can raise, block or end it.

Without an endpoint in the environment, OpenTelemetry is not imported, and a batch only reads one attribute. An error
here ends tracing, with a line in the log, and not the worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.tracing.environment import trace_target
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Records

if TYPE_CHECKING:
    from driftway.worker.stream.observability.tracing.export import Export
    from driftway.worker.stream.observability.tracing.spans import Spans

NOTHING = nullcontext()
Given = ParamSpec("Given")
Returned = TypeVar("Returned")


class Tracing:
    """Spans of a worker's batches and commits.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    event_log : EventLog
        The log.
    environ : mapping
        Variables of the process.
    """

    def __init__(self, settings: WorkerSettings, event_log: EventLog, environ: Mapping[str, str] = os.environ) -> None:
        self._settings, self._event_log, self._environ = settings, event_log, environ
        self._spans: Spans | None = None
        self._export: Export | None = None

    def begin(self) -> None:
        """Start if the environment asks for spans: not before kernels are compiled, as this starts a thread."""
        asked = trace_target(self._environ)
        if asked.obstacle is not None:
            self._event_log.warning("no spans", endpoint=asked.endpoint, error=asked.obstacle)
        elif asked.endpoint is not None:
            self._guarded(self._begin, asked.endpoint)

    def _begin(self, endpoint: str) -> None:
        from driftway.worker.stream.observability.tracing.export import Export
        from driftway.worker.stream.observability.tracing.spans import Spans

        self._export = Export(self._event_log)
        self._spans = Spans(self._settings, self._export.provider)
        self._event_log.event("spans", endpoint=endpoint)

    def batch(self, task: Task, records: Records | None) -> AbstractContextManager[None]:
        """Make a span of the time in which a task takes a batch; None: of nothing, events waited for labels."""
        if self._spans is None or records is None:
            return NOTHING
        return self._batch(self._spans, task, records)

    @contextmanager
    def _batch(self, spans: Spans, task: Task, records: Records) -> Iterator[None]:
        span = self._guarded(spans.begin_batch, task, records)
        failure: BaseException | None = None
        try:
            yield
        except BaseException as error:
            failure = error
            raise
        finally:
            if span is not None:
                self._guarded(spans.end_batch, span, task, records, failure)

    def commit_ended(self, task: Task, seconds: float, error: Exception | None) -> None:
        """Make a span of a commit that took `seconds`; `error` if it failed."""
        if self._spans is not None:
            self._guarded(self._spans.commit_ended, task, seconds, error)

    def restored(self, task: Task) -> None:
        """Forget what was not committed of a partition."""
        if self._spans is not None:
            self._guarded(self._spans.forget, task.partition)

    def end(self) -> None:
        """Send what is left, for a few seconds at most."""
        self._spans, export, self._export = None, self._export, None
        if export is not None:
            self._guarded(export.end)

    def _guarded(self, call: Callable[Given, Returned], *args: Given.args, **named: Given.kwargs) -> Returned | None:
        """Call; what it raises ends the spans, and is logged."""
        try:
            return call(*args, **named)
        except Exception as error:
            self._spans = None
            self._event_log.warning("no more spans", error=f"{type(error).__name__}: {error}")
            return None

"""Kernels are compiled before a worker joins, but no longer than it is to join."""

from __future__ import annotations

import io
from typing import Any

import pytest

from driftway.learners.engine import kernel_cache
from driftway.learners.engine.jit import kernel
from driftway.worker.kafka.client_config import PYTHON
from driftway.worker.stream import warm_up
from driftway.worker.stream.observability.event_log import EventLog
from tests.unit.worker.rows import model_settings


def test_a_worker_that_is_to_stop_compiles_no_further_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "KEEP_CODE", False)  # this process compiles, and finds nothing compiled
    kernels: list[Any] = [kernel(lambda x: x + 1.0), kernel(lambda x: x + 2.0)]
    compiled = list[float]()

    def compile_both(*_: Any) -> None:
        for one in kernels:
            compiled.append(one(0.0))

    monkeypatch.setattr(warm_up, "compile_kernels", compile_both)
    preparation = warm_up.KernelPreparation(model_settings("pa1"), PYTHON, EventLog("text", io.StringIO()))
    preparation.finish(lambda: bool(compiled))
    assert compiled == [1.0]
    preparation.finish()
    assert compiled == [1.0, 1.0, 2.0]

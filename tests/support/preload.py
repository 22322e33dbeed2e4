"""Imports shared by the commands; preloaded by `tests.support.forkserver`."""

import gc
from importlib import import_module

from numba.core.registry import cpu_target

for name in (
    "driftway.worker.cli.worker",
    "driftway.worker.stream.worker",
    "driftway.worker.admin.cli.audit",
    "driftway.producers.cli.replay",
):
    import_module(name)
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
gc.freeze()

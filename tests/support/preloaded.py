"""What commands import before they do anything; see `tests.support.forked`."""

import gc
from importlib import import_module

from numba.core.registry import cpu_target

for name in ("worker.cli.worker", "worker.runtime.loop", "worker.tools.cli.audit", "producers.cli.replay"):
    import_module(name)
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
gc.freeze()

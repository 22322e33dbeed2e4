"""Imports and kernels that most commands need; preloaded by `tests.support.forkserver`.

A worker needs 0.3 s of processor time to load its kernels, and the tests start some thousand workers. Tests of the
kernel cache set environment variables of their own, so their workers are not forked.
"""

import gc
from importlib import import_module

from numba.core.registry import cpu_target

from driftway.commands import COMMANDS
from driftway.learners.spec import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings
from driftway.worker.stream.warm_up import compile_kernels
from tests.support.fault_scenario import DETECTORS, LEARNER

for name in (
    *(where.partition(":")[0] for where, _ in COMMANDS.values()),
    "driftway.cli",
    "driftway.worker.stream.worker",
    "driftway.worker.stream.endpoint.server",
    "driftway.worker.kafka.librdkafka.member",
    "driftway.worker.admin.merged_input",
    "rich.table",
):
    import_module(name)
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
for client in (NATIVE, PYTHON):
    compile_kernels(ModelSettings((Spec.parse(LEARNER),), detectors=tuple(map(Spec.parse, DETECTORS))), client)
gc.freeze()

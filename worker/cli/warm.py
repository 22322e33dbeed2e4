"""`driftway warm`: compile kernels before a worker's first start."""

from __future__ import annotations

import copy
import time
from typing import Any

import click

from driftway.worker.cli.model_options import given_model
from driftway.worker.cli.option_groups import GroupedCommand
from driftway.worker.cli.worker import worker
from driftway.worker.errors import Failure, plural


@click.command(cls=GroupedCommand)
def warm(**given: Any) -> None:
    """Compile the kernels that a worker with these options needs, and store them for its start.

    The command takes all options of `driftway worker`, needs no broker, and touches no topic. Run it when you build an
    image, so that containers start at once; they need the same processor and the same versions of Python and numba. The
    kernels are stored in NUMBA_CACHE_DIR, else in XDG_CACHE_HOME/driftway, else in ~/.cache/driftway.

    \b
    Examples:
      driftway warm
      driftway warm --learner dfop:mu=0.001 --learner arow --label-wait 10000
      driftway warm --task regression --feature amount --feature items --label price
    """
    from driftway.learners.engine.kernel_cache import FOLDER, KEEP_CODE
    from driftway.worker.kafka.client_factory import choose_client
    from driftway.worker.stream.observability.event_log import EventLog
    from driftway.worker.stream.warm_up import prepare_kernels

    if not KEEP_CODE:
        raise Failure(f"compiled kernels cannot be kept in {FOLDER}")
    began = time.monotonic()
    compiled = prepare_kernels(given_model(given), choose_client(given["client"])[0], EventLog(given["log_format"]))
    seconds = time.monotonic() - began
    click.echo(
        f"{plural(compiled, 'kernel')} compiled in {seconds:.1f} s, kept in {FOLDER}"
        if compiled
        else "nothing to compile"
    )


def _optional(parameter: click.Parameter) -> click.Parameter:
    """Return an option of the worker, not required here."""
    found = copy.copy(parameter)
    found.required = False
    return found


warm.params = [_optional(one) for one in worker.params]

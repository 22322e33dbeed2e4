"""A worker with slow restores: `python -m tests.support.slow_restore SECONDS worker ...`.

The restore is the real one, started SECONDS later, as with a slow broker. This lets a test act during the restore
without a race.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from tests.support.process import Driftway


class SlowRestoreDriftway(Driftway):
    """`driftway` with slow restores; ``SlowRestoreDriftway(2.0, "worker", ...)``."""

    module = "tests.support.slow_restore"

    def __init__(self, seconds: float, *arguments: str) -> None:
        super().__init__(str(seconds), *arguments)


def main() -> None:
    """Run the command line with a sleep before `driftway.worker.stream.task.restoring.restore.restore`."""
    from driftway import cli
    from driftway.worker.stream.background import restores

    seconds, arguments, real = float(sys.argv[1]), sys.argv[2:], restores.restore

    def slow(*given: Any) -> Any:
        time.sleep(seconds)
        return real(*given)

    restores.restore = slow
    cli.main(arguments)


if __name__ == "__main__":
    main()

"""A worker whose restores take their time: `python -m tests.support.slow SECONDS worker ...`.

The restore is the real one; it begins SECONDS later, as behind a slow broker. What happens meanwhile is then no race.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from tests.support.process import Driftway


class SlowlyRestoring(Driftway):
    """`driftway` with slow restores; ``SlowlyRestoring(2.0, "worker", ...)``."""

    module = "tests.support.slow"

    def __init__(self, seconds: float, *arguments: str) -> None:
        super().__init__(str(seconds), *arguments)


def main() -> None:
    """Run the command line with `worker.runtime.partition.restore.restore` behind a wait."""
    import driftway
    from worker.runtime.errands import restore_errands

    seconds, arguments, real = float(sys.argv[1]), sys.argv[2:], restore_errands.restore

    def slow(*given: Any) -> Any:
        time.sleep(seconds)
        return real(*given)

    restore_errands.restore = slow
    driftway.main(arguments)


if __name__ == "__main__":
    main()

"""A worker that kills itself: `python -m tests.support.crash STEP NTH worker ...` runs the real command line.

The commit's probe sends SIGKILL to the own process right after the NTH time that STEP was reached, so nothing of
the process survives that moment: no cleanup, no flush, no goodbye to the group.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

from tests.support.process import Driftway
from worker.checkpoint import Step


class CrashingDriftway(Driftway):
    """`driftway` that dies at a commit step; `CrashingDriftway(Step.FLUSHED, 3, "worker", ...)`."""

    module = "tests.support.crash"

    def __init__(self, step: Step, nth: int, *arguments: str) -> None:
        super().__init__(step.name, str(nth), *arguments)


def main() -> None:
    """Run the command line with a deadly probe."""
    import driftway

    step, nth = Step[sys.argv[1]], int(sys.argv[2])
    seen = count(1)

    def probe(reached: Step, partition: int) -> None:
        if reached is step and next(seen) == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    driftway.main(sys.argv[3:], obj={"probe": probe})


if __name__ == "__main__":
    main()

"""A worker whose wall clock jumps: `python -m tests.support.clock_jumps worker ...`.

SIGUSR1 sets it an hour forward, SIGUSR2 an hour back, for all Python code that reads the wall clock. The monotonic
clock, timeouts of the operating system and the client's own threads are unaffected.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.support.process import Driftway

HOUR = 3600


class ClockJumpDriftway(Driftway):
    """`driftway` with a clock that can be set; ``ClockJumpDriftway("worker", ...)``."""

    module = "tests.support.clock_jumps"

    def jump(self, hours: int) -> None:
        """Set its clock an hour forward (1) or back (-1); it must have installed its signal handlers."""
        self.process.send_signal(signal.SIGUSR1 if hours > 0 else signal.SIGUSR2)


def set_clocks(shift: Callable[[], int]) -> None:
    """Shift all wall clock functions of the module `time` forward by `shift()` seconds."""
    now, now_ns, real = time.time, time.time_ns, {name: getattr(time, name) for name in ("localtime", "gmtime")}
    strftime, ctime = time.strftime, time.ctime

    def broken_down(name: str) -> Callable[..., time.struct_time]:
        return lambda seconds=None: real[name](time.time() if seconds is None else seconds)

    def written(form: str, *given: Any) -> str:
        return strftime(form, *(given or (time.localtime(),)))

    time.time = lambda: now() + shift()
    time.time_ns = lambda: now_ns() + shift() * 10**9
    time.localtime, time.gmtime = broken_down("localtime"), broken_down("gmtime")
    time.strftime = written
    time.ctime = lambda seconds=None: ctime(time.time() if seconds is None else seconds)


def main() -> None:
    """Run the command line with clocks that jump."""
    shift = 0

    def jump(number: int, _frame: object) -> None:
        nonlocal shift
        shift += HOUR if number == signal.SIGUSR1 else -HOUR

    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, jump)
    set_clocks(lambda: shift)
    from driftway import cli

    cli.main(sys.argv[1:])


if __name__ == "__main__":
    main()

"""Run one command and report its cost, as a JSON object in the last line of its log.

::

    python -m driftway.workbench.bench.process_cost python -m driftway worker ...

| key | meaning |
|---|---|
| ``exit_code`` | exit code of the command |
| ``cpu_seconds`` | user and system time of the process and all its threads, as `wait4` reports them |
| ``peak_rss`` | bytes, the largest resident set it ever had |

Standard library only: what this process uses is not counted, but it runs at the same time. The command gets no
``DRIFTWAY_*`` variables, receives a SIGTERM sent to this process, and is killed when this process dies.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from driftway.workbench.broker.supervisor import die_with_this_process

RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""`ru_maxrss` is in bytes on macOS and in KiB on Linux."""


def main(argv: list[str]) -> int:
    """Run `argv`; return its exit code."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DRIFTWAY_")}
    ask_to_end = False

    def pass_on(number: int, _frame: object) -> None:
        nonlocal ask_to_end
        ask_to_end = True
        if child is not None:
            child.send_signal(number)

    child: subprocess.Popen[bytes] | None = None
    signal.signal(signal.SIGTERM, pass_on)
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        env=environment,
        preexec_fn=die_with_this_process(),  # noqa: PLW1509  (this process has one thread)
    )
    if ask_to_end:  # the signal came before the child existed
        child.terminate()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    cost = {
        "exit_code": child.returncode,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_rss": used.ru_maxrss * RSS_UNIT,
    }
    sys.stdout.write("\n" + json.dumps(cost) + "\n")
    return child.returncode if child.returncode >= 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

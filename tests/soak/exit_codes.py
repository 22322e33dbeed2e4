"""Which exits of a member are as documented (docs/reference/command-line.md, exit codes), given its faults."""

from __future__ import annotations

import signal
from dataclasses import dataclass

DONE, FENCED, UNREACHABLE = 0, 3, 5


@dataclass(frozen=True)
class ExitCode:
    """How a member ended, and the possible reasons.

    Parameters
    ----------
    code : int
        Exit code; negative for a signal.
    killed, terminated : bool
        Whether it was sent SIGKILL, or SIGTERM.
    silent : bool
        Whether it had not logged a single event: it was still starting, or failed to, and had no SIGTERM handler.
    thawed : bool
        Whether it was frozen shortly before, so that others may have taken over its partitions.
    broker_away : bool
        Whether there was a broker outage shortly before.
    traceback : bool
        Whether its output has a traceback.
    """

    code: int
    killed: bool = False
    terminated: bool = False
    silent: bool = False
    thawed: bool = False
    broker_away: bool = False
    traceback: bool = False

    @property
    def as_documented(self) -> bool:
        """Whether the exit needs no attention."""
        excuses = {
            DONE: self.terminated,
            FENCED: self.thawed,
            UNREACHABLE: self.broker_away,
            -signal.SIGKILL: self.killed,
            -signal.SIGTERM: self.terminated and self.silent,
        }
        return not self.traceback and excuses.get(self.code, False)

"""Which ends of a member are as documented (docs/reference/command-line.md, exit codes), given what was done to it."""

from __future__ import annotations

import signal
from dataclasses import dataclass

DONE, FENCED, UNREACHABLE = 0, 3, 5


@dataclass(frozen=True)
class ExitCode:
    """How a member ended, and what may have been the reason.

    Parameters
    ----------
    code : int
        Exit code; a signal's number below 0.
    killed, terminated : bool
        We sent it SIGKILL, or SIGTERM.
    silent : bool
        It had not told a single event: it was still starting, or could not, and nobody listened to SIGTERM.
    thawed : bool
        It was frozen not long before: others may have taken its place.
    broker_away : bool
        The broker was, not long before.
    traceback : bool
        Its output has one.
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
        """Whether nobody needs to look at it."""
        excuses = {
            DONE: self.terminated,
            FENCED: self.thawed,
            UNREACHABLE: self.broker_away,
            -signal.SIGKILL: self.killed,
            -signal.SIGTERM: self.terminated and self.silent,
        }
        return not self.traceback and excuses.get(self.code, False)

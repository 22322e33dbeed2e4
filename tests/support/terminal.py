"""Run the command line on a terminal: capture what it draws, and press Ctrl-C."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from tests.support.process import ROOT, Finished, clean_environment

LINES, COLUMNS = 30, 100
SECONDS = 120.0
PRESS_SECONDS = 0.02
END = "\x1b[end]"
"""Written behind what the child has drawn: a terminal passes text on in order, but a busy machine only later."""
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from driftway.cli import main
sys.exit(main())
"""
"""Restores the SIGINT handler: a shell starts background jobs with SIGINT ignored, and the tests may be such a job."""


def on_terminal(*arguments: str, interrupt_at: str | None = None, presses: int = 1, **env: str) -> Finished:
    """Run ``driftway ARGUMENTS`` to its end, with a terminal as stderr.

    Parameters
    ----------
    *arguments : str
        As on the command line.
    interrupt_at : str, optional
        A pattern; Ctrl-C is sent as soon as the output matches it.
    presses : int
        How many times Ctrl-C is sent, in quick succession.
    **env : str
        Environment variables on top of `clean_environment`.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        cwd=ROOT,
        env=clean_environment(TERM="xterm-256color", **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as child:
        try:
            drawn = _drawn(child, ours, theirs, interrupt_at, presses)
            stdout, _ = child.communicate(timeout=SECONDS)
        finally:
            child.kill()
            os.close(ours)
            os.close(theirs)  # not earlier: when its last descriptor closes, a terminal may lose what was just written
    return Finished(child.returncode, stdout, drawn)


def _drawn(child: subprocess.Popen[str], ours: int, theirs: int, interrupt_at: str | None, presses: int) -> str:
    """Return everything drawn until the child has ended."""
    drawn, marked, until = "", False, time.monotonic() + SECONDS
    while time.monotonic() < until:
        if not marked and child.poll() is not None:
            os.write(theirs, END.encode())
            marked = True
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        drawn += os.read(ours, 65536).decode(errors="replace")
        if drawn.endswith(END):
            return drawn.removesuffix(END)
        if interrupt_at is not None and re.search(interrupt_at, drawn):
            interrupt_at = None
            for _ in range(presses):
                child.send_signal(signal.SIGINT)
                time.sleep(PRESS_SECONDS)
    raise AssertionError(f"still drawing after {SECONDS:.0f} s: {drawn[-2000:]!r}")

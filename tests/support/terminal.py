"""The command line on a terminal: what it draws there, and Ctrl-C."""

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
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from driftway.cli import main
sys.exit(main())
"""
"""What a script runs in its background ignores Ctrl-C from the start, and the tests may run there."""


def on_terminal(*arguments: str, interrupt_at: str | None = None, presses: int = 1) -> Finished:
    """Run ``driftway ARGUMENTS`` with a terminal for its stderr, to its end.

    Parameters
    ----------
    *arguments : str
        As on the command line.
    interrupt_at : str, optional
        A pattern; Ctrl-C is sent as soon as it has been drawn.
    presses : int
        How often, quickly.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        cwd=ROOT,
        env=clean_environment(TERM="xterm-256color"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as child:
        os.close(theirs)
        try:
            drawn = _drawn(child, ours, interrupt_at, presses)
            stdout, _ = child.communicate(timeout=SECONDS)
        finally:
            child.kill()
            os.close(ours)
    return Finished(child.returncode, stdout, drawn)


def _drawn(child: subprocess.Popen[str], terminal: int, interrupt_at: str | None, presses: int) -> str:
    """What is drawn until the child lets go of the terminal."""
    drawn, until = "", time.monotonic() + SECONDS
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            drawn += os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # nobody has the other end open any more
            return drawn
        if interrupt_at is not None and re.search(interrupt_at, drawn):
            interrupt_at = None
            for _ in range(presses):
                child.send_signal(signal.SIGINT)
                time.sleep(PRESS_SECONDS)
    raise AssertionError(f"still drawing after {SECONDS:.0f} s: {drawn[-2000:]!r}")

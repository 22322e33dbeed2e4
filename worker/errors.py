"""Failures that are shown to the user: one sentence and a documented exit code. Leaf module.

| code | meaning |
|---|---|
| 0 | done |
| 1 | failure |
| 2 | usage |
| 3 | fenced: another owner has taken over |
| 4 | cannot restore |
| 5 | broker or schema registry unreachable |

`driftway check` ends with 6 if there are warnings, but no errors.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import ClassVar

SPARE_FILES = 8
"""A client opens several files at once, and closes them again if one of them cannot be opened."""
TOO_MANY_FILES = errno.EMFILE, errno.ENFILE


def file_shortage() -> str:
    """Say that this process can hardly open any more files, the usual hidden cause of failed connections; or nothing.

    To be asked where a connection failed, while the process still has its files open.
    """
    opened = list[int]()
    try:
        for _ in range(SPARE_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in TOO_MANY_FILES:
            return "this process cannot open more files: raise its limit (ulimit -n)"
    finally:
        for number in opened:
            with contextlib.suppress(OSError):
                os.close(number)
    return ""


def with_file_shortage(sentence: str) -> str:
    """Return a sentence about a failed connection, with its cause if that is `file_shortage`."""
    cause = file_shortage()
    return f"{sentence}; {cause}" if cause and cause not in sentence else sentence


def shown(text: str) -> str:
    """Make text safe for a terminal and a log: what it quotes from records and files may have control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)


class Failure(Exception):
    """An error that one sentence explains to the user."""

    exit_code: ClassVar[int] = 1


class UsageFailure(Failure):
    """The caller asked for something that does not exist or does not fit together."""

    exit_code = 2


class Fenced(Failure):
    """Another owner has taken over what this process owned."""

    exit_code = 3


class CannotRestore(Failure):
    """A partition's state cannot be restored, and starting cold was not allowed."""

    exit_code = 4


class Unreachable(Failure):
    """No broker, or no schema registry, answered within the time allowed."""

    exit_code = 5

    def __init__(self, sentence: str) -> None:
        super().__init__(with_file_shortage(sentence))

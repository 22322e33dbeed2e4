"""Failures that are shown to the user: one sentence and a documented exit code. Leaf module.

| code | meaning |
|---|---|
| 0 | done |
| 1 | failure |
| 2 | usage |
| 3 | fenced: another owner has taken over |
| 4 | cannot restore |
| 5 | broker or schema registry unreachable |
"""

from __future__ import annotations

from typing import ClassVar


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

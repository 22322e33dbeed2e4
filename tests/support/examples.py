"""How many random cases or rows a test uses: by default a tenth of the requested number, all in `slow-examples`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

THOROUGH = "thorough"
"""Name of the profile with all examples; `pytest --hypothesis-profile=thorough` chooses it."""
SHARE, LEAST = 10, 10
"""By default a test uses one random case in `SHARE`, but at least `LEAST`."""
FEW, MANY = 30, 300
"""Examples of a hypothesis test without a number of its own, by default and in all."""


def register_profiles() -> None:
    """Create the profiles and choose the one with few examples; without a time limit, as machines differ."""
    settings.register_profile("any machine", deadline=None, max_examples=FEW)
    settings.register_profile(THOROUGH, deadline=None, max_examples=MANY)
    settings.load_profile("any machine")


def thorough() -> bool:
    """Whether tests use all random cases."""
    return settings().max_examples == MANY


def repetitions(n: int, least: int = LEAST) -> int:
    """Return how many of `n` random cases or rows a test uses: all, or by default a tenth, but at least `least`.

    A test that calls it has the marker `random_cases`, by which the stage `slow-examples` selects it.
    """
    return n if thorough() else max(min(n, least), n // SHARE)


def examples(n: int, **more: Any) -> settings:
    """Settings of a hypothesis test that runs `n` examples when all are run."""
    return settings(max_examples=repetitions(n), **more)


SYNTAX = b'{}[]:,"\\/-+.0189eEtrufalsn \t\n\r\0'
BYTES = range(256) if thorough() else sorted({*SYNTAX, *range(7, 256, 12), 0xC3, 0xFF})
"""Bytes to write into a text of JSON: by default all that have a meaning in JSON, and some of the others."""

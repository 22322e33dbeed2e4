"""How many random examples a test takes: by default a third of what it asks for, all of them in `slow-examples`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

THOROUGH = "thorough"
"""Name of the profile with all examples; `pytest --hypothesis-profile=thorough` chooses it."""
SHARE = 3
FEW, MANY = 100, 300
"""Examples of a test that asks for no number."""


def register_profiles() -> None:
    """Make the profiles and choose the one with few examples; without a time limit, as machines differ."""
    settings.register_profile("any machine", deadline=None, max_examples=FEW)
    settings.register_profile(THOROUGH, deadline=None, max_examples=MANY)
    settings.load_profile("any machine")


def examples(n: int, **more: Any) -> settings:
    """Settings of a test that takes `n` examples with all, and a third of them by default."""
    return settings(max_examples=n if settings().max_examples == MANY else -(-n // SHARE), **more)

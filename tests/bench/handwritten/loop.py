"""What a hand-written loop is, and the arrays that it starts with at d features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Loop = tuple[Callable[..., None], Callable[[int], tuple[Any, ...]]]

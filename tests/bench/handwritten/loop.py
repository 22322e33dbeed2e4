"""Type of a handwritten loop, with the function that makes its initial arrays for d features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Loop = tuple[Callable[..., None], Callable[[int], tuple[Any, ...]]]

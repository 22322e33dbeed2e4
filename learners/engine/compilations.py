"""Callbacks about compilations: a terminal shows why nothing happens yet, and a worker can stop between two kernels.

This module does not import the compiler, so that a callback can be added before it is loaded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

Listener = Callable[[bool], None]
"""Called with true before a function is compiled in this process, also within the compilation of another one, and with
false after it. If it raises, the function is not compiled."""
_LISTENERS: list[Listener] = []


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call the listener within the block."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def notify(begins: bool) -> None:
    """Call all listeners: a compilation begins, or ends."""
    for listener in tuple(_LISTENERS):
        listener(begins)

"""Who listens to the compiler: a terminal that shows why nothing happens yet, and a worker that is to stop.

Whoever listens need not load the compiler: this module imports nothing of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

Listener = Callable[[bool], None]
"""Called with true before a function is compiled in this process, also for a kernel that is being compiled, and with
false behind that. What it raises, keeps the function from being compiled."""
_LISTENERS: list[Listener] = []


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call the listener within the block."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def tell(begins: bool) -> None:
    """Call all listeners: a compilation begins, or ends."""
    for listener in tuple(_LISTENERS):
        listener(begins)

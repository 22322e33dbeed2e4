"""`python -m tests.support.poisoned worker ...`: the real command line, whose buffers hold rubbish once they are free.

A batch's text and messages are rubbish from the next take on, a buffer of predictions as soon as it was given back. Who
looks at them later than he may writes rubbish, or learns it.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.support.process import Driftway

RUBBISH = 0xA5


class PoisonedDriftway(Driftway):
    """`driftway` with rubbish in its free buffers."""

    module = "tests.support.poisoned"


def main() -> None:
    """Spoil what is free, and run the command line."""
    import driftway
    from worker.kafka.native import arrivals
    from worker.wire import packed, writer
    from worker.wire.text import written

    give, take = written.give_buffer, arrivals.Arrivals.take

    def spoil_and_give(buffer: written.Text) -> None:
        buffer[:] = RUBBISH
        give(buffer)

    def spoil_and_take(self: arrivals.Arrivals, most: int, wait: float) -> Any:
        for old in (self._text, self._rows, self._pointers):
            old.view("u1")[:] = RUBBISH
        return take(self, most, wait)

    for module in (written, writer, packed):
        module.give_buffer = spoil_and_give
    arrivals.Arrivals.take = spoil_and_take  # type: ignore[method-assign]
    driftway.main(sys.argv[1:])


if __name__ == "__main__":
    main()

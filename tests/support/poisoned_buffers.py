"""`python -m tests.support.poisoned_buffers worker ...`: the command line, with free buffers overwritten.

The text and messages of a batch are overwritten at the next poll, a buffer of predictions as soon as it is returned to
the pool. Code that reads them too late then writes or learns garbage.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.support.process import Driftway

RUBBISH = 0xA5


class PoisonedDriftway(Driftway):
    """`driftway` with its free buffers overwritten."""

    module = "tests.support.poisoned_buffers"


def main() -> None:
    """Patch the buffers to be overwritten when free, and run the command line."""
    from driftway import cli
    from driftway.worker.kafka.librdkafka import consumer_queue
    from driftway.worker.wire import packed, writer
    from driftway.worker.wire.json_tokens import buffer_pool

    give, take = buffer_pool.give_buffer, consumer_queue.ConsumerQueue.poll

    def spoil_and_give(buffer: buffer_pool.Text) -> None:
        buffer[:] = RUBBISH
        give(buffer)

    def spoil_and_take(self: consumer_queue.ConsumerQueue, most: int, wait: float) -> Any:
        for old in (self._text, self._rows, self._pointers):
            old.view("u1")[:] = RUBBISH
        return take(self, most, wait)

    for module in (buffer_pool, writer, packed):
        module.give_buffer = spoil_and_give
    consumer_queue.ConsumerQueue.poll = spoil_and_take  # type: ignore[method-assign]
    cli.main(sys.argv[1:])


if __name__ == "__main__":
    main()

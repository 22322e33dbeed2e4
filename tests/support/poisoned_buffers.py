"""`python -m tests.support.poisoned_buffers worker ...`: the command line, with free buffers overwritten.

The text and messages of a batch are overwritten at the next poll, a buffer of predictions as soon as it is returned to
the pool. Code that reads a buffer too late then writes or learns garbage.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.support.process import Driftway

GARBAGE = 0xA5


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

    def overwrite_and_give(buffer: buffer_pool.Text) -> None:
        buffer[:] = GARBAGE
        give(buffer)

    def overwrite_and_take(self: consumer_queue.ConsumerQueue, max_messages: int, wait: float) -> Any:
        for old in (self._text, self._rows, self._pointers):
            old.view("u1")[:] = GARBAGE
        return take(self, max_messages, wait)

    for module in (buffer_pool, writer, packed):
        module.give_buffer = overwrite_and_give
    consumer_queue.ConsumerQueue.poll = overwrite_and_take  # type: ignore[method-assign]
    cli.main(sys.argv[1:])


if __name__ == "__main__":
    main()

"""A thread with its own client, which reads until the end of its ``with`` block."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Self

from confluent_kafka import Consumer, TopicPartition

from driftway.worker.kafka.client_config import base_properties, quiet


class ReaderThread(threading.Thread):
    """A read_committed reader that is not a member of a group; a subclass says what it does until `_ended` is set.

    Parameters
    ----------
    name : str
        Name of the thread.
    bootstrap : str
        Bootstrap addresses of the brokers.
    places : sequence of TopicPartition
        Where it begins to read.
    **own
        Further properties of the client, with _ for a dot in their names.
    """

    def __init__(self, name: str, bootstrap: str, places: Sequence[TopicPartition], **own: Any) -> None:
        super().__init__(name=name, daemon=True)
        properties = {
            "group.id": "driftway-reader",  # the client requires one; assign() never joins a group
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            **{key.replace("_", "."): value for key, value in own.items()},
        }
        self._reader = Consumer(quiet({**base_properties(bootstrap, {}), **properties}))
        self._reader.assign(list(places))
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()
        self._reader.close()

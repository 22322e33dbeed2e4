"""Checks that the C structs for messages and partitions have the expected layout. Needs no broker and a few ms.

No kernel is used: which client a worker has must be known before the kernels of that client are compiled.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from driftway.worker.kafka.librdkafka.handle import Handle
from driftway.worker.kafka.librdkafka.library import (
    COPY,
    PRODUCER,
    PURGE_IN_FLIGHT,
    PURGE_QUEUED,
    Library,
    Unsupported,
    load,
)
from driftway.worker.kafka.librdkafka.message import (
    ERROR,
    KEY,
    KEY_LENGTH,
    LENGTH,
    OPAQUE,
    PARTITION,
    PAYLOAD,
    WORDS,
)

REPORT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
NOBODY_LISTENS = {"bootstrap.servers": "127.0.0.1:9", "log_level": "0"}
WHERE, MARK, VALUE, NAME = 3, 4711, b"a payload", b"the key"
POLL_MS = 1000


@cache
def checked_library() -> Library:
    """Load the library and check its struct layouts.

    Raises
    ------
    Unsupported
        A layout differs, or the library cannot be used at all.
    """
    library = load()
    if (why := _message_differs(library) or _partition_differs(library)) is not None:
        raise Unsupported(f"librdkafka {library.version_str().decode()}: {why}")
    return library


def _message_differs(library: Library) -> str | None:
    """Produce a message, purge it, and read its delivery report; return what differs, or None."""
    seen: list[str | None] = []

    def look(_handle: int, message: int, _opaque: int) -> None:
        row = (ctypes.c_int64 * WORDS).from_address(message)
        partition, error = (ctypes.c_int32(row[word]).value for word in (PARTITION, ERROR))  # see `message.read`
        found = (partition, row[LENGTH], row[KEY_LENGTH], row[OPAQUE], error < 0)
        right = found == (WHERE, len(VALUE), len(NAME), MARK, True)
        # Dereference the pointers only if the lengths are right.
        right = right and ctypes.string_at(row[PAYLOAD], row[LENGTH]) == VALUE
        right = right and ctypes.string_at(row[KEY], row[KEY_LENGTH]) == NAME
        seen.append(None if right else f"a message reads {found}")

    report = REPORT(look)
    address = ctypes.cast(report, ctypes.c_void_p).value or 0
    with Handle(library, PRODUCER, NOBODY_LISTENS, report=address) as handle:
        topic = handle.topic("trial")
        payload, key = np.frombuffer(VALUE, np.uint8), np.frombuffer(NAME, np.uint8)
        rows = np.zeros((1, WORDS), np.int64)
        rows[0, [PAYLOAD, LENGTH, KEY, KEY_LENGTH, OPAQUE]] = (
            payload.ctypes.data, len(VALUE), key.ctypes.data, len(NAME), MARK,
        )  # fmt: skip
        if library.produce_batch(topic, WHERE, COPY, rows.ctypes.data, 1) != 1:
            return "a batch of one message was not accepted"
        library.purge(handle.address, PURGE_QUEUED | PURGE_IN_FLIGHT)
        library.poll(handle.address, POLL_MS)
    return seen[0] if seen else "no delivery report arrived"


def _partition_differs(library: Library) -> str | None:
    topic_partitions = library.topic_partition_list_new(1)
    try:
        library.topic_partition_list_add(topic_partitions, b"trial", WHERE).contents.offset = MARK
        first = topic_partitions.contents.elements[0]
        found = (
            topic_partitions.contents.count,
            first.topic,
            first.partition,
            first.offset,
            first.metadata_size,
            first.err,
        )
    finally:
        library.topic_partition_list_destroy(topic_partitions)
    return None if found == (1, b"trial", WHERE, MARK, 0, 0) else f"a topic partition reads {found}"

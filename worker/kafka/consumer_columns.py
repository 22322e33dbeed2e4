"""confluent-kafka's messages as columns of each partition, without a further Python object per message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from confluent_kafka import Message

from driftway.worker.wire.columns import Integers, ListColumn
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import Header, Headers, LazyHeaders

BATCH_MESSAGES = 10_000
"""Messages that commands read at once."""
TURN_MESSAGES = 40_000
"""Messages that a worker's loop takes at once: each turn takes about a millisecond, however few there are."""


def by_partition(messages: list[Message]) -> dict[int, list[Message]]:
    """Group messages by partition, in the order of first appearance.

    The client delivers runs of one partition, as it fetched them; cutting at their bounds beats a loop over messages.
    """
    shares: dict[int, list[Message]] = {}
    partitions = np.fromiter(map(Message.partition, messages), np.int64, len(messages))
    cuts = [0, *(np.flatnonzero(np.diff(partitions)) + 1).tolist(), len(messages)]
    for start, end in pairwise(cuts):
        if start < end:
            shares.setdefault(int(partitions[start]), []).extend(messages[start:end])
    return shares


def _offsets(share: list[Message]) -> Integers:
    """Return the offsets of a partition's messages: they rise, so without gaps the first and the last give them all."""
    first, last, n = share[0].offset() or 0, share[-1].offset() or 0, len(share)
    if last - first == n - 1:
        return np.arange(first, last + 1, dtype=np.int64)
    return np.fromiter(map(Message.offset, share), np.int64, n)


def records_of(partition: int, messages: list[Message], headers: bool) -> Records:
    """Convert messages of one partition, in order, to columns; headers are read at once if requested."""

    def read(i: int) -> Sequence[Header]:
        return headers_of(messages[i : i + 1])[0]

    return Records(
        partition,
        _offsets(messages),
        ListColumn(list(map(Message.value, messages))),
        ListColumn(list(map(Message.key, messages))),
        Timestamps(messages),
        headers_of(messages) if headers else LazyHeaders.of(read, len(messages)),
        epoch=messages[-1].leader_epoch(),
    )


def headers_of(messages: list[Message]) -> Headers:
    """Return each message's headers; none of one with a header name that is not UTF-8, which the client cannot decode.

    There the client returns an incomplete result with its exception still set; a second call returns it without, so
    each message is asked only once. `map` notices the exception; a call specialised by the interpreter does not.
    """
    results: Any = map(Message.headers, messages)
    found = list[tuple[Header, ...]]()
    while len(found) < len(messages):
        try:
            found.append(tuple(next(results) or ()))
        except SystemError:
            found.append(())
    return found


class Timestamps(Sequence[int]):
    """The records' timestamps in ms, read from the messages only on access, which is rare."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Timestamps: ...
    def __getitem__(self, index: int | slice) -> int | Timestamps:
        if isinstance(index, slice):
            return Timestamps(self._messages[index])
        return int(self._messages[index].timestamp()[1])

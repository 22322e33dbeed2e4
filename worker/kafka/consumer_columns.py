"""What a client delivers as columns: the messages of each partition, without a Python object more per message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from confluent_kafka import Message

from driftway.worker.wire.columns import Integers, ListColumn
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import Header, Headers

BATCH_MESSAGES = 10_000


def by_partition(messages: list[Message]) -> dict[int, list[Message]]:
    """Messages of each partition, in the order of first appearance.

    The client hands over runs of one partition, as it fetched them: cutting there is cheaper than going one by one.
    """
    shares: dict[int, list[Message]] = {}
    places = np.fromiter(map(Message.partition, messages), np.int64, len(messages))
    cuts = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(messages)]
    for start, end in pairwise(cuts):
        if start < end:
            shares.setdefault(int(places[start]), []).extend(messages[start:end])
    return shares


def _offsets(share: list[Message]) -> Integers:
    """Offsets of a partition's messages: they rise, so a first and a last as far apart as their number tell all."""
    first, last, n = share[0].offset() or 0, share[-1].offset() or 0, len(share)
    if last - first == n - 1:
        return np.arange(first, last + 1, dtype=np.int64)
    return np.fromiter(map(Message.offset, share), np.int64, n)


def records_of(partition: int, messages: list[Message], headers: bool = False) -> Records:
    """Messages of one partition, in their order, as columns; with headers, if they are asked for."""
    return Records(
        partition,
        _offsets(messages),
        ListColumn(list(map(Message.value, messages))),
        ListColumn(list(map(Message.key, messages))),
        Timestamps(messages),
        headers_of(messages) if headers else None,
    )


def headers_of(messages: list[Message]) -> Headers:
    """Headers of each message; none of one with a name that is no UTF-8, which the client cannot read.

    It may be asked only once: it returns what it could not finish with its exception still set, and later without.
    `map` looks at that; a call that the interpreter has specialised does not.
    """
    asked: Any = map(Message.headers, messages)
    found = list[tuple[Header, ...]]()
    while len(found) < len(messages):
        try:
            found.append(tuple(next(asked) or ()))
        except SystemError:
            found.append(())
    return found


class Timestamps(Sequence[int]):
    """The records' timestamps in ms, asked from the client when somebody looks: hardly anybody does."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Timestamps: ...
    def __getitem__(self, place: int | slice) -> int | Timestamps:
        if isinstance(place, slice):
            return Timestamps(self._messages[place])
        return int(self._messages[place].timestamp()[1])

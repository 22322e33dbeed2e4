"""What a client delivers as columns: the messages of each partition, without a Python object more per message."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from confluent_kafka import Message

from worker.wire.events import Records
from worker.wire.strings import Integers, Listed

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


def records_of(partition: int, messages: list[Message]) -> Records:
    """Messages of one partition, in their order, as columns."""
    return Records(
        partition,
        _offsets(messages),
        Listed(list(map(Message.value, messages))),
        Listed(list(map(Message.key, messages))),
        Timestamps(messages),
    )


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

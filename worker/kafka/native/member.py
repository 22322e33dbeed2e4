"""A member of the group by the C library: messages become columns without an object of Python's for any of them.

Signals wait for a call of the library to end: no wait may be long.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, KafkaError

from worker.kafka.columns import BATCH_MESSAGES
from worker.kafka.interface import Member, Partitions, Problem, Taken
from worker.kafka.native.handle import Handle, PlaceList, drain, partitions_of
from worker.kafka.native.library import ANY_PARTITION, ASSIGN, CONSUMER, REBALANCE, Library
from worker.kafka.native.message import (
    ERROR,
    KEY,
    KEY_LENGTH,
    LENGTH,
    OFFSET,
    PARTITION,
    PAYLOAD,
    WORDS,
    Rows,
    destroy,
    gather,
    group,
    read,
    stamp,
)
from worker.wire.events import Records
from worker.wire.strings import END, SPARE, TAIL, Integers, Located, Terminated, Text, read_only

WITHOUT_END = -1
"""Milliseconds of a call whose caller gives up by itself."""


class Membership:
    """Group metadata, freed with this."""

    def __init__(self, library: Library, handle: int) -> None:
        self._library, self.address = library, library.consumer_group_metadata(handle)

    def __del__(self) -> None:
        self._library.consumer_group_metadata_destroy(self.address)


class NativeMember(Member):
    """See `worker.kafka.interface.Member`.

    Parameters
    ----------
    library : Library
        The functions.
    properties : mapping
        Of the client.
    topic : str
        What is subscribed to.
    incremental : bool
        Whether partitions are handed over one by one instead of all at once.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(self, library: Library, properties: Mapping[str, Any], topic: str, incremental: bool) -> None:
        self._library, self._topic, self._incremental = library, topic, incremental
        self._handle = Handle(library, CONSUMER, properties, rebalance=REBALANCE(self._rebalance))
        library.require(library.poll_set_consumer(self._handle.address))
        self._queue = library.queue_get_consumer(self._handle.address)
        self._listeners: tuple[Partitions, Partitions, Partitions] | None = None
        self._trouble: BaseException | None = None
        """What a listener raised: the library would lose it."""
        self._pointers = np.empty(BATCH_MESSAGES, np.int64)
        self._rows = np.empty((BATCH_MESSAGES, WORDS), np.int64)
        self._text: Text = np.empty(0, np.uint8)
        self._kind = np.zeros(1, np.int64)
        self._destroy, self._stamp = library.address("message_destroy"), library.address("message_timestamp")

    def subscribe(self, assigned: Partitions, revoked: Partitions, lost: Partitions) -> None:
        self._listeners = assigned, revoked, lost
        with PlaceList(self._library, self._topic, [(ANY_PARTITION, 0)]) as wanted:
            self._library.require(self._library.subscribe(self._handle.address, wanted))

    def accept(self, partitions: list[int]) -> None:
        # The real position is known after the restore; until then nothing may be fetched.
        library, handle = self._library, self._handle.address
        with self._places(partitions, OFFSET_BEGINNING) as places:
            if self._incremental:
                library.check(library.incremental_assign(handle, places))
            else:
                library.require(library.assign(handle, places))
            library.require(library.pause_partitions(handle, places))

    def release(self, partitions: list[int]) -> None:
        library, handle = self._library, self._handle.address
        if not self._incremental:
            library.require(library.assign(handle, None))
            return
        with self._places(partitions) as places:
            library.check(library.incremental_unassign(handle, places))

    def take(self, most: int, wait: float) -> Taken:
        pointers = self._pointers[: drain(self._library, self._queue, self._pointers[:most], wait)]
        try:
            self._raise_trouble()
            return self._columns(pointers)
        finally:
            destroy(pointers, self._destroy)

    def seek(self, partition: int, offset: int) -> None:
        with self._places([partition], offset) as places:
            self._library.check(self._library.seek_partitions(self._handle.address, places, WITHOUT_END))
            self._library.require(places.contents.elements[0].err)

    def pause(self, partition: int) -> None:
        with self._places([partition]) as places:
            self._library.require(self._library.pause_partitions(self._handle.address, places))

    def resume(self, partition: int) -> None:
        with self._places([partition]) as places:
            self._library.require(self._library.resume_partitions(self._handle.address, places))

    def metadata(self) -> Any:
        return Membership(self._library, self._handle.address)

    def commit(self, partition: int, offset: int, metadata: str | None) -> None:
        with PlaceList(self._library, self._topic, [(partition, offset)], metadata) as places:
            self._library.require(self._library.commit(self._handle.address, places, 0))
            self._library.require(places.contents.elements[0].err)

    def close(self) -> None:
        if self._handle.address:
            self._library.queue_destroy(self._queue)
            self._library.consumer_close(self._handle.address)  # whom the group has fenced is told so once more
            self._handle.close()
        self._raise_trouble()

    def _places(self, partitions: list[int], offset: int = 0) -> PlaceList:
        return PlaceList(self._library, self._topic, [(partition, offset) for partition in partitions])

    def _raise_trouble(self) -> None:
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble

    def _rebalance(self, handle: int, code: int, places: Any, _opaque: int) -> None:
        """What the library calls; nothing may be raised from here."""
        try:
            assigned, revoked, lost = self._listeners or (_nothing,) * 3
            taken_away = lost if self._library.assignment_lost(handle) else revoked
            (assigned if code == ASSIGN else taken_away)(partitions_of(places))
        except BaseException as error:
            self._trouble = error

    def _columns(self, pointers: Integers) -> Taken:
        """Copy messages out of the library's memory."""
        n = len(pointers)
        rows, (order, partitions, ends, scratch) = self._rows[:n], np.empty((4, n), np.int64)
        read(pointers, rows)
        stamps = np.empty(n, np.int64)
        stamp(pointers, self._stamp, self._kind.ctypes.data, stamps)
        found = group(rows, order, partitions, ends, scratch)
        room = int(rows[:, LENGTH].sum()) + n * len(END) + found * SPARE
        if len(self._text) < room:
            self._text = np.empty(room + room // 4, np.uint8)
        records, first, q = list[Records](), 0, 0
        for partition, end in zip(partitions[:found].tolist(), ends[:found].tolist(), strict=True):
            chosen = order[first:end]
            values, q = values_of(rows, chosen, self._text, q)
            records.append(Records(partition, rows[chosen, OFFSET], values, keys_of(rows, chosen), stamps[chosen]))
            first = end
        return Taken(records, [_problem(row) for row in rows[rows[:, ERROR] != 0]] if first < n else [])


def values_of(rows: Rows, chosen: Integers, text: Text, start: int) -> tuple[Terminated, int]:
    """Payloads, copied to a buffer from a place on; and the place behind them."""
    starts, lengths = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    end = start + gather(rows, chosen, PAYLOAD, len(END), text[start:], starts, lengths)
    text[end : end + SPARE] = np.frombuffer(TAIL, np.uint8)
    return Terminated(read_only(text[start : end + SPARE]), starts, lengths), end + SPARE


def keys_of(rows: Rows, chosen: Integers) -> Located:
    """Keys in a buffer of their own: outputs that are held back keep them."""
    starts, lengths = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    text = np.empty(int(rows[chosen, KEY_LENGTH].sum()), np.uint8)
    gather(rows, chosen, KEY, 0, text, starts, lengths)
    return Located(text, starts, lengths)


def _problem(row: Any) -> Problem:
    code, offset = int(row[ERROR]), int(row[OFFSET])
    if not row[PAYLOAD]:
        return Problem(KafkaError(code), int(row[PARTITION]), offset)
    reason = ctypes.string_at(int(row[PAYLOAD]), int(row[LENGTH])).decode(errors="replace")
    return Problem(KafkaError(code, reason), int(row[PARTITION]), offset)


def _nothing(_partitions: list[int]) -> None:
    """Nobody has subscribed."""

"""A member of the group by the C library. Signals wait for a call of the library to end: no wait may be long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING

from driftway.worker.kafka.interface import Member, Partitions, Taken
from driftway.worker.kafka.librdkafka.consumer_queue import Arrivals
from driftway.worker.kafka.librdkafka.handle import Handle, PlaceList, partitions_of
from driftway.worker.kafka.librdkafka.library import ANY_PARTITION, ASSIGN, CONSUMER, REBALANCE, Library

WITHOUT_END = -1
"""Milliseconds of a call whose caller gives up by itself."""


class Membership:
    """Group metadata, freed with this."""

    def __init__(self, library: Library, handle: int) -> None:
        self._library, self.address = library, library.consumer_group_metadata(handle)

    def __del__(self) -> None:
        self._library.consumer_group_metadata_destroy(self.address)


class NativeMember(Member):
    """See `driftway.worker.kafka.interface.Member`.

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
    headers : bool
        Whether records come with theirs.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(
        self, library: Library, properties: Mapping[str, Any], topic: str, incremental: bool, headers: bool = False
    ) -> None:
        self._library, self._topic, self._incremental = library, topic, incremental
        self._handle = Handle(library, CONSUMER, properties, rebalance=REBALANCE(self._rebalance))
        self._arrivals = Arrivals(library, self._handle, headers=headers)
        self._listeners: tuple[Partitions, Partitions, Partitions] | None = None
        self._trouble: BaseException | None = None
        """What a listener raised: the library would lose it."""

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
        taken = self._arrivals.take(most, wait)
        self._raise_trouble()
        return taken

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
            self._arrivals.close()
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


def _nothing(_partitions: list[int]) -> None:
    """Nobody has subscribed."""

"""Headers of messages, read and written: one call of the library for each, only where somebody asks for them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from driftway.worker.kafka.librdkafka.library import Library
from driftway.worker.kafka.librdkafka.message import (
    KEY,
    KEY_LENGTH,
    LENGTH,
    OPAQUE,
    PAYLOAD,
    WORD_BYTES,
    WORDS,
    Rows,
    fill,
)
from driftway.worker.wire.columns import Integers, ListColumn
from driftway.worker.wire.headers import Header, Headers

RKT, AT_PARTITION, VALUE, UNDER, MARK, FLAGS, HEADER = 2, 3, 4, 5, 6, 7, 9
"""Kinds of the pieces of a record that `produceva` is told of (``RD_KAFKA_VTYPE_``)."""
KIND, FIRST, SECOND = 0, 1, 2
"""Words of a piece, a ``rd_kafka_vu_t``, which has as many as a message: its kind, and what that wants to be told."""
FIXED = RKT, AT_PARTITION, FLAGS, MARK, VALUE, UNDER
"""The pieces that each record has."""


class HeaderReader:
    """Reads headers.

    Parameters
    ----------
    library : Library
        The functions.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._list, self._name = ctypes.c_void_p(), ctypes.c_char_p()
        self._value, self._size = ctypes.c_void_p(), ctypes.c_size_t()
        places = self._list, self._name, self._value, self._size
        self._at, *self._of = (ctypes.addressof(place) for place in places)

    def read(self, pointers: Integers) -> Headers:
        """Of the messages at these places i8[n]; they are copied."""
        return list(map(self._read, pointers.tolist()))

    def _read(self, message: int) -> tuple[Header, ...]:
        library, found = self._library, list[Header]()
        if library.message_headers(message, self._at):
            return ()
        while not library.header_get_all(self._list, len(found), *self._of):
            value, name = self._value.value, self._name.value or b""
            try:
                found.append((name.decode(), None if value is None else ctypes.string_at(value, self._size.value)))
            except (
                UnicodeDecodeError
            ):  # as in `driftway.worker.kafka.consumer_columns.headers_of`: what one client has, the other must
                return ()
        return tuple(found)


class HeaderProducer:
    """Records with headers as `produceva` takes them, one after the other.

    Parameters
    ----------
    fixed : tuple of int
        Topic's address, partition, and flags of each.
    rows : i8[n, WORDS]
        Payloads, keys and opaque words, as messages have them; what they point to is the caller's.
    headers : Headers
        Of each record.
    """

    def __init__(self, fixed: tuple[int, int, int], rows: Rows, headers: Headers) -> None:
        n, flat = len(rows), [header for own in headers for header in own]
        pieces = np.zeros((n, len(FIXED), WORDS), np.int64)
        pieces[:, :, KIND] = FIXED
        pieces[:, :3, FIRST] = fixed
        pieces[:, 3, FIRST] = rows[:, OPAQUE]
        pieces[:, 4, [FIRST, SECOND]] = rows[:, [PAYLOAD, LENGTH]]
        pieces[:, 5, [FIRST, SECOND]] = rows[:, [KEY, KEY_LENGTH]]
        self._counts = len(FIXED) + np.fromiter(map(len, headers), np.int64, n)
        self._starts = np.cumsum(self._counts) - self._counts
        self._pieces = np.empty((int(self._counts.sum()), WORDS), np.int64)
        fixed_ones = np.zeros(len(self._pieces), np.bool_)
        fixed_ones[self._starts[:, np.newaxis] + np.arange(len(FIXED))] = True
        self._pieces[fixed_ones] = pieces.reshape(-1, WORDS)
        self._pieces[~fixed_ones] = self._named(flat)

    def produce(self, library: Library, client: int) -> None:
        """Hand them over; they are copied.

        Raises
        ------
        KafkaException
            The client does not take one.
        """
        places = self._pieces.ctypes.data + WORDS * WORD_BYTES * self._starts
        for place, count in zip(places.tolist(), self._counts.tolist(), strict=True):
            library.check(library.produceva(client, place, count))

    def _named(self, headers: Sequence[Header]) -> Rows:
        """Pieces of headers; names end with a zero byte."""
        names, begins, _ = ListColumn([name.encode() + b"\0" for name, _ in headers]).to_buffer()
        values, starts, lengths = ListColumn([value for _, value in headers]).to_buffer()
        self._kept = names, values  # the pieces point into them
        pieces = np.zeros((len(headers), WORDS), np.int64)
        fill(pieces, values.ctypes.data, starts, lengths, SECOND)
        pieces[:, KIND] = HEADER
        pieces[:, FIRST] = names.ctypes.data + begins
        return pieces

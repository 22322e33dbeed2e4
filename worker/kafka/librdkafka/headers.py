"""Reading and writing message headers: one library call for each, made only if they are requested or needed."""

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
    destroy,
    fill,
)
from driftway.worker.wire.columns import Integers, ListColumn
from driftway.worker.wire.headers import Header, Headers

RKT, AT_PARTITION, VALUE, UNDER, MARK, FLAGS, HEADER = 2, 3, 4, 5, 6, 7, 9
"""Kinds of `produceva` arguments (``RD_KAFKA_VTYPE_``)."""
KIND, FIRST, SECOND = 0, 1, 2
"""Words of an argument, an ``rd_kafka_vu_t``, which is as long as a message: its kind and up to two values."""
FIXED = RKT, AT_PARTITION, FLAGS, MARK, VALUE, UNDER
"""Arguments that each record has."""


class HeaderReader:
    """Reads headers of messages.

    Parameters
    ----------
    library : Library
        The functions.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._list, self._name = ctypes.c_void_p(), ctypes.c_char_p()
        self._value, self._size = ctypes.c_void_p(), ctypes.c_size_t()
        out = self._list, self._name, self._value, self._size
        self._at, *self._of = (ctypes.addressof(one) for one in out)

    def read(self, pointers: Integers) -> Headers:
        """Copy the headers of the messages at these addresses, i8[n]."""
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
            ):  # as `driftway.worker.kafka.consumer_columns.headers_of`: both clients must agree
                return ()
        return tuple(found)


class HeldMessages:
    """Messages of a poll that are freed only when nothing can ask for their headers any more.

    Parameters
    ----------
    pointers : i8[n]
        Their addresses.
    reader : HeaderReader
        Reads their headers.
    function : int
        Address of the library function that frees a message.
    """

    def __init__(self, pointers: Integers, reader: HeaderReader, function: int) -> None:
        self._pointers, self._reader, self._function = pointers, reader, function

    def __del__(self) -> None:
        """Free them."""
        self.release()

    def read(self, i: int) -> tuple[Header, ...]:
        """Return the headers of message `i`.

        Raises
        ------
        RuntimeError
            The consumer has been closed.
        """
        if not len(self._pointers):
            raise RuntimeError("the headers of a record were asked for after its consumer was closed")
        (own,) = self._reader.read(self._pointers[i : i + 1])
        return tuple(own)

    def release(self) -> None:
        """Free them now, before the consumer is closed."""
        pointers, self._pointers = self._pointers, self._pointers[:0]
        destroy(pointers, self._function)


class HeaderProducer:
    """Produces records with headers, one `produceva` call per record.

    Parameters
    ----------
    fixed : tuple of int
        Topic address, partition and flags, the same for all records.
    rows : i8[n, WORDS]
        Payloads, keys and opaque words, laid out as messages; the caller owns the memory that they point to.
    headers : Headers
        Headers of each record.
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
        """Queue the records; they are copied.

        Raises
        ------
        KafkaException
            The client refuses a record.
        """
        addresses = self._pieces.ctypes.data + WORDS * WORD_BYTES * self._starts
        for address, count in zip(addresses.tolist(), self._counts.tolist(), strict=True):
            library.check(library.produceva(client, address, count))

    def _named(self, headers: Sequence[Header]) -> Rows:
        """Build the arguments of headers; names end with a zero byte."""
        names, begins, _ = ListColumn([name.encode() + b"\0" for name, _ in headers]).to_buffer()
        values, starts, lengths = ListColumn([value for _, value in headers]).to_buffer()
        self._kept = names, values  # kept alive: the arguments point into them
        pieces = np.zeros((len(headers), WORDS), np.int64)
        fill(pieces, values.ctypes.data, starts, lengths, SECOND)
        pieces[:, KIND] = HEADER
        pieces[:, FIRST] = names.ctypes.data + begins
        return pieces

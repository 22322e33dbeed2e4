"""Headers of a batch's records as a column, and headers of predictions. Leaf module.

Normally headers are not read: the column is then a `LazyHeaders`, which reads only those of records that are rejected.

A prediction has those headers of its event that the options name and, if requested, the attributes of a CloudEvent in
binary mode: https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from itertools import compress, repeat
from typing import overload

import numpy as np
from numpy.typing import NDArray

Header = tuple[str, bytes | None]
"""Name and value."""
Headers = Sequence[Sequence[Header]]
"""Headers of each record, in their order in the record; a name may occur twice."""
Reader = Callable[[int], Sequence[Header]]
"""Returns the headers of a message, by its number in its poll."""

ALL = "*"
"""Selects every header."""
MAX_HEADERS = 524_288
"""Most bytes of headers that a prediction passes on, names and values together: with a longer list it might not fit
into a record of the output, and would stop the partition."""
LEFT_OUT = "driftway-headers-left-out"
"""Header of a prediction in place of a longer list: the number of bytes that were left out."""

CONTENT_TYPE, ATTRIBUTE = "content-type", "ce_"
"""Header of a CloudEvent with the media type of its data, and the beginning of the headers with its attributes."""
SPEC_VERSION = b"1.0"
EVENT_TYPE = b"driftway.prediction"
"""The `type` of a prediction as a CloudEvent."""
ATTRIBUTES = "id", "source", "specversion", "type", "time", "subject", "dataschema", "datacontenttype"
OF_THE_EVENT = frozenset((CONTENT_TYPE, *(ATTRIBUTE + name for name in ATTRIBUTES)))
"""Headers that say of an event that is a CloudEvent which one it is, and so say nothing of its prediction."""
FIRST_TIME, LAST_TIME = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999 in ms since 1970: what RFC 3339 can write."""


class LazyHeaders(Sequence[Sequence[Header]]):
    """Headers of records that are read from the client's messages only on access, which is rare.

    Parameters
    ----------
    readers : sequence of callable
        Each returns the headers of a message of one poll, by the message's number.
    reader, message : i8[n]
        The reader of each record, and the number of its message.
    """

    def __init__(self, readers: Sequence[Reader], reader: NDArray[np.int64], message: NDArray[np.int64]) -> None:
        self._readers, self._reader, self._message = readers, reader, message

    @classmethod
    def of(cls, read: Reader, n: int) -> LazyHeaders:
        """Return the headers of the n messages of a poll."""
        return cls([read], np.zeros(n, np.int64), np.arange(n))

    def __len__(self) -> int:
        return len(self._message)

    @overload
    def __getitem__(self, index: int) -> Sequence[Header]: ...
    @overload
    def __getitem__(self, index: slice) -> LazyHeaders: ...
    def __getitem__(self, index: int | slice) -> Sequence[Header] | LazyHeaders:
        if isinstance(index, slice):
            return LazyHeaders(self._readers, self._reader[index], self._message[index])
        return self._readers[int(self._reader[index])](int(self._message[index]))

    def picked(self, pick: NDArray[np.int64]) -> LazyHeaders:
        """Return the headers of the records with these indices, i8[n]."""
        return LazyHeaders(self._readers, self._reader[pick], self._message[pick])

    def followed_by(self, other: LazyHeaders) -> LazyHeaders:
        """Concatenate; polls without a record left are let go, and with them their messages."""
        readers = [*self._readers, *other._readers]
        reader = np.concatenate([self._reader, other._reader + len(self._readers)])
        used = np.flatnonzero(np.bincount(reader, minlength=len(readers)))
        message = np.concatenate([self._message, other._message])
        return LazyHeaders([readers[i] for i in used.tolist()], used.searchsorted(reader), message)


def eager_headers(headers: Headers | None) -> Headers | None:
    """Return headers that have been read; None instead of a `LazyHeaders`."""
    return None if isinstance(headers, LazyHeaders) else headers


def read_headers(headers: Headers | None) -> Headers | None:
    """Return headers of which none is read later, so that the client's messages can be freed."""
    return list(map(tuple, headers)) if isinstance(headers, LazyHeaders) else headers


def picked_headers(headers: Headers | None, pick: NDArray[np.int64]) -> Headers | None:
    """Return the headers of the records with these indices, i8[n]."""
    if headers is None:
        return None
    if isinstance(headers, LazyHeaders):
        return headers.picked(pick)
    return [headers[i] for i in pick.tolist()]


def chosen_headers(headers: Headers | None, keep: NDArray[np.bool_]) -> Headers | None:
    """Return the headers of the records where `keep`, bool[n], is true."""
    if headers is None:
        return None
    if isinstance(headers, LazyHeaders):
        return headers.picked(np.flatnonzero(keep))
    return list(compress(headers, keep.tolist()))


def passed_headers(headers: Headers | None, names: Collection[str]) -> Headers | None:
    """Return each record's headers with these names, in their order, if they are at most MAX_HEADERS bytes."""
    if headers is None:
        return None
    if ALL not in names:
        selected = frozenset(names)
        headers = [tuple(header for header in own if header[0] in selected) for own in headers]
    sizes = [sum(len(name) + len(value or b"") for name, value in own) for own in headers]
    if max(sizes, default=0) <= MAX_HEADERS:
        return headers
    pairs = zip(headers, sizes, strict=True)
    return [own if size <= MAX_HEADERS else ((LEFT_OUT, b"%d" % size),) for own, size in pairs]


def cloud_event_headers(
    source: str,
    content_type: bytes,
    rows: tuple[int, NDArray[np.int64], NDArray[np.int64]],
    passed: Headers | None = None,
    names: Sequence[str] = ("",),
) -> list[Sequence[Header]]:
    """Return the headers of predictions that are CloudEvents, those of a row side by side.

    Parameters
    ----------
    source : str
        The attribute `source`.
    content_type : bytes
        Media type of the values.
    rows : (partition, offsets, times)
        Partition, and i8[n] each: offsets of the rows in the input, and their times in ms since 1970; a time that RFC
        3339 cannot write is left out.
    passed : Headers or None
        What each row's predictions carry of its event, n; they follow, but for those in OF_THE_EVENT.
    names : sequence of str
        The m challengers whose predictions they are; by default the champion's.
    """
    partition, offsets, times = rows
    begin = (
        (f"{ATTRIBUTE}specversion", SPEC_VERSION),
        (f"{ATTRIBUTE}type", EVENT_TYPE),
        (f"{ATTRIBUTE}source", source.encode()),
        (CONTENT_TYPE, content_type),
    )
    of_id, of_time = f"{ATTRIBUTE}id", f"{ATTRIBUTE}time"
    ids, written = [b"%d/%d" % (partition, offset) for offset in offsets.tolist()], _written_times(times)
    ends: list[tuple[Header, ...]] = [() if time is None else ((of_time, time),) for time in written]
    if passed is not None:
        more = (tuple(one for one in own if one[0] not in OF_THE_EVENT) for own in passed)
        ends = [(*end, *own) for end, own in zip(ends, more, strict=True)]
    endings = [b"/" + name.encode() if name else b"" for name in names]
    return [(*begin, (of_id, one + ending), *end) for one, end in zip(ids, ends, strict=True) for ending in endings]


def _written_times(times: NDArray[np.int64]) -> list[bytes | None]:
    """Return times in ms as RFC 3339 writes them in UTC; None: it cannot."""
    known = (times >= FIRST_TIME) & (times <= LAST_TIME)
    texts = np.datetime_as_string(np.where(known, times, 0).astype("datetime64[ms]"), unit="ms").astype("S23").tolist()
    return [text + b"Z" if is_known else None for text, is_known in zip(texts, known.tolist(), strict=True)]


def joined_headers(parts: Sequence[tuple[Headers | None, int]]) -> Headers | None:
    """Concatenate columns; each part comes with its number of records."""
    if all(headers is None for headers, _ in parts):
        return None
    if not any(isinstance(headers, LazyHeaders) for headers, _ in parts):
        return [own for headers, n in parts for own in (repeat((), n) if headers is None else headers)]
    return reduce(LazyHeaders.followed_by, (_lazy(*part) for part in parts))


def _lazy(headers: Headers | None, n: int) -> LazyHeaders:
    if isinstance(headers, LazyHeaders):
        return headers
    return LazyHeaders.of(_no_headers if headers is None else headers.__getitem__, n)


def _no_headers(_message: int) -> Sequence[Header]:
    return ()

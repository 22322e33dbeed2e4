"""Byte strings of a batch as a column: a list of objects, or slices of one buffer. Leaf module.

The Python client works with objects, the C library with addresses; either column converts to both forms. The other
parts of predictions are here, too, as columns that both output formats write.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain, compress, repeat
from typing import NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

Text = NDArray[np.uint8]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

END = b"\0"
"""Terminates each string of a text that `driftway.worker.wire.scanner` reads."""
TAIL = b"null" + bytes(16)
"""Follows the last string: the null that serves as id of events without one, and zeros for eight-byte reads."""
SPARE = len(TAIL)
NOTHING = -1
"""Length that stands for None."""
PIECE_BYTES = 1 << 18
"""Strings are joined in pieces of this size, which stay in cache and are freed to the allocator rather than to the
operating system: 10,000 events of 20 features took 0.05 us each instead of 0.18 when joined at once."""


class Confidence(NamedTuple):
    """What n predictions say of how sure they are; None: nothing of that kind."""

    probability: Integers | None = None
    """i8[n]: probabilities of the classes predicted, in millionths."""
    ends: tuple[Floats, Floats] | None = None
    """f8[n] each: low and high ends of the intervals around predicted numbers, infinite where there is no end."""
    members: Flags | None = None
    """b1[n, K]: which classes are in each row's set."""


NO_CONFIDENCE = Confidence()


def read_only(text: Text) -> Text:
    """Return a read-only view. Kernels are compiled for read-only texts; a writable one would compile them again."""
    view = text.view()
    view.flags.writeable = False
    return view


class BytesColumn(Sequence[bytes | None]):
    """A column of byte strings, some of them None."""

    @abstractmethod
    def _at(self, index: int) -> bytes | None: ...

    @abstractmethod
    def _part(self, part: slice) -> BytesColumn: ...

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...
    @overload
    def __getitem__(self, index: slice) -> BytesColumn: ...
    def __getitem__(self, index: int | slice) -> bytes | BytesColumn | None:
        return self._part(index) if isinstance(index, slice) else self._at(index)

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self.to_list())

    def __eq__(self, other: object) -> bool:
        """Whether the strings are equal, however they are stored."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def to_list(self) -> Sequence[bytes | None]:
        """Return the strings as Python objects."""

    @abstractmethod
    def to_buffer(self) -> tuple[Text, Integers, Integers]:
        """Return text u1[bytes] and each string's start i8[n] and length i8[n] in it; length NOTHING for None."""

    @abstractmethod
    def lengths(self) -> Integers:
        """Return the length of each string, i8[n]; NOTHING for None."""

    @abstractmethod
    def chosen(self, keep: Flags) -> BytesColumn:
        """Return the strings where `keep`, bool[n], is true."""

    @abstractmethod
    def to_terminated(self) -> Text:
        """Return one text, u1[bytes]: each string (empty for None) followed by END, then TAIL."""

    @abstractmethod
    def blocks(self, width: int) -> Iterator[Text]:
        """Yield all strings, each `width` long, as arrays u1[rows, width or more] whose rows begin with the string."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Total length of the strings."""

    @property
    def all_none(self) -> bool:
        """Whether all items are None."""
        return bool((self.lengths() == NOTHING).all())

    def release(self) -> None:
        """Allow the buffer to be reused; the column must not be read afterwards."""


class ListColumn(BytesColumn):
    """A column of Python objects.

    Parameters
    ----------
    items : sequence of bytes or None
        The strings; a list is not copied.
    """

    def __init__(self, items: Sequence[bytes | None]) -> None:
        self._items = items if isinstance(items, list) else list(items)

    def __len__(self) -> int:
        return len(self._items)

    def _at(self, index: int) -> bytes | None:
        return self._items[index]

    def _part(self, part: slice) -> ListColumn:
        return ListColumn(self._items[part])

    def to_list(self) -> Sequence[bytes | None]:
        return self._items

    def to_buffer(self) -> tuple[Text, Integers, Integers]:
        lengths = self.lengths()
        sizes = np.maximum(lengths, 0)
        return np.frombuffer(b"".join(self._present()), np.uint8), np.cumsum(sizes) - sizes, lengths

    def lengths(self) -> Integers:
        try:
            return np.fromiter(map(len, cast("list[bytes]", self._items)), np.int64, len(self))
        except TypeError:  # there is a None: rare, so not worth checking first
            return np.array([NOTHING if item is None else len(item) for item in self._items], np.int64)

    def chosen(self, keep: Flags) -> ListColumn:
        return ListColumn(list(compress(self._items, keep.tolist())))

    def to_terminated(self) -> Text:
        try:
            text = END.join(cast("list[bytes]", [*self._items, TAIL]))
        except TypeError:
            text = END.join([*self._present(), TAIL])
        return np.frombuffer(text, np.uint8)

    def blocks(self, width: int) -> Iterator[Text]:
        step = max(1, PIECE_BYTES // width)
        for start in range(0, len(self), step):
            piece = b"".join(cast("list[bytes]", self._items[start : start + step]))
            yield np.frombuffer(piece, np.uint8).reshape(-1, width)

    @property
    def nbytes(self) -> int:
        return sum(map(len, filter(None, self._items)))

    @property
    def all_none(self) -> bool:
        return self._items.count(None) == len(self._items)

    def _present(self) -> list[bytes]:
        return [item or b"" for item in self._items]


def empty_column() -> BytesColumn:
    """A column without rows."""
    return ListColumn([])


class BufferColumn(BytesColumn):
    """A column of slices of one buffer.

    Parameters
    ----------
    text : u1[bytes]
        The buffer.
    starts, sizes : i8[n]
        Where each string begins, and its length; NOTHING for None.
    """

    def __init__(self, text: Text, starts: Integers, sizes: Integers) -> None:
        self._text, self._starts, self._lengths = text, starts, sizes

    def __len__(self) -> int:
        return len(self._starts)

    def _at(self, index: int) -> bytes | None:
        start, length = int(self._starts[index]), int(self._lengths[index])
        return None if length == NOTHING else self._text[start : start + length].tobytes()

    def _part(self, part: slice) -> BufferColumn:
        return BufferColumn(self._text, self._starts[part], self._lengths[part])

    def to_list(self) -> Sequence[bytes | None]:
        return [self._at(i) for i in range(len(self))]

    def to_buffer(self) -> tuple[Text, Integers, Integers]:
        return self._text, self._starts, self._lengths

    def lengths(self) -> Integers:
        return self._lengths

    def chosen(self, keep: Flags) -> BufferColumn:
        return BufferColumn(self._text, self._starts[keep], self._lengths[keep])

    def to_terminated(self) -> Text:
        return ListColumn(self.to_list()).to_terminated()

    def blocks(self, width: int) -> Iterator[Text]:
        return ListColumn(self.to_list()).blocks(width)

    @property
    def nbytes(self) -> int:
        return int(np.maximum(self._lengths, 0).sum())


def concatenated(parts: Sequence[BytesColumn]) -> BytesColumn:
    """Concatenate columns."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else empty_column()
    if any(isinstance(part, ListColumn) for part in parts):
        return ListColumn([string for part in parts for string in part])
    texts, starts, lengths, size = list[Text](), list[Integers](), list[Integers](), 0
    for part in parts:
        text, begins, sizes = part.to_buffer()
        first, end = int(begins.min()), int((begins + np.maximum(sizes, 0)).max())
        texts.append(text[first:end])
        starts.append(begins + (size - first))
        lengths.append(sizes)
        size += end - first
    return BufferColumn(np.concatenate(texts), np.concatenate(starts), np.concatenate(lengths))


def repeated(column: BytesColumn, times: int) -> BytesColumn:
    """Return a column with each string `times` times, one after the other."""
    if times == 1:
        return column
    if isinstance(column, ListColumn):
        return ListColumn(list(chain.from_iterable(zip(*repeat(column.to_list(), times), strict=True))))
    text, starts, lengths = column.to_buffer()
    return BufferColumn(text, np.repeat(starts, times), np.repeat(lengths, times))


class TerminatedColumn(BufferColumn):
    """A column over a text made by `to_terminated`, or over consecutive strings of it."""

    def _part(self, part: slice) -> TerminatedColumn:
        return TerminatedColumn(self._text, self._starts[part], self._lengths[part])

    def to_terminated(self) -> Text:
        if not len(self):
            return np.frombuffer(TAIL, np.uint8)
        first, end = int(self._starts[0]), self._end()
        if end + SPARE == len(self._text):
            return self._text[first:]
        return read_only(np.concatenate([self._text[first:end], np.frombuffer(TAIL, np.uint8)]))

    def blocks(self, width: int) -> Iterator[Text]:
        if len(self):
            yield self._text[int(self._starts[0]) : self._end()].reshape(-1, width + len(END))

    def _end(self) -> int:
        return int(self._starts[-1] + max(0, self._lengths[-1])) + len(END)

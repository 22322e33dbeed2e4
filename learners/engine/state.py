"""Learner state: one contiguous byte buffer with named views of fixed size.

A snapshot is a copy of these bytes and a restore copies them back; a learner must not keep any state outside its
`State`.
"""

import contextlib
import math
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Bytes = NDArray[np.uint8]

Fields = Mapping[str, tuple[str, tuple[int, ...]]]
"""name -> (dtype, shape), in memory order; every view begins at a multiple of 8 bytes."""

_most_bytes: ContextVar[float] = ContextVar("most_bytes", default=math.inf)


class LargerThanSaved(ValueError):
    """A state takes more bytes than were saved: it was saved by a version in which it was smaller, or is damaged."""

    def __init__(self, nbytes: int, saved: float) -> None:
        super().__init__(f"it takes {nbytes:,} bytes, more than the {saved:,} that were saved")


@contextlib.contextmanager
def limited_to(nbytes: int) -> Iterator[None]:
    """Refuse to allocate a larger state inside: for states that are to be loaded from so many bytes."""
    token = _most_bytes.set(nbytes)
    try:
        yield
    finally:
        _most_bytes.reset(token)


def require_room(nbytes: int) -> None:
    """Raise `LargerThanSaved` if a state of so many bytes, or more, is larger than `limited_to` says."""
    if nbytes > _most_bytes.get():
        raise LargerThanSaved(nbytes, _most_bytes.get())


def _padded(nbytes: int) -> int:
    """Return the next multiple of 8."""
    return -(-nbytes // 8) * 8


class State:
    """Named, 8-byte-aligned views into one buffer.

    Parameters
    ----------
    fields : Fields
        The views in memory order. Behind one whose bytes are no multiple of 8, up to 7 bytes are not used.
    memory : u1[nbytes] or None
        The buffer to use; None allocates a zeroed one.

    Raises
    ------
    ValueError
        `memory` has another size, or the state is larger than `limited_to` says.
    MemoryError
        There is not enough.
    """

    def __init__(self, fields: Fields, memory: Bytes | None = None) -> None:
        self.fields = dict(fields)
        sizes = {name: math.prod(shape) * np.dtype(dtype).itemsize for name, (dtype, shape) in self.fields.items()}
        self.nbytes = sum(map(_padded, sizes.values()))
        if memory is None:
            require_room(self.nbytes)
            try:
                memory = np.zeros(self.nbytes // 8, np.float64).view(np.uint8)
            except (ValueError, OverflowError):
                raise MemoryError(f"a state of {self.nbytes:,} bytes is larger than an array can be") from None
        if memory.nbytes != self.nbytes:
            raise ValueError(f"the state takes {self.nbytes} bytes, got {memory.nbytes}")
        self.memory = memory
        self._views: dict[str, NDArray[Any]] = {}
        self._starts: dict[str, int] = {}
        start = 0
        for name, (dtype, shape) in self.fields.items():
            self._starts[name] = start
            self._views[name] = memory[start : start + sizes[name]].view(dtype).reshape(shape)
            start += _padded(sizes[name])

    def start(self, name: str) -> int:
        """Return the byte offset of a view in the buffer."""
        return self._starts[name]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

"""Headers of a batch's records as a column, and the selection that predictions carry. Leaf module.

Normally headers are not read: the column is then None, and nothing here is called.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import compress, repeat

import numpy as np
from numpy.typing import NDArray

Header = tuple[str, bytes | None]
"""Name and value."""
Headers = Sequence[Sequence[Header]]
"""Headers of each record, in their order in the record; a name may occur twice."""

ALL = "*"
"""Selects every header."""
MAX_HEADERS = 524_288
"""Most bytes of headers that a prediction passes on, names and values together: with a longer list it might not fit
into a record of the output, and would stop the partition."""
LEFT_OUT = "driftway-headers-left-out"
"""Header of a prediction in place of a longer list: the number of bytes that were left out."""


def chosen_headers(headers: Headers | None, keep: NDArray[np.bool_]) -> Headers | None:
    """Return the headers of the records where `keep`, bool[n], is true."""
    return None if headers is None else list(compress(headers, keep.tolist()))


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


def joined_headers(parts: Sequence[tuple[Headers | None, int]]) -> Headers | None:
    """Concatenate columns; each part comes with its number of records."""
    if all(headers is None for headers, _ in parts):
        return None
    return [own for headers, n in parts for own in (repeat((), n) if headers is None else headers)]

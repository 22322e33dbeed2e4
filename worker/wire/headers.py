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


def chosen_headers(headers: Headers | None, keep: NDArray[np.bool_]) -> Headers | None:
    """Return the headers of the records where `keep`, bool[n], is true."""
    return None if headers is None else list(compress(headers, keep.tolist()))


def passed_headers(headers: Headers | None, names: Collection[str]) -> Headers | None:
    """Return each record's headers with these names, in their order."""
    if headers is None or ALL in names:
        return headers
    selected = frozenset(names)
    return [tuple(header for header in own if header[0] in selected) for own in headers]


def joined_headers(parts: Sequence[tuple[Headers | None, int]]) -> Headers | None:
    """Concatenate columns; each part comes with its number of records."""
    if all(headers is None for headers, _ in parts):
        return None
    return [own for headers, n in parts for own in (repeat((), n) if headers is None else headers)]

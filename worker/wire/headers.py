"""Headers of a batch's records as a column, and which of them predictions carry. Leaf module.

Nobody asks for headers on the ordinary way: the column is None there, and nothing here is called.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import compress, repeat

import numpy as np
from numpy.typing import NDArray

Header = tuple[str, bytes | None]
"""Name and value."""
Headers = Sequence[Sequence[Header]]
"""Of each record, in their order; a name may come twice."""

ALL = "*"
"""In place of names: every header."""


def chosen_headers(headers: Headers | None, keep: NDArray[np.bool_]) -> Headers | None:
    """Those of the records where `keep`, bool[n], is true."""
    return None if headers is None else list(compress(headers, keep.tolist()))


def passed_headers(headers: Headers | None, names: Collection[str]) -> Headers | None:
    """Of each record the headers of these names, in its order."""
    if headers is None or ALL in names:
        return headers
    wanted = frozenset(names)
    return [tuple(header for header in own if header[0] in wanted) for own in headers]


def joined_headers(parts: Sequence[tuple[Headers | None, int]]) -> Headers | None:
    """One after the other, as one column; each part with its number of records."""
    if all(headers is None for headers, _ in parts):
        return None
    return [own for headers, n in parts for own in (repeat((), n) if headers is None else headers)]

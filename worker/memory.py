"""Memory that the allocator keeps for later, given back to the system."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Let go of free memory, where the C library can (glibc).

    The client's threads come and go with every restore, and each leaves its arena behind, as large as the backlog it
    once held: 8 backlogs of 150,000 rows with a rebalance each left 268 MB, of which 212 were in use. Takes 2 to 17 ms.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

"""The one place that knows how kernels are compiled.

Every kernel in the project is decorated with :func:`kernel`. No `fastmath`: it reorders sums and drops
the NaN checks, so a recovered run would differ from an uninterrupted one in the last bits. No `parallel`:
thread timing must not decide an order of operations. `nogil` lets the Kafka client's threads run on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` on first call, cache the machine code beside its source, release the GIL."""
    return cast(F, numba.njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function))

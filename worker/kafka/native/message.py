"""Messages of librdkafka as rows of nine words, read from its memory and handed back by compiled loops.

``rd_kafka_message_t`` is public and has this layout on every platform with 64-bit pointers; `trial` checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from numpy.typing import NDArray

from learners.jit import bare_kernel

ERROR, TOPIC, PARTITION, PAYLOAD, LENGTH, KEY, KEY_LENGTH, OFFSET, OPAQUE = range(9)
"""Words of a message. Addresses are 0 for null; a message with an error has the reason as its payload."""
WORDS = 9
WORD_BYTES = 8

Rows = NDArray[np.int64]
"""i8[n, WORDS]: messages by value. An array of them is what `produce_batch` takes."""
Pointers = NDArray[np.int64]
"""i8[n]: where messages are, as `consume_batch_queue` hands them out."""


def _word_at(_typing: Any, _address: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.load(builder.inttoptr(values[0], ir.IntType(64).as_pointer()))

    return numba.types.int64(numba.types.int64), generate


def _call(_typing: Any, _function: Any, _argument: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer])
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), [builder.inttoptr(values[1], pointer)])
        return context.get_dummy_value()

    return numba.types.void(numba.types.int64, numba.types.int64), generate


# Addresses come as integers: what kernels keep of this process could not be cached.
word_at = cast("Callable[[int], int]", intrinsic(_word_at))
"""In kernels: the 8 bytes at an address, which is a multiple of 8."""
call = cast("Callable[[int, int], None]", intrinsic(_call))
"""In kernels: ``((void (*)(void *)) function)(argument)``."""


@bare_kernel
def read(pointers: Pointers, rows: Rows) -> int:
    """Copy messages, not what they point to; how many have an error. Shapes: pointers i8[n], rows i8[n, WORDS]."""
    bad = 0
    for i in range(len(pointers)):
        for word in range(WORDS):
            rows[i, word] = word_at(pointers[i] + WORD_BYTES * word)
        # Both are 32 bits wide, and what lies behind them is anything.
        rows[i, ERROR] = np.int32(rows[i, ERROR])
        rows[i, PARTITION] = np.int32(rows[i, PARTITION])
        bad += rows[i, ERROR] != 0
    return bad


@bare_kernel
def destroy(pointers: Pointers, function: int) -> None:
    """Give messages back to the library, whose function for that is at an address. Shapes: pointers i8[n]."""
    for i in range(len(pointers)):
        call(function, pointers[i])

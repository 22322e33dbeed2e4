"""Access to the C library from kernels: loads, stores and copies at addresses, and calls of functions at addresses.

Addresses are passed as integers: a kernel with an address of this process in its code could not be cached.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from driftway.learners.engine.kernel_cache import kept, unlock  # isort: skip - it tells numba what not to load

import numba
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from driftway.learners.engine.jit import is_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _Callback(CFunc):
    """A C callback that is compiled by one process at a time, as kernels are."""

    _cache: Any

    def compile(self) -> None:
        try:
            super().compile()
        finally:
            unlock(self._cache)


def callback(function: Callable[[int, int, int], None]) -> Callable[[], int]:
    """Make `function` a C callback ``void f(void *, void *, void *)`` that runs without the interpreter.

    Returns a function that returns the callback's address. Its first call compiles the callback, or loads it from the
    cache of an earlier process. The callback gets its three pointers as integers.
    """
    word = numba.types.int64
    made: Any = _Callback(function, ((word, word, word), numba.types.void), locals={}, options={})
    made.py_func = function

    @cache
    def address() -> int:
        kept(made).compile()
        return int(made.address)

    return address


def _load_word(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(numba.types.int64)
        return builder.load(builder.inttoptr(arguments[0], word.as_pointer()))

    return numba.types.int64(numba.types.int64), generate


def _store_word(typing_context: Any, address: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(numba.types.int64)
        builder.store(arguments[1], builder.inttoptr(arguments[0], word.as_pointer()))
        return context.get_dummy_value()

    return numba.types.void(numba.types.int64, numba.types.int64), generate


def _copy_bytes_from(typing_context: Any, array: Any, position: Any, address: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        tools: Any = cgutils
        text = context.make_array(signature.args[0])(context, builder, arguments[0])
        source = builder.inttoptr(arguments[2], cgutils.voidptr_t)
        tools.raw_memcpy(builder, builder.gep(text.data, [arguments[1]]), source, arguments[3], 1)
        return context.get_dummy_value()

    word = numba.types.int64
    return (numba.types.void(array, word, word, word), generate) if is_text(array) and array.mutable else None


def _call_returning_int(typing_context: Any, function: Any, argument: Any, other: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        tools: Any = cgutils
        kind = tools.ir.FunctionType(tools.ir.IntType(64), [cgutils.voidptr_t, cgutils.voidptr_t])
        function, *given = arguments
        pointers = [builder.inttoptr(one, cgutils.voidptr_t) for one in given]
        return builder.call(builder.inttoptr(function, kind.as_pointer()), pointers)

    word = numba.types.int64
    return word(word, word, word), generate


def _call_void(typing_context: Any, function: Any, argument: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        tools: Any = cgutils
        kind = tools.ir.FunctionType(tools.ir.VoidType(), [cgutils.voidptr_t])
        function, argument = arguments
        builder.call(builder.inttoptr(function, kind.as_pointer()), [builder.inttoptr(argument, cgutils.voidptr_t)])
        return context.get_dummy_value()

    return numba.types.void(numba.types.int64, numba.types.int64), generate


load_word = cast("Callable[[int], int]", intrinsic(_load_word))
"""In kernels: load the 8 bytes at an address, which must be a multiple of 8."""

store_word = cast("Callable[[int, int], None]", intrinsic(_store_word))
"""In kernels: store 8 bytes at an address, which must be a multiple of 8."""

copy_bytes_from = cast("Callable[[NDArray[np.uint8], int, int, int], None]", intrinsic(_copy_bytes_from))
"""In kernels, (array, position, address, n): copy n bytes from an address to array[position:]. Bounds are unchecked."""

call_returning_int = cast("Callable[[int, int, int], int]", intrinsic(_call_returning_int))
"""In kernels: call the C function ``int64_t f(void *, void *)`` at an address with two pointers."""

call_void = cast("Callable[[int, int], None]", intrinsic(_call_void))
"""In kernels: call the C function ``void f(void *)`` at an address with a pointer."""

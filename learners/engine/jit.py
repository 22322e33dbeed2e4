"""How kernels are compiled; nothing else calls numba's compiler.

Every kernel in the project is decorated with :func:`kernel`, and may call fragments. No `fastmath`: it reorders sums
and drops the NaN checks, so a recovered run would differ from an uninterrupted one in the last bits. No `parallel`:
thread timing must not decide an order of operations. exp, log and the like come from
`driftway.learners.numeric.elementary`, because the C library's results depend on the processor. `nogil` lets the Kafka
client's threads keep running.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from driftway.learners.engine.kernel_cache import kept  # isort: skip - sets numba's environment first

import numba
from numba.core import cgutils, event
from numba.extending import intrinsic
from numba.np import linalg

from driftway.learners.engine.compilations import notify
from driftway.learners.engine.memory_types import Memory, indexed, item
from driftway.learners.engine.subroutines import CompiledFunction, SeparateKernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
N = TypeVar("N")


def _no_blas() -> None:
    """Replace numba's check for scipy's BLAS, which kernels do not use because its bits depend on the processor.

    Loading scipy for that check takes 0.14 s of processor time at every start.

    Raises
    ------
    ImportError
        Always.
    """
    raise ImportError("kernels must not use BLAS: its bits change with the processor")


linalg.ensure_blas = _no_blas


class _Compilations(event.Listener):
    """Passes on what numba says about its compilations."""

    def on_start(self, event: Any) -> None:
        notify(begins=True)

    def on_end(self, event: Any) -> None:
        notify(begins=False)


event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]


def kernel(function: F) -> F:
    """Compile `function` on its first call, and cache the machine code for later processes; it releases the GIL.

    There are no reference counts: the function must neither create nor return an array, which the compiler checks.
    Their atomic instructions took two thirds of the scanner's time. Python holds references during the call.

    Another kernel may call it; it is then compiled as a part of that kernel, and LLVM decides whether to inline it.
    """
    return cast(F, kept(_compiled(function, inline=False)))


def separate_kernel(function: F) -> F:
    """As `kernel`, but other kernels call it by its address: it is compiled once, whichever kernels call it.

    For parts of a learner that take seconds to compile: several processes compile them side by side. It returns None,
    an int or a float, as its annotation says.
    """
    return cast(F, kept(_compiled(function, inline=False, kind=SeparateKernel)))


def compile_for(function: Callable[..., Any], *arguments: Any) -> None:
    """Compile a kernel, or load it, for arguments of the types of these, without a call."""
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        cast(Any, function).compile(tuple(map(numba.typeof, arguments)))


def fragment(function: F) -> F:
    """Mark a small function that becomes part of every kernel that calls it, e.g. once per row, byte or number."""
    return cast(F, _compiled(function, inline=True))


def _compiled(function: F, inline: bool, kind: type[CompiledFunction] = CompiledFunction) -> Any:
    return function if numba.config.DISABLE_JIT else kind(function, inline)  # type: ignore[attr-defined]


def is_text(array: Any) -> bool:
    """Whether a numba type is that of contiguous bytes: u1[n], C order."""
    return isinstance(array, numba.types.Array) and (array.dtype, array.ndim, array.layout) == (numba.types.u1, 1, "C")


def _word_at(context: Any, builder: Any, array: Any, position: Any) -> Any:
    """Return a pointer to the 8 bytes at array[position:]; checks bounds if NUMBA_BOUNDSCHECK is set."""
    if context.enable_boundscheck:
        check: Any = cgutils.do_boundscheck
        for place in (position, builder.add(position, position.type(7))):
            check(context, builder, place, builder.extract_value(array.shape, 0))
    word = context.get_value_type(numba.types.uint64)
    return builder.bitcast(builder.gep(array.data, [position]), word.as_pointer())


def _load8(typing_context: Any, array: Any, position: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text = context.make_array(signature.args[0])(context, builder, arguments[0])
        loaded = builder.load(_word_at(context, builder, text, arguments[1]))
        loaded.align = 1
        return loaded

    word = numba.types.uint64
    return (word(array, word), generate) if is_text(array) else None


def _store8(typing_context: Any, array: Any, position: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        text = context.make_array(signature.args[0])(context, builder, arguments[0])
        stored = builder.store(arguments[2], _word_at(context, builder, text, arguments[1]))
        stored.align = 1
        return context.get_dummy_value()

    word_type = numba.types.uint64
    return (numba.types.void(array, word_type, word_type), generate) if is_text(array) and array.mutable else None


def _member(typing_context: Any, stacked: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return item(context, builder, stacked, *arguments)

    known = isinstance(stacked, Memory | numba.types.Array)
    return (indexed(stacked)(stacked, numba.types.intp), generate) if known else None


def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.false_bit)

    return numba.types.uint64(numba.types.uint64), generate


load8 = cast("Callable[[NDArray[np.uint8], int | np.uint64], np.uint64]", intrinsic(_load8))
"""In kernels: read array[position:position + 8] as one little-endian word; usually without a bounds check."""

store8 = cast("Callable[[NDArray[np.uint8], int | np.uint64, np.uint64], None]", intrinsic(_store8))
"""In kernels: write a word to array[position:position + 8], little-endian; usually without a bounds check."""

member = cast("Callable[[N, int], N]", intrinsic(_member))
"""In kernels: ``member(stacked, i)`` is the NamedTuple of item i along the first axis of each array of a memory."""

trailing_zeros = cast("Callable[[np.uint64], np.uint64]", intrinsic(_trailing_zeros))
"""In kernels: the number of trailing zero bits of a word; 64 for 0."""

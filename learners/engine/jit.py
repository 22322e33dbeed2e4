"""The one place that knows how kernels are compiled.

Every kernel in the project is decorated with :func:`kernel` or :func:`kernel_without_refcounts`. No `fastmath`: it
reorders sums and drops the NaN checks, so a recovered run would differ from an uninterrupted one in the last bits. No
`parallel`: thread timing must not decide an order of operations. exp, log and the like are those of
`driftway.learners.numeric.elementary`: the C library's change with the processor. `nogil` lets the Kafka client's
threads run on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from driftway.learners.engine.kernel_cache import kept  # isort: skip - it says to numba what not to load

import numba
from numba.core import cgutils, ir
from numba.extending import intrinsic
from numba.np import linalg
from numba.np.arrayobj import populate_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])
N = TypeVar("N")


def _no_blas() -> None:
    """Kernels do without BLAS: its bits change with the processor. numba finds out here whether scipy has one.

    Loading that takes 0.14 s of processor time at every start.

    Raises
    ------
    ImportError
        Always.
    """
    raise ImportError("kernels do without BLAS: its bits change with the processor")


linalg.ensure_blas = _no_blas


def _itself(scope: ir.Scope, _memo: dict[int, Any]) -> ir.Scope:
    """A function's names are not copied with each of its blocks, as numba does before it pastes a fragment.

    The copies are of no use, and each fragment that is pasted makes them larger: they took a third of the compiler's
    time and 100 MB. The instructions that come out are the same.
    """
    return scope


cast(Any, ir.Scope).__deepcopy__ = _itself


def kernel(function: F) -> F:
    """Compile `function` on first call, keep the machine code for later processes, release the GIL."""
    return cast(F, kept(numba.njit(nogil=True, fastmath=False, error_model="numpy")(function)))


def kernel_without_refcounts(function: F) -> F:
    """Compile as `kernel` does, but without reference counts: it must neither make nor return an array.

    Every fragment pasted into a kernel takes a reference to each array that it is given, by atomic instructions that
    numba finds no reason to leave out of loops. They took two thirds of the scanner's time (0.23 against 0.07 µs a
    message). The caller holds the arrays all the while. A kernel that makes an array is refused by the compiler.
    """
    njit: Any = numba.njit  # its annotations leave `_nrt` out
    return cast(F, kept(njit(nogil=True, fastmath=False, error_model="numpy", _nrt=False)(function)))


def fragment(function: F) -> F:
    """A piece of kernels, pasted into each of them: for scanners that call it per byte or per number.

    A call passes arrays with their reference counts, which cost more than reading a number does. In a `kernel` pasting
    keeps only some of these out of loops; see `kernel_without_refcounts`.
    """
    return cast(F, numba.njit(nogil=True, fastmath=False, error_model="numpy", inline="always")(function))


def is_text(array: Any) -> bool:
    """Whether a numba type is that of bytes without gaps: u1[n], C order."""
    return isinstance(array, numba.types.Array) and (array.dtype, array.ndim, array.layout) == (numba.types.u1, 1, "C")


def _word_at(context: Any, builder: Any, array: Any, position: Any) -> Any:
    """Pointer to the 8 bytes of array[position:]; checks bounds where NUMBA_BOUNDSCHECK asks for it."""
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


def _parts_of(stacked: Any) -> Any:
    """The numba type of a member: of each array, one axis less."""
    if isinstance(stacked, numba.types.Array):
        return stacked.copy(ndim=stacked.ndim - 1, layout="C")
    return stacked.__class__([_parts_of(one) for one in stacked.types], stacked.instance_class)


def _part(context: Any, builder: Any, stacked: Any, value: Any, i: Any) -> Any:
    """Number i of the parts along the first axis, whose other axes are without gaps; the caller holds the array."""
    made = _parts_of(stacked)
    if isinstance(stacked, numba.types.Array):
        array = context.make_array(stacked)(context, builder, value)
        unpacked: Any = cgutils.unpack_tuple
        added: Any = cgutils.pointer_add
        populate: Any = populate_array
        shape, strides = unpacked(builder, array.shape), unpacked(builder, array.strides)
        start = added(builder, array.data, builder.mul(i, strides[0]))
        view = context.make_array(made)(context, builder)
        populate(view, start, shape[1:], strides[1:], array.itemsize, None)
        return view._getvalue()  # noqa: SLF001
    inside = [_part(context, builder, one, builder.extract_value(value, k), i) for k, one in enumerate(stacked.types)]
    return context.make_tuple(builder, made, inside)


def _member(typing_context: Any, stacked: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _part(context, builder, stacked, *arguments)

    return _parts_of(stacked)(stacked, numba.types.intp), generate


def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.false_bit)

    return numba.types.uint64(numba.types.uint64), generate


load8 = cast("Callable[[NDArray[np.uint8], int | np.uint64], np.uint64]", intrinsic(_load8))
"""In kernels: the 8 bytes array[position:position + 8] as one word, the first byte lowest. Nothing checks bounds."""

store8 = cast("Callable[[NDArray[np.uint8], int | np.uint64, np.uint64], None]", intrinsic(_store8))
"""In kernels: write a word over array[position:position + 8], its lowest byte first. Nothing checks bounds."""

member = cast("Callable[[N, int], N]", intrinsic(_member))
"""In kernels: of a NamedTuple of arrays with one more axis in front, the NamedTuple of their parts number i."""

trailing_zeros = cast("Callable[[np.uint64], np.uint64]", intrinsic(_trailing_zeros))
"""In kernels: how many bits of a word lie below its lowest one; 64 for 0."""

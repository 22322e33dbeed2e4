"""Lower items and rows of contiguous arrays, and loops, to LLVM instructions: a fraction of those that numba emits.

For each access numba stores the array's struct to memory and loads its parts again, and before each loop it tests
whether the step is zero or negative. LLVM then removes most of that, which takes time: kernels consist of such lines.
"""

from typing import Any, NamedTuple

from numba.core import cgutils, types
from numba.core.ir import Expr
from numba.core.ir_utils import get_definition, guard
from numba.core.lowering import Lower
from numba.np.arrayobj import fix_integer_index, load_item, store_item

_, _, NITEMS, ITEMSIZE, DATA, SHAPE, STRIDES = range(7)
"""Places in numba's struct of an array; meminfo and parent come first."""


def array_value(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any], strides: list[Any]) -> Any:
    """Return the struct of an array; whatever it is a view of must outlive it."""
    items, itemsize = context.get_constant(types.intp, 1), context.get_abi_sizeof(context.get_data_type(kind.dtype))
    for length in shape:
        items = builder.mul(items, length, flags=["nsw"])
    value = context.get_constant_null(kind)
    value = builder.insert_value(value, items, NITEMS)
    value = builder.insert_value(value, context.get_constant(types.intp, itemsize), ITEMSIZE)
    value = builder.insert_value(value, data, DATA)
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        value = builder.insert_value(value, length, [SHAPE, axis])
        value = builder.insert_value(value, stride, [STRIDES, axis])
    return value


class _Access(NamedTuple):
    """An item or a part of an array."""

    kind: Any
    """The array's type."""
    array: Any
    address: Any
    indices: int


class Lowering(Lower):
    """numba's lowering, but for whole indices of contiguous arrays, and for loops that count by one."""

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Begin a loop over range(..) without a step; numba does whatever else."""
        if expr.op == "getiter" and self._counts_by_one(expr.value):
            return self._range_iterator(resty, self.loadvar(expr.value.name))
        return super().lower_expr(resty, expr)

    def _counts_by_one(self, value: Any) -> bool:
        """Whether a variable is range(stop) or range(start, stop)."""
        made: Any = guard(get_definition, self.func_ir, value)
        is_range = isinstance(self.typeof(value.name), types.RangeType)
        return is_range and isinstance(made, Expr) and made.op == "call" and len(made.args) < 3

    def _range_iterator(self, kind: Any, range_value: Any) -> Any:
        """Return numba's iterator of a range whose step is one, so that it need not be tested."""
        builder, iterator = self.builder, cgutils.create_struct_proxy(kind)(self.context, self.builder)
        start, iterator.stop, iterator.step = (builder.extract_value(range_value, place) for place in range(3))
        length = builder.sub(iterator.stop, start)
        zero = length.type(0)
        iterator.iter, iterator.count = (cgutils.alloca_once(builder, length.type) for _ in range(2))
        builder.store(start, iterator.iter)
        builder.store(builder.select(builder.icmp_signed(">", length, zero), length, zero), iterator.count)
        return iterator._getvalue()  # noqa: SLF001

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Load an item, or return the array that one index leaves of several axes; numba does whatever else."""
        if (found := self._access(value, index)) is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        if found.indices == found.kind.ndim:
            item = load_item(self.context, self.builder, found.kind, found.address)
            return self.context.cast(self.builder, item, found.kind.dtype, resty)
        left = range(found.indices, found.kind.ndim)
        shape, strides = (
            [self.builder.extract_value(found.array, [place, axis]) for axis in left] for place in (SHAPE, STRIDES)
        )
        view = array_value(self.context, self.builder, signature.return_type, found.address, shape, strides)
        return self.context.cast(self.builder, view, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Store an item; numba does whatever else."""
        found, given = self._access(target_var, index_var), self.typeof(value_var.name)
        if found is None or found.indices < found.kind.ndim or not isinstance(given, types.Number | types.Boolean):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.context.cast(self.builder, self.loadvar(value_var.name), given, found.kind.dtype)
        store_item(self.context, self.builder, found.kind, value, found.address)
        return None

    def _access(self, array: Any, index: Any) -> _Access | None:
        """Return where whole indices of a contiguous array lead; None for others, and if bounds are to be checked."""
        kind: Any = self.typeof(array.name)
        place: Any = self.typeof(index.name)
        places = place.types if isinstance(place, types.BaseTuple) else (place,)  # type: ignore[attr-defined]
        if (
            self.context.enable_boundscheck
            or not (isinstance(kind, types.Array) and kind.layout == "C" and 0 < len(places) <= kind.ndim)
            or not all(isinstance(one, types.Integer) for one in places)
        ):
            return None
        builder, struct, given = self.builder, self.loadvar(array.name), self.loadvar(index.name)
        indices = cgutils.unpack_tuple(builder, given, len(places)) if isinstance(place, types.BaseTuple) else [given]
        at = None
        for axis in range(kind.ndim):
            length = builder.extract_value(struct, [SHAPE, axis])
            at = None if at is None else builder.mul(at, length)
            if axis < len(places):
                step = fix_integer_index(self.context, builder, places[axis], indices[axis], length)
                at = step if at is None else builder.add(at, step)
        return _Access(kind, struct, builder.gep(builder.extract_value(struct, DATA), [at]), len(places))

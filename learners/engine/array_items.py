"""How kernels read and write items of contiguous arrays: a tenth of the code that numba would write for each.

numba stores the array's description to memory for each access and loads each part of it again, which LLVM then has to
undo. Most lines of a kernel are such accesses.
"""

from typing import Any

from numba.core import cgutils, types
from numba.core.lowering import Lower
from numba.np.arrayobj import fix_integer_index, load_item, store_item

FIELDS = "meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides"
"""Of numba's struct of an array, in order."""
DATA, SHAPE = FIELDS.index("data"), FIELDS.index("shape")


class Lowering(Lower):  # type: ignore[misc]
    """numba's lowering, but for one item of a contiguous array."""

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Load an item; whatever else is read is left to numba."""
        kind = self.typeof(value.name)
        address = self._item(kind, value, index)
        if address is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        item = load_item(self.context, self.builder, kind, address)
        return self.context.cast(self.builder, item, kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Store an item; whatever else is written is left to numba."""
        kind, given = self.typeof(target_var.name), self.typeof(value_var.name)
        address = None if isinstance(given, types.Array) else self._item(kind, target_var, index_var)
        if address is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.context.cast(self.builder, self.loadvar(value_var.name), given, kind.dtype)
        store_item(self.context, self.builder, kind, value, address)
        return None

    def _item(self, kind: Any, array: Any, index: Any) -> Any:
        """Return the address of an item; None if it is none of a contiguous array, or bounds are to be checked."""
        place = self.typeof(index.name)
        places = place.types if isinstance(place, types.BaseTuple) else (place,)
        if (
            self.context.enable_boundscheck
            or not (isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == len(places))
            or not all(isinstance(one, types.Integer) for one in places)
        ):
            return None
        builder, index_value = self.builder, self.loadvar(index.name)
        is_tuple = isinstance(place, types.BaseTuple)
        indices = cgutils.unpack_tuple(builder, index_value, len(places)) if is_tuple else [index_value]
        struct = self.loadvar(array.name)
        at = None
        for axis, (one, value) in enumerate(zip(places, indices, strict=True)):
            length = builder.extract_value(struct, [SHAPE, axis])
            step = fix_integer_index(self.context, builder, one, value, length)
            at = step if at is None else builder.add(builder.mul(at, length), step)
        return builder.gep(builder.extract_value(struct, DATA), [at])

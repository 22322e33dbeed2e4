"""The type by which kernels know a learner's memory: an address instead of all its arrays.

numba passes a NamedTuple by value: that of `auto` takes a thousand words for each call, and the code that packs and
unpacks them was half of what LLVM got. Here a call from Python writes the arrays' addresses and lengths to a struct,
once per batch, and functions pass its address (docs/decisions/0067).
"""

from typing import Any

from driftway.learners.engine.kernel_cache import kept  # isort: skip # noqa: F401 - sets numba's environment first


from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, register_model, typeof_impl, unbox

from driftway.learners.engine.lowering import DATA, SHAPE, STRIDES, array_value


class Memory(types.BaseTuple):
    """The numba type of a NamedTuple of arrays and of other memories.

    Parameters
    ----------
    stacked : tuple of numba types
        Of its fields, in order, without the indices.
    instance_class : type
        The NamedTuple class.
    indices : int
        How many of the first axes of each array have an index: those of a member of an ensemble have one.
    """

    def __init__(self, stacked: tuple[Any, ...], instance_class: Any, indices: int = 0) -> None:
        self.stacked, self.instance_class, self.indices = stacked, instance_class, indices
        self.fields, self.types = instance_class._fields, tuple(indexed(kind, indices) for kind in stacked)
        where = f"{instance_class.__module__}.{instance_class.__qualname__}"
        super().__init__(f"{where}({', '.join(map(str, stacked))})[{indices}]")

    def __getitem__(self, args: Any) -> Any:
        return self.types[args]

    def __iter__(self) -> Any:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)


def indexed(kind: Any, indices: int = 1) -> Any:
    """Return the type of an item, by indices of the first axes, of an array or memory; an item is contiguous."""
    if isinstance(kind, Memory):
        return Memory(kind.stacked, kind.instance_class, kind.indices + indices)
    return kind.copy(ndim=kind.ndim - indices, layout="C") if indices else kind


@register_model(Memory)
class _Model(models.StructModel):
    def __init__(self, manager: Any, kind: Memory) -> None:
        parts = [("address", types.voidptr), *((f"index{k}", types.intp) for k in range(kind.indices))]
        super().__init__(manager, kind, parts)


def _struct(context: Any, kind: Memory) -> ir.Type:
    return ir.LiteralStructType([context.get_value_type(one) for one in kind.stacked])


@infer_getattr
class _Fields(AttributeTemplate):
    key = Memory

    def generic_resolve(self, memory: Memory, name: str) -> Any:  # type: ignore[override]
        return memory.types[memory.fields.index(name)] if name in memory.fields else None


@lower_getattr_generic(Memory)
def _named(context: Any, builder: Any, memory: Memory, value: Any, name: str) -> Any:
    return _field(context, builder, memory, value, memory.fields.index(name))


@lower_builtin("static_getitem", Memory, types.IntegerLiteral)
def _unpacked(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _field(context, builder, signature.args[0], *arguments)


def _field(context: Any, builder: Any, memory: Memory, value: Any, place: int) -> Any:
    address, *indices = [builder.extract_value(value, k) for k in range(1 + memory.indices)]
    struct = builder.bitcast(address, _struct(context, memory).as_pointer())
    kind, start = memory.stacked[place], _inside(builder, struct, place)
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, start, indices)
    if isinstance(kind, Memory):
        inner = _load(builder, _inside(builder, start, 0))
        return _indexed(context, builder, memory.types[place], inner, indices)
    return _load(builder, start)


def _array(context: Any, builder: Any, kind: Any, start: Any, indices: list[Any]) -> Any:
    """Load an array, or that of an item by indices of its first axes."""
    data = _load(builder, _inside(builder, start, DATA))
    shape, strides = (
        [_load(builder, _inside(builder, start, place, axis)) for axis in range(kind.ndim)]
        for place in (SHAPE, STRIDES)
    )
    for index, stride in zip(indices, strides, strict=False):
        data = cgutils.pointer_add(builder, data, builder.mul(index, stride))
    n = len(indices)
    return array_value(context, builder, indexed(kind, n), data, shape[n:], strides[n:])


def _indexed(context: Any, builder: Any, kind: Memory, address: Any, indices: list[Any]) -> Any:
    value = context.get_constant_undef(kind)
    for place, part in enumerate((address, *indices)):
        value = builder.insert_value(value, part, place)
    return value


def _inside(builder: Any, struct: Any, *places: int) -> Any:
    return cgutils.gep_inbounds(builder, struct, 0, *places)


def _load(builder: Any, address: Any) -> Any:
    """Load a value that does not change as long as a kernel runs, so that loops need not load it again."""
    value = builder.load(address)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def item(context: Any, builder: Any, kind: Any, value: Any, i: Any) -> Any:
    """Return item i, along the first axis, of a memory's value or of an array's; the other axes are contiguous."""
    if isinstance(kind, Memory):
        parts = [builder.extract_value(value, place) for place in range(1 + kind.indices)]
        return _indexed(context, builder, indexed(kind), parts[0], [*parts[1:], i])
    shape, strides = (
        [builder.extract_value(value, [place, axis]) for axis in range(kind.ndim)] for place in (SHAPE, STRIDES)
    )
    data = cgutils.pointer_add(builder, builder.extract_value(value, DATA), builder.mul(i, strides[0]))
    return array_value(context, builder, indexed(kind), data, shape[1:], strides[1:])


@unbox(Memory)
def _unbox(memory: Memory, given: Any, c: Any) -> NativeValue:
    """Write the struct of a NamedTuple; it lasts as long as the call of the kernel."""
    builder = c.builder
    struct = cgutils.alloca_once(builder, _struct(c.context, memory))
    failed, cleanups = cgutils.false_bit, []
    for place, kind in enumerate(memory.stacked):
        given_field, field = c.pyapi.tuple_getitem(given, place), _inside(builder, struct, place)
        if isinstance(kind, types.Array):  # its type was taken from this array, so it need not be checked
            code = c.pyapi.numba_array_adaptor(given_field, builder.bitcast(field, c.pyapi.voidptr))
            is_error = cgutils.is_not_null(builder, code)
        else:
            native = c.unbox(kind, given_field)
            builder.store(native.value, field)
            is_error = native.is_error
            cleanups += [native.cleanup] if native.cleanup else []
        failed = builder.or_(failed, is_error)
    # Behind this LLVM does not know the struct that was just written: else, if it inlines the kernel, it could load the
    # values, which it is told not to change, before they are written.
    address = builder.bitcast(struct, ir.IntType(8).as_pointer())
    unchanged = ir.FunctionType(address.type, [address.type])
    address = builder.asm(unchanged, "", "=r,0,~{memory}", [address], side_effect=True)

    def cleanup() -> None:
        for one in cleanups:
            one()

    return NativeValue(
        _indexed(c.context, builder, memory, address, []), cleanup=cleanup if cleanups else None, is_error=failed
    )


def pass_by_address(memory: Any) -> None:
    """Let kernels take NamedTuples of a class as a `Memory`."""

    def kind_of(value: Any, why: Any) -> Memory:
        return Memory(tuple(typeof_impl(one, why) for one in value), memory)

    if memory not in typeof_impl.registry:
        typeof_impl.register(memory)(kind_of)

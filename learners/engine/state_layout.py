"""Declarations of a learner's memory: a NamedTuple class with dtype, shape and description of each array.

class Weights(NamedTuple):
    weight: Array = field("f8[d]", "of the features, d with the intercept")
    skipped: Counts = field("i8[1]", "labelled rows whose score was not finite")
    k: Array = scratch("f8[d]", "products of a row")

Fields make up the state, in this order; its bytes are a snapshot. Kernels get all arrays, scratch included, as views.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.memory_types import pass_by_address
from driftway.learners.engine.state import Array, Fields, State

N = TypeVar("N")

LARGEST_COUNT = 2**53

Sizes = Mapping[str, int | tuple[int, ...]]
"""Name in a declared shape -> its length, or several lengths."""


class FieldSpec(NamedTuple):
    """The declaration of an array."""

    dtype: str
    shape: str
    text: str
    default: float
    in_state: bool
    largest: str = ""
    """The largest of values that kernels use as indices or as a count of slots, as in ``M`` or ``K - 1``. Empty: any
    float is safe, and any whole number up to `LARGEST_COUNT`. The smallest is 0, or a negative `default`."""


class SubState(NamedTuple):
    """A memory nested in another one, like that of a detector."""

    memory: type[Any]
    text: str
    sizes: Mapping[str, str]
    """Name in its shapes -> the name in `Sizes`, for those that differ."""


def field(spec: str, text: str, start: float = 0.0, largest: str = "") -> Any:
    """Declare an array of the state, whose items are initialised to `start`; `spec` is like ``f8[K, 2 d]``.

    `largest` bounds values that kernels use as indices, see `FieldSpec`.
    """
    return _field_spec(spec, text, start, True, largest)


def scratch(spec: str, text: str) -> Any:
    """Declare a scratch array, whose contents do not persist from one row to the next."""
    return _field_spec(spec, text, 0.0, False)


def part(memory: type[Any], text: str, **sizes: str) -> Any:
    """Include the arrays of another memory; in the state their names are prefixed with this name and a dot.

    ``E="F"`` says that what its shapes call E is called F here, so that two parts of one class can differ in size.
    """
    return SubState(memory, text, sizes)


def _field_spec(spec: str, text: str, start: float, kept: bool, largest: str = "") -> FieldSpec:
    dtype, _, shape = spec.removesuffix("]").partition("[")
    return FieldSpec(dtype, shape, text, start, kept, largest)


def field_specs(memory: type[Any], prefix: str = "") -> dict[str, FieldSpec]:
    """Return name -> declaration, in order; names of a part's arrays are prefixed with its name and a dot."""
    found: dict[str, FieldSpec] = {}
    for name, one in memory._field_defaults.items():
        if isinstance(one, SubState):
            inside = field_specs(one.memory, f"{prefix}{name}.")
            found |= {key: _renamed(spec, one.sizes) for key, spec in inside.items()}
        else:
            found[prefix + name] = one
    return found


def _renamed(one: FieldSpec, sizes: Mapping[str, str]) -> FieldSpec:
    """Return a declaration with other names of sizes."""
    shape, largest = one.shape, one.largest
    for old, new in sizes.items():
        shape, largest = (re.sub(rf"\b{old}\b", new, text) for text in (shape, largest))
    return FieldSpec(one.dtype, shape, one.text, one.default, one.in_state, largest)


def fields_of(memory: type[Any], sizes: Sizes, prefix: str = "") -> Fields:
    """Return the state fields of a memory: name -> (dtype, shape)."""
    kept = {name: one for name, one in field_specs(memory, prefix).items() if one.in_state}
    return {name: (one.dtype, shape_of(one.shape, sizes)) for name, one in kept.items()}


def allocate_scratch(memory: type[Any], sizes: Sizes, *axes: int) -> dict[str, Array]:
    """Allocate the scratch arrays of a memory, with `axes` as additional leading axes."""
    scratches = {name: one for name, one in field_specs(memory).items() if not one.in_state}
    return {name: np.empty((*axes, *shape_of(one.shape, sizes)), one.dtype) for name, one in scratches.items()}


def write_defaults(memory: type[Any], state: State) -> None:
    """Write the declared initial values into a zeroed state."""
    for name, one in field_specs(memory).items():
        if one.default:
            state[name][...] = one.default


def check_ranges(memory: type[Any], sizes: Sizes, state: State) -> None:
    """Check the values in a state that kernels use as indices, without a bounds check of their own.

    Raises
    ------
    ValueError
        One is outside the range that its declaration names.
    """
    for name, one in field_specs(memory).items():
        if one.in_state and (one.largest or one.dtype == "i8"):
            size, _, less = one.largest.partition(" - ")
            largest = int(np.prod(shape_of(size, sizes))) - int(less or 0) if size else LARGEST_COUNT
            values, least = state[name], min(0, int(one.default))
            outside = values[~((values >= least) & (values <= largest))]
            if outside.size and largest >= 0:  # below 0: classes, where there are none
                raise ValueError(f"{name} in the state is {outside.flat[0]:g}, not within {least}..{largest}")


def shape_of(text: str, sizes: Sizes) -> tuple[int, ...]:
    """Evaluate a shape like ``2, K, d``. ``2 d`` is a product; a name may give several axes."""
    shape: list[int] = []
    for axis in text.split(", "):
        lengths = [int(word) if word.isdigit() else sizes[word] for word in axis.split()]
        shape += lengths[0] if isinstance(lengths[0], tuple) else [int(np.prod(lengths))]
    return tuple(shape)


def group_views(memory: type[N], views: Mapping[str, NDArray[Any]]) -> N:
    """Build the NamedTuple of views that kernels take, with those of a part nested in it."""
    own: dict[str, Any] = {name: view for name, view in views.items() if "." not in name}
    if len(own) < len(views):
        for name, one in memory._field_defaults.items():  # type: ignore[attr-defined]
            if isinstance(one, SubState):
                inside = {key.partition(".")[2]: view for key, view in views.items() if key.startswith(f"{name}.")}
                own[name] = group_views(one.memory, inside)
    pass_by_address(memory)
    return memory(**own)


def as_views(memory: type[N], state: State, **more: Array) -> N:
    """Build the NamedTuple that kernels take from the views of a state and further arrays."""
    return group_views(memory, {**{name: state[name] for name in state}, **more})

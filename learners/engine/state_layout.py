"""Declarations of a learner's memory: a NamedTuple class with dtype, shape and description of each array.

class Weights(NamedTuple):
    weight: Array = field("f8[d]", "of the features, d with the intercept")
    skipped: Counts = field("i8[1]", "labelled rows whose score was not finite")
    k: Array = scratch("f8[d]", "products of a row")

Fields make up the state, in this order; its bytes are a snapshot. Kernels get all arrays, scratch included, as views.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.state import Array, Fields, State

N = TypeVar("N")

Sizes = Mapping[str, int | tuple[int, ...]]
"""Name in a declared shape -> its length, or several lengths."""


class FieldSpec(NamedTuple):
    """The declaration of an array."""

    dtype: str
    shape: str
    text: str
    default: float
    in_state: bool


class SubState(NamedTuple):
    """A memory nested in another one, like that of a detector."""

    memory: type[Any]
    text: str


def field(spec: str, text: str, start: float = 0.0) -> Any:
    """Declare an array of the state, whose items are initialised to `start`; `spec` is like ``f8[K, 2 d]``."""
    return _field_spec(spec, text, start, kept=True)


def scratch(spec: str, text: str) -> Any:
    """Declare a scratch array, whose contents do not persist from one row to the next."""
    return _field_spec(spec, text, 0.0, kept=False)


def part(memory: type[Any], text: str) -> Any:
    """Include the arrays of another memory; in the state their names are prefixed with this name and a dot."""
    return SubState(memory, text)


def _field_spec(spec: str, text: str, start: float, kept: bool) -> FieldSpec:
    dtype, _, shape = spec.removesuffix("]").partition("[")
    return FieldSpec(dtype, shape, text, start, kept)


def field_specs(memory: type[Any], prefix: str = "") -> dict[str, FieldSpec]:
    """Return name -> declaration, in order; names of a part's arrays are prefixed with its name and a dot."""
    found: dict[str, FieldSpec] = {}
    for name, one in memory._field_defaults.items():
        if isinstance(one, SubState):
            found |= field_specs(one.memory, f"{prefix}{name}.")
        else:
            found[prefix + name] = one
    return found


def fields_of(memory: type[Any], sizes: Sizes, prefix: str = "") -> Fields:
    """Return the state fields of a memory: name -> (dtype, shape)."""
    kept = {name: one for name, one in field_specs(memory, prefix).items() if one.in_state}
    return {name: (one.dtype, shape_of(one.shape, sizes)) for name, one in kept.items()}


def allocate_scratch(memory: type[Any], sizes: Sizes, *axes: int) -> dict[str, Array]:
    """Allocate the scratch arrays of a memory, with `axes` as additional leading axes."""
    scratches = {name: one for name, one in field_specs(memory).items() if not one.in_state}
    return {name: np.empty((*axes, *shape_of(one.shape, sizes))) for name, one in scratches.items()}


def write_defaults(memory: type[Any], state: State) -> None:
    """Write the declared initial values into a zeroed state."""
    for name, one in field_specs(memory).items():
        if one.default:
            state[name][...] = one.default


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
    return memory(**own)


def as_views(memory: type[N], state: State, **more: Array) -> N:
    """Build the NamedTuple that kernels take from the views of a state and further arrays."""
    return group_views(memory, {**{name: state[name] for name in state}, **more})

"""What a learner remembers, declared array by array: a NamedTuple class whose arrays say themselves what they are.

class Weights(NamedTuple):
    weight: Array = field("f8[d]", "of the features, d with the intercept")
    skipped: Counts = field("i8[1]", "labelled rows whose score was not finite")
    k: Array = scratch("f8[d]", "products of a row")

Fields make up the state, in this order; its bytes are a snapshot. Kernels are given the whole, as views.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.state import Array, Fields, State

N = TypeVar("N")

Sizes = Mapping[str, int | tuple[int, ...]]
"""What a word in a declared shape stands for: one length, or several."""


class FieldSpec(NamedTuple):
    """What a memory says of an array."""

    dtype: str
    shape: str
    text: str
    default: float
    in_state: bool


class SubState(NamedTuple):
    """A memory within a memory, like that of a detector."""

    memory: type[Any]
    text: str


def field(spec: str, text: str, start: float = 0.0) -> Any:
    """An array of the state, each of whose items begins as `start`; `spec` is like ``f8[K, 2 d]``."""
    return _field_spec(spec, text, start, kept=True)


def scratch(spec: str, text: str) -> Any:
    """An array that means nothing from one row to the next."""
    return _field_spec(spec, text, 0.0, kept=False)


def part(memory: type[Any], text: str) -> Any:
    """The arrays of another memory; in the state they stand behind this name and a dot."""
    return SubState(memory, text)


def _field_spec(spec: str, text: str, start: float, kept: bool) -> FieldSpec:
    dtype, _, shape = spec.removesuffix("]").partition("[")
    return FieldSpec(dtype, shape, text, start, kept)


def field_specs(memory: type[Any], prefix: str = "") -> dict[str, FieldSpec]:
    """Name -> declaration, in order; arrays of a part have its name and a dot before theirs."""
    found: dict[str, FieldSpec] = {}
    for name, one in memory._field_defaults.items():
        if isinstance(one, SubState):
            found |= field_specs(one.memory, f"{prefix}{name}.")
        else:
            found[prefix + name] = one
    return found


def fields_of(memory: type[Any], sizes: Sizes, prefix: str = "") -> Fields:
    """The state of a memory."""
    kept = {name: one for name, one in field_specs(memory, prefix).items() if one.in_state}
    return {name: (one.dtype, shape_of(one.shape, sizes)) for name, one in kept.items()}


def allocate_scratch(memory: type[Any], sizes: Sizes, *axes: int) -> dict[str, Array]:
    """The scratch of a memory, with more axes in front."""
    scratches = {name: one for name, one in field_specs(memory).items() if not one.in_state}
    return {name: np.empty((*axes, *shape_of(one.shape, sizes))) for name, one in scratches.items()}


def write_defaults(memory: type[Any], state: State) -> None:
    """Write what fields begin as into a zeroed state."""
    for name, one in field_specs(memory).items():
        if one.default:
            state[name][...] = one.default


def shape_of(text: str, sizes: Sizes) -> tuple[int, ...]:
    """``2, K, d`` as numbers. ``2 d`` is a product; a word may stand for several axes."""
    shape: list[int] = []
    for axis in text.split(", "):
        lengths = [int(word) if word.isdigit() else sizes[word] for word in axis.split()]
        shape += lengths[0] if isinstance(lengths[0], tuple) else [int(np.prod(lengths))]
    return tuple(shape)


def group_views(memory: type[N], views: Mapping[str, NDArray[Any]]) -> N:
    """Views as kernels take them, those of a part within the whole."""
    own: dict[str, Any] = {name: view for name, view in views.items() if "." not in name}
    if len(own) < len(views):
        for name, one in memory._field_defaults.items():  # type: ignore[attr-defined]
            if isinstance(one, SubState):
                inside = {key.partition(".")[2]: view for key, view in views.items() if key.startswith(f"{name}.")}
                own[name] = group_views(one.memory, inside)
    return memory(**own)


def as_views(memory: type[N], state: State, **more: Array) -> N:
    """The views of a state, and more arrays, as kernels take them."""
    return group_views(memory, {**{name: state[name] for name in state}, **more})

"""Arrow columns as values that JSON has."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

from driftway.producers.streams.arrow import cast_decimals
from driftway.worker.wire.codec import exact_number

EXACT_DIGITS = 15
"""Decimals of up to so many digits are the shortest text of their float64; longer ones keep their own."""


def is_json(kind: Any) -> bool:
    """Whether `values_of` converts an arrow type to values that JSON can hold."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return is_json(kind.value_type)
    if types.is_struct(kind):
        return all(is_json(kind.field(i).type) for i in range(kind.num_fields))
    return not any(
        test(kind)
        for test in (
            types.is_binary,
            types.is_large_binary,
            types.is_fixed_size_binary,
            types.is_binary_view,
            types.is_duration,
            types.is_interval,
            types.is_map,
        )
    )


def values_of(column: Any) -> list[Any]:
    """An arrow array as Python values: decimals and half floats become numbers, times are cut to microseconds.

    A time outside the years 1 to 9999, which is none to any reader of events, becomes text.
    """
    from pyarrow import float64, types

    if types.is_dictionary(column.type):
        values = values_of(column.dictionary)  # arrow itself does not decode views of strings, which Polars writes
        return [None if i is None else values[i] for i in column.indices.to_pylist()]
    if (kind := _plain(column.type, float64())) != column.type:
        column = cast_decimals(column, partial(_plain, column.type))
    try:
        found: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):  # years, or a time zone that this machine does not know
        found = [_value_or_text(one) for one in column]
    return [_exact(one) for one in found] if _has_decimals(kind) else found


def _plain(kind: Any, decimals: Any) -> Any:
    """The type whose values JSON has, also inside of lists and structs; `decimals` is that of short decimals."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_float16(kind):
        return pa.float64()
    if types.is_decimal(kind) and kind.precision <= EXACT_DIGITS:
        return decimals
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if types.is_time64(kind):
        return pa.time64("us")
    if types.is_struct(kind):
        return pa.struct([one.with_type(_plain(one.type, decimals)) for one in kind])
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type, decimals)))
    if types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_plain(kind.value_type, decimals)))
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type, decimals)), kind.list_size)
    return kind


def _has_decimals(kind: Any) -> bool:
    """Whether values of a type have decimals in them."""
    from pyarrow import types

    return bool(types.is_decimal(kind) or any(_has_decimals(kind.field(i).type) for i in range(kind.num_fields)))


def _exact(value: Any) -> Any:
    """A value with its decimals as numbers of all their digits."""
    if isinstance(value, Decimal):
        return exact_number(value)
    if isinstance(value, list):
        return [_exact(one) for one in value]
    return {name: _exact(one) for name, one in value.items()} if isinstance(value, dict) else value


def _value_or_text(one: Any) -> Any:
    """A scalar of arrow as a Python value, in which times that Python does not have are text."""
    import pyarrow as pa
    from pyarrow import types

    kind = one.type
    try:
        return one.as_py()
    except (OverflowError, ValueError):
        if types.is_struct(kind):
            return {name: _value_or_text(value) for name, value in one.items()}
        if types.is_nested(kind):
            return [_value_or_text(value) for value in one.values]
        if types.is_timestamp(kind) and kind.tz not in (None, "UTC"):
            return _value_or_text(one.cast(pa.timestamp(kind.unit, "UTC")))
        return one.cast(pa.string()).as_py()

"""Arrow columns as values that JSON has."""

from __future__ import annotations

from typing import Any

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
            types.is_duration,
            types.is_map,
        )
    )


def values_of(column: Any) -> list[Any]:
    """An arrow array as Python values: decimals and half floats become numbers, times are cut to microseconds."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_decimal(kind) and kind.precision > EXACT_DIGITS:
        return [None if one is None else exact_number(one) for one in column.to_pylist()]
    if types.is_decimal(kind) or types.is_float16(kind):
        column = column.cast(pa.float64())
    elif types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    elif types.is_time64(kind):
        column = column.cast(pa.time64("us"), safe=False)
    found: list[Any] = column.to_pylist()
    return found

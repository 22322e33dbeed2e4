"""Shared by the CSV and Parquet readers: access to pyarrow, and conversion of its columns."""

from __future__ import annotations

import sys
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.stream import Array
from driftway.worker.errors import UsageFailure

LONGEST_RELEASE_SECONDS, RELEASE_CHECK_SECONDS = 5.0, 0.0005
"""A thread that waits for a pipe may never come back."""


def require_pyarrow(path: str) -> Any:
    """Return the module pyarrow.

    Raises
    ------
    UsageFailure
        It is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise UsageFailure(f"reading {path} needs pyarrow: pip install 'driftway[files]'") from None
    return pyarrow


def wait_until_released(held: list[Any]) -> None:
    """Forget the objects of a list, and wait until pyarrow's threads have done so, too.

    A reader that is closed early leaves them at work. If one calls or releases a Python object while the interpreter
    ends, the process aborts. An exception that one of the objects raised refers to it, so its frames are cleared.
    """
    references = [weakref.ref(one) for one in held]
    held.clear()
    if (error := sys.exception()) is not None:
        traceback.clear_frames(error.__traceback__)
    deadline = time.monotonic() + LONGEST_RELEASE_SECONDS
    while any(one() is not None for one in references) and time.monotonic() < deadline:
        time.sleep(RELEASE_CHECK_SECONDS)


def cast_decimals(column: Any, type_with: Callable[[Any], Any]) -> Any:
    """Cast an arrow array to `type_with(float64)`, where its decimals become the nearest numbers.

    Arrow itself turns the decimal 19.99 into 19.990000000000002, but its text into 19.99.
    """
    import pyarrow as pa

    return column.cast(type_with(pa.string()), safe=False).cast(type_with(pa.float64()), safe=False)


def to_floats(column: Any) -> Array:
    """A numeric or boolean arrow array as f8[n]: the nearest numbers to decimals; null -> NaN."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_decimal(column.type):
        column = cast_decimals(column, lambda kind: kind)
    numbers = column.cast(pa.float64(), safe=False)
    floats: Array = numbers.to_numpy(zero_copy_only=False)
    if column.null_count:
        floats = np.where(column.is_valid().to_numpy(zero_copy_only=False), floats, np.nan)
    return floats


def is_text(kind: Any) -> bool:
    """Whether an arrow type holds text, dictionary-encoded or not."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: Any) -> bool:
    """Whether an arrow type can be a feature; null, of a column without any value, can be one that is missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def coded(column: Any, read: Callable[[str], float]) -> Array:
    """Read a column of text as f8[n] by its distinct values, so that Python handles only a few; null -> NaN."""
    import pyarrow as pa

    if pa.types.is_string_view(column.type):  # which has no dictionary
        column = column.cast(pa.large_string())
    found = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values = np.array([np.nan if text is None else read(text) for text in found.dictionary.to_pylist()] + [np.nan])
    codes = found.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    floats: Array = values[codes]
    return floats


def read_labels(column: Any, reader: LabelReader) -> Array:
    """Read a column of labels, of text or numbers, as f8[n]; null -> NaN.

    Raises
    ------
    UsageFailure
        `reader` refuses a label.
    """
    import pyarrow as pa

    if is_text(column.type):
        return coded(column, reader.read)
    return to_floats(column) if reader.labels is None else coded(column.cast(pa.string()), reader.read)

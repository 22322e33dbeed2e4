"""Where a record that was found differs from the recomputed one, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from driftway.worker.errors import Failure
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.headers import Header
from driftway.worker.wire.packed import decode_predictions, is_packed

NUMBERS = ("kind", "partition", "offset", "t", "y", "prediction", "scores")
"""Columns of packed predictions, apart from the ids."""
SHOWN = 60
"""Characters of a value in a sentence."""


class Mismatch(Failure):
    """What the topics hold is not what the same rows give; the message names the first place."""


def input_offset(value: bytes) -> int:
    """Input offset of a prediction of either format, or of an accuracy point.

    Raises
    ------
    ValueError
        The record is neither.
    """
    try:
        return int(fields(value)["offset"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"no offset in it: {error}") from None


def fields(value: bytes) -> dict[str, Any]:
    """A record's fields by name.

    Raises
    ------
    ValueError
        It is neither a JSON object nor a packed prediction.
    """
    if is_packed(value):
        columns = decode_predictions([value])
        return {name: getattr(columns, name)[0].tolist() for name in NUMBERS} | {"id": columns.ids[0]}
    told = read_json(value)
    if not isinstance(told, dict):
        raise ValueError("not a JSON object")
    return told


def describe_difference(want: Any, got: Any) -> str:
    """The first difference of two records' bytes: by field where they can be read, else by byte."""
    if isinstance(want, bytes) and isinstance(got, bytes):
        try:
            expected, found = fields(want), fields(got)
        except ValueError:
            expected, found = {}, {}
        for name in expected:
            if name not in found:
                return f"expected the field {name}, found none"
            if repr(found[name]) != repr(expected[name]):  # repr: NaN is itself, -0.0 is not 0.0
                return f"expected {name} {shown(expected[name])}, found {shown(found[name])}"
        at = next((i for i, (a, b) in enumerate(zip(want, got, strict=False)) if a != b), min(len(want), len(got)))
        return f"expected {shown(want[at:])} from byte {at} on, found {shown(got[at:])}"
    return f"expected {shown(want)}, found {shown(got)}"


def describe_header_difference(want: Sequence[Header], got: Sequence[Header]) -> str:
    """The first difference of two records' headers, which are not the same."""
    expected, found = next(pair for pair in zip_longest(want, got) if pair[0] != pair[1])
    if expected is None:
        return f"expected no further header, found {shown(found)}"
    if found is None:
        return f"expected the header {shown(expected)}, found none"
    if shown(expected) == shown(found) and expected[0] == found[0]:
        return f"header {shown(expected[0])}: {describe_difference(expected[1], found[1])}"
    return f"expected the header {shown(expected)}, found {shown(found)}"


def shown(value: Any) -> str:
    """A value, cut to what fits into a sentence."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."

"""Descriptions of how a record in a topic differs from the recomputed one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from driftway.worker.errors import Failure
from driftway.worker.wire.codec import parse_exactly, read_json
from driftway.worker.wire.events import Reject
from driftway.worker.wire.headers import Header
from driftway.worker.wire.packed import decode_predictions, is_packed
from driftway.worker.wire.registered.framing import is_registered
from driftway.worker.wire.registered.reading import read_fields

NUMBERS = ("kind", "partition", "offset", "t", "y", "prediction", "scores", "probability", "low", "high", "members")
"""Columns of packed predictions, apart from the ids."""
SHOWN = 60
"""Maximum number of characters of a value in a message."""


class Mismatch(Failure):
    """The topics differ from what the same rows give; the message names the first difference."""


class MissingRecord(Mismatch):
    """A record is not in its topic."""

    def __init__(self, sentence: str, topic: str) -> None:
        super().__init__(sentence)
        self.topic = topic


def input_offset(value: bytes) -> int:
    """Input offset of a prediction, in any format, or of an accuracy point.

    Raises
    ------
    ValueError
        The record has no offset.
    """
    try:
        return int(fields(value)["offset"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"it has no offset: {error}") from None


def fields(value: bytes, parse: Callable[[bytes], Any] = read_json) -> dict[str, Any]:
    """Decode a record into its fields by name, parsing JSON by `parse`.

    Raises
    ------
    ValueError
        It is neither a JSON object nor a prediction in another format.
    """
    if is_registered(value):
        return read_fields(value, parse)
    if is_packed(value):
        columns = decode_predictions([value])
        named = {"learner": columns.learners[0]} if columns.learners[0] else {}
        return {name: getattr(columns, name)[0].tolist() for name in NUMBERS} | named | {"id": columns.ids[0]}
    decoded = parse(value)
    if not isinstance(decoded, dict):
        raise ValueError("not a JSON object")
    return decoded


def confidence_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a prediction's `fields` say of how sure it is: probability, low and high, set; only what it has.

    An end that does not exist is None. The classes in the set of a packed one are indices.
    """
    if "members" not in record:
        return {name: record[name] for name in ("probability", "low", "high", "set") if name in record}
    known = {name: record[name] for name in ("probability", "low", "high") if not math.isnan(record[name])}
    found = {name: value if math.isfinite(value) else None for name, value in known.items()}
    members = record["members"]
    return found | ({"set": [c for c, inside in enumerate(members) if inside]} if members else {})


def describe_difference(want: Any, got: Any) -> str:
    """Describe the first difference between two values: by field if both can be decoded, else by byte."""
    if isinstance(want, bytes) and isinstance(got, bytes):
        try:
            expected, found = fields(want, parse_exactly), fields(got, parse_exactly)
        except (ValueError, Reject):
            expected, found = {}, {}
        for name in expected:
            if name not in found:
                return f"expected the field {name}, found none"
            if repr(found[name]) != repr(expected[name]):  # with repr, NaN equals itself and -0.0 differs from 0.0
                return f"expected {name} {shown(expected[name])}, found {shown(found[name])}"
        at = next((i for i, (a, b) in enumerate(zip(want, got, strict=False)) if a != b), min(len(want), len(got)))
        return f"expected {shown(want[at:])} from byte {at} on, found {shown(got[at:])}"
    return f"expected {shown(want)}, found {shown(got)}"


def describe_header_difference(want: Sequence[Header], got: Sequence[Header]) -> str:
    """Describe the first difference between the headers of two records, which must differ."""
    expected, found = next(pair for pair in zip_longest(want, got) if pair[0] != pair[1])
    if expected is None:
        return f"expected no further header, found {shown(found)}"
    if found is None:
        return f"expected the header {shown(expected)}, found none"
    if shown(expected) == shown(found) and expected[0] == found[0]:
        return f"header {shown(expected[0])}: {describe_difference(expected[1], found[1])}"
    return f"expected the header {shown(expected)}, found {shown(found)}"


def shown(value: Any) -> str:
    """A value's repr, truncated to SHOWN characters."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."

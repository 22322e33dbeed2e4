"""Fields that no path of a schema leads to, through or into: which they are, and how many events have them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from driftway.worker.wire.codec import parse_json
from driftway.worker.wire.schema.unknown_fields import LONGEST_NAME, MAX_NAMES, OTHER, UnknownFields
from tests.unit.worker.rows import pieces, records
from tests.unit.worker.wire.schema.reading import schema_of


def counted(schema: Any, *events: Any) -> dict[str, int]:
    """Return field -> number of events in a batch; an event given as bytes or None stays as it is."""
    values = [one if isinstance(one, bytes | None) else json.dumps(one).encode() for one in events]
    return dict(UnknownFields(schema, parse_json).count(records(values)).events)


def test_a_field_is_counted_once_for_each_event_that_has_it() -> None:
    schema = schema_of("amount", "country:one-of=de|*", label="fraud", id="order")
    whole = {"amount": 1, "country": "de", "fraud": 0, "order": 1, "t": 5}
    found = counted(schema, whole, {**whole, "note": 1}, {"note": None, "y": 1, "id": 2}, b'{"note":1,"note":2}')
    assert found == {"note": 3, "y": 1, "id": 1}


def test_only_the_outermost_unknown_field_is_reported_as_a_path() -> None:
    schema = schema_of("user.age", "user.geo.lat", '"a.b".c', "items.0.price", "whole:hash=3", "whole.part:hash=3")
    event = {
        "user": {"age": 1, "name": "x", "geo": {"lat": 1, "lon": {"deg": 1}}},
        "a.b": {"c": 1, "d.e": 2},
        "items": [{"price": 1, "pieces": 2}, {"weight": 1}],
        "whole": {"part": 1, "rest": 2},
        "@other": 1,
        "": 1,
    }
    expected = ["user.name", "user.geo.lon", '"a.b"."d.e"', "items.0.pieces", '"@other"', '""']
    assert counted(schema, event) == dict.fromkeys(expected, 1)
    assert counted(schema, {"user": [1], "items": {"0": {"x": 1}}, "a.b": None}) == {"items.0.x": 1}


@pytest.mark.parametrize(
    ("envelope", "event", "expected"),
    [
        ("debezium", {"after": {"a": 1, "b": 2}, "before": {"c": 3}, "op": "u", "source": {}}, {"b": 1}),
        ("debezium", {"schema": {}, "payload": {"after": {"a": 1, "b": 2}, "op": "c", "x": 1}}, {"b": 1}),
        ("debezium", {"payload": {"before": {"a": 1, "b": 2}, "after": None, "op": "d"}}, {}),
        ("connect", {"schema": {}, "payload": {"a": 1, "op": 1, "b": 2}}, {"b": 1, "op": 1}),
        ("", {"a": 1, "op": "c", "ts": 1, "payload": {"op": "c", "b": 2}}, {"ts": 1, "payload.b": 1}),
    ],
)
def test_only_the_row_of_an_envelope_is_read(envelope: str, event: Any, expected: dict[str, int]) -> None:
    assert counted(schema_of("a", "@envelope.op:one-of=c|u", envelope=envelope), event) == expected


def test_fields_of_rejected_events_are_counted_too() -> None:
    values = [None, b"", b"{", b"[1]", b"5", {"amount_eur": 1}, {"amount": "x", "b": 1}]
    assert counted(schema_of("amount"), *values) == {"amount_eur": 1, "b": 1}


def test_events_without_a_schema_have_four_known_fields() -> None:
    assert counted(None, {"x": {"a": 1}, "y": 1, "id": 1, "t": 2, "z": {"x": 1}}) == {"z": 1}


def test_paths_into_key_and_headers_make_no_field_of_the_value_known() -> None:
    schema = schema_of("a", "@header.b:hash=3", "@key.c", label="@key.y", id="@key", time="@timestamp")
    others = dict.fromkeys(("b", "c", "y", "id", "t"), 1)
    assert counted(schema, {"a": 1, **others}) == others


def test_first_events_are_reported_once_however_batches_are_cut() -> None:
    events = [{"a": 1}, {"b": 1}, {"a": 1, "c": 1}, {"b": 1}, {"c": 1, "d": 1}]
    values = [json.dumps({"x": [1], **event}).encode() for event in events]
    for cuts in ([], [1], [2, 3], [1, 2, 3, 4]):
        unknown, first, total = UnknownFields(None, parse_json), list[tuple[str, int]](), dict[str, int]()
        for part in pieces(records(values, first=70), cuts):
            seen = unknown.count(part)
            first += seen.first.items()
            for name, events_ in seen.events.items():
                total[name] = total.get(name, 0) + events_
        assert first == [("a", 70), ("b", 71), ("c", 72), ("d", 74)]
        assert total == {"a": 2, "b": 2, "c": 2, "d": 1}


def test_the_number_of_names_is_bounded_and_the_rest_is_counted_by_event() -> None:
    unknown = UnknownFields(None, parse_json)
    crowd = [b'{"x":[1],"user%d":1,"again%d":1}' % (i, i) for i in range(MAX_NAMES)]
    seen = unknown.count(records(crowd))
    assert len(seen.events) == len(seen.first) == MAX_NAMES + 1
    assert seen.events[OTHER] == MAX_NAMES // 2
    assert seen.first[OTHER] == MAX_NAMES // 2
    later = unknown.count(records([b'{"user0":1,"new":1,"newer":1}', b'{"user0":1}']))
    assert (dict(later.events), later.first) == ({"user0": 2, OTHER: 1}, {})


def test_a_long_name_is_not_kept_and_control_characters_are_not_shown() -> None:
    found = counted(None, {"n" * LONGEST_NAME: 1, "n" * (LONGEST_NAME + 1): 1, "a\n\x1b[1mb": 1})
    assert found == {"n" * LONGEST_NAME: 1, OTHER: 1, "a??[1mb": 1}


def test_counts_equal_those_of_a_plain_traversal() -> None:
    """By the definition: a field is unknown if no path of the schema is a prefix of its own or continues it."""
    rng = np.random.default_rng(5)
    schema = schema_of("a", "b.a", "b.b.a", "c.c", id="b.c")
    ways = [path.steps for path in schema.sources]

    def made(depth: int) -> dict[str, Any]:
        names = rng.choice(list("abcdyt"), rng.integers(1, 5), replace=False).tolist()
        return {name: made(depth + 1) if depth < 3 and rng.random() < 0.6 else 1 for name in names}

    def walked(value: Any, above: tuple[str, ...]) -> set[str]:
        found = set()
        for name, inner in value.items() if isinstance(value, dict) else ():
            here = (*above, name)
            if any(here[: len(way)] == way for way in ways):
                continue
            within = any(way[: len(here)] == here for way in ways)
            found |= walked(inner, here) if within else {".".join(here)}
        return found

    events = [made(0) for _ in range(300)]
    expected: dict[str, int] = {}
    for event in events:
        for name in walked(event, ()):
            expected[name] = expected.get(name, 0) + 1
    assert len(expected) > 10
    assert counted(schema, *events) == expected

"""`driftway schema infer`: what it proposes for each shape of events, and that a worker reads it as it was meant."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from driftway.worker.admin.schema.dry_run import rejections
from driftway.worker.admin.schema.proposal import Proposal, propose
from driftway.worker.admin.schema.render import as_toml
from driftway.worker.admin.schema.scan import DEEP, MAX_PATHS, scan_events
from driftway.worker.wire import codec
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records, Target
from driftway.worker.wire.schema.decoder import Decoded, SchemaDecoder
from driftway.worker.wire.schema.paths import Path
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.examples import repetitions
from tests.unit.worker.admin.orders import FLAT, N, Row, orders, table_of, texts


def proposed(values: list[bytes | None], **known: str) -> Proposal:
    """Return the proposal for events; `known` has paths as text."""
    paths = {name: Path.parse(text) for name, text in known.items()}
    return propose(scan_events(values, asked=paths.values()), **paths)


def read_by(table: dict[str, Any], target: Target, values: list[bytes | None]) -> Decoded:
    """Return the same rows as a reader with this table decodes them."""
    rest = {name: table.get(name) for name in ("label", "id", "time", "envelope", "missing")}
    schema = EventSchema.parse(table["feature"], **rest)
    n = len(values)
    records = Records(0, np.arange(n), ListColumn(values), ListColumn([None] * n), np.zeros(n, np.int64))
    return SchemaDecoder(schema, target, codec.parse_json, codec.id_text).decode(records)


def checked(values: list[bytes | None], **known: str) -> tuple[dict[str, Any], str, Proposal]:
    """Return table, TOML text and proposal; fail if a row is rejected for a reason that the text does not mention."""
    proposal = proposed(values, **known)
    rejected = rejections(proposal, values)
    toml = as_toml(proposal, rejected)
    table = table_of(toml)
    read = read_by(table, proposal.target, values)
    assert len(read.reasons) == rejected.total()
    assert (f"rejected by this schema: {rejected.total():,}: " in toml) == bool(rejected)
    assert all(reason in toml for reason in list(dict(rejected.most_common(3))))
    return table, toml, proposal


# The ten shapes.


def test_flat_json() -> None:
    table, toml, proposal = checked(orders(), label="fraud")
    assert table == {"label": "fraud", "id": "order_id", "time": "created_at", "feature": FLAT}
    assert '"amount",                        # number, ' in toml
    assert 'label = "fraud"                    # false 75 %, true 25 %' in toml
    assert "# ISO 8601, rising" in toml
    assert (
        '# left out: "comment" (text, different in almost every event), "items" (list of numbers), '
        '"version" (constant so far)' in toml
    )
    assert proposal.options == {"labels": "false,true"}


def test_nested() -> None:
    table, _, _ = checked(orders(lambda row, _: {"head": {"v": 1}, "body": {"order": row}}), label="body.order.fraud")
    assert table["feature"] == [f"body.order.{feature}" for feature in FLAT]
    assert (table["id"], table["time"]) == ("body.order.order_id", "body.order.created_at")


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "in a payload"])
def test_debezium(wrapped: bool) -> None:
    def change(row: Row, i: int) -> Row:
        del row["created_at"]
        row["id"] = i % 50
        event = {"before": None, "after": row, "op": "c", "ts_ms": 1_700_000_000_000 + i, "source": {"table": "orders"}}
        if i % 20 == 0:
            event |= {"before": row, "after": None, "op": "d"}
        return {"schema": {}, "payload": event} if wrapped else event

    table, toml, _ = checked([*orders(change), None], label="fraud")
    assert (table["envelope"], table["time"], table["id"]) == ("debezium", "@envelope.ts_ms", "order_id")
    assert table["feature"] == [*FLAT[1:], "id:hash=32"]
    assert "11: 10 debezium: the row was deleted; 1 null value" in toml
    assert "# ms since 1970, rising" in toml


def test_connect() -> None:
    values = orders(lambda row, _: {"schema": {"type": "struct", "fields": []}, "payload": row})
    table, _, _ = checked(values, label="fraud")
    assert (table["envelope"], table["feature"]) == ("connect", FLAT)


def test_nulls_and_missing_fields() -> None:
    def change(row: Row, i: int) -> Row:
        if i % 10 == 0:
            row["amount"] = None
        if i % 20 == 1:
            del row["country"]
        return {**row, "rare": 7} if i == 3 else {**row, "nothing": None}

    table, toml, proposal = checked(orders(change), label="fraud")
    assert table["missing"] == "mean"
    assert 'missing = "mean"                   # 10 % of amount, 5 % of country' in toml
    assert "# text, 3 values, 5 % missing" in toml
    assert proposal.left_out[Path(("rare",))] == "only in under 1 %"
    assert proposal.left_out[Path(("nothing",))] == "always null"
    assert table["feature"] == FLAT


def test_booleans() -> None:
    table, toml, _ = checked(orders(lambda row, i: {**row, "vip": i % 4 == 0}), label="fraud")
    assert table["feature"] == [*FLAT, "vip"]
    assert "# false 75 %, true 25 %" in toml


def test_text_categories_that_cannot_be_listed_are_hashed() -> None:
    table, toml, _ = checked(orders(lambda row, i: {**row, "size": ["S", "M, L"][i % 2], "*": "ab|*"[i % 4]}))
    assert table["feature"][-2:] == ["size:hash=32", "*:hash=32"]
    assert "# text, 2 values, not all of which can be listed" in toml


def test_long_texts_are_hashed() -> None:
    table, toml, _ = checked(orders(lambda row, i: {**row, "size": ["S", 1000 * "M"][i % 2]}))
    assert table["feature"][-1] == "size:hash=32"
    assert "# text, 2 values, not all of which can be listed" in toml


def test_numbers_in_text() -> None:
    table, toml, _ = checked(
        orders(lambda row, i: {**row, "price": f" {i % 7}.50 ", "empty": ["", "3", "", "4"][i % 4]})
    )
    assert table["feature"][-2:] == ["price", "empty"]
    assert "# number in text, 0.5 to 6.5" in toml
    assert "# number in text, 3 to 4, 50 % missing" in toml
    assert table["missing"] == "mean"


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_times(unit: str, factor: int) -> None:
    def change(row: Row, i: int) -> Row:
        return {**row, "born": f"19{i * 37 % 90 + 10}-02-03", "seen_ts": (1_790_000_000 - 60 * i) * factor}

    table, toml, _ = checked(orders(change))
    assert table["feature"][-2:] == ["born:time=age", f"seen_ts:time=age,unit={unit}"]
    assert "# date: how long before the event, in s" in toml
    assert f"# {unit} since 1970: how long before the event, in s" in toml


BIRTHS = [datetime(1924 + i * 37 % 90, 1 + i % 12, 1 + i % 28, tzinfo=UTC) for i in range(N)]


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(
    ("unit", "seconds"), [("days", 86_400), ("s", 1), ("ms", Fraction(1, 10**3)), ("us", Fraction(1, 10**6))]
)
def test_the_unit_of_dates_of_birth_is_inferred_from_all_rows(unit: str, seconds: Any, text: bool) -> None:
    def change(row: Row, i: int) -> Row:
        value = int(int(BIRTHS[i % N].timestamp()) / seconds)
        return {**row, "dateOfBirth": str(value) if text else value}

    values = orders(change)
    table, _, _ = checked(values)
    assert table["feature"][-1] == f"dateOfBirth:time=age,unit={unit}"
    read = read_by({"feature": ["dateOfBirth:time=seconds,unit=" + unit]}, Target(), values)
    assert read.X[:, 0].tolist() == [birth.timestamp() for birth in BIRTHS]


def test_nanoseconds_of_19_digits_in_text() -> None:
    """A time that is the event's has its unit in `time`, too."""
    values = texts({"at": str(1_732_451_400_000_000_000 + 10**9 * i), "v": i % 7, "y": i % 2} for i in range(99))
    table, _, _ = checked(values)
    assert table["time"] == "at:unit=ns"
    assert "at:time=hour|weekday,unit=ns" in table["feature"]
    assert read_by(table, Target(), values).t.tolist() == [1_732_451_400_000 + 1000 * i for i in range(99)]


@pytest.mark.parametrize("value", [lambda i: 20_240_101 + i % 28, lambda i: i % 31 + 1, lambda i: 202_611_241_200 + i])
def test_numbers_named_like_dates_that_fit_no_unit_are_not_times(value: Any) -> None:
    table, _, _ = checked(orders(lambda row, i: {**row, "orderDate": value(i * 7 % 50)}))
    assert not any(one.startswith("orderDate:time") for one in table["feature"])


def test_long_ids_are_distinguished() -> None:
    values = orders(lambda row, i: {**row, "order_id": 1234567890123456789012345000000 + i})
    table, toml, _ = checked(values)
    assert table["id"] == "order_id"
    assert "# different in every event" in toml


def test_extra_fields_and_malformed_events_are_reported() -> None:
    def change(row: Row, i: int) -> Any:
        if i == 7:
            return [row]
        if i in (8, 9):
            row["amount"] = "high"
        return {**row, f"x{i}": 1}

    table, toml, proposal = checked([*orders(change), b"{", b"}"], label="fraud")
    assert table["feature"] == FLAT
    assert "# 202 events read, 3 of them no JSON object" in toml
    assert "5: 2 amount is not a number; 2 not JSON; 1 not a JSON object" in toml
    assert "1 % no number: rejected" in toml
    assert len(proposal.left_out) == 3 + N - 1


# Label, id, time.


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        ([0, 1], {}, "0 50 %, 1 50 %"),
        (["1", "0"], {}, "0 50 %, 1 50 %"),
        ([True, False], {"labels": "false,true"}, 'labels = "false,true"\n'),
        ([True], {"labels": "false,true"}, "true 100 %"),
        (["true", "false"], {"labels": "false,true"}, 'labels = "false,true"\n'),
        (["True", "False", "true", "True"], {"labels": "False,True"}, 'labels = "False,True"\n'),
        (["01", "02"], {"labels": "01,02"}, 'labels = "01,02"\n'),
        ([0, 1, 2, 1], {"classes": "3"}, "classes = 3\n"),
        ([1, -1], {"labels": "-1,1"}, 'labels = "-1,1"\n'),
        (["up", "no way"], {"labels": "no way,up"}, 'labels = "no way,up"\n'),
        (["ok"], {"labels": "ok,OTHER"}, 'labels = "ok,OTHER"\n'),
        (["a,b", "c"], {}, "--labels cannot name one with a comma"),
        ([f"k{i}" for i in range(100)], {}, "100 different values: say which are classes"),
        ([i / 7 for i in range(100)], {"task": "regression"}, 'task = "regression"\n'),
        (list(range(100)), {"task": "regression"}, 'task = "regression"\n'),
        (["N/A", *(i / 7 for i in range(99))], {"task": "regression"}, "number, 0 to 14, 1 % without"),
        ([1, None], {}, "1 100 %, 50 % without"),
    ],
)
def test_the_meaning_of_labels_is_inferred(labels: list[Any], options: dict[str, str], expected: str) -> None:
    _, toml, proposal = checked(orders(lambda row, i: {**row, "Class": labels[i % len(labels)]}))
    assert proposal.label is not None
    assert proposal.label.path == Path(("Class",))
    assert (proposal.options, proposal.target.labels == ()) == (options, "labels" not in options and "a,b" not in labels
                                                                and "k1" not in labels)  # fmt: skip
    assert expected in toml
    assert "rejected" not in toml


def test_without_a_label_the_option_to_name_one_is_printed() -> None:
    table, toml, _ = checked(orders())
    assert "label" not in table
    assert "fraud" in table["feature"]
    assert '# label: no field is called y, label, target or class; write label = "PATH" here' in toml


def test_ids_are_different_in_every_event_and_never_amounts() -> None:
    def change(row: Row, i: int) -> Row:
        return {**row, "storeId": i % 20, "session_uuid": f"s{i // 2}", "row": i, "paid": i % 3}

    table, _, proposal = checked(orders(change))
    assert table["id"] == "order_id"
    assert table["feature"][-2:] == ["session_uuid:hash=32", "paid"]
    assert "storeId:hash=32" in table["feature"]
    assert proposal.left_out[Path(("row",))] == "whole number, increases with every event"
    again, toml, _ = checked(orders(lambda row, i: {"id": i % 9, **{k: v for k, v in row.items() if k != "order_id"}}))
    assert again["id"] == "id"
    assert "# 9 values in 200 events" in toml
    none, toml, _ = checked(orders(lambda row, i: {**row, "order_id": i % 9}))
    assert "id" not in none
    assert "# id: no field with such a name is different" in toml


def test_a_time_that_does_not_increase_is_not_the_events_time() -> None:
    table, toml, _ = checked(orders(lambda row, i: {**row, "created_at": f"2026-0{i % 9 + 1}-01T1{i % 7}:30"}))
    assert "time" not in table
    said = "# time: no time that increases, so predictions have none, and ages count to the records' timestamps"
    assert said in toml
    assert table["feature"][0] == "created_at:time=hour|weekday"


def test_options_take_precedence_over_inference() -> None:
    rows = orders(lambda row, i: {**row, "label": 1, "n": 1_790_000_000 + i, "parts": [{"sku": i}]})
    table, toml, _ = checked(rows, label="country", id="parts.0.sku", time="n")
    assert (table["label"], table["id"], table["time"]) == ("country", "parts.0.sku", "n:unit=s")
    assert toml.startswith('labels = "de,fr,it"\n[event]\n')
    assert "n:time=hour|weekday,unit=s" in table["feature"]
    assert "created_at:time=age" in table["feature"]
    table, toml, _ = checked(rows, id="@key", time="@timestamp", label="nowhere")
    assert (table["id"], table["time"], table["label"]) == ("@key", "@timestamp", "nowhere")
    assert toml.count("# beside the value: not looked at") == 2
    assert "# in no event that was read" in toml


# Names and sizes.


@pytest.mark.parametrize(
    "name",
    ["a.b", 'say "x"', "@key", "a:b", " lead", "trail ", "", "ümlaut 😀", "tab\t", "line\nend", "\x7f\x85", "a,b", "#"],
)
def test_names_and_categories_are_quoted(name: str) -> None:
    values = orders(lambda row, i: {**row, name: i % 5 * 0.5, "in": {name: f"{name}{i % 3}"}})
    table, _, proposal = checked(values, label="fraud")
    assert {feature.path for feature in proposal.features} >= {Path((name,)), Path(("in", name))}
    schema = EventSchema.parse(table["feature"])
    assert schema.features == tuple(proposal.features)


def test_two_features_never_make_the_same_column() -> None:
    table, _, proposal = checked(orders(lambda row, i: {**row, "country=de": i % 3}))
    assert table["feature"][:4] == FLAT
    assert proposal.left_out[Path(("country=de",))].startswith("makes a column country=de, as another feature does")


def test_the_depth_and_number_of_fields_are_bounded() -> None:
    deep: Row = {"v": 1}
    for _ in range(500):
        deep = {"d": deep}
    many = {f"f{i}": 1 for i in range(MAX_PATHS)}
    found = scan_events(texts([{"a": 1, "deep": deep}, {"a": 2, **many}]))
    assert len(found.paths) == MAX_PATHS
    assert found.unseen == 1 + 1 + DEEP - 1
    assert max(len(path.steps) for path in found.paths) == DEEP


NAMES = [*"xy:0é", " ", '"', "id", "a.b", "ts", "at", "payload", "after", "op", "before", "schema", "user_id"]
SCALARS = [None, True, False, 0, 1, -1, 1e300, 0.5, 1_790_000_000, "", " ", "1", "1.0", "a", "b,c", "*", "|",
           "2026-02-30", "2026-01-01T00:00:60Z", "2026-01-01T10:00:00+0100", "nan", "1e999", "\0", "é"]  # fmt: skip


def arbitrary(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth < 3 and (kind < 0.3 or not depth):
        return {name: arbitrary(rng, depth + 1) for name in rng.sample(NAMES, rng.randrange(6))}
    return [1, {"a": 2}][: rng.randrange(3)] if kind < 0.35 else rng.choice(SCALARS)


@pytest.mark.random_cases
@pytest.mark.parametrize("seed", range(repetitions(60)))
def test_the_printed_text_equals_the_proposal_for_any_events(seed: int) -> None:
    rng = random.Random(seed)
    templates = [arbitrary(rng) for _ in range(rng.randrange(1, 5))]

    def varied(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: varied(one) for name, one in value.items() if rng.random() < 0.95}
        return rng.choice(SCALARS) if rng.random() < 0.1 else value

    values = texts(varied(rng.choice(templates)) for _ in range(40))
    found = scan_events(values)
    if found.rows and propose(found).features:
        table, _, proposal = checked(values)
        assert EventSchema.parse(table["feature"]).features == tuple(proposal.features)


def test_one_event_is_enough() -> None:
    table, _, _ = checked(orders()[:1], label="fraud")
    assert "amount" in table["feature"]

"""`driftway schema infer`: codes, truth words, decimals, words, presence, and attributes of CloudEvents."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from driftway.worker.admin.schema.dry_run import rejections
from driftway.worker.admin.schema.proposal import propose
from driftway.worker.admin.schema.render import as_toml
from driftway.worker.admin.schema.scan import MAX_PLACES, scan_events
from driftway.worker.wire.events import Target
from driftway.worker.wire.schema.paths import Path
from tests.unit.worker.admin.orders import FLAT, Row, orders, table_of, texts
from tests.unit.worker.admin.test_schema_infer import checked, read_by


def test_codes_with_leading_zeros_are_categories() -> None:
    table, toml, _ = checked(
        orders(lambda row, i: {**row, "zip": f"{i * 7 % 90:05}" if i % 50 == 0 else str(10_000 + i % 90)})
    )
    assert table["feature"][-1] == "zip:hash=32"
    assert "# text, 94 values" in toml


def test_truth_words_are_listed_once() -> None:
    spellings = ["Yes", "no", "YES", "Yes", "no", "No"]
    table, _, _ = checked(orders(lambda row, i: {**row, "paid": spellings[i % 6]}))
    assert table["feature"][-1] == "paid:one-of=no|Yes"


def test_decimals_and_values_that_were_not_sent() -> None:
    amount = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    fields = [{**amount, "field": "amount"}, {"type": "string", "field": "note"}]
    schema = {"type": "struct", "fields": [{"type": "struct", "field": "after", "fields": fields}]}

    def change(row: Row, i: int) -> Row:
        units = b64encode((i * 37 % 900 - 300).to_bytes(2, "big", signed=True)).decode()
        fee = {"scale": i % 3, "value": units}
        note = "__debezium_unavailable_value" if i % 5 == 0 else "ab"[i % 2]
        after = {"amount": units, "fee": fee, "note": note, "y": i % 2}
        return {
            "schema": schema,
            "payload": {"before": None, "after": after, "op": "c", "ts_ms": 1_790_000_000_000 + i},
        }

    table, toml, _ = checked(orders(change))
    assert table["feature"] == ["amount", "fee", "note:one-of=a|b"]
    assert "# number, -3 to 5." in toml
    assert "# text, 2 values, 20 % missing" in toml
    _, toml, _ = checked(orders(change), label="amount")
    assert toml.startswith('task = "regression"\n')


def test_lists_of_words_are_hashed() -> None:
    def change(row: Row, i: int) -> Row:
        words = [f"w{i * k % 150}" for k in range(1, 6)]
        tags = ["a", "b"][: i % 3] if i % 10 else None
        return {**row, "words": words, "tags": tags, "mixed": [i, "a"][: 1 + i % 2], "keys": ["id"]}

    table, toml, proposal = checked(orders(change))
    assert table["feature"][-2:] == ["words:hash=256", "tags:hash=32,missing=0"]
    assert "# lists of words, 150 different" in toml
    assert proposal.left_out[Path(("mixed",))] == "list"
    assert proposal.left_out[Path(("keys",))] == "constant so far"
    assert "missing" not in table


def test_names_of_many_rare_fields_are_hashed() -> None:
    rng = random.Random(3)
    rows = [{"x": {f"w{rng.randrange(2000)}": 1 for _ in range(20)}, "y": i % 2} for i in range(300)]
    table, toml, _ = checked(texts(rows))
    assert (table["feature"], table["label"]) == (["x.*:hash=1024"], "y")
    assert "# object with some of 1,9" in toml
    assert "left out" not in toml


def test_the_presence_of_a_field_may_be_a_feature() -> None:
    rows: list[Row] = [{"words": {["bad", "good"][i * i % 2]: 1, "the": 1}, "y": i % 2} for i in range(50)]
    for i in range(0, 50, 5):
        rows[i] |= {"promo": "x", "flag": True, "zero": 0, "none": None}
    table, toml, proposal = checked(texts(rows))
    assert table["feature"] == [
        "words.bad:missing=0", "promo:one-of=x,missing=0", "flag:missing=0", "words.good:missing=0",
    ]  # fmt: skip
    assert "# x, not in 80 %" in toml
    assert proposal.left_out[Path(("words", "the"))] == proposal.left_out[Path(("zero",))] == "constant so far"
    assert "missing" not in table
    read = read_by(table, Target(), texts(rows))
    assert np.nan_to_num(read.X[:2]).tolist() == [[1, 1, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("share", [1, 3])
def test_attributes_of_cloud_events_are_fields(share: int) -> None:
    values = texts({"amount": i % 7, "y": i % 2} for i in range(60))

    def attributes(i: int) -> list[tuple[str, bytes | None]]:
        at = datetime(2026, 1, 5, i // 60, i % 60, tzinfo=UTC).isoformat()
        known = {"specversion": "1.0", "id": f"e{i}", "source": f"/shop/{i % 3}", "type": "ab"[i % 2], "time": at}
        return [("trace", b"x"), *((f"ce_{name}", one.encode()) for name, one in known.items())]

    headers = [attributes(i) if i % share == 0 else [] for i in range(60)]
    found = scan_events(values, headers=headers)
    proposal = propose(found)
    rejected = rejections(proposal, values, headers)
    table = table_of(as_toml(proposal, rejected))
    assert not rejected
    features = ["@header.ce_source:one-of=/shop/0|/shop/1|/shop/2", "@header.ce_type:one-of=a|b"]
    if share == 3:
        assert table["feature"] == ["amount"]
    else:
        assert (table["id"], table["time"]) == ("@header.ce_id", "@header.ce_time")
        assert table["feature"] == ["amount", *features, "@header.ce_time:time=hour|weekday"]
    assert propose(scan_events(values, headers=[own[:1] for own in headers])).id is None
    assert propose(found, label=Path.parse("@header.ce_type")).options == ({"labels": "a,b"} if share == 1 else {})


@pytest.mark.parametrize("written", ["%d.%m.%Y %H:%M", "%m/%d/%y", "%d-%m-%Y"])
def test_a_date_that_is_not_iso_8601_is_reported_as_such(written: str) -> None:
    begun = datetime(2026, 3, 1, tzinfo=UTC)
    _, toml, _ = checked(orders(lambda row, i: {**row, "placed": f"{begun + timedelta(hours=9 * i):{written}}"}))
    assert "dates that are not ISO 8601: write them as 2026-11-24T14:30:00Z to use them as times" in toml


@pytest.mark.parametrize("schemas", [False, True], ids=["bare", "connect"])
def test_the_values_of_lists_of_one_length_are_fields(schemas: bool) -> None:
    def change(row: Row, i: int) -> Row:
        row |= {
            "ids": [7, 8],
            "axes": [i * 7 % 31, 0.5 * (i % 4), [i % 5]] if i % 10 else None,
            "items": [row.copy()] * (i % 3),
        }
        row = {"database": "shop", "data": [row, {"fraud": row.pop("fraud")}], "type": "INSERT"}
        return {"schema": {}, "payload": row} if schemas else row

    table, _, proposal = checked(orders(change), label="data.1.fraud")
    assert (table["label"], table["id"], table["time"]) == ("data.1.fraud", "data.0.order_id", "data.0.created_at")
    assert table["feature"] == [*(f"data.0.{one}" for one in FLAT), *(f"data.0.axes.{i}" for i in (0, 1, "2.0"))]
    assert (table["missing"], proposal.missing[Path.parse("data.0.axes.1")]) == ("mean", 0.1)
    assert proposal.left_out[Path.parse("data.0.items")] == "list"
    assert proposal.left_out[Path.parse("data.0.ids.1")] == "constant so far"
    assert not any(path.steps[:3] == ("data", "0", "items") and len(path.steps) > 3 for path in proposal.stats.paths)


def test_long_lists_are_not_examined_place_by_place() -> None:
    _, _, proposal = checked(
        orders(lambda row, i: {**row, "signal": [i % 7] * (MAX_PLACES + 1), "few": [i % 7] * MAX_PLACES})
    )
    assert proposal.left_out[Path(("signal",))] == "list of numbers"
    assert {feature.path for feature in proposal.features} >= {Path(("few", str(MAX_PLACES - 1)))}


def test_words_for_missing_values_among_numbers_and_times_are_proposed_as_such() -> None:
    def change(row: Row, i: int) -> Row:
        row["created_at"] = "n/a" if i % 7 == 3 else row["created_at"]
        row["duration"] = ["-", "N/A", "0.25", i / 8][i % 4]
        row["code"] = ["-", "a", "7"][i % 3]
        row["flag"] = ["none", 3][i % 2]
        row["none"] = "unknown"
        return row

    table, toml, proposal = checked(orders(change), label="fraud")
    assert table["feature"] == [
        "created_at:time=hour|weekday,missing-words=n/a", *FLAT[1:],
        "duration:missing-words=-|N/A", "code:one-of=7|-|a", "flag:missing=0,missing-words=none",
    ]  # fmt: skip
    assert proposal.left_out[Path(("none",))] == "constant so far"
    assert "# number in text, 0.25 to 24.875, 50 % missing" in toml
    assert table["missing"] == "mean"
    assert "rejected" not in toml
    assert read_by(table, Target(), orders(change)).X.shape[0] == len(orders())


@pytest.mark.parametrize("name", ["created", "created_utc", "start", "dt"])
def test_numbers_under_usual_names_of_times_are_times(name: str) -> None:
    values = orders(
        lambda row, i: {name: 1_790_000_000 + i // 2, **{k: v for k, v in row.items() if k != "created_at"}}
    )
    table, _, _ = checked(values)
    assert table["time"] == f"{name}:unit=s"


def test_days_that_a_spreadsheet_counts_from_1900_are_no_days_since_1970() -> None:
    table, _, _ = checked(orders(lambda row, i: {**row, "order_date": 46_000 + i / 24, "due_date": 20_400 + i // 24}))
    assert table["feature"][-2:] == ["order_date", "due_date:time=age,unit=days"]


@pytest.mark.parametrize("written", ["{:.1f} kW", "${:,.2f}", "{:.0f} %", "{:.1f}\u00b0C", "\u20ac{:.2f}", "{:,.0f}"])
def test_numbers_with_units_are_reported_as_such(written: str) -> None:
    _, toml, _ = checked(orders(lambda row, i: {**row, "size": written.format(10_000.5 + 37.5 * i)}))
    assert "numbers with other characters: write them as numbers to use them as such" in toml


@pytest.mark.parametrize("value", ["{}a", "10.0.{}.7", "v1.{}", "12:{}", "de-{}", "1.{}.0"])
def test_names_with_digits_are_not_taken_for_numbers_with_units(value: str) -> None:
    _, toml, _ = checked(orders(lambda row, i: {**row, "size": value.format(i % 50)}))
    assert "# text, 50 values" in toml


def test_json_in_text_is_reported() -> None:
    table, toml, _ = checked(orders(lambda row, i: {"payload": json.dumps(row), "amount": i % 7, "y": i % 2}))
    assert table["feature"] == ["amount"]
    assert '"payload" (JSON in text: write it as an object to use its fields, different in almost every event)' in toml


@pytest.mark.parametrize(
    "form",
    ["%b %d %Y", "%b %d, %Y", "%d-%b-%Y", "%d %B %Y", "%a %b %d %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S GMT",
     "%d/%b/%Y:%H:%M:%S +0000"],
)  # fmt: skip
def test_dates_with_names_of_months_are_reported_as_dates(form: str) -> None:
    first = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
    _, toml, _ = checked(orders(lambda row, i: {**row, "paid": (first + timedelta(days=i % 30)).strftime(form)}))
    assert "dates that are not ISO 8601: write them as 2026-11-24T14:30:00Z to use them as times" in toml


@pytest.mark.parametrize("value", ["mar {}", "May", "{} march past", "sunday {} 2026", "{}-dec-a"])
def test_words_that_begin_like_months_are_no_dates(value: str) -> None:
    _, toml, _ = checked(orders(lambda row, i: {**row, "place": value.format(i % 50) + " x" * (i % 2)}))
    assert "not ISO 8601" not in toml


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S"])
def test_dates_in_digits_are_reported_as_dates(form: str) -> None:
    first = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
    _, toml, _ = checked(orders(lambda row, i: {**row, "paid": int((first + timedelta(days=i % 30)).strftime(form))}))
    assert f"# dates in digits, {first.strftime(form)} to " in toml
    assert ": write them as 2026-11-24T14:30:00Z to use them as times" in toml


def test_numbers_of_eight_digits_are_no_dates() -> None:
    _, toml, _ = checked(orders(lambda row, i: {**row, "paid": 20_261_101 + i % 50}))
    assert "dates in digits" not in toml


@pytest.mark.parametrize("name", ["key", "name", "field"])
def test_lists_of_keys_and_values_in_varying_order_are_left_out(name: str) -> None:
    def with_pairs(row: dict[str, Any], i: int) -> dict[str, Any]:
        pairs = [{name: "size", "value": i % 17}, {name: "price", "value": i / 8}, {name: "kind", "value": "a"}]
        return {**row, "more": pairs[i % 3 :] + pairs[: i % 3], "fixed": pairs}

    table, toml, _ = checked(orders(with_pairs))
    assert not [feature for feature in table["feature"] if feature.startswith("more")]
    assert "fixed.1.value" in table["feature"]
    assert '"more" (list of keys and values in varying order: write it as an object)' in toml


def test_lists_of_objects_in_the_same_order_are_kept() -> None:
    def with_sides(row: dict[str, Any], i: int) -> dict[str, Any]:
        return {**row, "sides": [{"side": "home", "goals": i % 4}, {"side": "away", "goals": i % 5}]}

    table, _, _ = checked(orders(with_sides))
    assert table["feature"][-2:] == ["sides.0.goals", "sides.1.goals"]

"""Debezium changes of a table of orders, and the outcome of each by docs/reference/events.md."""

from __future__ import annotations

import json
import math
import random
import zlib
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

import numpy as np

from tests.support.audit import Array

FEATURES = (
    "amount",
    "visits:missing=mean,indicator",
    "country:one-of=de|fr|*,missing=0",
    "merchant:hash=8,missing=0",
    "created_at:time=hour|weekday|age,unit=ms,missing=last",
    "@envelope.op:one-of=c|u|*",
)
OPTIONS = (
    "--envelope", "debezium", "--label", "fraud", "--id", "order", "--time", "@envelope.ts_ms",
    *(word for feature in FEATURES for word in ("--feature", feature)),
)  # fmt: skip
UNKNOWN = ("comment", "address")
"""Columns of the table that no option refers to."""
VISITS, FIRST_TIME, TIMES = 1, 13, 3
"""Column filled with the mean; first column and number of columns filled with the last value."""
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
DELETED, TOMBSTONE = "debezium: the row was deleted", "null value"
HASHED = 8


class Change(NamedTuple):
    """One record of the topic."""

    key: bytes
    value: bytes | None
    reason: str
    """Expected reason of rejection, or of setting its label aside; empty if there is none."""
    row: list[float]
    """Its columns, NaN where a value is missing; empty if rejected."""
    y: float
    """NaN if unknown."""
    id: int
    unknown: frozenset[str]


class ChangeGenerator:
    """Generator of the changes of a table.

    Parameters
    ----------
    seed : int
        Seed of all random draws.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._table: dict[int, dict[str, Any]] = {}
        self._next, self._minutes = 0, 0

    def records(self, changes: int, partitions: int) -> dict[int, list[Change]]:
        """Make `changes` changes, each deletion followed by a tombstone; partitioned by key."""
        found: dict[int, list[Change]] = {p: [] for p in range(partitions)}
        for _ in range(changes):
            self._minutes += 15 * self._draw.randrange(3)
            key, op, before, after = self._change()
            name = b'{"order":%d}' % key
            at = found[zlib.crc32(name) % partitions]
            ms = int(
                (BEGIN + timedelta(minutes=self._minutes, milliseconds=self._draw.randrange(1000))).timestamp() * 1000
            )
            body = {"before": before, "after": after, "source": {"table": "orders", "ts_ms": ms}, "op": op, "ts_ms": ms}
            event = {"schema": {"type": "struct"}, "payload": body} if self._draw.random() < 0.5 else body
            at.append(
                Change(
                    name,
                    json.dumps(event, ensure_ascii=False).encode(),
                    *outcome(after, op, ms),
                    key,
                    unknown_of(after),
                )
            )
            if op == "d":
                at.append(Change(name, None, TOMBSTONE, [], math.nan, key, frozenset()))
        return found

    def _change(self) -> tuple[int, str, Any, Any]:
        """Make a change: primary key, operation, row before and after."""
        kind, key = self._draw.random(), self._next - self._draw.randrange(500)
        if kind < 0.1 and key in self._table:
            return key, "d", self._table.pop(key), None
        if kind > 0.5 and key in self._table:
            op, before = "u", self._table[key]
        else:
            self._next += 1
            key, op, before = self._next, "r" if kind < 0.12 else "c", None
        self._table[key] = self._row(key)
        return key, op, before, self._table[key]

    def _row(self, key: int) -> dict[str, Any]:
        """Make a row in which some values are missing, in another format, or wrong."""
        draw = self._draw
        amount, visits = round(draw.gauss(50, 20), 2), draw.randrange(20)
        country, merchant = draw.choice(["de", "fr", "it", "pl"]), f"shop {draw.randrange(40)} für alles"
        created = BEGIN + timedelta(minutes=self._minutes - 15 * draw.randrange(400))
        fraud = amount + 2 * visits + 20 * (country == "de") + draw.gauss(0, 4) > 75
        row = {
            "order": key,
            "amount": self._or(amount, str(amount), f" {amount}e0 ", None, "n/a", [amount]),
            "visits": self._or(visits, None, "", str(visits), {"n": visits}),
            "country": self._or(country, None, "", 49, [country]),
            "merchant": self._or(merchant, None, "", draw.randrange(40), {}),
            "created_at": self._or(self._written(created), None, "soon", True),
            "fraud": self._or(fraud, None, "maybe", 2),
            **({"comment": 'ein Text mit "Zeichen" \u2713'} if draw.random() < 0.4 else {}),
            **({"address": {"zip": "80331", "lines": ["a", {"amount": 1}]}} if draw.random() < 0.3 else {}),
        }
        lacking = draw.choice(["amount", "visits", "country", "created_at"]) if draw.random() < 0.03 else ""
        row.pop(lacking, None)
        return row

    def _or(self, value: Any, *others: Any) -> Any:
        return self._draw.choice(others) if self._draw.random() < 0.04 else value

    def _written(self, time: datetime) -> Any:
        """Format a time in a random one of several formats."""
        way = self._draw.randrange(4)
        if way == 0:
            return int(time.timestamp()) * 1000
        if way == 1:
            return time.astimezone(timezone(timedelta(hours=self._draw.randrange(-5, 6)))).isoformat()
        return time.strftime("%Y-%m-%dT%H:%M:%SZ" if way == 2 else "%Y-%m-%d %H:%M:%S.000000")


class InvalidEvent(Exception):
    """Why an event must be rejected."""


def outcome(after: dict[str, Any] | None, op: str, ms: int) -> tuple[str, list[float], float]:
    """Reason, row and label of a change by docs/reference/events.md, computed without the code under test."""
    if after is None:
        return DELETED, [], math.nan
    try:
        amount = number(after, "amount")
        if math.isnan(amount):
            raise InvalidEvent("amount is missing")
        row = [amount, number(after, "visits"), *one_of(after, "country", ("de", "fr")), *hashed(after, "merchant")]
        row += [*parts(after, "created_at", ms), *one_of({"op": op}, "op", ("c", "u"))]
    except InvalidEvent as wrong:
        return str(wrong), [], math.nan
    try:
        return "", row, label(after)
    except InvalidEvent as wrong:
        return str(wrong), row, math.nan


def unknown_of(after: dict[str, Any] | None) -> frozenset[str]:
    return frozenset(name for name in UNKNOWN if after is not None and name in after)


def number(row: dict[str, Any], name: str) -> float:
    value = row.get(name)
    if isinstance(value, list | dict):
        raise InvalidEvent(f"{name} is not a number")
    try:
        return math.nan if value in (None, "") else float(value)
    except ValueError:
        raise InvalidEvent(f"{name} is not a number") from None


def one_of(row: dict[str, Any], name: str, categories: tuple[str, ...]) -> list[float]:
    """One column per category, and one for all others."""
    value = row.get(name)
    if isinstance(value, list | dict):
        raise InvalidEvent(f"{name} is no category")
    if value is None:
        return [math.nan] * (len(categories) + 1)
    return [*(float(value == one) for one in categories), float(value not in categories)]


def hashed(row: dict[str, Any], name: str) -> list[float]:
    """One-hot of the FNV-1a hash, high half folded in, of a text or of the byte 1 and a number's eight bytes."""
    value = row.get(name)
    if isinstance(value, list | dict):
        raise InvalidEvent(f"{name} is no category")
    if value is None:
        return [math.nan] * HASHED
    data = value.encode() if isinstance(value, str) else b"\x01" + np.float64(value).tobytes()
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    chosen = (h ^ h >> 32) % HASHED
    return [float(column == chosen) for column in range(HASHED)]


def parts(row: dict[str, Any], name: str, ms: int) -> list[float]:
    """Hour, weekday and age in seconds."""
    value = row.get(name)
    if value is None:
        return [math.nan] * TIMES
    if isinstance(value, int) and not isinstance(value, bool):
        time = datetime.fromtimestamp(value / 10 ** (len(str(value)) - 10), UTC)
    else:
        try:
            time = datetime.fromisoformat(str(value))
        except ValueError:
            raise InvalidEvent(f"{name} is not a time") from None
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    seconds = int(time.timestamp())
    return [seconds % 86400 / 3600, float(time.weekday()), (ms - 1000 * seconds) * 1000 / 1e6]


def label(row: dict[str, Any]) -> float:
    value = row.get("fraud")
    if value is None:
        return math.nan
    if not isinstance(value, bool):
        raise InvalidEvent(f"label {json.dumps(value)} is not one of 0, 1")
    return float(value)


def learned(changes: list[Change]) -> tuple[Array, Array, list[int]]:
    """Input of a partition's learner: X f8[n, d] with missing values filled, y f8[n], and the offsets of these rows."""
    offsets = [offset for offset, change in enumerate(changes) if change.row]
    mean, seen, last = 0.0, 0, [0.0] * TIMES
    X = []
    for row in (list(changes[offset].row) for offset in offsets):
        gone = math.isnan(row[VISITS])
        if gone:
            row[VISITS] = mean
        else:
            seen += 1
            mean += (row[VISITS] - mean) / seen
        for k in range(TIMES):
            if math.isnan(row[FIRST_TIME + k]):
                row[FIRST_TIME + k] = last[k]
            last[k] = row[FIRST_TIME + k]
        X.append([*(0.0 if math.isnan(value) else value for value in row), float(gone)])
    return np.array(X), np.array([changes[offset].y for offset in offsets]), offsets

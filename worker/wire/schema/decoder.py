"""Decode events by a schema: values are extracted to cells, by a kernel or a parser, then converted to columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.codec import parse_event, parse_exactly, parse_json
from driftway.worker.wire.columns import SPARE, TAIL, read_only
from driftway.worker.wire.events import NOT_OBJECT, NULL_VALUE, REGRESSION, Records, Reject, Target
from driftway.worker.wire.json_tokens.exact import Number
from driftway.worker.wire.json_tokens.wrong_values import why_no_object
from driftway.worker.wire.schema.cell_table import (
    LARGEST_EXACT,
    NO_TEXT,
    NOTHING,
    NULL,
    NUMBER,
    CellBuffer,
    CellTable,
    ExtraText,
    put,
)
from driftway.worker.wire.schema.debezium import decimal_in, schema_at
from driftway.worker.wire.schema.feature import BY_DIGITS, HASH, NUMBERS, TIME
from driftway.worker.wire.schema.paths import ABSENT, ENVELOPE, HEADER, ROW, TIMESTAMP, Path, look_up, text_of
from driftway.worker.wire.schema.schema import AFTER, CONNECT, CONNECT_SCHEMA, DEBEZIUM, PAYLOAD, EventSchema

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Floats, Integers
    from driftway.worker.wire.schema.conversion.row_columns import Nested
    from driftway.worker.wire.schema.field_index import FieldIndex
    from driftway.worker.wire.writer import Column

NO_ROW = "no object {} to read"
DELETED = "debezium: the row was deleted"


class Decoded(NamedTuple):
    """Columns of n events; rows of events with a reason are undefined."""

    X: Floats
    """f8[n, columns], without indicators; NaN: missing."""
    y: Floats
    """f8[n]: class index or number; NaN: no label."""
    ids: Column
    """JSON texts of the ids."""
    t: Integers
    """i8[n] in ms; NO_TIME where there is none."""
    reasons: dict[int, str]
    """Index -> why that event cannot be used."""
    labels: NDArray[np.bool_]
    """b1[n]: which events are labels of earlier ones."""
    set_aside: dict[int, str]
    """Index -> why that label of an earlier event, or the label of that event, which can be used, cannot."""


class SchemaDecoder:
    """Decodes events by a schema.

    Parameters
    ----------
    schema : EventSchema
        What to read.
    target : Target
        What labels mean.
    loads : callable
        Parses value bytes to Python objects. Raises `Reject`.
    dumps : callable
        Encodes Python objects as JSON. Raises `Reject`.
    scanned : bool
        Whether values are JSON, which a kernel scans where possible.
    exactly : callable or None
        See `codec.parse_event`.
    """

    def __init__(
        self,
        schema: EventSchema,
        target: Target,
        loads: Callable[[bytes], Any],
        dumps: Callable[[Any], bytes],
        scanned: bool = True,
        exactly: Callable[[bytes], Any] | None = parse_exactly,
    ) -> None:
        from driftway.worker.wire.schema.conversion.decimals import DecimalReader
        from driftway.worker.wire.schema.conversion.row_columns import ColumnConverter

        self.schema, self._loads, self._dumps, self._exactly = schema, loads, dumps, exactly
        self._field_of = {path: j for j, path in enumerate(schema.sources)}
        self._feature_fields = [
            self._field_of[path] for path in {feature.path for feature in schema.features} if path.source == ROW
        ]
        self._id_and_label = [self._field_of[schema.id], self._field_of[schema.label]]
        self._by_digits = [
            self._field_of[path]
            for path in {schema.label, *(feature.path for feature in schema.features if feature.kind in BY_DIGITS)}
        ]
        self._decimals = _decimal_fields(schema, target, self._field_of) if loads is parse_json else {}
        self._hashed = {self._field_of[feature.path] for feature in schema.features if feature.kind == HASH}
        self._beside = [path for path in schema.sources if path.source not in (ROW, ENVELOPE)]
        self._field_index = build_index(schema, bool(self._decimals)) if scanned else None
        self._cell_buffer = CellBuffer(len(self._field_of) + bool(self._decimals))
        self._decimal_reader = DecimalReader(self._decimals, len(self._field_of)) if self._decimals else None
        self._converter = ColumnConverter(schema, target, self._field_of)

    def decode(self, records: Records, late: bool = False) -> Decoded:
        """Decode records; unusable events get a reason that names the field, however calls split the records.

        With `late`, an event with an id and a label, and none of the features, is the label of an earlier event.
        """
        from driftway.worker.wire.schema import fields

        n = len(records)
        cells = self._cell_buffer.cells(n)
        ids = np.empty((2, n), np.int64)
        if self._field_index is None:
            text, plain = np.frombuffer(TAIL, np.uint8), np.zeros(n, np.bool_)
        else:
            text, plain = fields.scan_fields(records.values, self._field_index, cells)
            fields.find_ids(cells, self._field_of[self.schema.id], text, ids, plain)
            if self._decimal_reader is not None:
                self._decimal_reader.read(cells, text, plain)
        reasons: dict[int, str] = {}
        nested: Nested = {}
        tail = ExtraText(len(text))
        for i in [] if plain.all() else np.flatnonzero(~plain).tolist():
            try:
                self._by_python(records, i, cells, tail, ids, nested)
            except Reject as reject:
                reasons[i] = str(reject)
                cells.kind[i] = NOTHING
        for path in self._beside:
            self._put_beside(path, records, cells, tail, ids, reasons, nested)
        if tail.texts:
            text = read_only(np.concatenate([text, np.frombuffer(b"".join(tail.texts) + bytes(SPARE), np.uint8)]))
        labels = self._delayed_labels(cells) if late else None
        X, y, t, set_aside = self._converter.convert(records, cells, text, reasons, nested, labels)
        late_ones = np.zeros(n, np.bool_) if labels is None else labels
        return Decoded(X, y, (text, ids), t, reasons, late_ones, set_aside)

    def _delayed_labels(self, cells: CellTable) -> NDArray[np.bool_]:
        """Which events have an id and a label, and none of the features."""
        found: NDArray[np.bool_] = (cells.kind[:, self._feature_fields] == NOTHING).all(axis=1)
        found &= (cells.kind[:, self._id_and_label] > NULL).all(axis=1)
        return found

    def _by_python(
        self, records: Records, i: int, cells: CellTable, tail: ExtraText, ids: Integers, nested: Nested
    ) -> None:
        """Parse event i with orjson, or another parser, and write its values into row i."""
        value = records.values[i]
        if value is None:
            raise Reject(NULL_VALUE)
        event, name = parse_event(value, self._id_of, self._loads, self._exactly)
        found = self._values_of(event)
        if self._exactly is not None and any(_is_rounded(found.get(j)) for j in self._by_digits):
            found = self._values_of(self._exactly(value))
        for j, one in found.items():
            self._put(cells, i, j, one, tail, nested)
        if self.schema.id.source in (ROW, ENVELOPE):
            self._put_id(name, i, tail, ids)

    def _id_of(self, event: Any) -> Any:
        found = self._value_of(event, self.schema.id)
        return None if found is ABSENT else found

    def _values_of(self, event: Any) -> dict[int, Any]:
        """Return field -> value of all paths into an event."""
        found = {j: self._value_of(event, path) for path, j in self._field_of.items() if path.source in (ROW, ENVELOPE)}
        for j, steps in self._decimals.items():
            found[j] = decimal_in(found[j], None if steps is None else schema_at(event.get(CONNECT_SCHEMA), steps))
        return found

    def _value_of(self, event: Any, path: Path) -> Any:
        """Return the value at a path into an event; ABSENT for another path."""
        if not isinstance(event, dict):
            raise Reject(why_no_object(NOT_OBJECT, event))
        row = row_of(event, self.schema.envelope)
        if path.source == ROW:
            return look_up(row, path.steps)
        return beside_row(event, path.steps) if path.source == ENVELOPE else ABSENT

    def _put(self, cells: CellTable, i: int, j: int, value: Any, tail: ExtraText, nested: Nested) -> None:
        put(cells, i, j, value, tail)
        if j in self._hashed and isinstance(value, list | dict):
            nested[i, j] = value

    def _put_id(self, value: Any, i: int, tail: ExtraText, ids: Integers) -> None:
        ids[:, i] = tail.add(self._dumps(None if value is ABSENT else value))

    def _put_beside(
        self,
        path: Path,
        records: Records,
        cells: CellTable,
        tail: ExtraText,
        ids: Integers,
        reasons: dict[int, str],
        nested: Nested,
    ) -> None:
        """Write values from the records' keys, headers or timestamps."""
        j = self._field_of[path]
        if path.source == TIMESTAMP:
            stamps = np.asarray(records.timestamps, np.float64)
            cells.kind[:, j] = np.where(stamps < 0, NOTHING, NUMBER)  # -1: the producer gave none
            cells.number[:, j], cells.start[:, j] = stamps, NO_TEXT
            if path != self.schema.id:
                return
        for i in range(len(records)):
            value = self._beside_value(path, records, i)
            if path.source != TIMESTAMP:
                self._put(cells, i, j, value, tail, nested)
            if path == self.schema.id and i not in reasons:
                self._put_id(value, i, tail, ids)

    def _beside_value(self, path: Path, records: Records, i: int) -> Any:
        if path.source == TIMESTAMP:
            stamp = int(records.timestamps[i])
            return ABSENT if stamp < 0 else stamp
        if path.source == HEADER:
            raw = records.header(i, path.steps[0])
            return ABSENT if raw is None else text_of(raw)
        raw = records.keys[i]
        if raw is None:
            return ABSENT
        if not path.steps:
            return text_of(raw)
        try:
            _, found = parse_event(raw, lambda key: self._in_key(key, path.steps), self._loads, self._exactly)
        except Reject:
            return ABSENT
        return found

    def _in_key(self, key: Any, steps: tuple[str, ...]) -> Any:
        """Return a value of a parsed key, which Kafka Connect wraps as it does the value."""
        return beside_row(key, steps) if self.schema.envelope and isinstance(key, dict) else look_up(key, steps)


def _is_rounded(value: Any) -> bool:
    """Whether other numbers, or other ones in a list, may have been parsed to the same float64."""
    if isinstance(value, list):
        return any(_is_rounded(one) for one in value if not isinstance(one, list))
    return isinstance(value, float) and abs(value) >= LARGEST_EXACT and not isinstance(value, Number)


def row_of(event: dict[str, Any], envelope: str) -> dict[str, Any]:
    """Return the object in an event that is its row.

    Raises
    ------
    Reject
        The event has no row.
    """
    if not envelope:
        return event
    payload = event.get(PAYLOAD)
    if envelope == CONNECT:
        if isinstance(payload, dict):
            return payload
        raise Reject(NO_ROW.format(PAYLOAD))
    for outer in (payload, event):
        if isinstance(outer, dict) and isinstance(outer.get(AFTER), dict):
            found: dict[str, Any] = outer[AFTER]
            return found
    outer = payload if isinstance(payload, dict) else event
    raise Reject(DELETED if outer.get("op") == "d" else NO_ROW.format(AFTER))


def beside_row(event: dict[str, Any], steps: tuple[str, ...]) -> Any:
    """Return a value of the envelope: from `payload` if it is there, else from the event."""
    payload = event.get(PAYLOAD)
    found = look_up(payload, steps) if isinstance(payload, dict) else ABSENT
    return look_up(event, steps) if found is ABSENT else found


def _decimal_fields(
    schema: EventSchema, target: Target, field_of: dict[Path, int]
) -> dict[int, tuple[str, ...] | None]:
    """Return the fields where decimals of Kafka Connect are numbers.

    Field -> the steps to it in an event's Connect schema if texts are numbers there; None: only objects are.
    """
    if not schema.knows_spellings or not schema.envelope:
        return {}
    roots = {ROW: (AFTER,) if schema.envelope == DEBEZIUM else (), ENVELOPE: ()}
    read = [(feature.path, feature.kind == NUMBERS) for feature in schema.features if feature.kind != TIME]
    read = [*read, (schema.label, target.task == REGRESSION)]
    found: dict[int, tuple[str, ...] | None] = {field_of[path]: None for path, _ in read if path.source in roots}
    numbers = [path for path, number in read if number and path.source in roots]
    return found | {field_of[path]: roots[path.source] + path.steps for path in numbers}


def build_index(schema: EventSchema, connect_schema: bool = False) -> FieldIndex | None:
    """Index the names on the paths to all fields; None if a path is too long for a kernel, or leads to two fields.

    With `connect_schema`, one more field is that of the event's Connect schema.
    """
    from driftway.worker.wire.schema.field_index import DEEPEST, NO_NAME, build_field_index

    ways_in: dict[str, list[tuple[str, ...]]] = {CONNECT: [(PAYLOAD,)], DEBEZIUM: [(PAYLOAD, AFTER), (AFTER,)]}
    roots = ways_in.get(schema.envelope, [()])
    around: list[tuple[str, ...]] = [(), (PAYLOAD,)]
    ways: list[tuple[tuple[str, ...], int]] = [((CONNECT_SCHEMA,), len(schema.sources))] if connect_schema else []
    for field, path in enumerate(schema.sources):
        if path.source in (ROW, ENVELOPE):
            ways += [(root + path.steps, field) for root in (roots if path.source == ROW else around)]
    id_field = schema.sources.index(schema.id)
    others = (schema.label, schema.time, *(feature.path for feature in schema.features))
    longest = max((len(steps) for steps, _ in ways), default=0)
    unique = len({steps for steps, _ in ways}) == len(ways)
    if longest > DEEPEST or not unique:
        return None
    return build_field_index(ways, roots, NO_NAME if schema.id in others else id_field)

"""Batches of events as a schema reads them: extracted to cells, by kernel or by orjson, then converted to columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.wire.events import (
    NOT_OBJECT,
    NULL_VALUE,
    REGRESSION,
    Records,
    Reject,
    Target,
    shown,
)
from worker.wire.mapped.cells import FALSE, NOTHING, NULL, NUMBER, TEXT, TRUE, Cells, Tail, put
from worker.wire.mapped.feature import AGE, HASH, NUMBERS, ONE_OF, PARTS, REJECT, Feature
from worker.wire.mapped.paths import ABSENT, ENVELOPE, HEADER, ROW, TIMESTAMP, Path, look_up
from worker.wire.mapped.schema import AFTER, CONNECT, DEBEZIUM, PAYLOAD, EventSchema
from worker.wire.strings import SPARE, read_only

if TYPE_CHECKING:
    from worker.wire.mapped.convert import Categories, Codes, Floats
    from worker.wire.mapped.tree import Tree
    from worker.wire.strings import Integers, Text
    from worker.wire.writer import Column

NO_ROW = "no object {} to read"
DELETED = "debezium: the row was deleted"
MICROS = 1000
"""In a millisecond."""


class Read(NamedTuple):
    """Columns of n events; those of an event with a reason are undefined."""

    X: Floats
    """f8[n, columns], without indicators; NaN: missing."""
    y: Floats
    ids: Column
    t: Integers
    reasons: dict[int, str]
    labels: NDArray[np.bool_]
    """Which events are labels of earlier ones."""


class Reader:
    """Reads events by a schema.

    Parameters
    ----------
    schema : EventSchema
        What to read.
    target : Target
        What labels mean.
    loads : callable
        Value bytes to Python's objects. Raises `Reject`.
    dumps : callable
        Python's objects to JSON. Raises `Reject`.
    scanned : bool
        Whether values are JSON, which a kernel reads where it can.
    """

    def __init__(
        self,
        schema: EventSchema,
        target: Target,
        loads: Callable[[bytes], Any],
        dumps: Callable[[Any], bytes],
        scanned: bool = True,
    ) -> None:
        self.schema, self.target, self._loads, self._dumps = schema, target, loads, dumps
        self._places = {path: j for j, path in enumerate(schema.sources)}
        self._beside = [path for path in schema.sources if path.source not in (ROW, ENVELOPE)]
        self._tree = _tree(schema) if scanned else None
        self._known: dict[Feature | None, Categories] = {}
        self._width = sum(len(feature.columns) for feature in schema.features)

    def read(self, records: Records, late: bool = False) -> Read:
        """Every event becomes a row or gets a reason that names the field. How records are cut changes nothing.

        If labels may come late, an event with an id and a label, and none of the features, is one.
        """
        from worker.wire.mapped import fields

        n, m = len(records), len(self._places)
        if self._tree is None:
            text, cells, plain = np.zeros(SPARE, np.uint8), Cells.empty(n, m), np.zeros(n, np.bool_)
        else:
            text, cells, plain = fields.scan_fields(records.values, self._tree, m)
        reasons: dict[int, str] = {}
        tail = Tail(len(text))
        ids = self._ids(cells, text)
        for i in np.flatnonzero(~plain).tolist():
            try:
                self._by_python(records, i, cells, tail, ids)
            except Reject as reject:
                reasons[i] = str(reject)
                cells.kind[i] = NOTHING
        for path in self._beside:
            self._put_beside(path, records, cells, tail, ids, reasons)
        if tail.texts:
            text = read_only(np.concatenate([text, np.frombuffer(b"".join(tail.texts) + bytes(SPARE), np.uint8)]))
        labels = self._late_labels(cells) if late else np.zeros(n, np.bool_)
        return self._convert(records, cells, text, ids, reasons, labels)

    # Extraction.

    def _late_labels(self, cells: Cells) -> NDArray[np.bool_]:
        own = [self._places[feature.path] for feature in self.schema.features if feature.path.source == ROW]
        found: NDArray[np.bool_] = (cells.kind[:, own] == NOTHING).all(axis=1)
        for path in (self.schema.id, self.schema.label):
            found &= cells.kind[:, self._places[path]] > NULL
        return found

    def _ids(self, cells: Cells, text: Text) -> Integers:
        """Bounds of the JSON text of each event's id, i8[2, n]."""
        place = self._places[self.schema.id]
        kind, start, end = cells.kind[:, place], cells.start[:, place], cells.end[:, place]
        null = self._null(text)
        ids = np.empty((2, len(kind)), np.int64)
        quoted, number = kind == TEXT, kind == NUMBER
        ids[0] = np.where(quoted, start - 1, np.where(number, start, null))
        ids[1] = np.where(quoted, end + 1, np.where(number, end, null + 4))
        return ids

    @staticmethod
    def _null(text: Text) -> int:
        """Where a null stands in a scanned text: its TAIL begins with it."""
        return len(text) - SPARE

    def _by_python(self, records: Records, i: int, cells: Cells, tail: Tail, ids: Integers) -> None:
        """Write what orjson, or another parser, finds in an event into row i."""
        value = records.values[i]
        if value is None:
            raise Reject(NULL_VALUE)
        event = self._loads(value)
        if not isinstance(event, dict):
            raise Reject(NOT_OBJECT)
        row = row_of(event, self.schema.envelope)
        for path, j in self._places.items():
            if path.source in (ROW, ENVELOPE):
                found = look_up(row, path.steps) if path.source == ROW else beside_row(event, path.steps)
                put(cells, i, j, found, tail)
                if path == self.schema.id:
                    self._put_id(found, i, tail, ids)

    def _put_id(self, value: Any, i: int, tail: Tail, ids: Integers) -> None:
        ids[:, i] = tail.add(self._dumps(None if value is ABSENT else value))

    def _put_beside(
        self, path: Path, records: Records, cells: Cells, tail: Tail, ids: Integers, reasons: dict[int, str]
    ) -> None:
        """Write what stands beside the values, in keys, headers or timestamps."""
        j = self._places[path]
        if path.source == TIMESTAMP:
            cells.kind[:, j] = NUMBER
            cells.number[:, j] = np.asarray(records.timestamps, np.float64)
        for i in range(len(records)):
            value = self._beside_value(path, records, i)
            if path.source != TIMESTAMP:
                put(cells, i, j, value, tail)
            if path == self.schema.id and i not in reasons:
                self._put_id(value, i, tail, ids)

    def _beside_value(self, path: Path, records: Records, i: int) -> Any:
        if path.source == TIMESTAMP:
            return int(records.timestamps[i])
        if path.source == HEADER:
            raw = records.header(i, path.steps[0])
            return ABSENT if raw is None else raw.decode(errors="replace")
        raw = records.keys[i]
        if raw is None:
            return ABSENT
        if not path.steps:
            return raw.decode(errors="replace")
        try:
            return look_up(self._loads(raw), path.steps)
        except Reject:
            return ABSENT

    # Conversion.

    def _convert(
        self,
        records: Records,
        cells: Cells,
        text: Text,
        ids: Integers,
        reasons: dict[int, str],
        labels: NDArray[np.bool_],
    ) -> Read:
        from worker.wire.mapped.convert import GOOD

        n = len(records)
        X, codes, column = np.empty((n, self._width)), np.empty(n, np.int8), 0
        t = self._times(self.schema.time, cells, text)
        now = self._now(records, t)
        for feature in self.schema.features:
            width = len(feature.columns)
            self._feature(feature, cells, text, now, X[:, column : column + width], codes)
            column += width
            codes[labels] = GOOD
            self._note(feature, codes, reasons)
        y = self._labels(cells, text, reasons)
        from worker.wire.mapped.times import NOT_A_TIME
        from worker.wire.scanner import NO_TIME

        stamps = np.where(t == NOT_A_TIME, NO_TIME, t // MICROS)
        return Read(X, y, (text, ids), stamps, reasons, labels)

    def _times(self, path: Path, cells: Cells, text: Text) -> Integers:
        """Us since 1970 of a place."""
        from worker.wire.mapped.times import read_times

        times = np.empty(len(cells.kind), np.int64)
        read_times(cells, self._places[path], text, times)
        return times

    @staticmethod
    def _now(records: Records, t: Integers) -> Integers:
        """When an event happened, in us: as it says, else as its record does."""
        from worker.wire.mapped.times import NOT_A_TIME

        return np.where(t == NOT_A_TIME, np.asarray(records.timestamps, np.int64) * MICROS, t)

    def _feature(self, feature: Feature, cells: Cells, text: Text, now: Integers, out: Floats, codes: Codes) -> None:
        """Write the columns of one feature and what became of each value. Shapes: out f8[n, columns], codes i1[n]."""
        from worker.wire.mapped import convert

        place = self._places[feature.path]
        if feature.kind == NUMBERS:
            self._numbers(place, cells, text, out, codes)
            return
        index = np.empty(len(codes), np.int64)
        if feature.kind == ONE_OF:
            convert.read_categories(cells, place, text, self._categories(feature), index, codes)
            convert.one_hot(index, codes, out)
        elif feature.kind == HASH:
            convert.read_hashes(cells, place, text, feature.width, index, codes)
            convert.one_hot(index, codes, out)
        else:
            self._parts(feature, cells, text, now, out, codes)

    @staticmethod
    def _numbers(place: int, cells: Cells, text: Text, out: Floats, codes: Codes) -> None:
        from worker.wire.mapped import convert

        convert.read_numbers(cells, place, text, out, codes)
        for i in np.flatnonzero(codes == convert.HARD).tolist():
            start, end = int(cells.start[i, place]), int(cells.end[i, place])
            out[i, 0], codes[i] = convert.number_in_text(text[start:end].tobytes())

    def _parts(self, feature: Feature, cells: Cells, text: Text, now: Integers, out: Floats, codes: Codes) -> None:
        """Parts of a time."""
        from worker.wire.mapped import convert, times

        place, column = self._places[feature.path], 0
        found = self._times(feature.path, cells, text)
        kind = cells.kind[:, place]
        absent = (kind == NOTHING) | (kind == NULL) | ((kind == TEXT) & (cells.start[:, place] == cells.end[:, place]))
        wrong = (found == times.NOT_A_TIME) & ~absent
        codes[:] = np.where(absent, convert.MISSING, np.where(wrong, convert.WRONG, convert.GOOD))
        for part in feature.parts:
            width = len(PARTS[part])
            columns = out[:, column : column + width]
            if part == AGE:
                times.write_age(found, now, columns)
            else:
                times.WRITERS[part](found, columns)
            column += width

    def _note(self, feature: Feature, codes: Codes, reasons: dict[int, str]) -> None:
        """Give a reason to events whose value cannot be used."""
        from worker.wire.mapped import convert

        bad = codes != convert.GOOD
        if self.schema.policy(feature).word != REJECT:
            bad &= codes != convert.MISSING
        for i in np.flatnonzero(bad).tolist():
            reasons.setdefault(i, f"{shown(str(feature.path))} {_reason(feature, int(codes[i]))}")

    def _labels(self, cells: Cells, text: Text, reasons: dict[int, str]) -> Floats:
        """Class indices or targets, NaN where not known."""
        from worker.wire.mapped import convert

        place, n = self._places[self.schema.label], len(cells.kind)
        codes, y = np.empty(n, np.int8), np.empty(n)
        if self.target.task == REGRESSION:
            self._numbers(place, cells, text, y.reshape(-1, 1), codes)
        else:
            index = np.empty(n, np.int64)
            convert.read_categories(cells, place, text, self._classes(), index, codes)
            y[:] = np.where((codes == convert.GOOD) & (index >= 0), index, math.nan)
            codes[(codes == convert.GOOD) & (index < 0)] = convert.WRONG
        for i in np.flatnonzero((codes != convert.GOOD) & (codes != convert.MISSING)).tolist():
            reasons.setdefault(i, self._label_reason(cells, text, i, place))
        return y

    def _label_reason(self, cells: Cells, text: Text, i: int, place: int) -> str:
        start, end, kind = int(cells.start[i, place]), int(cells.end[i, place]), cells.kind[i, place]
        given = {TRUE: "true", FALSE: "false"}.get(int(kind), "given")
        if kind in (TEXT, NUMBER):
            given = text[start:end].tobytes().decode(errors="replace")
            given = f'"{given}"' if kind == TEXT else given
        if self.target.task == REGRESSION:
            return f"label {given[:40]} is not a number"
        return f"label {given[:40]} is not one of {', '.join(word.decode() for word in self.target.words()[:-1])}"

    def _categories(self, feature: Feature) -> Categories:
        from worker.wire.mapped.convert import Categories

        if feature not in self._known:
            self._known[feature] = Categories.of(feature.categories)
        return self._known[feature]

    def _classes(self) -> Categories:
        """The labels; false and true are classes 0 and 1 unless they are called otherwise."""
        from worker.wire.mapped.convert import Categories

        if None not in self._known:
            target = self.target
            known = Categories.of(target.labels or tuple(map(str, range(target.n_classes))))
            if not target.labels and target.n_classes == 2:
                known.truth[:] = 0, 1
            self._known[None] = known
        return self._known[None]


def row_of(event: dict[str, Any], envelope: str) -> dict[str, Any]:
    """The object in an event that its row is.

    Raises
    ------
    Reject
        There is none.
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
    """What stands in the envelope: in `payload` if it is there, else in the event."""
    payload = event.get(PAYLOAD)
    found = look_up(payload, steps) if isinstance(payload, dict) else ABSENT
    return look_up(event, steps) if found is ABSENT else found


def _tree(schema: EventSchema) -> Tree | None:
    """The names on the way to all places, or None if some way is longer than a kernel goes."""
    from worker.wire.mapped.tree import DEEPEST, tree_of

    ways_in: dict[str, list[tuple[str, ...]]] = {CONNECT: [(PAYLOAD,)], DEBEZIUM: [(PAYLOAD, AFTER), (AFTER,)]}
    roots = ways_in.get(schema.envelope, [()])
    around: list[tuple[str, ...]] = [(), (PAYLOAD,)]
    ways = []
    for place, path in enumerate(schema.sources):
        if path.source in (ROW, ENVELOPE):
            ways += [(root + path.steps, place) for root in (roots if path.source == ROW else around)]
    return tree_of(ways, roots) if max((len(steps) for steps, _ in ways), default=0) <= DEEPEST else None


def _reason(feature: Feature, code: int) -> str:
    from worker.wire.mapped import convert

    if code == convert.MISSING:
        return "is missing"
    if code == convert.INFINITE:
        return "is not finite"
    return {NUMBERS: "is not a number", ONE_OF: "is no category", HASH: "is no category"}.get(
        feature.kind, "is not a time"
    )

"""Convert cells to rows: columns of a schema's features, labels and times, and reasons for unusable values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.codec import parse_json
from driftway.worker.wire.columns import Floats, Integers, Text
from driftway.worker.wire.events import REGRESSION, Records, Target, shown
from driftway.worker.wire.schema.cell_table import FALSE, LARGEST_EXACT, NUMBER, TEXT, TRUE, CellTable
from driftway.worker.wire.schema.conversion import convert, times
from driftway.worker.wire.schema.conversion.convert import (
    GOOD,
    INFINITE,
    MISSING,
    NEEDS_PARSER,
    WITHOUT_UNIT,
    WRONG,
    Categories,
    Codes,
    FeatureSlot,
    FeatureSlots,
)
from driftway.worker.wire.schema.conversion.missing_words import MissingWords, clear_missing_words
from driftway.worker.wire.schema.conversion.word_counts import SLOTS, count_words, word_counts
from driftway.worker.wire.schema.debezium import UNAVAILABLE
from driftway.worker.wire.schema.feature import AGE, HASH, INDEX, NUMBERS, ONE_OF, PARTS, REJECT, TIME, Feature
from driftway.worker.wire.schema.fields import pass_over
from driftway.worker.wire.schema.paths import Path
from driftway.worker.wire.schema.schema import EventSchema

Nested: TypeAlias = dict[tuple[int, int], Any]
"""Event and field -> the list or object that was parsed there."""
MICROS = 1000
"""Per millisecond."""
NOT_OF_KIND = {
    NUMBERS: "is not a number",
    ONE_OF: "is no category",
    HASH: "is no category",
    INDEX: "is no id",
    TIME: "is not a time",
}
WHY = {
    MISSING: "is missing",
    INFINITE: "is not finite",
    WITHOUT_UNIT: "is a number without a unit: write unit=s, ms, us, ns or days into the schema",
}
SHOWN_LABEL = 40
"""Most characters of a label in a reason."""


class ConvertedColumns(NamedTuple):
    """Columns of n events."""

    X: Floats
    """f8[n, columns], NaN: missing."""
    y: Floats
    """f8[n], NaN: unknown."""
    t: Integers
    """i8[n], in ms, or NO_TIME."""
    set_aside: dict[int, str]
    """Index -> why the label of that event, which can be used, cannot."""


class ColumnConverter:
    """Converts extracted cells to columns.

    Parameters
    ----------
    schema : EventSchema
        Its features, label and time.
    target : Target
        What labels mean.
    field_of : mapping of Path to int
        Number of each path's field, which is its column in the cells.
    """

    def __init__(self, schema: EventSchema, target: Target, field_of: Mapping[Path, int]) -> None:
        self._target, self._features = target, schema.features
        self._schema, self._label, self._time = schema, field_of[schema.label], field_of[schema.time]
        self._classes = _classes(target, schema.knows_spellings)
        spots, column = list[FeatureSlot](), 0
        for j, feature in enumerate(schema.features):
            spots.append(FeatureSlot(field_of[feature.path], j, column, len(feature.columns)))
            column += spots[-1].width
        self._width = column
        self._missing_words = _missing_words(schema, target, field_of)
        pairs = list(zip(schema.features, spots, strict=True))
        self._numbers = FeatureSlots.of([spot for feature, spot in pairs if feature.kind == NUMBERS])
        self._others = [
            (feature, spot, Categories.of(feature.categories, any_spelling=schema.knows_spellings))
            for feature, spot in pairs
            if feature.kind != NUMBERS
        ]
        self._needed = np.array([schema.policy(feature).word == REJECT for feature in schema.features])
        self._aging = any(AGE in feature.parts for feature in schema.features)

    def convert(
        self,
        records: Records,
        cells: CellTable,
        text: Text,
        reasons: dict[int, str],
        nested: Nested,
        labels: NDArray[np.bool_] | None = None,
    ) -> ConvertedColumns:
        """Convert all events; unusable ones get a reason unless they have one.

        `nested` has the lists and objects in cells of features that hash them. Features of `labels` are ignored.
        """
        n = len(records)
        X, codes = np.empty((n, self._width)), np.empty((n, len(self._features)), np.int8)
        t = np.empty(n, np.int64)
        clear_missing_words(cells, text, self._missing_words)
        times.read_times(cells, self._time, text, self._micros_in(self._schema.time, self._schema.unit), t)
        for i in np.flatnonzero(t == times.NO_UNIT).tolist():
            reasons.setdefault(i, f"{shown(str(self._schema.time))} {WHY[WITHOUT_UNIT]}")
            t[i] = times.NOT_A_TIME
        self._read_numbers(self._numbers, cells, text, X, codes)
        now = self._now(records, t) if self._aging else t
        for feature, spot, known in self._others:
            if feature.kind == TIME:
                self._parts(feature, spot, (cells, text, now), X, codes)
                continue
            index = np.empty(n, np.int64)
            if feature.kind == ONE_OF:
                convert.read_categories(cells, spot, text, known, index, codes)
            else:
                convert.read_hashes(cells, spot, text, feature.width, index, codes)
            if feature.kind == INDEX:
                convert.write_index(cells, spot, feature.width, index, codes, X)
                continue
            if feature.names:  # of scalars, which have no fields
                codes[codes[:, spot.feature] == GOOD, spot.feature] = WRONG
            convert.one_hot(index, spot, codes, X)
            if feature.kind == HASH and self._schema.knows_spellings:
                self._count_words(feature, spot, (cells, text, nested), X, codes)
        if labels is not None:
            codes[labels] = GOOD
        if codes.any():
            self._note(codes, reasons)
        y, unusable = self._labels(cells, text)
        times.to_millis(t)
        return ConvertedColumns(X, y, t, {i: reason for i, reason in unusable.items() if i not in reasons})

    @staticmethod
    def _now(records: Records, t: Integers) -> Integers:
        """Return each event's time in us: its own, else its record's timestamp; NOT_A_TIME if that has none either."""
        stamps = np.asarray(records.timestamps, np.int64)
        return np.where((t == times.NOT_A_TIME) & (stamps >= 0), stamps * MICROS, t)

    @staticmethod
    def _read_numbers(spots: FeatureSlots, cells: CellTable, text: Text, X: Floats, codes: Codes) -> None:
        """Read numbers; texts that are not JSON numbers are parsed in Python."""
        if not len(spots.field) or convert.read_numbers(cells, spots, text, X, codes):
            return
        for feature, field, column in zip(*map(np.ndarray.tolist, spots), strict=True):
            for i in np.flatnonzero(codes[:, feature] == NEEDS_PARSER).tolist():
                start, end = int(cells.start[i, field]), int(cells.end[i, field])
                X[i, column], codes[i, feature] = convert.number_in_text(text[start:end].tobytes())

    def _parts(
        self, feature: Feature, spot: FeatureSlot, given: tuple[CellTable, Text, Integers], X: Floats, codes: Codes
    ) -> None:
        """Write the parts of a time."""
        cells, text, now = given
        found, column = np.empty(len(X), np.int64), spot.column
        times.read_times(cells, spot.field, text, self._micros_in(feature.path, feature.unit), found)
        convert.judge_times(cells, spot, found, codes)
        for part in feature.parts:
            if part == AGE:
                times.write_age(found, now, X, column)
                codes[(now == times.NOT_A_TIME) & (codes[:, spot.feature] == GOOD), spot.feature] = MISSING
            else:
                times.WRITERS[part](found, X, column)
            column += len(PARTS[part])

    @staticmethod
    def _count_words(
        feature: Feature, spot: FeatureSlot, given: tuple[CellTable, Text, Nested], X: Floats, codes: Codes
    ) -> None:
        """Write the sums of lists and objects; those that a kernel leaves are added up in Python."""
        cells, text, nested = given
        count_words(cells, spot, text, feature.names, np.zeros(SLOTS, np.int64), np.empty(SLOTS, np.uint64), X, codes)
        columns = slice(spot.column, spot.column + spot.width)
        for i in np.flatnonzero(codes[:, spot.feature] == NEEDS_PARSER).tolist():
            value = nested.get((i, spot.field))
            if value is None:
                start = np.uint64(cells.start[i, spot.field])
                value = parse_json(text[start : pass_over(text, start)].tobytes())
            X[i, columns], codes[i, spot.feature] = word_counts(value, feature.width, feature.names)

    def _micros_in(self, path: Path, unit: str) -> float:
        """Return how many us a number at a path counts, or what `times` takes in place of that."""
        return times.MICROS_IN[self._schema.unit_at(path, unit)]

    def _note(self, codes: Codes, reasons: dict[int, str]) -> None:
        """Give a reason to events with unusable values, for the first one in the schema's order."""
        bad = (codes != GOOD) & ((codes != MISSING) | self._needed)
        for i, j in np.argwhere(bad).tolist():
            feature, code = self._features[j], int(codes[i, j])
            why = WHY.get(code, NOT_OF_KIND[feature.kind])
            reasons.setdefault(i, f"{shown(str(feature.path))} {why}")

    def _labels(self, cells: CellTable, text: Text) -> tuple[Floats, dict[int, str]]:
        """Return class indices or target values, NaN where unknown, and why labels cannot be used."""
        n = len(cells.kind)
        codes, y, spot = np.empty((n, 1), np.int8), np.empty((n, 1)), FeatureSlot(self._label, 0, 0, 1)
        if self._target.task == REGRESSION:
            self._read_numbers(FeatureSlots.of([spot]), cells, text, y, codes)
        else:
            index = np.empty(n, np.int64)
            convert.read_categories(cells, spot, text, self._classes, index, codes)
            convert.as_classes(index, codes, y)
        unusable = np.flatnonzero(codes > MISSING).tolist()
        return y[:, 0], {i: self._label_reason(cells, text, i, int(codes[i, 0])) for i in unusable}

    def _label_reason(self, cells: CellTable, text: Text, i: int, code: int) -> str:
        kind, field = int(cells.kind[i, self._label]), self._label
        given = {TRUE: "true", FALSE: "false"}.get(kind, "given")
        if kind == TEXT:
            given = f'"{text[cells.start[i, field] : cells.end[i, field]].tobytes().decode(errors="replace")}"'
        elif kind == NUMBER:
            given = _written(float(cells.number[i, field]))
        if self._target.task == REGRESSION:
            return f"label {given[:SHOWN_LABEL]} is not {'finite' if code == INFINITE else 'a number'}"
        return self._target.no_class(given)


def _written(number: float) -> str:
    """Format a number for a reason, the same whether an event wrote 1000, 1e3 or 1000.0."""
    return str(int(number)) if number.is_integer() and abs(number) < LARGEST_EXACT else repr(number)


def _classes(target: Target, any_spelling: bool) -> Categories:
    """Return the labels as categories; without names, false and true are classes 0 and 1 of two."""
    names = target.labels or tuple(map(str, range(target.n_classes)))
    known = Categories.of(names, with_others=False, any_spelling=any_spelling)
    if not target.labels and target.n_classes == 2:
        known.truth[:] = 0, 1
    return known


def _missing_words(schema: EventSchema, target: Target, field_of: Mapping[Path, int]) -> MissingWords:
    """Return the texts that mean missing: no class of a label, and no category of a field."""
    found: dict[int, set[str]] = {}
    if schema.knows_spellings:
        found = {field_of[path]: set(UNAVAILABLE) for path in (schema.label, *(one.path for one in schema.features))}
    for feature in schema.features:
        found.setdefault(field_of[feature.path], set()).update(feature.missing_words)
    for feature in schema.features:
        found[field_of[feature.path]].difference_update(feature.categories)
    found.get(field_of[schema.label], set()).difference_update(target.labels)
    return MissingWords.of({field: sorted(words) for field, words in found.items()})

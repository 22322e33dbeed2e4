"""Scan events and count the values at each path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from driftway.worker.admin.schema.values import is_code, number_in, time_in, word_of
from driftway.worker.wire.codec import LONGEST_EXACT, parse_exactly, parse_json
from driftway.worker.wire.events import MAX_FEATURES, PLAIN_FIELDS, Reject
from driftway.worker.wire.headers import Headers
from driftway.worker.wire.json_tokens.text_values import MISSING, MISSING_AMONG_NUMBERS
from driftway.worker.wire.schema.debezium import UNAVAILABLE, decimal_in, schema_at
from driftway.worker.wire.schema.decoder import beside_row, row_of
from driftway.worker.wire.schema.paths import ABSENT, ENVELOPE, HEADER, LABELS, ROW, Path, look_up, text_of
from driftway.worker.wire.schema.schema import AFTER, CONNECT, CONNECT_SCHEMA, DEBEZIUM, PAYLOAD

DEEP = 16
"""Objects are walked this many levels deep; deeper ones count as lists."""
MAX_PATHS = MAX_FEATURES
"""Maximum number of fields scanned, so that events whose field names are data cannot exhaust memory."""
PLAIN = frozenset(PLAIN_FIELDS.values())
ATTRIBUTE, VERSION = "ce_", "ce_specversion"
"""Beginning of the headers that are attributes of a CloudEvent, and the one that each CloudEvent has."""
MAX_PLACES = 32
"""Lists of always the same length, up to this, are examined place by place."""
KEYS = "key", "k", "name", "field", "attribute", "property", "metric", "tag"
"""Usual names of the keys in lists of objects that each hold a key and its value."""
GAPS = frozenset((*MISSING, *MISSING_AMONG_NUMBERS))
AROUND = Path(("source", "ts_ms"), ENVELOPE), Path(("ts_ms",), ENVELOPE)
"""In Debezium's envelope, when the row was changed, and when the connector saw the change."""


@dataclass
class FieldStats:
    """The values at one path, counted by what they look like.

    Parameters
    ----------
    path : Path
        Path of the field.
    """

    path: Path
    numbers: int = 0
    truths: int = 0
    numbers_in_text: int = 0
    times: int = 0
    """Texts that are ISO 8601 times."""
    clocks: int = 0
    """Those of `times` that have a time of day."""
    texts: int = 0
    """All other texts."""
    codes: int = 0
    """Those of `texts` that are digits with a leading zero."""
    empties: int = 0
    """Texts that are empty or only white space."""
    lists: int = 0
    word_lists: int = 0
    """Those of `lists` that hold texts only, or nothing."""
    number_lists: int = 0
    """Those of `lists` that hold numbers only, and some."""
    words: set[str] = field(default_factory=set)
    """The texts in `word_lists`."""
    lengths: set[int] = field(default_factory=set)
    """How many values lists have; -1 stands for more than MAX_PLACES."""
    reordered: bool = False
    """Whether lists hold the same keys with their values, in an order that varies."""
    first_list: list[Any] | None = None
    same_list: bool = True
    """Whether all lists are equal."""
    objects: int = 0
    fractions: int = 0
    """Numbers, in text or not, that are not whole."""
    values: Counter[str] = field(default_factory=Counter)
    """Distinct values, written as categories, with their counts; without nulls and empties."""
    missing_words: tuple[str, ...] = ()
    """Texts that mean missing, which count as empty."""
    low: float = float("inf")
    high: float = float("-inf")
    steps: int = 0
    """Pairs of consecutive numbers or times."""
    rises: int = 0
    falls: int = 0
    _last: float | None = None

    @property
    def is_tuple(self) -> bool:
        """Whether all values are lists of the same length, whose values are then fields: those of words are not."""
        only = self.lists and not (self.scalars or self.objects or self.empties or self.reordered)
        return bool(only and len(self.lengths) == 1 and min(self.lengths) > 0 and self.word_lists < self.lists)

    @property
    def numeric(self) -> int:
        """Number of values that a feature reads as numbers."""
        return self.numbers + self.truths + self.numbers_in_text

    @property
    def scalars(self) -> int:
        """Number of values that are neither list, object, null nor empty."""
        return self.values.total()

    def with_gaps(self) -> FieldStats:
        """These values with words for missing values counted as empty, if all others are numbers, or all are times."""
        words = tuple(word for word in self.values if word in GAPS)
        count = sum(self.values[word] for word in words)
        if not 0 < count < self.scalars or self.scalars - count not in (self.numeric, self.times):
            return self
        values = Counter({word: n for word, n in self.values.items() if word not in words})
        texts, empties = self.texts - count, self.empties + count
        return replace(self, values=values, texts=texts, empties=empties, missing_words=words)

    def begin_partition(self) -> None:
        """Compare the next value with none: what rises along a partition may fall where another begins."""
        self._last = None

    def add(self, value: Any) -> None:
        """Count a value; ABSENT, null and what Debezium writes for it are ignored."""
        if value is ABSENT or value is None or value in UNAVAILABLE:
            return
        if isinstance(value, bool):
            self.truths += 1
            self.values["true" if value else "false"] += 1
            self._measure(float(value))
        elif isinstance(value, int | float):
            self.numbers += 1
            self.fractions += not float(value).is_integer()
            self.values[word_of(value)] += 1
            self._measure(float(value))
        elif isinstance(value, str):
            self._add_text(value)
        elif isinstance(value, dict):
            self.objects += 1
        else:
            self.lists += 1
            self.lengths.add(len(value) if len(value) <= MAX_PLACES else -1)
            self.first_list = value if self.first_list is None else self.first_list
            self.same_list &= value == self.first_list
            if isinstance(value, list) and all(isinstance(word, str) for word in value):
                self.word_lists += 1
                self.words.update(value)
            elif isinstance(value, list) and all(isinstance(one, int | float) for one in value):
                self.number_lists += 1

    def _add_text(self, text: str) -> None:
        if not text.strip():
            self.empties += 1
            return
        self.values[text] += 1
        if (number := number_in(text)) is not None:
            self.numbers_in_text += 1
            self.fractions += not number.is_integer()
            self._measure(number)
        elif (found := time_in(text)) is not None:
            self.times += 1
            self.clocks += found[1]
            self._measure(found[0])
        else:
            self.texts += 1
            self.codes += is_code(text.strip())

    def _measure(self, size: float) -> None:
        self.low, self.high = min(self.low, size), max(self.high, size)
        if self._last is not None:
            self.steps += 1
            self.rises += size > self._last
            self.falls += size < self._last
        self._last = size


@dataclass
class EventStats:
    """Statistics of a number of events.

    Parameters
    ----------
    envelope : str
        Envelope of each row: CONNECT, DEBEZIUM, or empty if there is none.
    """

    envelope: str = ""
    events: int = 0
    no_json: int = 0
    """Events that are not a JSON object, nulls included."""
    no_row: int = 0
    """Events whose envelope holds no row: deletions, heartbeats."""
    rows: int = 0
    partitions: int = 1
    """Partitions that the rows come from, one after another."""
    plain: int = 0
    """Events that need no schema: numbers under x, of the most frequent length or set of names."""
    paths: dict[Path, FieldStats] = field(default_factory=dict)
    """Fields of the row, in order of first appearance, then headers that are attributes of CloudEvents."""
    asked: dict[Path, FieldStats] = field(default_factory=dict)
    """Fields that the user named, and those of the envelope that may be the row's time."""
    unseen: int = 0
    """Values of fields beyond MAX_PATHS."""

    def at(self, path: Path) -> FieldStats:
        """The statistics at a path; empty if it was not scanned."""
        return self.asked.get(path) or self.paths.get(path) or FieldStats(path)

    def absent(self, seen: FieldStats) -> int:
        """Number of rows in which the field is missing or null."""
        return self.rows - seen.scalars - seen.empties - seen.lists - seen.objects

    def begin_partition(self) -> None:
        """Say that the next row is the first of another partition."""
        self.partitions += self.rows > 0
        for seen in (*self.paths.values(), *self.asked.values()):
            seen.begin_partition()

    def add(self, row: dict[str, Any], event: dict[str, Any]) -> None:
        """Scan a row, and the event around it."""
        schema = event.get(CONNECT_SCHEMA) if self.envelope else None
        schema = schema_at(schema, (AFTER,)) if self.envelope == DEBEZIUM else schema
        self.rows += 1
        self._walk(row, (), schema)
        for path, seen in self.asked.items():
            if path.source == ROW:
                value = look_up(row, path.steps)
                seen.add(decimal_in(value, schema_at(schema, path.steps)) if self.envelope else value)
            elif path.source == ENVELOPE:
                seen.add(beside_row(event, path.steps))

    def leave_out_places(self) -> None:
        """Leave out the fields inside lists that turned out not to have always the same length, or order of keys."""
        for path, seen in self.paths.items():
            seen.reordered = seen.is_tuple and self._is_reordered(path, max(seen.lengths))
        varying = {path for path, seen in self.paths.items() if seen.lists and not seen.is_tuple}
        inside = [path for path in self.paths if any(above in varying for above in _all_above(path))]
        for path in inside:
            del self.paths[path]

    def _is_reordered(self, path: Path, n: int) -> bool:
        """Whether a list of n objects has the same n keys in all events, but not always in the same places."""
        for name in KEYS:
            at = [self.paths.get(Path((*path.steps, str(i), name), path.source)) for i in range(n)]
            words = [set(seen.values) for seen in at if seen is not None and seen.texts == seen.scalars]
            if len(words) == n == len(set().union(*words)) and max(map(len, words)) > 1:
                return True
        return False

    def add_attributes(self, headers: Mapping[str, bytes | None]) -> None:
        """Scan those headers of a record that are attributes of CloudEvents."""
        for name, value in headers.items():
            if name.startswith(ATTRIBUTE) and value and len(self.paths) < MAX_PATHS:
                path = Path((name,), HEADER)
                self.paths.setdefault(path, FieldStats(path)).add(text_of(value))

    def _walk(self, row: dict[str, Any], above: tuple[str, ...], schema: Any) -> None:
        for name, given in row.items():
            inner = schema_at(schema, (name,))
            value = decimal_in(given, inner) if self.envelope else given
            path = Path((*above, name))
            seen = self.paths.get(path)
            if seen is None:
                if len(self.paths) >= MAX_PATHS and name.lower() not in LABELS:
                    self.unseen += 1
                    continue
                seen = self.paths[path] = FieldStats(path)
            if isinstance(value, dict) and len(path.steps) < DEEP:
                seen.add(value)
                self._walk(value, path.steps, inner)
            else:
                seen.add([] if isinstance(value, dict) else value)
                if isinstance(value, list) and seen.is_tuple and len(path.steps) < DEEP:
                    self._walk({str(i): one for i, one in enumerate(value)}, path.steps, None)


def _all_above(path: Path) -> list[Path]:
    """The paths of the objects and lists around a field."""
    return [Path(path.steps[:n], path.source) for n in range(1, len(path.steps))]


def scan_events(
    values: Sequence[bytes | None],
    envelope: str | None = None,
    asked: Iterable[Path] = (),
    headers: Headers | None = None,
    partitions: Sequence[int] | None = None,
) -> EventStats:
    """Scan events.

    Parameters
    ----------
    values : sequence of bytes or None
        The records' values.
    envelope : str or None
        Envelope of the rows; None: detect it.
    asked : iterable of Path
        Further paths to scan, which may lead into lists or beside the row.
    headers : sequence or None
        Headers of each record. Attributes of CloudEvents are scanned, if at least half of the records are such.
    partitions : sequence of int or None
        Partition of each record; None: all are of one.
    """
    events = [object_in(value) for value in values]
    objects = [event for event in events if event is not None]
    found = EventStats(_envelope(objects) if envelope is None else envelope, len(events), len(events) - len(objects))
    beside = AROUND if found.envelope == DEBEZIUM else ()
    found.asked = {path: FieldStats(path) for path in (*asked, *beside) if path.source != HEADER}
    shapes = Counter(shape for shape in map(_shape, objects) if shape is not None)
    found.plain = max(shapes.values(), default=0)
    attributes = [{}] * len(events) if headers is None else [dict(own) for own in headers]
    are_cloud_events = 2 * sum(VERSION in own for own in attributes) >= len(events)
    of = [0] * len(events) if partitions is None else partitions
    last = of[0] if of else 0
    for event, own, partition in zip(events, attributes, of, strict=True):
        if event is None:
            continue
        try:
            row = row_of(event, found.envelope)
        except Reject:
            found.no_row += 1
            continue
        if partition != last:
            found.begin_partition()
            last = partition
        found.add(row, event)
        if are_cloud_events:
            found.add_attributes(own)
    found.leave_out_places()
    return found


def object_in(value: bytes | None) -> dict[str, Any] | None:
    """Return the JSON object that a record's value is, or None."""
    if value is None:
        return None
    try:
        event = parse_exactly(value) if len(value) <= LONGEST_EXACT else parse_json(value)
    except Reject:
        return None
    return event if isinstance(event, dict) else None


def _envelope(events: Sequence[dict[str, Any]]) -> str:
    """The envelope of at least half of the events; empty if there is none."""
    for envelope, test in ((DEBEZIUM, _is_change), (CONNECT, _has_schema)):
        if events and 2 * sum(map(test, events)) >= len(events):
            return envelope
    return ""


def _is_change(event: dict[str, Any]) -> bool:
    """Whether the event or its payload is a Debezium change, with ``op`` and ``before`` or ``after``."""
    payload = event.get(PAYLOAD)
    outer = payload if isinstance(payload, dict) else event
    return isinstance(outer.get("op"), str) and (isinstance(outer.get(AFTER), dict) or "before" in outer)


def _has_schema(event: dict[str, Any]) -> bool:
    return event.keys() == {"schema", PAYLOAD} and isinstance(event[PAYLOAD], dict)


def _shape(event: dict[str, Any]) -> Any:
    """Length or names of x, if the event has the plain form with numbers only; otherwise None."""
    x = event.get("x")
    if not isinstance(x, list | dict) or not x or not ("y" in event or event.keys() <= PLAIN):
        return None
    numbers = x.values() if isinstance(x, dict) else x
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in numbers):
        return None
    return frozenset(x) if isinstance(x, dict) else len(x)

"""Count fields that are on no path of a schema, if requested: events are parsed separately for this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from driftway.worker.errors import shown
from driftway.worker.wire.events import PLAIN_FIELDS, Records, Reject
from driftway.worker.wire.schema.decoder import row_of
from driftway.worker.wire.schema.paths import ENVELOPE, ROW, Path, look_up
from driftway.worker.wire.schema.schema import PAYLOAD, EventSchema

IGNORE, COUNT = "ignore", "count"
UNKNOWN_FIELDS = (IGNORE, COUNT)
MAX_NAMES = 100
"""Fields counted separately, the first that occur: objects whose names are user ids have ever new ones."""
LONGEST_NAME = 200
"""Most characters of a field that is counted separately."""
OTHER = "@other"
"""Stands for all other fields; no path of a field is written like this."""

Steps: TypeAlias = tuple[str, ...]


class UnknownFieldCounts(NamedTuple):
    """The unknown fields of a batch."""

    events: Counter[str]
    """Field, written as a path -> number of events that have it."""
    first: dict[str, int]
    """Field that no earlier batch had -> offset of the first event that has it."""


class UnknownFields:
    """Counts unknown fields in every event that has a row, usable or not; of an envelope only the row counts.

    Each event is parsed a second time for it, which takes longer than decoding it by its schema.

    Parameters
    ----------
    schema : EventSchema or None
        The known fields; None: events are ``{"x": ..}``.
    loads : callable
        Parses value bytes to Python objects. Raises `Reject`.
    """

    def __init__(self, schema: EventSchema | None, loads: Callable[[bytes], Any]) -> None:
        self._envelope, self._loads = "" if schema is None else schema.envelope, loads
        self._objects = _objects([(name,) for name in PLAIN_FIELDS.values()] if schema is None else _ways(schema))
        self._names: dict[Steps, str] = {}
        self._others_counted = False

    def count(self, records: Records) -> UnknownFieldCounts:
        """Count the unknown fields of every event; an unknown object counts as one field."""
        shapes: dict[tuple[Steps, ...], list[int]] = {}  # names in each known object -> offsets of their events
        for offset, value in zip(records.offsets.tolist(), records.values, strict=True):
            shapes.setdefault(self._shape(value), []).append(offset)
        seen = UnknownFieldCounts(Counter(), {})
        for shape, offsets in shapes.items():
            for name in {self._name(steps, offsets[0], seen.first) for steps in self._unknown(shape)}:
                seen.events[name] += len(offsets)
        return seen

    def _shape(self, value: bytes | None) -> tuple[Steps, ...]:
        """Return the names in each known object of an event; empty if it has no row."""
        try:
            event = None if value is None else self._loads(value)
            if not isinstance(event, dict):
                return ()
            row = row_of(event, self._envelope)
        except Reject:
            return ()
        found = (look_up(row, steps) for steps in self._objects)
        return tuple(tuple(one) if isinstance(one, dict) else () for one in found)

    def _unknown(self, shape: tuple[Steps, ...]) -> Iterator[Steps]:
        for names, (steps, known) in zip(shape, self._objects.items(), strict=False):
            yield from ((*steps, name) for name in names if name not in known)

    def _name(self, steps: Steps, offset: int, first: dict[str, int]) -> str:
        """Return the name under which a field is counted; a new name is added to `first`."""
        name = self._names.get(steps, OTHER)
        if name != OTHER:
            return name
        if len(self._names) < MAX_NAMES and sum(map(len, steps)) <= LONGEST_NAME:
            name = self._names[steps] = shown(str(Path(steps)))
        elif self._others_counted:
            return OTHER
        else:
            self._others_counted = True
        first[name] = offset
        return name


def _ways(schema: EventSchema) -> Iterator[Steps]:
    """Yield the steps from the row to every place in it; without an envelope, ENVELOPE paths lead into the row."""
    for path in schema.sources:
        if path.source == ROW:
            yield path.steps
        elif path.source == ENVELOPE and not schema.envelope:
            yield from (path.steps, (PAYLOAD, *path.steps))


def _objects(ways: Iterable[Steps]) -> dict[Steps, set[str]]:
    """Map the steps to each partly known object to the names known in it."""
    found: dict[Steps, set[str]] = {}
    known_paths = dict.fromkeys(ways)
    for steps in known_paths:
        for depth, name in enumerate(steps):
            if steps[:depth] in known_paths:
                break
            found.setdefault(steps[:depth], set()).add(name)
    return found

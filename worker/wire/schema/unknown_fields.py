"""Fields that no path of a schema leads to, counted where somebody asks for it: by orjson, beside the reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from driftway.worker.wire.events import Records, Reject
from driftway.worker.wire.rejections import shown
from driftway.worker.wire.schema.decoder import row_of
from driftway.worker.wire.schema.paths import ENVELOPE, ROW, Path, look_up
from driftway.worker.wire.schema.schema import PAYLOAD, EventSchema

IGNORE, COUNT = "ignore", "count"
UNKNOWN_FIELDS = (IGNORE, COUNT)
MOST_NAMES = 100
"""Fields that are told apart, the first that come: objects with a user's number for a name have ever new ones."""
LONGEST_NAME = 200
"""Characters of a field that is told apart."""
OTHER = "@other"
"""All other fields; no field's own path is written so."""
PLAIN = (("x",), ("y",), ("id",), ("t",))
"""The fields of events without a schema."""

Steps: TypeAlias = tuple[str, ...]


class UnknownFieldCounts(NamedTuple):
    """What is unknown in a batch."""

    events: Counter[str]
    """Field, as a path writes it -> events that have it."""
    first: dict[str, int]
    """Those of them that no batch before had -> offset of the first event that has it."""


class UnknownFields:
    """Counts them in every event that has a row, usable or not; of an envelope only the row is looked at.

    An event is parsed for it once more: that takes longer than reading it by its schema.

    Parameters
    ----------
    schema : EventSchema or None
        What is known; None: events are ``{"x": ..}``.
    loads : callable
        Value bytes to Python's objects. Raises `Reject`.
    """

    def __init__(self, schema: EventSchema | None, loads: Callable[[bytes], Any]) -> None:
        self._envelope, self._loads = "" if schema is None else schema.envelope, loads
        self._objects = _objects(PLAIN if schema is None else _ways(schema))
        self._names: dict[Steps, str] = {}
        self._met_others = False

    def count(self, records: Records) -> UnknownFieldCounts:
        """Look at every event; of an object inside an unknown field nothing is told."""
        shapes: dict[tuple[Steps, ...], list[int]] = {}  # names in each known object -> offsets of their events
        for offset, value in zip(records.offsets.tolist(), records.values, strict=True):
            shapes.setdefault(self._shape(value), []).append(offset)
        seen = UnknownFieldCounts(Counter(), {})
        for shape, offsets in shapes.items():
            for name in {self._name(steps, offsets[0], seen.first) for steps in self._unknown(shape)}:
                seen.events[name] += len(offsets)
        return seen

    def _shape(self, value: bytes | None) -> tuple[Steps, ...]:
        """The names in each known object of an event; nothing if it has no row."""
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
        """What a field is told as; it stands in `first` if that is so for the first time."""
        name = self._names.get(steps, OTHER)
        if name != OTHER:
            return name
        if len(self._names) < MOST_NAMES and sum(map(len, steps)) <= LONGEST_NAME:
            name = self._names[steps] = shown(str(Path(steps)))
        elif self._met_others:
            return OTHER
        else:
            self._met_others = True
        first[name] = offset
        return name


def _ways(schema: EventSchema) -> Iterator[Steps]:
    """From the row to every place in it; without an envelope, what is around the row is in it."""
    for path in schema.sources:
        if path.source == ROW:
            yield path.steps
        elif path.source == ENVELOPE and not schema.envelope:
            yield from (path.steps, (PAYLOAD, *path.steps))


def _objects(ways: Iterable[Steps]) -> dict[Steps, set[str]]:
    """Steps to each object that is not known as a whole -> names that are known in it."""
    found: dict[Steps, set[str]] = {}
    whole = dict.fromkeys(ways)
    for steps in whole:
        for depth, name in enumerate(steps):
            if steps[:depth] in whole:
                break
            found.setdefault(steps[:depth], set()).add(name)
    return found

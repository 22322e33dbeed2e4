"""Recognise labels that arrive later, as separate messages among the events.

Such a message has the label and an id. It may share other fields with the events, which are then not features.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from driftway.worker.admin.schema.scan import DEEP, FieldStats, object_in
from driftway.worker.wire.schema.paths import LABELS, ROW, Path

Fields = dict[tuple[str, ...], Any]
LEAST_WAIT = 1000
MARGIN = 10
"""Factor on the longest wait in the sample, for how long events should wait: a sample shows only the labels that came
early."""


@dataclass(frozen=True)
class LaterLabels:
    """Labels in messages of their own.

    Parameters
    ----------
    label, id : Path
        Where they have the label, and the id of its event.
    shared : tuple of Path
        Other fields that both kinds of messages have.
    events, labels : tuple of int
        Indices of the events and of the labels, in the sample.
    seen : FieldStats
        The values of the label.
    longest : int
        Most events from an event to its label.
    unlike : int
        How many labels have the id of their event in another type, as "7" for 7: a worker does not match them.
    """

    label: Path
    id: Path
    shared: tuple[Path, ...]
    events: tuple[int, ...]
    labels: tuple[int, ...]
    seen: FieldStats
    longest: int
    unlike: int = 0

    @property
    def wait(self) -> int:
        """Events that an event should wait for its label: MARGIN times the longest wait, with one digit but zeros."""
        least = max(LEAST_WAIT, MARGIN * self.longest)
        unit: int = 10 ** (len(str(least)) - 1)
        return -(-least // unit) * unit


def later_labels(
    values: Sequence[bytes | None], label: Path | None = None, event_id: Path | None = None
) -> LaterLabels | None:
    """Return what is known of labels in messages of their own; None if labels come with their events, or not at all.

    Parameters
    ----------
    values : sequence of bytes or None
        The records' values, without an envelope.
    label, event_id : Path or None
        Paths that the user named.
    """
    objects = [_fields(object_in(value)) for value in values]
    wished = [label.steps] if label is not None and label.source == ROW else []
    names = wished if label is not None else [(one,) for one in LABELS]
    name = next((one for one in names if any(each is not None and one in each for each in objects)), None)
    if name is None:
        return None
    labels = tuple(i for i, one in enumerate(objects) if one is not None and one.get(name) is not None)
    events = tuple(i for i, one in enumerate(objects) if one is not None and name not in one)
    of_labels = {key for i in labels for key in objects[i] or ()} - {name}
    of_events = {key for i in events for key in objects[i] or ()}
    shared = sorted(of_labels & of_events)
    if not labels or not shared or len(shared) > len(of_events - of_labels):
        return None  # an event without a label may lack other fields, too
    wanted = shared if event_id is None else [one for one in shared if one == event_id.steps]
    for key in wanted:
        by_value = [_by_value(objects, kind, key) for kind in (events, labels)]
        if all(len(found) == len(kind) for found, kind in zip(by_value, (events, labels), strict=True)):
            at, waits = by_value
            counts = dict(zip(events, range(len(events)), strict=True))
            pairs = [(at[text], waits[text]) for text in waits if text in at]
            if not any(event < label_at for event, label_at in pairs):
                continue  # no label of an event: they only look alike
            longest = max(bisect_left(events, label_at) - 1 - counts[event] for event, label_at in pairs)
            ids = [[(objects[i] or {})[key] for i in pair] for pair in pairs]
            unlike = sum(isinstance(one, str) != isinstance(other, str) for one, other in ids)
            seen = FieldStats(Path(name))
            for i in labels:
                seen.add((objects[i] or {})[name])
            others = tuple(Path(one) for one in shared if one != key)
            return LaterLabels(Path(name), Path(key), others, events, labels, seen, longest, unlike)
    return None


def _fields(event: dict[str, Any] | None) -> Fields | None:
    """Return the fields of an event and of the objects in it, by their steps; None if it is no event."""
    if event is None:
        return None
    found: Fields = {}
    inner: list[tuple[tuple[str, ...], Any]] = [((name,), value) for name, value in event.items()]
    while inner:
        steps, value = inner.pop()
        if isinstance(value, dict) and len(steps) < DEEP:
            inner += [((*steps, name), one) for name, one in value.items()]
        else:
            found[steps] = value
    return found


def _by_value(objects: Sequence[Fields | None], kind: Sequence[int], key: tuple[str, ...]) -> dict[str, int]:
    """Return value of a field as text -> where it is; fewer than the objects if some lack it, or have the same one."""
    found = ((objects[i] or {}).get(key) for i in kind)
    return {str(value): i for i, value in zip(kind, found, strict=True) if isinstance(value, str | int)}

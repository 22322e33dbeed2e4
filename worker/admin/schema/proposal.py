"""Propose a schema from the statistics of scanned events.

The complete rules:

- A field is a number if at least NEARLY_ALL of its values are numbers, booleans or numbers in text, and none is a code:
  digits with a leading zero. Likewise it is a time if they are ISO 8601 texts, or if they are numbers under a name such
  as ``created_at`` or ``ts_ms`` that all lie between the years 2000 and 2100 in one unit, the longest such. Names such
  as ``birthdate`` allow the years from 1900 on, and days up to 2070. All other fields, and those called ``.._id``, are
  categories.
- A category of up to MAX_LISTED values is listed (one-of), if all of them can be written so and none has more than
  LONGEST_LISTED characters; others are hashed, into NARROW columns up to MAX_NARROW values, else WIDE. Columns are few
  because some learners cost their square.
- The values of lists that always have the same number of them, up to MAX_PLACES, are fields, such as ``data.0.amount``.
- Lists of texts are hashed, into up to MAX_WORDS columns, and so are the names of an object's fields if there are more
  than MAX_LISTED, all numbers, that fewer than SPARSE of the events with the object have on average.
- A field with a single value (from ENOUGH rows on) that some rows lack is a number or a category of its own, 0 where it
  is missing.
- Left out: other lists, fields with a single value in every row, categories with more distinct values than
  MAX_DIFFERENT of all, whole numbers that rise with every row, fields that fewer than RARE of the rows have.
- The id: a field of whole numbers or text, called ``id``, ``uuid``, ``key`` or ``.._id``, different in every row.
- The label: a field called ``y``, ``label``, ``target`` or ``class``.
- The time: a field of times that falls in at most FALLS of the steps from row to row, preferably one called ``t``,
  ``ts``, ``time`` or ``timestamp``, or else the change's own time in Debezium events. Features are its hour and
  weekday, and the age of other times.
- Headers ``ce_..`` are fields like others if at least half of the records are CloudEvents.
- Words such as ``N/A`` and ``-`` mean missing if all other values of the field are numbers, or all are times.
- Missing values are replaced by the running mean if any was missing, else an event that lacks one is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from driftway.worker.admin.schema.feature_kinds import (
    MAX_LISTED,
    NEARLY_ALL,
    feature_of,
    missing_share,
    moment_of,
    rises,
    unit_at,
    words_of_object,
)
from driftway.worker.admin.schema.labels import target_of
from driftway.worker.admin.schema.later_labels import LaterLabels
from driftway.worker.admin.schema.scan import AROUND, EventStats, FieldStats
from driftway.worker.admin.schema.values import id_rank, words_of
from driftway.worker.admin.schema.wording import percent, shares, spread
from driftway.worker.errors import plural
from driftway.worker.wire.events import Target
from driftway.worker.wire.schema.feature import MEAN, Feature, MissingPolicy
from driftway.worker.wire.schema.paths import ENVELOPE, LABELS, ROW, Path
from driftway.worker.wire.schema.schema import EventSchema, implied_unit, written_time

SPARSE = 0.5


@dataclass(frozen=True)
class FieldChoice:
    """The field chosen as label, id or time.

    Parameters
    ----------
    path : Path
        Path of the field.
    about : str
        What was seen there, as text.
    unit : str
        Unit of a time that is a number, unless its path has it by definition.
    """

    path: Path
    about: str
    unit: str = ""

    def __str__(self) -> str:
        return written_time(self.path, self.unit)


@dataclass(frozen=True)
class Proposal:
    """A proposed schema and the options to use with it.

    Parameters
    ----------
    features : mapping
        Feature -> what was seen of it, as text.
    left_out : mapping
        Path -> why it is left out.
    label, id, time : FieldChoice or None
        The chosen fields; None if no field qualifies.
    target : Target
        How labels are read.
    options : mapping
        Option to use with the schema -> its value: task, classes or labels.
    missing : mapping
        Path of a feature -> the share of rows that lack its value.
    later : LaterLabels or None
        Labels in messages of their own, which `stats` leaves out.
    """

    stats: EventStats
    features: Mapping[Feature, str]
    left_out: Mapping[Path, str]
    label: FieldChoice | None = None
    id: FieldChoice | None = None
    time: FieldChoice | None = None
    target: Target = field(default_factory=Target)
    options: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[Path, float] = field(default_factory=dict)
    later: LaterLabels | None = None

    @property
    def policy(self) -> str | None:
        """The policy for missing values; None if nothing was missing."""
        return MEAN if self.missing else None

    def schema(self) -> EventSchema:
        """The proposal as an `EventSchema`.

        Raises
        ------
        UsageFailure
            There is no feature.
        """
        named = {"label": self.label, "id": self.id, "time": self.time}
        paths: dict[str, Any] = {name: choice.path for name, choice in named.items() if choice is not None}
        missing = MissingPolicy() if self.policy is None else MissingPolicy(self.policy)
        unit = "" if self.time is None else self.time.unit
        return EventSchema(tuple(self.features), envelope=self.stats.envelope, missing=missing, unit=unit, **paths)


def propose(found: EventStats, label: Path | None = None, id: Path | None = None, time: Path | None = None) -> Proposal:  # noqa: A002
    """Propose a schema from what was seen; `label`, `id` and `time` are paths that the user named, if any."""
    y = _given(found, label) or _label(found)
    taken = {y.path} if y else set()
    name = _given(found, id) or _id(found, taken)
    taken |= {name.path} if name else set()
    t = _given(found, time, a_time=True) or _time(found, taken)
    features: dict[Feature, str] = {}
    columns = set[str]()
    left_out: dict[Path, str] = {}
    when = None if t is None else t.path
    found.paths |= {path: seen.with_gaps() for path, seen in found.paths.items() if path not in taken}
    sparse = _sparse_objects(found, taken | ({when} if when else set()))
    for path, seen in found.paths.items():
        if path in taken or _above(path) in sparse:
            continue
        feature: Feature | None
        if path in sparse:
            feature, about = words_of_object(found, seen, sparse[path])
        elif seen.is_tuple or (seen.objects and not (seen.scalars or seen.lists)):
            continue
        else:
            feature, about = feature_of(found, seen, when)
        if feature is None:
            left_out[path] = about
        elif shared := columns.intersection(feature.columns):
            left_out[path] = f"makes a column {min(shared)}, as another feature does: name it with as=NAME"
        else:
            features[feature] = about
            columns.update(feature.columns)
    gaps = (feature for feature in features if feature.missing is None)
    missing = {feature.path: share for feature in gaps if (share := missing_share(found, feature)) > 0}
    about, target, options = target_of(found, None if y is None else found.at(y.path))
    y = None if y is None else replace(y, about=about)
    return Proposal(found, features, left_out, y, name, t, target, options, missing)


def propose_with_later(found: EventStats, later: LaterLabels, time: Path | None) -> Proposal:
    """Propose a schema of events whose labels come later; `found` are the statistics of the events alone."""
    found.asked[later.label] = later.seen
    for path in later.shared:
        found.paths.pop(path, None)
    made = propose(found, later.label, later.id, time)
    after = f"{shares(later.seen)}, in separate messages, up to {plural(later.longest, 'event')} later"
    after += f", {later.unlike:,} of them with an id of another type: set aside" if later.unlike else ""
    label = None if made.label is None else replace(made.label, about=after)
    left_out = {**dict.fromkeys(later.shared, "the messages with labels have it, too"), **made.left_out}
    options = {**made.options, "label_wait": str(later.wait)}
    return replace(made, label=label, left_out=left_out, options=options, later=later)


def _sparse_objects(found: EventStats, taken: set[Path]) -> dict[Path, int]:
    """Objects of many fields that few events have, with numbers only -> how many; none with a field that is taken."""
    fields: dict[Path, list[FieldStats]] = {}
    for path, seen in found.paths.items():
        fields.setdefault(_above(path), []).append(seen)
    return {
        above: len(inside)
        for above, inside in fields.items()
        if len(inside) > MAX_LISTED
        and above in found.paths
        and sum(seen.scalars for seen in inside) < SPARSE * len(inside) * found.paths[above].objects
        and all(seen.numbers + seen.truths == seen.scalars and not (seen.lists or seen.objects) for seen in inside)
        and taken.isdisjoint(seen.path for seen in inside)
    }


def _above(path: Path) -> Path:
    """The path of the object that has a field."""
    return Path(path.steps[:-1], path.source)


def _given(found: EventStats, path: Path | None, a_time: bool = False) -> FieldChoice | None:
    """The choice of a path that the user named, with what was seen there."""
    if path is None:
        return None
    if path.source not in (ROW, ENVELOPE) and path not in found.paths:
        return FieldChoice(path, "beside the value: not looked at")
    seen = found.at(path)
    if not seen.scalars:
        return FieldChoice(path, "in no event that was read")
    if a_time:
        return _as_time(seen, named=True)
    lacking = found.rows - seen.scalars
    return FieldChoice(path, spread(seen) + (f", not in {percent(lacking, found.rows)}" if lacking else ""))


def _label(found: EventStats) -> FieldChoice | None:
    named = {path.steps[-1].lower(): path for path in reversed(found.paths) if found.paths[path].scalars}
    name = next((name for name in LABELS if name in named), None)
    return None if name is None else FieldChoice(named[name], "")


def _id(found: EventStats, taken: set[Path]) -> FieldChoice | None:
    ranked: list[tuple[int, int, Path]] = []
    for path, seen in found.paths.items():
        rank = id_rank(path.steps[-1])
        whole = not (seen.lists or seen.objects or seen.truths or seen.fractions)
        if rank is not None and path not in taken and whole and seen.scalars == found.rows:
            different = len(seen.values) == found.rows
            if different or path.steps == ("id",):  # a top-level id is read as the id, whatever a schema names
                ranked.append((rank if different else 3, len(path.steps), path))
    if not ranked:
        return None
    path = min(ranked, key=lambda item: item[:2])[2]
    return FieldChoice(path, spread(found.paths[path]))


def _time(found: EventStats, taken: set[Path]) -> FieldChoice | None:
    ranked: list[tuple[int, int, Path]] = []
    beside = [found.asked[path] for path in AROUND if path in found.asked]
    for seen in (*found.paths.values(), *beside):
        if seen.path in taken or seen.scalars < NEARLY_ALL * found.rows or not rises(seen) or not moment_of(seen):
            continue
        exact = words_of(seen.path.steps[-1])[:1] in (["t"], ["ts"], ["time"], ["timestamp"])
        rank = 2 + AROUND.index(seen.path) if seen.path in AROUND else 1 - exact
        ranked.append((rank, len(seen.path.steps), seen.path))
    if not ranked:
        return None
    path = min(ranked, key=lambda item: item[:2])[2]
    return _as_time(found.at(path))


def _as_time(seen: FieldStats, named: bool = False) -> FieldChoice:
    """The choice of a field as the time; see `moment_of`."""
    unit = unit_at(seen, named)
    about = moment_of(seen, named) or "no time that is known"
    return FieldChoice(seen.path, about, "" if implied_unit(seen.path) else unit)

"""The schema of events: which of their fields are features, label, id and time, and which envelope they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from driftway.worker.errors import UsageFailure
from driftway.worker.wire.events import Schema
from driftway.worker.wire.schema.feature import (
    BY_SIZE,
    OPTIONS,
    REJECT,
    UNIT,
    Feature,
    MissingPolicy,
    checked_unit,
    indicator_of,
)
from driftway.worker.wire.schema.paths import ENVELOPE, ROW, TIMESTAMP, Path

CONNECT, DEBEZIUM = "connect", "debezium"
ENVELOPES = (CONNECT, DEBEZIUM)
CONNECT_SCHEMA, PAYLOAD, AFTER = "schema", "payload", "after"
USUAL_TIME = Path(("t",))
DEBEZIUM_UNITS = {"ts_ms": "ms", "ts_us": "us", "ts_ns": "ns"}
READINGS = ("units", "spellings")
"""Keys of a written schema, one more with each version of the rules by which values are read: numbers are times only in
a unit; texts may be decimals, gaps and truth values in any spelling, and lists are counted."""
BY_SIZE_OF_TIMES, AS_SPELLED, CURRENT = range(len(READINGS) + 1)
"""See `EventSchema.reading`."""


@dataclass(frozen=True)
class EventSchema:
    """How an event is decoded.

    Parameters
    ----------
    features : tuple of Feature
        The features, in column order.
    label, id, time : Path
        Their paths; an event that lacks one of them is predicted all the same.
    envelope : str
        CONNECT: the row is the field ``payload``. DEBEZIUM: the row is ``after``, of the event or of its ``payload``.
        Empty: the event is the row.
    missing : MissingPolicy
        What replaces missing values of features that have no policy of their own.
    indicators : bool
        Every feature has an indicator.
    unit : str
        Unit of numbers at `time`, one of `feature.UNITS`; empty: only text is a time there.
    reading : int
        The version of the rules by which values are read, which states and model files of earlier versions keep.
        BY_SIZE_OF_TIMES: a number without a unit is a time, in the unit that its size tells. Up to AS_SPELLED: texts
        are never decimals, gaps or truth values in another spelling, and lists are no values. CURRENT: the latest.

    Raises
    ------
    UsageFailure
        No feature, an unknown envelope, an indicator for a feature with policy REJECT, or two columns of one name.
    """

    features: tuple[Feature, ...]
    label: Path = field(default_factory=lambda: Path(("y",)))
    id: Path = field(default_factory=lambda: Path(("id",)))
    time: Path = USUAL_TIME
    envelope: str = ""
    missing: MissingPolicy = field(default_factory=MissingPolicy)
    indicators: bool = False
    unit: str = ""
    reading: int = CURRENT

    def __post_init__(self) -> None:
        if not self.features:
            raise UsageFailure("a schema of events needs at least one feature")
        if self.envelope and self.envelope not in ENVELOPES:
            raise UsageFailure(f"envelope must be one of {', '.join(ENVELOPES)}, got {self.envelope!r}")
        for feature in self.features:
            if self.indicates(feature) and self.policy(feature).word == REJECT:
                raise UsageFailure(
                    f"feature {feature.name} has an indicator, but events that lack it are rejected: choose what "
                    "replaces it, missing=mean, last or a number"
                )
        columns, seen = (*self.columns, *self.indicator_names), set[str]()
        for column in columns:
            if column in seen:
                raise UsageFailure(f"two features make a column {column}: give one another name, as=NAME")
            seen.add(column)

    @classmethod
    def parse(
        cls,
        features: Sequence[str],
        *,
        label: str | None = None,
        id: str | None = None,  # noqa: A002 - the option's name
        time: str | None = None,
        envelope: str | None = None,
        missing: str | None = None,
        indicators: bool = False,
    ) -> EventSchema:
        """Parse texts of features and paths from a configuration; None for a default. `time` may be ``PATH:unit=ms``.

        Raises
        ------
        UsageFailure
            One of them cannot be parsed, or as in the class.
        """
        paths = {"label": label, "id": id}
        given: dict[str, Any] = {name: Path.parse(text) for name, text in paths.items() if text is not None}
        if time is not None:
            given["time"], given["unit"] = parse_time(time)
        if missing is not None:
            given["missing"] = MissingPolicy.parse(missing)
        return cls(tuple(map(Feature.parse, features)), envelope=envelope or "", indicators=indicators, **given)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that features become, without the indicators."""
        return tuple(column for feature in self.features for column in feature.columns)

    @property
    def indicator_names(self) -> tuple[str, ...]:
        """Names of the indicators."""
        return tuple(indicator_of(feature.name) for feature in self.features if self.indicates(feature))

    @property
    def shape(self) -> Schema:
        """Schema of a decoded row, without indicators."""
        return Schema(len(self.columns), self.columns)

    @property
    def policies(self) -> tuple[MissingPolicy, ...]:
        """What replaces a missing value, by column."""
        return tuple(self.policy(feature) for feature in self.features for _ in feature.columns)

    @property
    def watched(self) -> tuple[int, ...]:
        """Index of the first column of each feature that has an indicator."""
        first, found = 0, list[int]()
        for feature in self.features:
            found += [first] if self.indicates(feature) else []
            first += len(feature.columns)
        return tuple(found)

    @property
    def sources(self) -> tuple[Path, ...]:
        """All paths that are read, without duplicates."""
        return tuple(dict.fromkeys([self.label, self.id, self.time, *(feature.path for feature in self.features)]))

    def policy(self, feature: Feature) -> MissingPolicy:
        """Return what replaces a missing value of a feature."""
        return self.missing if feature.missing is None else feature.missing

    def indicates(self, feature: Feature) -> bool:
        """Whether a feature has an indicator."""
        return self.indicators or feature.indicator

    @property
    def written_time(self) -> str:
        """The path of the time as `parse_time` reads it."""
        return written_time(self.time, self.unit)

    @property
    def knows_spellings(self) -> bool:
        """Whether texts may be decimals, gaps or truth values in any spelling, and lists are counted."""
        return self.reading > AS_SPELLED

    def unit_at(self, path: Path, unit: str) -> str:
        """Return the unit of numbers at a path: the given one, or else what the schema makes of them.

        Empty: numbers are no times. BY_SIZE: see `reading`.
        """
        return unit or (BY_SIZE if self.reading == BY_SIZE_OF_TIMES else implied_unit(path))

    def lenient(self) -> EventSchema:
        """Return this schema with 0 for every missing value."""
        features = tuple(replace(feature, missing=None) for feature in self.features)
        return replace(self, features=features, missing=MissingPolicy("", 0.0))

    def as_dict(self) -> dict[str, Any]:
        """Return all settings that decide what is read, without defaults, for comparison."""
        paths = {"label": ("y", self.label), "id": ("id", self.id)}
        result: dict[str, Any] = {"features": [str(feature) for feature in self.features]}
        result |= {name: str(path) for name, (usual, path) in paths.items() if path != Path((usual,), ROW)}
        result |= {"time": self.written_time} if self.written_time != str(USUAL_TIME) else {}
        result |= dict.fromkeys(READINGS[: self.reading], True)
        result |= {"envelope": self.envelope} if self.envelope else {}
        result |= {"missing": str(self.missing)} if self.missing != MissingPolicy() else {}
        return result | ({"indicators": True} if self.indicators else {})

    @classmethod
    def of_dict(cls, fields: Mapping[str, Any]) -> EventSchema:
        """Rebuild the schema from the result of `as_dict`.

        Raises
        ------
        UsageFailure
            It has unknown keys: it is from a newer version.
        """
        known = {"features", "label", "id", "time", "envelope", "missing", "indicators", *READINGS}
        if not known >= fields.keys():
            others = ", ".join(sorted(fields.keys() - known))
            raise UsageFailure(f"a schema of events with {others} is from a newer version")
        rest = {key: value for key, value in fields.items() if key not in ("features", *READINGS)}
        return replace(cls.parse(fields["features"], **rest), reading=sum(key in fields for key in READINGS))

    def continuing(self, written: Any) -> EventSchema | None:
        """Return this schema as a state of an earlier version goes on with it; None if `written` is not that schema.

        Values keep their meaning, and units may be added to times that had none. `written` is of `as_dict`.
        """
        if not isinstance(written, dict) or written.keys() >= set(READINGS):
            return None
        try:
            theirs = EventSchema.of_dict(written)
        except (UsageFailure, KeyError, TypeError, ValueError, AttributeError):
            return None
        before = replace(self, reading=theirs.reading)
        by_size = theirs.reading == BY_SIZE_OF_TIMES
        if by_size and self.unit and not theirs.unit:
            theirs = replace(theirs, unit=self.unit)
        if by_size and len(theirs.features) == len(self.features):
            pairs = zip(theirs.features, self.features, strict=True)
            with_units = tuple(replace(one, unit=one.unit or ours.unit) for one, ours in pairs)
            theirs = replace(theirs, features=with_units)
        return before if theirs == before else None


def parse_time(text: str) -> tuple[Path, str]:
    """Parse the path of an event's time, and its unit if there is one: ``PATH`` or ``PATH:unit=UNIT``.

    Raises
    ------
    UsageFailure
        The text is neither.
    """
    path, end = Path.begin(text)
    if end == len(text):
        return path, ""
    word, _, unit = text[end + 1 :].partition("=")
    if word.strip() != UNIT:
        raise UsageFailure(f"time {text}: write PATH, or PATH:{OPTIONS[UNIT]}")
    return path, checked_unit(f"time {text}", unit)


def written_time(path: Path, unit: str) -> str:
    """Write a time's path and unit as `parse_time` reads them."""
    return f"{path}:{UNIT}={unit}" if unit else str(path)


def implied_unit(path: Path) -> str:
    """Return the unit that a path has by definition: record timestamps, Debezium's, the usual t; empty: none."""
    if path.source == TIMESTAMP or path == USUAL_TIME:
        return "ms"
    return DEBEZIUM_UNITS.get(path.steps[-1], "") if path.source == ENVELOPE else ""

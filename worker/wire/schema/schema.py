"""The schema of events: which of their fields are features, label, id and time, and which envelope they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from driftway.worker.errors import UsageFailure
from driftway.worker.wire.events import Schema
from driftway.worker.wire.schema.feature import REJECT, Feature, MissingPolicy, indicator_of
from driftway.worker.wire.schema.paths import ROW, Path

CONNECT, DEBEZIUM = "connect", "debezium"
ENVELOPES = (CONNECT, DEBEZIUM)
PAYLOAD, AFTER = "payload", "after"


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

    Raises
    ------
    UsageFailure
        No feature, an unknown envelope, an indicator for a feature with policy REJECT, or two columns of one name.
    """

    features: tuple[Feature, ...]
    label: Path = field(default_factory=lambda: Path(("y",)))
    id: Path = field(default_factory=lambda: Path(("id",)))
    time: Path = field(default_factory=lambda: Path(("t",)))
    envelope: str = ""
    missing: MissingPolicy = field(default_factory=MissingPolicy)
    indicators: bool = False

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
        """Parse texts of features and paths from a configuration; None for a default.

        Raises
        ------
        UsageFailure
            One of them cannot be parsed, or as in the class.
        """
        paths = {"label": label, "id": id, "time": time}
        given: dict[str, Any] = {name: Path.parse(text) for name, text in paths.items() if text is not None}
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

    def lenient(self) -> EventSchema:
        """Return this schema with 0 for every missing value."""
        features = tuple(replace(feature, missing=None) for feature in self.features)
        return replace(self, features=features, missing=MissingPolicy("", 0.0))

    def as_dict(self) -> dict[str, Any]:
        """Return all settings that decide what is read, without defaults, for comparison."""
        paths = {"label": ("y", self.label), "id": ("id", self.id), "time": ("t", self.time)}
        result: dict[str, Any] = {"features": [str(feature) for feature in self.features]}
        result |= {name: str(path) for name, (usual, path) in paths.items() if path != Path((usual,), ROW)}
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
        known = {"features", "label", "id", "time", "envelope", "missing", "indicators"}
        if not known >= fields.keys():
            others = ", ".join(sorted(fields.keys() - known))
            raise UsageFailure(f"a schema of events with {others} is from a newer version")
        return cls.parse(fields["features"], **{key: value for key, value in fields.items() if key != "features"})

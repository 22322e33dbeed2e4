"""The schema of events: which of their fields are features, label, id and time, and what is around them."""

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
    """How an event is read.

    Parameters
    ----------
    features : tuple of Feature
        What is learned from, in the order of its columns.
    label, id, time : Path
        Where these stand; an event that lacks one of them is predicted all the same.
    envelope : str
        CONNECT: the row is the field ``payload``. DEBEZIUM: the row is ``after``, of the event or of its ``payload``.
        Empty: the event is the row.
    missing : MissingPolicy
        What stands for a value that an event lacks, of features that do not say.
    indicators : bool
        Every feature has an indicator.

    Raises
    ------
    UsageFailure
        No feature, or two columns of the same name.
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
            raise UsageFailure("a schema of events names at least one feature")
        if self.envelope and self.envelope not in ENVELOPES:
            raise UsageFailure(f"envelope must be one of {', '.join(ENVELOPES)}, got {self.envelope!r}")
        for feature in self.features:
            if self.indicates(feature) and self.policy(feature).word == REJECT:
                raise UsageFailure(
                    f"feature {feature.name} has an indicator, but events that lack it are rejected: say what stands "
                    "for it, missing=mean, last or a number"
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
        id: str | None = None,  # noqa: A002 - what the option is called
        time: str | None = None,
        envelope: str | None = None,
        missing: str | None = None,
        indicators: bool = False,
    ) -> EventSchema:
        """Read what stands in a configuration: texts of features and paths, None for a default.

        Raises
        ------
        UsageFailure
            One of them cannot be read, or as the class.
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
        """The shape of a row as it is read."""
        return Schema(len(self.columns), self.columns)

    @property
    def policies(self) -> tuple[MissingPolicy, ...]:
        """What stands for a missing value, by column."""
        return tuple(self.policy(feature) for feature in self.features for _ in feature.columns)

    @property
    def watched(self) -> tuple[int, ...]:
        """Number of the first column of each feature that has an indicator."""
        first, found = 0, list[int]()
        for feature in self.features:
            found += [first] if self.indicates(feature) else []
            first += len(feature.columns)
        return tuple(found)

    @property
    def sources(self) -> tuple[Path, ...]:
        """Every place that is looked at, once."""
        return tuple(dict.fromkeys([self.label, self.id, self.time, *(feature.path for feature in self.features)]))

    def policy(self, feature: Feature) -> MissingPolicy:
        """What stands for a missing value of a feature."""
        return self.missing if feature.missing is None else feature.missing

    def indicates(self, feature: Feature) -> bool:
        """Whether a feature has an indicator."""
        return self.indicators or feature.indicator

    def lenient(self) -> EventSchema:
        """The same, of which an event may lack everything."""
        features = tuple(replace(feature, missing=None) for feature in self.features)
        return replace(self, features=features, missing=MissingPolicy("", 0.0))

    def as_dict(self) -> dict[str, Any]:
        """Everything that decides what is read, for comparison; without what is as by default."""
        paths = {"label": ("y", self.label), "id": ("id", self.id), "time": ("t", self.time)}
        said: dict[str, Any] = {"features": [str(feature) for feature in self.features]}
        said |= {name: str(path) for name, (usual, path) in paths.items() if path != Path((usual,), ROW)}
        said |= {"envelope": self.envelope} if self.envelope else {}
        said |= {"missing": str(self.missing)} if self.missing != MissingPolicy() else {}
        return said | ({"indicators": True} if self.indicators else {})

    @classmethod
    def of_dict(cls, said: Mapping[str, Any]) -> EventSchema:
        """What `as_dict` said.

        Raises
        ------
        UsageFailure
            It is not of this version.
        """
        known = {"features", "label", "id", "time", "envelope", "missing", "indicators"}
        if not known >= said.keys():
            others = ", ".join(sorted(said.keys() - known))
            raise UsageFailure(f"a schema of events with {others} is of a newer version")
        return cls.parse(said["features"], **{key: value for key, value in said.items() if key != "features"})

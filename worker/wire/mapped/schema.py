"""The schema of events: which of their fields are features, label, id and time, and what is around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from worker.errors import UsageFailure
from worker.wire.events import Schema
from worker.wire.mapped.feature import Feature, Missing
from worker.wire.mapped.paths import ROW, Path

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
    missing : Missing
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
    missing: Missing = field(default_factory=Missing)
    indicators: bool = False

    def __post_init__(self) -> None:
        if not self.features:
            raise UsageFailure("a schema of events names at least one feature")
        if self.envelope and self.envelope not in ENVELOPES:
            raise UsageFailure(f"envelope must be one of {', '.join(ENVELOPES)}, got {self.envelope!r}")
        columns, seen = self.columns, set[str]()
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
            given["missing"] = Missing.parse(missing)
        return cls(tuple(map(Feature.parse, features)), envelope=envelope or "", indicators=indicators, **given)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that features become, then of the indicators."""
        columns = [column for feature in self.features for column in feature.columns]
        return (*columns, *(f"{feature.name} missing" for feature in self.features if self.indicates(feature)))

    @property
    def shape(self) -> Schema:
        """The shape of a row for the learners."""
        return Schema(len(self.columns), self.columns)

    @property
    def sources(self) -> tuple[Path, ...]:
        """Every place that is looked at, once."""
        return tuple(dict.fromkeys([self.label, self.id, self.time, *(feature.path for feature in self.features)]))

    def policy(self, feature: Feature) -> Missing:
        """What stands for a missing value of a feature."""
        return self.missing if feature.missing is None else feature.missing

    def indicates(self, feature: Feature) -> bool:
        """Whether a feature has an indicator."""
        return self.indicators or feature.indicator

    def as_dict(self) -> dict[str, Any]:
        """Everything that decides what is read, for comparison; without what is as by default."""
        paths = {"label": ("y", self.label), "id": ("id", self.id), "time": ("t", self.time)}
        said: dict[str, Any] = {"features": [str(feature) for feature in self.features]}
        said |= {name: str(path) for name, (usual, path) in paths.items() if path != Path((usual,), ROW)}
        said |= {"envelope": self.envelope} if self.envelope else {}
        said |= {"missing": str(self.missing)} if self.missing != Missing() else {}
        return said | ({"indicators": True} if self.indicators else {})

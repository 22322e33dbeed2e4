"""What a plan says about all its models: the features that they learn from, and how they are monitored.

These are drift detectors, the rolling window, accuracy points, and the coverage of intervals and sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import NO_COVERAGE
from driftway.worker.state.stored_fields import Malformed, StoredFields
from driftway.worker.wire.schema.feature import Feature
from driftway.worker.wire.schema.paths import HEADER
from driftway.worker.wire.schema.schema import EventSchema

OF_ROWS = "window", "accuracy_every"


@dataclass(frozen=True)
class Configuration:
    """What a plan says of its models; None: as the workers' options say.

    Parameters
    ----------
    detectors : tuple of Spec or None
        Drift detectors that watch the champion's errors.
    window : int or None
        Rows of the rolling window, >= 1.
    accuracy_every : int or None
        Rows between two accuracy points of a learner, >= 1.
    coverage : float or None
        Share of the labels that intervals or sets are to cover; NO_COVERAGE: predictions have none. That is not stored
        beside a window: so plans of groups without coverage are the same as in earlier versions.
    features : tuple of str or None
        The features, as `--feature` has them, or, of events with an object ``x``, their sorted names. None may also
        mean that each partition's first event named them.
    """

    detectors: tuple[Spec, ...] | None = None
    window: int | None = None
    accuracy_every: int | None = None
    coverage: float | None = None
    features: tuple[str, ...] | None = None

    @classmethod
    def of(cls, settings: ModelSettings) -> Configuration:
        """What these settings say."""
        events = settings.events
        features = settings.feature_names if events is None else tuple(map(str, events.features))
        return cls(settings.detectors, settings.window, settings.accuracy_every, settings.coverage, features)

    @classmethod
    def of_fields(cls, fields: StoredFields) -> Configuration:
        """As stored, see `as_dict`.

        Raises
        ------
        Malformed
            A value is not valid.
        """
        detectors = None
        if fields.has("detectors"):
            try:
                detectors = tuple(map(Spec.parse, fields.texts("detectors")))
            except ValueError as error:
                raise Malformed(f"detectors: {error}") from None
            if len(set(detectors)) < len(detectors):
                raise Malformed("a detector is named twice")
        window, every = (fields.integer(name, at_least=1) if fields.has(name) else None for name in OF_ROWS)
        coverage = None if window is None else NO_COVERAGE
        if fields.has("coverage"):
            coverage = fields.share("coverage")
        features = fields.texts("features") if fields.has("features") else None
        if features is not None and (not features or len(set(features)) < len(features)):
            raise Malformed("features are none, or one is named twice")
        return cls(detectors, window, every, coverage, features)

    def applied_to(self, settings: ModelSettings) -> ModelSettings:
        """Return settings with what the plan names.

        Raises
        ------
        UsageFailure
            They do not go together.
        """
        named = {name: value for name, value in vars(self).items() if value is not None}
        features = named.pop("features", None)
        if features is not None and settings.events is None:
            named |= {"n_features": len(features), "feature_names": features}
        elif features is not None and settings.events is not None:
            named["events"] = replace(settings.events, features=tuple(map(Feature.parse, features)))
        return replace(settings, **named) if named else settings

    def over(self, other: Configuration) -> Configuration:
        """Return what this one names, and the rest as in `other`."""
        return Configuration(
            **{name: vars(other)[name] if named is None else named for name, named in vars(self).items()}
        )

    def as_dict(self) -> dict[str, Any]:
        """What the plan names, as stored."""
        named = {name: value for name, value in vars(self).items() if value is not None}
        if self.coverage == NO_COVERAGE and self.window is not None:
            del named["coverage"]
        return named if self.detectors is None else {**named, "detectors": [spec.text for spec in self.detectors]}


AS_OPTIONS = Configuration()
"""The plan says nothing: the workers' options apply, as in plans of earlier versions."""


def changed(present: Configuration, given: Configuration) -> Configuration:
    """Return the present configuration with what is `given`.

    Raises
    ------
    UsageFailure
        That is the same.
    """
    following = given.over(present)
    if following == present:
        same = "features, detectors, window, accuracy points and coverage"
        raise UsageFailure(f"the newest plan has these {same} already")
    return following


def edited_features(
    present: Sequence[str], events: EventSchema | None, added: Sequence[str], dropped: Sequence[str]
) -> tuple[str, ...]:
    """Return features without those `dropped`, by name or as they were given, and with those `added`.

    Parameters
    ----------
    present : sequence of str
        As `Configuration` has them.
    events : EventSchema or None
        How the events are read; None: they have an object ``x``.
    added, dropped : sequence of str
        Features to add, as `present`, and names of those to drop, or how they were given.

    Raises
    ------
    UsageFailure
        One is not there, or is already, or cannot be parsed, or none is left.
    """
    names = dict.fromkeys(present)
    if events is not None:
        names = {text: Feature.parse(text).name for text in present}
        added = [str(Feature.parse(text)) for text in added]
    kept = list(present)
    for text in dropped:
        found = [one for one in kept if text in (one, names[one])]
        if not found:
            raise UsageFailure(f"there is no feature {text}: the newest plan has {', '.join(present)}")
        kept = [one for one in kept if one not in found]
    if twice := [text for i, text in enumerate(added) if text in (*kept, *added[:i])]:
        raise UsageFailure(f"there is a feature {twice[0]} already")
    following = [*kept, *added]
    if not following:
        raise UsageFailure("at least one feature must be left")
    return tuple(sorted(following) if events is None else following)


def why_not_features(settings: ModelSettings, features: tuple[str, ...] | None) -> str | None:
    """Return why models of these settings cannot go on with other features; None if they can, or they are the same."""
    before = Configuration.of(settings)
    if features is None or features == before.features:
        return None
    if settings.share is not None:
        why = "its partitions exchange models of all of them"
        return f"the features of a group with --share-models cannot be changed: {why}"
    if settings.warm is not None:
        return "the features of a group with --warm-start cannot be changed: they are those of the model file"
    try:
        after = Configuration(features=features).applied_to(settings)
    except UsageFailure as error:
        return str(error)
    reads, read = (_headers(one) for one in (after, settings))
    if reads and not read:
        return f"features from headers, {', '.join(reads)}, need workers that began with one: they read no headers"
    return None


def _headers(settings: ModelSettings) -> list[str]:
    """The features that are read from headers."""
    events = settings.events
    return [] if events is None else [str(one) for one in events.features if one.path.source == HEADER]


def described_change(before: Configuration, after: Configuration) -> list[str]:
    """What another configuration keeps, in clauses; empty if it is the same."""
    changes = list[str]()
    if after.features != before.features and after.features is not None:
        changes.append(f"features {', '.join(after.features)}")
    if after.detectors != before.detectors:
        kept = [spec.text for spec in after.detectors or () if spec in (before.detectors or ())]
        keeps = f", of which {', '.join(kept)} keeps its state while the champion stays" if kept else ""
        changes.append(f"detectors {', '.join(spec.text for spec in after.detectors or ()) or 'none'}{keeps}")
    if after.window != before.window:
        longer = before.window is None or after.window is None or after.window > before.window
        anew = f", of metrics that begin anew where more than {before.window} rows have had a label"
        changes.append(f"window {after.window}{anew if longer else ', of metrics that go on'}")
    if after.accuracy_every != before.accuracy_every:
        changes.append(f"an accuracy point every {after.accuracy_every} rows")
    if after.coverage != before.coverage:
        level = f"{after.coverage}, of intervals or sets that begin with no labels" if after.coverage else "none"
        changes.append(f"coverage {level}")
    return changes

"""What a plan says of monitoring: drift detectors, rolling window, accuracy points, coverage of intervals and sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import NO_COVERAGE
from driftway.worker.state.stored_fields import Malformed, StoredFields

OF_ROWS = "window", "accuracy_every"


@dataclass(frozen=True)
class Monitoring:
    """What watches the models; None: as the workers' options say.

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
    """

    detectors: tuple[Spec, ...] | None = None
    window: int | None = None
    accuracy_every: int | None = None
    coverage: float | None = None

    @classmethod
    def of(cls, settings: ModelSettings) -> Monitoring:
        """What watches the models of these settings."""
        return cls(settings.detectors, settings.window, settings.accuracy_every, settings.coverage)

    @classmethod
    def of_fields(cls, fields: StoredFields) -> Monitoring:
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
        window, every = (fields.integer(name, least=1) if fields.has(name) else None for name in OF_ROWS)
        coverage = None if window is None else NO_COVERAGE
        return cls(detectors, window, every, fields.share("coverage") if fields.has("coverage") else coverage)

    def applied_to(self, settings: ModelSettings) -> ModelSettings:
        """Return settings with what is said here.

        Raises
        ------
        UsageFailure
            They do not go together.
        """
        said = {name: value for name, value in vars(self).items() if value is not None}
        return replace(settings, **said) if said else settings

    def over(self, other: Monitoring) -> Monitoring:
        """Return what is said here, and else in `other`."""
        return Monitoring(**{name: vars(other)[name] if said is None else said for name, said in vars(self).items()})

    def as_dict(self) -> dict[str, Any]:
        """What is said here, as stored."""
        said = {name: value for name, value in vars(self).items() if value is not None}
        if self.coverage == NO_COVERAGE and self.window is not None:
            del said["coverage"]
        return said if self.detectors is None else {**said, "detectors": [spec.text for spec in self.detectors]}


AS_OPTIONS = Monitoring()
"""Nothing is said: all is as the workers' options say, as in plans of earlier versions."""


def changed(present: Monitoring, given: Monitoring) -> Monitoring:
    """Return the present monitoring with what is `given`.

    Raises
    ------
    UsageFailure
        That is the same.
    """
    following = given.over(present)
    if following == present:
        raise UsageFailure("the newest plan has these detectors, window, accuracy points and coverage already")
    return following


def described_change(before: Monitoring, after: Monitoring) -> list[str]:
    """What another monitoring keeps, in clauses; empty if it is the same."""
    said = list[str]()
    if after.detectors != before.detectors:
        kept = [spec.text for spec in after.detectors or () if spec in (before.detectors or ())]
        keeps = f", of which {', '.join(kept)} keeps its state while the champion stays" if kept else ""
        said.append(f"detectors {', '.join(spec.text for spec in after.detectors or ()) or 'none'}{keeps}")
    if after.window != before.window:
        longer = before.window is None or after.window is None or after.window > before.window
        anew = f", of metrics that begin anew where more than {before.window} rows have had a label"
        said.append(f"window {after.window}{anew if longer else ', of metrics that go on'}")
    if after.accuracy_every != before.accuracy_every:
        said.append(f"an accuracy point every {after.accuracy_every} rows")
    if after.coverage != before.coverage:
        level = f"{after.coverage}, of intervals or sets that begin with no labels" if after.coverage else "none"
        said.append(f"coverage {level}")
    return said

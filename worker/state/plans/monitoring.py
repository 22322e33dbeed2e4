"""What a plan says of monitoring: drift detectors, the rolling window, and how often there is an accuracy point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.stored_fields import Malformed, StoredFields


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
    """

    detectors: tuple[Spec, ...] | None = None
    window: int | None = None
    accuracy_every: int | None = None

    @classmethod
    def of(cls, settings: ModelSettings) -> Monitoring:
        """What watches the models of these settings."""
        return cls(settings.detectors, settings.window, settings.accuracy_every)

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
        numbers = (fields.integer(name, least=1) if fields.has(name) else None for name in ("window", "accuracy_every"))
        return cls(detectors, *numbers)

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
        raise UsageFailure("the newest plan has these detectors, this window and these accuracy points already")
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
    return said

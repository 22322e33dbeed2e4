"""Model options that were not given, as a group itself says them: in its plans, its newest snapshot and its commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.options import was_given
from driftway.worker.errors import Failure, Unreachable, UsageFailure

if TYPE_CHECKING:
    from driftway.worker.admin.models import GroupModels
    from driftway.worker.settings import ModelSettings


def fill_in_from_group(given: dict[str, Any], input_: str, group: str, passthrough: dict[str, Any]) -> None:
    """Set the model options that were not given to those of the group's first plan.

    With --warm-start they stay, as the file decides, and where the group says nothing yet.

    Raises
    ------
    UsageFailure
        The options name other learners than the first plan, or the group began with a model file.
    Unreachable
        No broker answers.
    """
    from driftway.worker.admin.models import find_models
    from driftway.worker.admin.state_admin.source import settings_for

    if given["warm_start"] is not None:
        return
    settings = settings_for(given["bootstrap"], input_, group, passthrough, None, given["outputs"])
    try:
        found = find_models(settings, lambda sentence: click.echo(sentence, err=True))
    except Unreachable:
        raise
    except Failure:
        return  # nothing is committed yet, or what says it is damaged: whoever reads on tells
    first = found.plans[0].applied_to(found.model)
    if not was_given("learner") and first.warm_model is not None and first.warm is not None:
        raise UsageFailure(f"group {group} began with model file {first.warm.digest}: name it with --warm-start")
    if first.events is not None and found.plans[0].configuration.features is None and not was_given("feature"):
        raise UsageFailure(
            f"plan {found.plans[0].number} was written by an earlier version: give its --feature options"
        )
    _require_agreement(given, found)
    options = {**_options(first), "label_topic": next((one.labels for one in found.partitions if one.labels), "")}
    given |= {option: value for option, value in options.items() if not was_given(option)}


def _require_agreement(given: dict[str, Any], found: GroupModels) -> None:
    """Check that learners that were given are those of the first plan, in a group with plans."""
    from driftway.worker.state.plans.next_plan import spec_of

    if was_given("learner") and found.newest.number > found.plans[0].number:
        names = tuple(spec_of(text).text for text in given["learner"])
        if names != found.plans[0].names:
            raise UsageFailure(
                f"--learner {', '.join(names)} are not the learners that the group began with: plan "
                f"{found.plans[0].number} has {', '.join(found.plans[0].names)}; leave --learner out, and the audit "
                "takes them from there"
            )


def _options(settings: ModelSettings) -> dict[str, Any]:
    """The options of `driftway worker` that make these settings, by the names of their parameters."""
    target, events = settings.target, settings.events
    options: dict[str, Any] = {
        "learner": tuple(spec.text for spec in settings.specs),
        "task": target.task,
        "classes": None if target.labels else target.n_classes or None,
        "labels": ",".join(target.labels) or None,
        "maps": tuple(spec.text for spec in settings.maps),
        "standardize": settings.standardize,
        "window": settings.window,
        "accuracy_every": settings.accuracy_every,
        "detectors": tuple(spec.text for spec in settings.detectors),
        "share": None if settings.share is None else str(settings.share),
        "label_wait": None if settings.wait is None else str(settings.wait),
        "missing": str(settings.missing),
        "missing_indicators": settings.indicators,
    }
    if events is None:
        return options
    return options | {
        "feature": tuple(map(str, events.features)),
        "label": str(events.label),
        "id_": str(events.id),
        "time_": events.written_time,
        "envelope": events.envelope or None,
        "missing": str(events.missing),
        "missing_indicators": events.indicators,
    }

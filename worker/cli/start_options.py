"""--start, --warm-start and --frozen: how a new group begins, and what a model file determines for other options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.options import Command, was_given, with_options
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.settings import EARLIEST, LATEST
from driftway.worker.wire.events import CLASSIFICATION, Schema, Target
from driftway.worker.wire.schema.feature import Feature, MissingPolicy
from driftway.worker.wire.schema.paths import Path
from driftway.worker.wire.schema.schema import parse_time, written_time

if TYPE_CHECKING:
    from driftway.worker.settings import ModelSettings
    from driftway.worker.warm_start import WarmStart


LARGEST_OFFSET = 2**63 - 1
MAX_DIGITS = 100
"""Python refuses to read an int of more than 4300."""
START_OFFSETS = f"{EARLIEST}|{LATEST}|OFFSET"


def start_offset(context: click.Context, option: click.Parameter, value: str) -> str | int:
    """Parse --start: ``earliest``, ``latest``, or an offset as an int.

    Raises
    ------
    BadParameter
        The value is none of these.
    """
    if value in (EARLIEST, LATEST):
        return value
    if value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS and int(value) < LARGEST_OFFSET:
        return int(value)
    raise click.BadParameter(f"{value!r} is neither {EARLIEST}, {LATEST} nor an offset.", context, option)


def warm_options(command: Command) -> Command:
    """--warm-start, --frozen."""
    options = [
        click.option(
            "--warm-start",
            metavar="FILE",
            help="Start from the state of the champion in a model file, written by `driftway train` or `driftway "
            "snapshot export`. The file determines task, classes, labels, feature maps and standardisation. Each "
            "--learner is a challenger.",
        ),
        click.option("--frozen", is_flag=True, help="The model of --warm-start only predicts; it learns nothing more."),
    ]
    return with_options(command, options)


@dataclass(frozen=True)
class WarmStartPlan:
    """What is learned when starting from a model file.

    Parameters
    ----------
    warm : WarmStart
        The champion's state.
    learners : tuple of str
        The champion, then the requested challengers.
    target : Target
        What is predicted.
    maps : tuple of str
        Feature maps in front of all learners.
    standardize : bool
        Whether the online standardiser is in front of the learners that use one.
    reading : dict
        How events are read and missing values filled, as keywords of `ModelSettings`.
    """

    warm: WarmStart
    learners: tuple[str, ...]
    target: Target
    maps: tuple[str, ...]
    standardize: bool
    reading: dict[str, Any]

    def match_stream(self, stream: Any) -> tuple[Target, tuple[int, ...] | None]:
        """Return the target for a stream of class indices, and its columns in the model's order (None: unchanged).

        Raises
        ------
        UsageFailure
            The stream has other features, other classes or another task.
        """
        target, name = self.target, self.warm.name
        if stream.task not in (None, target.task):
            raise UsageFailure(f"{stream.name} is for {stream.task}, model file {name} for {target.task}")
        if target.task == CLASSIFICATION and len(stream.labels or ()) not in (0, target.n_classes):
            raise UsageFailure(
                f"{stream.name} has {len(stream.labels)} classes, model file {name} predicts {target.n_classes}"
            )
        schema = self.warm.schema
        named = stream.feature_names if schema is not None and schema.names is not None else None
        try:
            names = self.warm.admit(Schema(stream.n_features, named), stream.name).names
        except Failure as error:
            raise UsageFailure(str(error)) from None
        order = None if names is None else tuple(stream.feature_names.index(one) for one in names)
        columns = None if order is None or order == tuple(range(stream.n_features)) else order
        return Target(target.task, target.n_classes), columns


def warm_start_plan(given: dict[str, Any], named: Target) -> WarmStartPlan | None:
    """Return the plan of --warm-start's file; None without that option. `named`: the target that the options describe.

    Without --learner, `given["challengers"]` are the challengers, where a command knows them.

    Raises
    ------
    UsageFailure
        The file cannot be read, contradicts an option that was given, or --frozen comes without a file.
    Failure
        The file is damaged, not a model file, or of a newer version.
    """
    if given["warm_start"] is None:
        if given["frozen"]:
            raise UsageFailure("--frozen needs --warm-start FILE: an empty learner that never learns is useless")
        return None
    from driftway.worker.state import model_file

    file = model_file.load(given["warm_start"])
    settings, warm = file.settings(), file.warm_start(given["frozen"])
    _require_agreement(given, named, settings, warm.name)
    target = settings.target if settings.target.labels else replace(settings.target, labels=named.labels)
    challengers = given["learner"] if was_given("learner") else given.get("challengers", ())
    return WarmStartPlan(
        warm,
        (settings.specs[0].text, *challengers),
        target,
        tuple(spec.text for spec in settings.maps),
        settings.standardize,
        {"events": settings.events, "missing": settings.missing, "indicators": settings.indicators},
    )


def _require_agreement(given: dict[str, Any], named: Target, settings: ModelSettings, name: str) -> None:
    """Refuse an option that contradicts the file; labels may name classes of which the file only has the number."""
    from driftway.learners import ParameterError, Spec

    target = settings.target
    try:
        maps = [Spec.parse(text).text for text in given["maps"]]
    except ParameterError as error:
        raise UsageFailure(str(error)) from None
    labels = ",".join(named.labels)
    checks = (
        ("task", "--task", named.task, target.task),
        ("labels", "--labels", labels, ",".join(target.labels) or labels),
        ("labels", "--labels", f"{named.n_classes} classes", f"{target.n_classes} classes"),
        ("classes", "--classes", named.n_classes, target.n_classes),
        ("maps", "--map", ", ".join(maps), ", ".join(spec.text for spec in settings.maps) or "no map"),
        ("standardize", _flag(given["standardize"]), _flag(given["standardize"]), _flag(settings.standardize)),
    )
    for option, flag, asked, theirs in (*checks, *_of_events(given, settings)):
        if asked != theirs and was_given(option):
            raise UsageFailure(f"{flag} contradicts model file {name}: asked for {asked}, the file has {theirs}")


def _of_events(given: dict[str, Any], settings: ModelSettings) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield option, flag, given value and file's value of `schema_options`; nothing for a command without them."""
    events = settings.events
    if "missing" not in given:
        return
    if events is not None:
        features = ", ".join(str(Feature.parse(text)) for text in given["feature"])
        yield "feature", "--feature", features, ", ".join(map(str, events.features))
        for option, path in (("label", events.label), ("id_", events.id)):
            if given[option] is not None:
                yield option, f"--{option.rstrip('_')}", str(Path.parse(given[option])), str(path)
        if given["time_"] is not None:
            yield "time_", "--time", written_time(*parse_time(given["time_"])), events.written_time
        yield "envelope", "--envelope", given["envelope"], events.envelope or "no envelope"
    elif given["feature"]:
        yield "feature", "--feature", ", ".join(given["feature"]), 'events as {"x": ..}'
    if given["missing"] is not None:
        yield "missing", "--missing", str(MissingPolicy.parse(given["missing"])), str((events or settings).missing)
    theirs = settings.indicators if events is None else events.indicators
    words = {True: "indicators", False: "none"}
    yield "missing_indicators", "--missing-indicators", words[given["missing_indicators"]], words[theirs]


def _flag(standardize: bool) -> str:
    return "--standardize" if standardize else "--no-standardize"

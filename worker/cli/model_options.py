"""Options that say what is learned, shared by `worker`, `evaluate` and other commands that learn."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.event_options import (
    FeatureCount,
    given_registry,
    made_events,
    made_wait,
    named_features,
    registry_options,
)
from driftway.worker.cli.options import Command, was_typed, with_options
from driftway.worker.cli.start_options import warm_start_plan
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.registry.parser import FORMS as REGISTERED
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import (
    CHAMPION_ONLY,
    EMITTED,
    EVERY_MODEL,
    MAX_COVERAGE,
    NO_COVERAGE,
    SharingOption,
)
from driftway.worker.wire.codec import FORMATS
from driftway.worker.wire.events import CLASSIFICATION, REGRESSION, Target
from driftway.worker.wire.json_tokens.text_values import as_number
from driftway.worker.wire.registered.framing import OUTPUT_FORMATS, REGISTERED_OUTPUTS

if TYPE_CHECKING:
    from driftway.learners import Spec


DEFAULT_LEARNER = "auto"
QUOTED_COMMA = re.compile(r'(^|,)\s*"[^"]*,[^"]*"\s*(,|$)')
COVERING = (
    "Add prediction intervals (regression) or prediction sets (classification) that contain this share of the labels, "
    "even under drift:"
)
SHARING = (
    "Partitions exchange their linear models. Each partition does so after every N of its own labelled rows, once its "
    "last update is committed. average:rows=100 shares with all partitions, gossip:rows=100 with the next and the "
    "previous one."
)


def target_options(command: Command) -> Command:
    """--learner, --task, --classes, --labels, --map, --standardize, --metric-window."""
    options = [
        click.option(
            "--learner",
            "learner",
            multiple=True,
            default=(DEFAULT_LEARNER,),
            show_default=True,
            metavar="NAME[:PARAM=VALUE,...]",
            help="Learner and its parameters. Repeatable; the first is the champion. ova:NAME is one-vs-rest; "
            "on_drift:NAME restarts the learner at a drift.",
        ),
        click.option(
            "--task",
            type=click.Choice((CLASSIFICATION, REGRESSION)),
            default=CLASSIFICATION,
            show_default=True,
            help="Predict a class or a number.",
        ),
        click.option("--classes", type=click.IntRange(2), default=None, help="Number of classes.  [default: 2]"),
        click.option(
            "--labels",
            metavar="A,B,..",
            help="Names of the classes, in class order, as the labels are written in the data.",
        ),
        click.option(
            "--map",
            "maps",
            multiple=True,
            metavar="MAP[:PARAM=VALUE,...]",
            help="Feature map applied before standardisation and before every learner: polynomial:degree=2, "
            "fourier:D=100,gamma=0.5,seed=1 or hashing:buckets=64,seed=1. Repeatable; each map takes the output of the "
            "one before it.",
        ),
        click.option(
            "--standardize/--no-standardize",
            default=True,
            show_default=True,
            help="Standardise features online, to mean 0 and variance 1.",
        ),
        click.option(
            "--metric-window",
            "window",
            type=click.IntRange(1),
            default=1000,
            show_default=True,
            help="Size of the rolling window for metrics, in rows.",
        ),
    ]
    return with_options(command, options)


def event_options(command: Command) -> Command:
    """--features, --format, --registry, --output-format, --pass-headers, --emit, --coverage and more."""
    options = [
        click.option(
            "--features",
            type=FeatureCount(),
            help="Number of features per event, or their names, as in `x`.  [default: as in the first event]",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice((*FORMATS, *REGISTERED)),
            default=FORMATS[0],
            show_default=True,
            help="Format of the events. The last three need --registry and --feature.",
        ),
        registry_options,
        click.option(
            "--output-format",
            "output_form",
            type=click.Choice(OUTPUT_FORMATS),
            default=OUTPUT_FORMATS[0],
            show_default=True,
            help="Format of the predictions. packed has class indices and no learner name. The last three need "
            "--registry; the worker registers the schema there.",
        ),
        click.option(
            "--pass-headers",
            default="",
            metavar="NAME[,NAME..]",
            help="Headers of the event to copy unchanged to its prediction; * copies all.  [default: none]",
        ),
        click.option(
            "--cloudevents-source",
            "cloudevents",
            default="",
            metavar="URI",
            help="Write predictions as CloudEvents in binary mode, with this source, for example /shop/fraud; their "
            "attributes are in headers.  [default: no CloudEvents]",
        ),
        click.option(
            "--emit",
            type=click.Choice(EMITTED),
            default=CHAMPION_ONLY,
            show_default=True,
            help=f"Whose predictions are written. {EVERY_MODEL}: those of the challengers as well, to a separate "
            "topic.",
        ),
        click.option(
            "--accuracy-every",
            type=click.IntRange(1),
            default=500,
            show_default=True,
            help="Number of rows between two accuracy points of a partition.",
        ),
        click.option(
            "--coverage",
            type=click.FloatRange(NO_COVERAGE, MAX_COVERAGE),
            default=NO_COVERAGE,
            metavar="SHARE",
            help=f"{COVERING} the fields `low` and `high`, or `set`, of predictions. Accuracy points report the share "
            "that they actually contained.  [default: none]",
        ),
        click.option("--share-models", "share", metavar="METHOD[:rows=N]", help=SHARING),
        click.option(
            "--detector",
            "detectors",
            multiple=True,
            metavar="NAME[:PARAM=VALUE,...]",
            help="Drift detector on the champion's mistakes, or on its absolute errors in regression: ddm, eddm, "
            "page_hinkley, adwin, hddm_a, hddm_w or kswin. Alarms go to a topic of their own, the accuracy points, the "
            "log and the metrics. Repeatable.",
        ),
    ]
    return with_options(command, options)


def make_target(task: str, classes: int | None, labels: str | None) -> Target:
    """Return the target that the options describe.

    Raises
    ------
    UsageFailure
        They contradict each other.
    """
    names = tuple(name.strip() for name in labels.split(",")) if labels else ()
    if names and (len(set(names)) < len(names) or len(names) < 2 or "" in names):
        raise UsageFailure(f"--labels {labels}: name two or more different labels, separated by commas")
    if labels and QUOTED_COMMA.search(labels):
        raise UsageFailure(f"--labels {labels}: no class can have a comma in its name, not even in quotes: rename it")
    if names and classes is not None and classes != len(names):
        raise UsageFailure(f"--classes {classes} contradicts {len(names)} --labels")
    if task == REGRESSION:
        if names or classes is not None:
            raise UsageFailure("--classes and --labels belong to classification")
        return Target(REGRESSION, 0)
    target = Target(CLASSIFICATION, len(names) or classes or 2, names)
    numbers = [name if isinstance(name, str) else float(name) for name in map(as_number, names)]
    if len(set(numbers)) < len(names):
        rounded = len(set(target.class_json())) == len(names)
        raise UsageFailure(
            f"--labels {labels}: two of them are the same number{' once they are float64' if rounded else ''}"
        )
    return target


def make_model_settings(
    specs: tuple[str, ...],
    target: Target,
    maps: tuple[str, ...] = (),
    parse: Callable[[str], Spec] | None = None,
    **rest: Any,
) -> ModelSettings:
    """Return model settings after checking name, parameters and task of every learner and feature map.

    `parse` reads the text of a learner; by default `Spec.parse`. `rest` as `ModelSettings`.

    Raises
    ------
    UsageFailure
        A learner or a map is not valid.
    """
    from driftway.learners import ParameterError, Spec, UnknownLearner

    known = ModelSettings((Spec("majority_class"),), target, **rest).width
    given, width = make_maps(maps, known or 1)
    parsed = []
    for text in specs:
        try:
            spec = (parse or Spec.parse)(text)
            if known is None:
                spec.min_features(target.n_classes, target.task)
            else:
                spec.create(width, target.n_classes, target.task)
        except UnknownLearner as error:
            raise UsageFailure(str(error)) from None
        except ParameterError as error:
            raise UsageFailure(f"learner {text}: {error}") from None
        parsed.append(spec)
    settings = ModelSettings(tuple(parsed), target, maps=given, **rest)
    if settings.share is not None:
        require_sharing([one for i, one in enumerate(parsed) if i != settings.only_predicts], target)
    return settings


def require_sharing(specs: Sequence[Spec], target: Target) -> None:
    """Check that at least one learner has something to share; `specs` are those that learn.

    Raises
    ------
    UsageFailure
        None has.
    """
    like = target.n_classes, target.task
    made = [spec.create(spec.min_features(*like), *like) for spec in specs]
    if all(learner.sharing is None for learner in made):
        names = ", ".join(learner.name for learner in made)
        lacking = f"{names} has nothing to share" if names else "a frozen model learns nothing that it could share"
        raise UsageFailure(
            f"--share-models: {lacking}; linear learners such as dfop, rls, arow, pa1 or ogd_hinge do (`driftway "
            "learners --json`: shares)"
        )


def make_maps(texts: tuple[str, ...], n_features: int) -> tuple[tuple[Spec, ...], int]:
    """Return feature maps after checking their names and parameters, and the number of features that they output.

    Raises
    ------
    UsageFailure
        A map is not valid.
    """
    from driftway.learners import ParameterError, Spec

    specs: list[Spec] = []
    for text in texts:
        try:
            specs.append(Spec.parse(text))
        except ParameterError as error:
            raise UsageFailure(f"map {text}: {error}") from None
    if not specs:
        return (), n_features
    from driftway.learners.preprocessing.maps import create_maps

    try:
        return tuple(specs), create_maps(specs, n_features)[-1].width
    except ParameterError as error:
        raise UsageFailure(str(error)) from None


def make_detector_specs(texts: tuple[str, ...], task: str) -> tuple[Spec, ...]:
    """Return detectors after checking their names and parameters.

    Raises
    ------
    UsageFailure
        A detector is not valid.
    """
    if not texts:
        return ()
    from driftway.learners import ParameterError, Spec
    from driftway.worker.state.monitoring.alarms import make_detectors

    try:
        specs = tuple(Spec.parse(text) for text in texts)
    except ParameterError as error:
        raise UsageFailure(f"detector: {error}") from None
    make_detectors(specs, task)
    return specs


def given_model(given: dict[str, Any], **rest: Any) -> ModelSettings:
    """Return the settings that a worker's options give; `rest` as `ModelSettings`.

    Raises
    ------
    UsageFailure
        As `make_model_settings`, `make_target` and `warm_start_plan`; or --registry is of no use.
    Failure
        As `warm_start_plan`.
    """
    names = "maps", "standardize", "window", "accuracy_every", "coverage", "form", "output_form", "emit", "registry"
    asked = {name: given[name] for name in names}
    if given["registry"] is not None and not {given["form"], given["output_form"]} & {*REGISTERED, *REGISTERED_OUTPUTS}:
        if was_typed("registry"):
            raise UsageFailure(f"--format {given['form']} needs no --registry")
        asked["registry"] = None  # a default for all commands
    asked["registry_properties"] = given_registry(given)
    target, learners = make_target(given["task"], given["classes"], given["labels"]), given["learner"]
    passed = given["pass_headers"]
    asked["pass_headers"] = tuple(name.strip() for name in passed.split(",")) if passed else ()
    asked["cloudevents"] = given["cloudevents"]
    asked["share"] = None if given["share"] is None else SharingOption.parse(given["share"])
    asked["detectors"] = make_detector_specs(given["detectors"], given["task"])
    plan = warm_start_plan(given, target)
    if plan is not None:
        target, learners = plan.target, plan.learners
        asked |= {"maps": plan.maps, "standardize": plan.standardize, "warm": plan.warm}
    asked |= (made_events(given) if plan is None else plan.reading) | made_wait(given)
    asked |= named_features(given, asked)
    return make_model_settings(learners, target, **asked, **rest)

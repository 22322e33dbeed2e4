"""Turn the options of `driftway evaluate` into jobs, and run jobs under a progress bar."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.console import bar
from driftway.worker.cli.event_options import made_events
from driftway.worker.cli.file_options import given_file_options, print_notes
from driftway.worker.cli.model_options import DEFAULT_LEARNER, make_model_settings, make_target
from driftway.worker.cli.options import was_given
from driftway.worker.cli.start_options import warm_start_plan
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.settings.option_values import PREQUENTIAL, SEGMENTS, SharingOption
from driftway.worker.wire.events import CLASSIFICATION, REGRESSION, Target

if TYPE_CHECKING:
    from driftway.learners.spec import Spec
    from driftway.worker.evaluation.protocols import Job, Outcome


@dataclass(frozen=True)
class EvaluationPlan:
    """One stream and its jobs, one per learner.

    Parameters
    ----------
    stream : Stream
        The stream, opened for its properties; every job opens its own.
    jobs : list of Job
        The jobs, in the order of the learners.
    """

    stream: Any
    jobs: list[Job]

    @property
    def specs(self) -> list[Spec]:
        """The learners."""
        return [job.spec for job in self.jobs]

    @property
    def rows(self) -> int | None:
        """Maximum number of rows that each job reads; None if unknown."""
        limit = self.jobs[0].rows
        known: int | None = self.stream.rows
        if known is not None:
            known = max(known - self.jobs[0].skip, 0)
        return min((n for n in (known, limit) if n is not None), default=None)


def check_options(given: dict[str, Any]) -> None:
    """Refuse options that do not fit together.

    Raises
    ------
    UsageFailure
        The message names the options.
    """
    protocol = given["protocol"]
    for option, asked in (("scores", given["scores"]), ("regret", given["regret"]), ("detector", given["detectors"])):
        if asked is None or asked == ():
            continue
        if protocol != PREQUENTIAL:
            raise UsageFailure(f"--{option} belongs to --protocol {PREQUENTIAL}, not {protocol}")
        if given["jobs"] > 1:
            raise UsageFailure(f"--{option} needs all learners in one process: leave --jobs out")
    if given["detectors"] and given["partitions"] > 1:
        raise UsageFailure("--detector watches learners that see the whole stream: leave --partitions out")
    if given["label_delay"] and (given["frozen"] or given["detectors"] or given["regret"] is not None):
        raise UsageFailure("--label-delay does not go with --frozen, --detector or --regret")
    if given["share"] is not None:
        if given["partitions"] == 1:
            raise UsageFailure("--share-models works between partitions: give their number with --partitions")
        if given["label_delay"] or given["frozen"]:
            raise UsageFailure("--share-models does not go with --label-delay or --frozen")
    elsewhere = {
        "partitions": given["partitions"] > 1,
        "warm-start": given["warm_start"] is not None,
        "skip": given["skip"] is not None,
        "label-delay": given["label_delay"] > 0,
        "coverage": given["coverage"] is not None,
    }
    for option, used in elsewhere.items():
        if used and protocol != PREQUENTIAL:
            raise UsageFailure(f"--{option} belongs to --protocol {PREQUENTIAL}, not {protocol}")
    if given["curves"] and protocol == SEGMENTS:
        raise UsageFailure("--curves draws one run over the whole stream: --protocol prequential or holdout")
    if given["curve_metric"] and not given["curves"]:
        raise UsageFailure("--curve-metric needs --curves FILE")


def leave_to_the_stream(given: dict[str, Any]) -> None:
    """Set --task and --learner to None unless they were given by flag, environment or file."""
    for option in ("task", "learner"):
        if not was_given(option):
            given[option] = None


def print_river_cost(specs: Sequence[Spec]) -> None:
    """Say what models of River among the learners cost, before hours of them."""
    from driftway.worker.evaluation.river.spec import cost_of

    note = cost_of(specs)
    if note is not None:
        click.echo(f"driftway: {note}", err=True)


def plan_all(open_stream: Callable[..., Any], streams: Sequence[str], given: dict[str, Any]) -> list[EvaluationPlan]:
    """Create the jobs of all streams; generators that differ in their options only are called as given.

    Raises
    ------
    UsageFailure
        A stream is given twice, or as for `plan`.
    """
    paths = [os.path.realpath(name) for name in streams]
    for i, name in enumerate(streams):
        if paths[i] in paths[:i]:
            raise UsageFailure(f"the stream {name} is given twice")
    plans = [plan(open_stream, name, given) for name in streams]
    times = Counter(one.stream.name for one in plans)
    for one, name in zip(plans, streams, strict=True):
        if times[one.stream.name] > 1:
            one.stream.name = name
    return plans


def plan(open_stream: Callable[..., Any], name: str, given: dict[str, Any]) -> EvaluationPlan:
    """Create the jobs of one stream, with every learner, map and label checked.

    Raises
    ------
    UsageFailure
        The stream cannot be opened, or an option does not fit it.
    """
    from driftway.worker.evaluation.cli.evaluation_curves import points_every
    from driftway.worker.evaluation.protocols import Job
    from driftway.worker.evaluation.river.spec import spec_of
    from driftway.worker.evaluation.rows import is_read, open_rows

    task = given["task"] or (CLASSIFICATION if given["classes"] or given["labels"] else None)
    target = make_target(task or CLASSIFICATION, given["classes"], given["labels"])
    warm_plan = warm_start_plan(given, target)
    if warm_plan is not None:
        target = warm_plan.target
    reading = made_events(given, columns=True) if warm_plan is None else warm_plan.reading
    opening = {
        "seed": given["seed"],
        "label": given["label"],
        "labels": target.labels or None,
        "data_dir": given["data_dir"],
        "inject": given["inject"],
        "drop": given["drop"],
        **given_file_options(given),
    }
    labelled, events = target, reading.get("events")
    if events is not None:
        require_events(given)
    stream = open_rows(open_stream, name, opening, labelled, events)
    print_notes(stream)
    if warm_plan is None:
        target = _target_of(stream, task, given["classes"], target)
        learners = given["learner"] or (DEFAULT_LEARNER,)
        maps, standardize, columns = given["maps"], given["standardize"], None
    else:
        target, columns = warm_plan.match_stream(stream)
        learners, maps, standardize = warm_plan.learners, warm_plan.maps, warm_plan.standardize
    warm = None if warm_plan is None else warm_plan.warm
    width = None if events is not None else stream.n_features
    share = None if given["share"] is None else SharingOption.parse(given["share"])
    settings = make_model_settings(learners, target, maps, spec_of, n_features=width, warm=warm, share=share, **reading)
    settings_read = replace(settings, target=labelled) if is_read(settings) else None
    jobs = [
        Job(
            name,
            spec,
            target,
            opening,
            given["protocol"],
            given["limit"],
            settings.maps,
            standardize,
            given["partitions"],
            given["window"],
            every=given["holdout_every"],
            test_rows=given["holdout_rows"],
            noisy=given["holdout_noisy"],
            warm=warm if i == 0 else None,
            skip=given["skip"] or 0,
            columns=columns,
            label_delay=given["label_delay"],
            share=settings.share,
            coverage=given["coverage"],
            reading=settings_read,
        )
        for i, spec in enumerate(settings.specs)
    ]
    made = EvaluationPlan(stream, jobs)
    if given["curves"]:
        made = EvaluationPlan(stream, [job.with_points(points_every(made.rows)) for job in jobs])
    return made


def require_events(given: dict[str, Any]) -> None:
    """Refuse options that do not go with a schema of events."""
    for option in ("inject", "drop"):
        if given[option]:
            raise UsageFailure(f"--{option} is for numeric columns: leave it or --feature out")


def _target_of(stream: Any, task: str | None, classes: int | None, named: Target) -> Target:
    """The target of a stream: as given by the options, else as known by the stream, else two classes.

    `named` is the target given by the options alone. Whatever the names of the classes, the stream yields indices.
    """
    task = task or stream.task or CLASSIFICATION
    if task == REGRESSION:
        return Target(REGRESSION, 0)
    known = len(stream.labels) if stream.labels and classes is None else named.n_classes
    return Target(CLASSIFICATION, known)


def run_plans(
    open_stream: Callable[..., Any], plans: list[EvaluationPlan], processes: int
) -> list[list[Outcome | Failure]]:
    """Run all jobs, at most `processes` at a time; return the outcomes of each plan, in the order of its jobs.

    Where a job failed, its failure is returned.
    """
    from driftway.worker.processes import run_jobs

    jobs = [job for one in plans for job in one.jobs]
    known = [one.rows for one in plans for _ in one.jobs]
    total = sum(rows for rows in known if rows is not None) if None not in known else None
    with bar("evaluate", total) as advance:
        outcomes = iter(run_jobs(partial(_run_or_fail, open_stream), jobs, processes, advance))
    found = [[next(outcomes) for _ in one.jobs] for one in plans]
    return [
        [one if isinstance(one, Failure) else replace(one, stream=of.stream.name) for one in own]
        for of, own in zip(plans, found, strict=True)
    ]


def _run_or_fail(open_stream: Callable[..., Any], job: Job, progress: Callable[[int], None]) -> Outcome | Failure:
    from driftway.worker.evaluation.protocols import run

    try:
        return run(open_stream, job, progress)
    except Failure as failure:
        return failure


def failed(failures: Sequence[tuple[str, Failure]], streams: int, results: bool) -> Failure:
    """One failure that stands for several, with the exit code of the first.

    Parameters
    ----------
    failures : sequence of (str, Failure)
        Each with the name of its stream; at least one.
    streams : int
        Number of streams; of several the sentences name theirs.
    results : bool
        Whether there are results of other learners or streams.
    """
    named = [(name, str(failure)) for name, failure in failures]
    sentences = [text if streams == 1 or name in text else f"{name}: {text}" for name, text in named]
    others = ["the results are those of the others"] if results else []
    return type(failures[0][1])("; ".join(dict.fromkeys([*sentences, *others])))

"""Measure a paper's table: its learners on its data sets, each on ten pieces of the stream.

The pieces begin at row 0 and deviations use n - 1, as in the printed tables (docs/decisions/0016).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from driftway.workbench.paper_tables.experiments.data_sets import DataSet
from driftway.workbench.paper_tables.published import PublishedFigure
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.protocols import Figure, Job, run
from driftway.worker.settings.option_values import SEGMENTS
from driftway.worker.wire.events import CLASSIFICATION, REGRESSION, Target


@dataclass(frozen=True)
class PaperExperiment:
    """A table as printed, and the streams and learners that correspond to its rows and columns.

    Parameters
    ----------
    name : str
        Name for `--table`, and of the page.
    title, source : str
        Heading of the page; the paper and its table.
    method : str
        The paper's own column, against which the others are tested.
    contenders : mapping
        Column -> learner, with ``{mu}`` where the data set's factor belongs.
    printed : mapping
        Data set -> column -> figure.
    data_sets : mapping
        Data set -> streams and factor.
    checked : tuple of str
        Columns whose figures are checked against the printed ones.
    differences : mapping
        (data set, column) -> why our figure falls short of the printed one.
    remarks : str
        Remarks on the printed table, for the page.
    task : str
        ``classification``: accuracy in per cent; ``regression``: 100 times the mean squared error.
    standardize : bool
        Run every learner behind the online standardiser.
    """

    name: str
    title: str
    source: str
    method: str
    contenders: Mapping[str, str]
    printed: Mapping[str, Mapping[str, PublishedFigure]]
    data_sets: Mapping[str, DataSet]
    checked: tuple[str, ...]
    differences: Mapping[tuple[str, str], str]
    remarks: str = ""
    task: str = CLASSIFICATION
    standardize: bool = False

    @property
    def larger_is_better(self) -> bool:
        """True for accuracies, false for errors."""
        return self.task != REGRESSION

    @property
    def metric(self) -> str:
        """Name of the metric that is reported."""
        return "mse" if self.task == REGRESSION else "accuracy"

    @property
    def target(self) -> Target:
        """What the learners predict."""
        return Target(REGRESSION, 0) if self.task == REGRESSION else Target()


@dataclass
class PaperResults:
    """The measurements of an experiment.

    Parameters
    ----------
    figures : dict
        Data set -> column -> figure over the pieces, in the table's unit.
    learners : dict
        Data set -> column -> learner that ran.
    streams : dict
        Data set -> stream that was used.
    missing_streams, missing_learners : dict
        Data set or column -> why it is missing.
    kernel_seconds : dict
        Column -> seconds in its kernels.
    seconds : float
        Total wall time.
    """

    figures: dict[str, dict[str, Figure]] = field(default_factory=dict)
    learners: dict[str, dict[str, str]] = field(default_factory=dict)
    streams: dict[str, str] = field(default_factory=dict)
    missing_streams: dict[str, str] = field(default_factory=dict)
    missing_learners: dict[str, str] = field(default_factory=dict)
    kernel_seconds: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def columns(self) -> list[str]:
        """Contenders that were measured, in the table's order."""
        return list(self.kernel_seconds)


def measure_experiment(contest: PaperExperiment, asked: TableRequest) -> PaperResults:
    """Measure every contender that exists on every stream that is available.

    Raises
    ------
    UsageFailure
        None of the streams is available.
    """
    from driftway.worker.processes import run_jobs

    started = time.perf_counter()
    results = PaperResults()
    opening = {"seed": asked.seed, "data_dir": asked.data_dir}
    jobs: list[tuple[str, str, Job]] = []
    for name, data_set in contest.data_sets.items():
        stream = _first_there(name, data_set, asked, opening, results)
        if stream is not None:
            jobs += _jobs(contest, name, stream, opening, results)
    if not results.streams:
        raise UsageFailure(f"none of the streams of {contest.name} is available; give their folder with --data-dir")
    ran = {column for _, column, _ in jobs}
    results.kernel_seconds = {column: 0.0 for column in contest.contenders if column in ran}
    asked.say(f"{contest.name}: {len(jobs)} runs on {len(results.streams)} data sets")
    # The longest first, so that no process is still busy with one when all others are done.
    order = sorted(jobs, key=lambda one: -LONG.get(one[2].stream, 1))
    outcomes = run_jobs(partial(run, asked.open_stream), [job for _, _, job in order], asked.processes)
    results.figures = {name: {} for name in results.streams}
    for (name, column, job), outcome in zip(order, outcomes, strict=True):
        values = outcome.figure(contest.metric).values
        results.figures[name][column] = Figure.of((None if v is None else 100.0 * v for v in values), ddof=1)
        results.learners.setdefault(name, {})[column] = job.spec.text
        results.kernel_seconds[column] += outcome.seconds
    results.seconds = time.perf_counter() - started
    return results


def _first_there(
    name: str, data_set: DataSet, asked: TableRequest, opening: dict[str, Any], results: PaperResults
) -> tuple[str, Any] | None:
    """Return the first of a data set's streams that can be opened."""
    for stream in data_set.streams:
        try:
            opened = asked.open_stream(stream, **opening)
        except UsageFailure:
            continue
        results.streams[name] = stream
        return stream, opened
    results.missing_streams[name] = f"no stream {' or '.join(data_set.streams)}"
    return None


def _jobs(
    contest: PaperExperiment, name: str, stream: tuple[str, Any], opening: dict[str, Any], results: PaperResults
) -> list[tuple[str, str, Job]]:
    """Return the runs on one data set."""
    from driftway.learners import ParameterError, Spec, UnknownLearner

    found = []
    for column, text in contest.contenders.items():
        spec = Spec.parse(text.format(mu=contest.data_sets[name].mu))
        try:
            spec.create(stream[1].n_features, contest.target.n_classes, contest.task)
        except UnknownLearner:
            results.missing_learners[column] = f"`{spec.name}` does not exist yet"
        except ParameterError as error:
            results.missing_learners[column] = f"`{spec.text}`: {error}"
        else:
            job = Job(stream[0], spec, contest.target, opening, SEGMENTS, standardize=contest.standardize, first=0)
            found.append((name, column, job))
    return found


LONG = {"spam500": 40, "MG-2C-2D": 4, "archive:MG-2C-2D": 4, "UG-2C-2D": 2, "archive:UG-2C-2D": 2}
"""Approximate time that a learner needs on these streams, relative to all others."""

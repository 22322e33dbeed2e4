"""`driftway evaluate --plan`: the models change at the offsets where the group's partitions applied plans."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from driftway.learners.spec import Spec
from driftway.worker.cli.console import bar
from driftway.worker.cli.model_options import make_detector_specs, make_target
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.cli.plan_options import plan
from driftway.worker.evaluation.protocols import Job
from driftway.worker.evaluation.rows import EventRowSource, first_rows
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import NO_COVERAGE, PREQUENTIAL
from driftway.worker.state.delayed_labels.pending_rows import OrderedBatch
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.emitted import EmittedFigures
from driftway.worker.state.outputs import Outputs
from driftway.worker.state.plans.model_plan import PlanAdoption
from driftway.worker.state.plans.plan_file import PlanHistory, read_history
from driftway.worker.state.plans.plan_run import PlanRun
from driftway.worker.state.plans.transition import join
from driftway.worker.wire.codec import write_events
from driftway.worker.wire.columns import BytesColumn, Floats, ListColumn
from driftway.worker.wire.events import CLASSIFICATION, Records

EMITTED = "emitted"
"""The name of the champions' predictions, whichever models made them, among the learners."""


class RecordFiles:
    """The files of --scores and --points: a line for each prediction and each accuracy point, as a worker writes them.

    Parameters
    ----------
    scores, points : str or None
        Their paths.

    Raises
    ------
    UsageFailure
        A file cannot be written.
    """

    def __init__(self, scores: str | None, points: str | None) -> None:
        self._open = ExitStack()
        self._scores, self._points = self._opened(scores), self._opened(points)

    def __enter__(self) -> RecordFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def write(self, outputs: Outputs) -> None:
        """Write what a batch adds."""
        if self._scores is not None:
            self._scores.writelines(line for value in outputs.predictions.to_list() for line in (value or b"", b"\n"))
        if self._points is not None:
            self._points.writelines(line for _, value in outputs.points for line in (value, b"\n"))

    def _opened(self, path: str | None) -> IO[bytes] | None:
        try:
            return None if path is None else self._open.enter_context(Path(path).open("wb"))
        except OSError as error:
            raise UsageFailure(f"cannot write {path}: {error.strerror}") from None


class BesideModels:
    """The models of a partition that plans relearn: on a stream they learn every row beside the others until they join.

    Parameters
    ----------
    model : Model
        The models at the first record.
    adoptions : sequence of PlanAdoption
        Where plans are adopted.
    """

    def __init__(self, model: Model, adoptions: Sequence[PlanAdoption]) -> None:
        plans = [model.plan, *(adoption.plan for adoption in adoptions)]
        self._models = {
            (plan.number, one.name): Model(
                replace(plan.applied_to(model.settings), specs=(one.spec,), detectors=()), model.partition
            )
            for before, plan in pairwise(plans)
            for one in plan.relearned_after(before)
        }

    def learn(self, part: Records) -> None:
        """Learn the next piece."""
        for model in self._models.values():
            model.advance(part, emit=False)

    def follow(self, model: Model, adoption: PlanAdoption) -> Model:
        """Return the model of an adopted plan, with those that join there."""
        following = model.followed_by(adoption.plan)
        for name in (one.name for one in adoption.plan.relearned_after(model.plan)):
            join(self._models[adoption.plan.number, name].planned, following.planned, (name,))
        return following


class RepeatedPartition:
    """One partition whose models adopt plans.

    Parameters
    ----------
    run : PlanRun
        Its models at the first record, and where they adopt plans.
    files : RecordFiles
        Where outputs are written.
    beside : BesideModels or None
        Those that join later, if `run` takes them from there.
    """

    def __init__(self, run: PlanRun[Model], files: RecordFiles, beside: BesideModels | None = None) -> None:
        self.run, run.on_adoption, self._beside = run, self._attach, beside
        self._files, self._figures, self._seconds = files, list[EmittedFigures](), 0.0
        self._rows = self._rejected = 0
        self._champions = list[str]()
        self._attach(run.model)

    def learn(self, part: Records) -> None:
        """Learn the next piece, as `run.pieces` cuts it, and write what it adds."""
        started = time.perf_counter()
        outputs = self.run.model.advance(part)
        if self._beside is not None:
            self._beside.learn(part)
        self._seconds += time.perf_counter() - started
        self._rows += outputs.rows
        self._rejected += sum(not one.set_aside for one in outputs.rejected)
        self._files.write(outputs)

    def results(self, stream: str) -> list[dict[str, Any]]:
        """A row for the predictions as emitted, and one for each model that is left at the end, champion first."""
        model = self.run.model
        head = {"protocol": PREQUENTIAL, "stream": stream}
        counts = {"rows": self._rows, "rejected": self._rejected, "missing": 0}
        spent = {"seconds": round(self._seconds, 6)}
        point = self._figures[0].point() if self._figures else {}
        emitted = {"learner": EMITTED, "champions": self._champions, **point}
        rows = [emitted, *({"learner": name, **figures} for name, figures in model.latest_points().items())]
        about = {"partition": model.partition, "plan": model.plan.number}
        return [{**head, **about, **counts, "labelled": row.get("labels", 0), **row, **spent} for row in rows]

    def _attach(self, model: Model) -> None:
        model.monitors.observer = self._observe
        self._champions += [model.plan.champion] * (self._champions[-1:] != [model.plan.champion])
        for figures in self._figures:
            figures.follow(model.champion)

    def _observe(self, steps: OrderedBatch, scores: list[Floats]) -> None:
        if scores and not self._figures:
            wait = self.run.model.settings.wait
            waiting = 0 if wait is None else wait.rows
            self._figures.append(EmittedFigures(self.run.model.champion, self.run.model.settings.window, waiting))
        if scores:
            self._figures[0].observe(steps, scores[0])


def evaluate_planned(open_stream: Callable[..., Any], name: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Repeat a history of plans on a stream; return the results.

    Raises
    ------
    UsageFailure
        The history cannot be, does not say which partition the stream is, or an option does not fit it.
    Failure
        The stream cannot be read, or a plan does not fit its rows.
    """
    history = read_history(given["plan"])
    partitions = _partitions(history, given)
    planned = plan(open_stream, name, {**given, "learner": history.first.names})
    job, stream = planned.jobs[0], planned.stream
    settings = _settings(job, given)
    history.require_possible(settings)
    with RecordFiles(given["scores"], given["points"]) as files, bar(stream.name, planned.rows) as advance:
        parts = []
        for partition in partitions:
            model = Model(settings, partition, given["group"] or "", history.first)
            adoptions = history.adoptions(partition)
            beside = BesideModels(model, adoptions)
            parts.append(RepeatedPartition(PlanRun(model, partition, adoptions, beside.follow), files, beside))
        first = 0
        for values in _events(stream, settings, given["limit"]):
            for part, records in zip(parts, _dealt(values, first, partitions), strict=True):
                for piece in part.run.pieces(records):
                    part.learn(piece)
            first += len(values)
            if advance is not None:
                advance(len(values))
    for i, part in enumerate(parts):
        _report_late(history.adoptions(part.run.model.partition), -(-(first - i) // len(parts)), part.run.model)
    return [row for part in parts for row in part.results(stream.name)]


def _report_late(adoptions: Sequence[PlanAdoption], rows: int, model: Model) -> None:
    """Say which plans were not adopted since the stream ended before."""
    for adoption in adoptions:
        if adoption.offset >= rows and adoption.plan.number > model.plan.number:
            click.echo(
                f"driftway: partition {model.partition} ends at {rows}, before it adopts plan {adoption.plan.number} "
                f"at {adoption.offset}",
                err=True,
            )


def _partitions(history: PlanHistory, given: dict[str, Any]) -> list[int]:
    """The partitions that a stream is, or is split over."""
    if given["partitions"] > 1:
        return list(range(given["partitions"]))
    if given["partition"] is not None:
        return [given["partition"]]
    if len(history.partitions) > 1:
        raise UsageFailure(
            f"{history.name} is the history of partitions {', '.join(map(str, history.partitions))}: say with "
            "--partition which one the stream is, or with --partitions how many it is split over"
        )
    return history.partitions or [0]


def _settings(job: Job, given: dict[str, Any]) -> ModelSettings:
    """The settings of a worker on the stream."""
    reading, target = job.reading, job.target
    if given["labels"]:  # the worker reads and writes them by name
        target = make_target(CLASSIFICATION, given["classes"], given["labels"])
    elif reading is not None and reading.events is not None:
        target = reading.target
    settings = ModelSettings(
        (Spec.parse("no_change"),),
        target,
        standardize=job.standardize,
        maps=job.maps,
        window=job.window,
        accuracy_every=given["accuracy_every"],
        detectors=make_detector_specs(given["detectors"], target.task),
        coverage=given["coverage"] or NO_COVERAGE,
    )
    if reading is None:
        return settings
    return replace(settings, events=reading.events, missing=reading.missing, indicators=reading.indicators)


def _events(stream: Any, settings: ModelSettings, limit: int | None) -> Iterator[BytesColumn]:
    """The stream's rows as events, as `driftway replay` sends them."""
    if isinstance(stream, EventRowSource):
        left = limit
        for values in stream.events():
            yield values[:left]
            left = None if left is None else max(0, left - len(values))
            if left == 0:
                return
        return
    first = 0
    for X, y in first_rows(stream.blocks(), limit):
        yield write_events(X, y, first, labels=settings.target.labels or None)
        first += len(y)


def _dealt(values: BytesColumn, first: int, partitions: Sequence[int]) -> Iterator[Records]:
    """The events of each partition, row i being in partition number i mod n of them, at offset i div n."""
    rows, n = np.arange(first, first + len(values)), len(partitions)
    for index, partition in enumerate(partitions):
        mine = rows % n == index
        chosen, count = values.chosen(mine), int(mine.sum())
        yield Records(partition, rows[mine] // n, chosen, ListColumn([None] * count), np.zeros(count, np.int64))

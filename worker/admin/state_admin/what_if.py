"""Other learners on the rows that a group's workers saw, compared with what the workers predicted.

The workers' predictions are replayed, not read: their own models learn the same rows again, with the plans at their
offsets and the labels in the recorded order. This gives the emitted bits. The predictions topic would not be enough: it
lacks late labels, and retention may have shortened it. The result is compared with a snapshot of the workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftway.learners.metrics.e_process import SIDES, EProcess
from driftway.learners.spec import Spec
from driftway.worker.admin.state_admin.group_replay import ReplayStart, with_one_learner, worker_pieces
from driftway.worker.admin.state_admin.listing import Progress
from driftway.worker.admin.state_admin.state_at_offset import plan_run
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.evaluation.prequential import ORDERLESS
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.pending_rows import OrderedBatch
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.alarms import errors_of
from driftway.worker.state.monitoring.emitted import EmittedFigures, LabelledPredictions
from driftway.worker.state.monitoring.evidence import mean_e_value
from driftway.worker.state.plans.configuration import Configuration
from driftway.worker.state.plans.model_plan import PlannedModel
from driftway.worker.wire.columns import Floats
from driftway.worker.wire.events import Records

WORKER = "worker"
"""The name of what the workers predicted, among the learners."""
OF_SEVERAL = ("labels", *ORDERLESS)
"""Metrics that mean something of several partitions together."""


@dataclass
class Candidate:
    """The worker, or a learner that might have been in its place.

    Parameters
    ----------
    name : str
        WORKER, or the learner.
    settings : ModelSettings
        The group's.
    total : Whole
        Counts the predictions of all partitions.
    """

    name: str
    settings: ModelSettings
    total: AllPartitions
    figures: EmittedFigures | None = None
    champions: list[str] = field(default_factory=list)
    """The models of the predictions, in this order."""
    test: EProcess = field(default_factory=EProcess)
    """Whether it is better than the worker."""
    _judged: LabelledPredictions | None = None
    _model: Model | None = None

    def attach(self, model: Model) -> None:
        """Observe a model, or the one that follows it."""
        self._model, model.monitors.observer = model, self._observe
        self.champions += [model.plan.champion] * (self.champions[-1:] != [model.plan.champion])
        if self.figures is not None:
            self.figures.follow(model.champion)

    def judged(self, model: Model, part: Records) -> tuple[LabelledPredictions | None, int]:
        """Let its model learn a piece; return the predictions that were judged, and how many events were rejected."""
        self._judged = None
        outputs = model.advance(part, emit=False)
        return self._judged, sum(not one.set_aside for one in outputs.rejected)

    def errors(self, judged: LabelledPredictions) -> Floats:
        """Mistakes, or losses, of predictions: f8[m]."""
        assert self._model is not None  # noqa: S101
        return errors_of(judged.score, judged.y, self._model.champion.kind)

    def _observe(self, steps: OrderedBatch, scores: list[Floats]) -> None:
        if not scores:
            return  # no usable event yet
        assert self._model is not None  # noqa: S101
        if self.figures is None:
            wait = self.settings.wait
            self.figures = EmittedFigures(self._model.champion, self.settings.window, 0 if wait is None else wait.rows)
        self._judged = self.figures.observe(steps, scores[0])
        self.total.add(self._model, self._judged)


@dataclass
class AllPartitions:
    """The predictions of all partitions together."""

    window: int
    figures: EmittedFigures | None = None
    rows: int = 0
    won: int = 0
    lost: int = 0
    points: list[dict[str, Any]] = field(default_factory=list)
    """The test of each partition."""

    def add(self, model: Model, judged: LabelledPredictions) -> None:
        """Count predictions of a model."""
        if self.figures is None:
            self.figures = EmittedFigures(model.champion, self.window)
        self.figures.follow(model.champion)
        self.figures.add(judged)


@dataclass
class WhatIf:
    """The comparison of several learners with the workers of a group.

    Parameters
    ----------
    specs : sequence of Spec
        The learners.
    settings : ModelSettings
        The group's.
    """

    specs: Sequence[Spec]
    settings: ModelSettings
    wholes: dict[str, AllPartitions] = field(init=False)
    rows: list[dict[str, Any]] = field(default_factory=list)
    """A row for each partition and candidate."""

    def __post_init__(self) -> None:
        names = WORKER, *(spec.text for spec in self.specs)
        self.wholes = {name: AllPartitions(self.settings.window) for name in names}

    def add(self, begin: ReplayStart, progress: Progress) -> None:
        """Replay a partition.

        Raises
        ------
        CannotRestore
            The replay has come to another state than the workers.
        Failure, UsageFailure
            A learner does not fit the rows, or these cannot be read.
        Unreachable
            The broker does not answer.
        """
        source, model = begin.source, begin.state.model
        require_same_features(begin)
        worker = Candidate(WORKER, self.settings, self.wholes[WORKER])
        others = [Candidate(spec.text, self.settings, self.wholes[spec.text]) for spec in self.specs]
        made = [with_one_learner(model, PlannedModel(spec), source.set_aside_from) for spec in self.specs]
        for candidate, one in zip(others, made, strict=True):
            candidate.attach(one)
        worker.attach(model)
        run = plan_run(source, model, begin.history.adoptions)
        run.on_adoption = worker.attach
        rejected = 0
        with closing(worker_pieces(begin, run, progress)) as pieces:
            for part in pieces:
                judged, bad = worker.judged(run.model, part)
                rejected += bad
                for candidate, one in zip(others, made, strict=True):
                    compare(worker, judged, candidate, candidate.judged(one, part)[0])
        self._note(begin, [worker, *others], rejected)

    def _note(self, begin: ReplayStart, candidates: Sequence[Candidate], rejected: int) -> None:
        for candidate in candidates:
            figures, whole = candidate.figures, self.wholes[candidate.name]
            row = {
                "partition": begin.source.partition,
                "learner": candidate.name,
                **({"champions": candidate.champions} if candidate.name == WORKER else {}),
                "from": begin.first,
                "to": begin.end,
                "rows": 0 if figures is None else figures.rows,
                "rejected": rejected,
                **({} if figures is None else figures.point()),
            }
            whole.rows += row["rows"]
            if candidate.name != WORKER:
                won, lost = candidate.test.state["won"].tolist()
                point = candidate.test.point()
                row |= {"won": won, "lost": lost, **point}
                whole.won, whole.lost = whole.won + won, whole.lost + lost
                whole.points.append(point)
            self.rows.append(row)

    def of_group(self) -> Iterator[dict[str, Any]]:
        """A row for each candidate over all partitions; p of the mean of their e-values, as `driftway watch` has it."""
        for name, whole in self.wholes.items():
            point = {} if whole.figures is None else whole.figures.point()
            row = {"learner": name, "rows": whole.rows, **{key: point[key] for key in OF_SEVERAL if key in point}}
            if name != WORKER:
                means = {side: mean_e_value(whole.points, side, len(whole.points)) for side in SIDES}
                row |= {"won": whole.won, "lost": whole.lost}
                row |= {f"{side}_p": min(1.0, 1.0 / mean) for side, mean in means.items()}
            yield row


def require_same_features(begin: ReplayStart) -> None:
    """Check that the worker's models have the same features all the way: other learners cannot follow their changes.

    Raises
    ------
    UsageFailure
        They have not.
    """
    plan, features = begin.state.model.plan.number, Configuration.of(begin.state.model.settings).features
    later = [one for one in begin.history.adoptions if one.plan.number > plan and one.offset <= begin.end]
    changed = [one.offset for one in later if one.plan.configuration.features not in (None, features)]
    if changed:
        raise UsageFailure(
            f"the features of {begin.source} were changed at offset {changed[0]}: compare what comes behind the last "
            f"change, with --from {begin.source.partition}:{changed[-1]} or a later offset"
        )


def compare(
    worker: Candidate, emitted: LabelledPredictions | None, other: Candidate, replayed: LabelledPredictions | None
) -> None:
    """Count on which rows a learner and the worker differ.

    Raises
    ------
    Failure
        They were not judged on the same rows.
    """
    if emitted is None or replayed is None:
        return
    if not np.array_equal(emitted.offsets, replayed.offsets):
        raise Failure(
            f"{other.name} cannot be compared: from offset {emitted.offsets.min(initial=0)} on its labels belong to "
            "other rows than the worker's, as where an id was used again; begin at another offset"
        )
    other.test.counter(worker.errors(emitted), other.errors(replayed), emitted.offsets)(0, len(emitted.y))

"""Runs of `--table auto`: `auto` and the other learners, each once on each available stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from driftway.learners.contract import ParameterError
from driftway.learners.registry import LEARNERS, find
from driftway.learners.spec import Spec
from driftway.workbench.paper_tables.auto.ablation import HISTORY, AblationRun, ablated_accuracy
from driftway.workbench.paper_tables.auto.streams import (
    BESIDE_PEERS,
    FACTORS,
    OF_THE_PAPERS,
    ORDER_TELLS,
    PROBABILITY_STREAMS,
    STREAMS,
    opened,
    opens_as,
)
from driftway.workbench.paper_tables.experiments.data_sets import DATA_SETS
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.protocols import Figure, Job, Outcome, run
from driftway.worker.settings.option_values import PREQUENTIAL, SEGMENTS
from driftway.worker.wire.events import REGRESSION, Target

AUTO = "auto"
SLOW_PER_ROW = {AUTO: 10.0, "ova:svm_win": 40.0, "svm_win": 8.0, "ova:particle_filter": 70.0, "ova:eos_elm": 30.0}
"""Approximate microseconds, so that the longest runs come first; 1 is assumed for all others."""
LONG = ("kddcup99_10pct", "MG-2C-2D", "FG-2C-2D", "movingSquares", "transientChessboard", "interchangingRBF", "spam500")
"""Streams on which a learner needs longer than on others."""
POINTS_EVERY = 1_000
"""Rows between two points where `auto` is measured: some peers have only a stream's first rows."""


class StreamSelection(NamedTuple):
    """Streams for each part of the page."""

    papers: tuple[str, ...] = OF_THE_PAPERS
    whole: tuple[str, ...] = tuple(STREAMS)
    regression: tuple[str, ...] = tuple(FACTORS)
    probabilities: tuple[str, ...] = tuple(PROBABILITY_STREAMS)
    order: tuple[str, ...] = ORDER_TELLS
    peers: tuple[str, ...] = tuple(BESIDE_PEERS)


@dataclass
class AutoResults:
    """The measurements of the table.

    Parameters
    ----------
    pieces : dict
        Data set of the papers -> accuracy of `auto` over ten pieces, in per cent, with n - 1.
    whole : dict
        Stream -> learner -> metrics over all of it; also for regression.
    first_rows : dict
        Stream -> number of its first rows -> metrics of `auto` over them.
    ablated : dict
        Stream -> accuracy in per cent of `auto` without the label history.
    compared : list of str
        Streams on which all rivals ran.
    rows : dict
        Stream -> its length.
    missing : list of str
        Streams that are not available.
    seconds : float
        Total wall time.
    """

    pieces: dict[str, Figure] = field(default_factory=dict)
    whole: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    first_rows: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    ablated: dict[str, float] = field(default_factory=dict)
    compared: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def accuracy(self, stream: str, learner: str) -> float:
        """Return accuracy in per cent; `no_change_accuracy` and `majority_accuracy` do not depend on the learner."""
        if learner.endswith("_accuracy"):
            return 100.0 * float(self.whole[stream][AUTO][learner])
        return 100.0 * float(self.whole[stream][learner]["accuracy"])

    def at(self, stream: str, rows: int) -> dict[str, Any] | None:
        """Return the metrics of `auto` over a stream's first rows, or None if it was not measured there."""
        if rows == self.rows.get(stream):
            return self.whole[stream].get(AUTO)
        return self.first_rows.get(stream, {}).get(rows)

    def best_single(self, stream: str) -> tuple[str, float]:
        """Return the best learner or baseline other than `auto`, and its accuracy in per cent."""
        found = {name: self.accuracy(stream, name) for name in self.whole[stream] if name != AUTO}
        found["no_change"] = self.accuracy(stream, "no_change_accuracy")
        found["majority_class"] = self.accuracy(stream, "majority_accuracy")
        return max(found.items(), key=lambda pair: pair[1])

    def least_error(self, stream: str) -> tuple[str, float]:
        """Return the learner with default parameters and the least MSE, other than `auto`, and its MSE."""
        found = {n: float(m["mse"]) for n, m in self.whole[stream].items() if n != AUTO and ":" not in n}
        return min(found.items(), key=lambda pair: pair[1])


class TableRun(NamedTuple):
    """A run, with the stream and the learner to file its result under."""

    stream: str
    learner: str
    job: Job | AblationRun


def measure(asked: TableRequest, selection: StreamSelection | None = None) -> AutoResults:
    """Run everything.

    Raises
    ------
    UsageFailure
        None of the streams is available.
    """
    from driftway.worker.processes import run_jobs

    selection = selection or StreamSelection()
    started, results = time.perf_counter(), AutoResults()
    works = list(_runs(asked, selection, results))
    if not works:
        raise UsageFailure("none of the streams of the table auto is available; give their folder with --data-dir")
    asked.say(f"auto: {len(works)} runs on {len({work.stream for work in works})} streams")
    works.sort(key=_weight, reverse=True)  # the longest first, so that none of them runs alone at the end
    outcomes = run_jobs(
        partial(_run_one, partial(opened, asked.open_stream)), [work.job for work in works], asked.processes
    )
    for work, outcome in zip(works, outcomes, strict=True):
        _put(results, work, outcome)
    results.seconds = time.perf_counter() - started
    return results


def _put(results: AutoResults, work: TableRun, outcome: Outcome | float) -> None:
    if isinstance(outcome, float):
        results.ablated[work.stream] = outcome
    elif outcome.protocol == SEGMENTS:
        values = outcome.figure("accuracy").values
        results.pieces[work.stream] = Figure.of((None if v is None else 100.0 * v for v in values), ddof=1)
    else:
        results.whole.setdefault(work.stream, {})[work.learner] = outcome.parts[0]
        results.rows[work.stream] = outcome.rows
        if work.learner == AUTO:
            results.first_rows[work.stream] = {point["offset"] + 1: point for point in outcome.points}


def _run_one(
    open_stream: Callable[..., Any], job: Job | AblationRun, progress: Callable[[int], None]
) -> Outcome | float:
    if isinstance(job, AblationRun):
        accuracy = ablated_accuracy(open_stream, job)
        progress(1)
        return accuracy
    return run(open_stream, job, progress)


def _weight(work: TableRun) -> float:
    if isinstance(work.job, AblationRun):
        return SLOW_PER_ROW[AUTO]
    pieces = 8.0 if work.job.protocol == SEGMENTS else 1.0
    return SLOW_PER_ROW.get(work.learner, 1.0) * pieces * (5.0 if work.stream in LONG else 1.0)


def _runs(asked: TableRequest, selection: StreamSelection, results: AutoResults) -> Iterator[TableRun]:
    """Yield every run on available streams, each once."""
    opening = {"seed": asked.seed, "data_dir": asked.data_dir}
    for data_set in selection.papers:
        name = _first_there(DATA_SETS[data_set].streams, data_set, asked, results)
        if name is not None:
            yield TableRun(data_set, AUTO, Job(name, Spec.parse(AUTO), Target(), opening, SEGMENTS, first=0))
    there = {}
    for name in dict.fromkeys((*selection.whole, *selection.probabilities, *selection.order)):
        there[name] = _first_there((STREAMS[name].opens,), name, asked, results) is not None
        if there[name]:
            results.compared += [name] * (name in selection.whole)
            rivals = STREAMS[name].rivals if name in selection.whole else ()
            likely = PROBABILITY_STREAMS[name] if name in selection.probabilities else ()
            for learner in dict.fromkeys((AUTO, *rivals, *likely)):
                target = Target(n_classes=STREAMS[name].n_classes)
                yield _whole(name, STREAMS[name].opens, learner, target, opening)
    for name in selection.order:
        if there[name]:
            one = STREAMS[name]
            yield TableRun(name, HISTORY, AblationRun(one.opens, one.n_classes, HISTORY, asked.data_dir))
    for name in selection.regression:
        if _first_there((name,), name, asked, results) is not None:
            stream = asked.open_stream(name, seed=asked.seed, data_dir=asked.data_dir)
            yield from _of_targets(name, stream.n_features, opening)
    for name in selection.peers:
        if name not in there and name not in selection.regression:
            classes = BESIDE_PEERS[name]
            target = Target(n_classes=classes) if classes else Target(REGRESSION, 0)
            if _first_there((opens_as(name),), name, asked, results) is not None:
                yield _whole(name, opens_as(name), AUTO, target, opening)


def _whole(name: str, opens: str, learner: str, target: Target, opening: dict[str, Any]) -> TableRun:
    """A run over a whole stream; `auto` is measured over its first rows, too."""
    job = Job(opens, Spec.parse(learner), target, opening, PREQUENTIAL)
    return TableRun(name, learner, job.with_points(POINTS_EVERY) if learner == AUTO else job)


def _of_targets(name: str, d: int, opening: dict[str, Any]) -> Iterator[TableRun]:
    """Yield all regression learners behind the standardiser, and DFOP with its factor, there and on raw rows.

    Those that need other columns than d features are left out.
    """
    target = Target(REGRESSION, 0)
    for learner in LEARNERS:
        if "regression" in find(learner).tasks and _fits(learner, d):
            yield _whole(name, name, learner, target, opening)
    for ending in ("", ",intercept=false"):
        spec = Spec.parse(f"dfop:mu={FACTORS[name]:g}{ending}")
        yield TableRun(name, spec.text, Job(name, spec, target, opening, standardize=not ending))


def _fits(learner: str, d: int) -> bool:
    try:
        Spec.parse(learner).create(d, task=REGRESSION)
    except ParameterError:
        return False
    return True


def _first_there(streams: tuple[str, ...], name: str, asked: TableRequest, results: AutoResults) -> str | None:
    for stream in streams:
        try:
            asked.open_stream(stream, seed=asked.seed, data_dir=asked.data_dir)
        except UsageFailure:
            continue
        return stream
    if name not in results.missing:
        results.missing.append(name)
    return None

"""Evaluate a learner over a grid of parameters: every point, the best, and how much each parameter matters.

`dfop:mu=0.001/0.01/0.1,delta=1/10` means six learners: all combinations of the values separated by / are tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Any

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.protocols import Figure, Job, run
from driftway.worker.evaluation.rows import RowCounts
from driftway.worker.processes import run_jobs
from driftway.worker.wire.events import REGRESSION

MAX_POINTS = 10_000
ERRORS = frozenset(("mse", "mae", "rmse", "nmse", "log_loss", "brier", "hinge_loss"))
"""Metrics of which the smallest value is the best."""


@dataclass(frozen=True)
class Grid:
    """A grid of learners that differ in some parameters.

    Parameters
    ----------
    text : str
        The grid as the user wrote it.
    name : str
        Name of the learner, with its wrappers.
    axes : tuple of (parameter, values)
        The parameters that vary, in the order written.
    fixed : tuple of (parameter, value)
        The parameters that do not.
    """

    text: str
    name: str
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    fixed: tuple[tuple[str, str], ...] = ()

    def points(self) -> list[tuple[str, ...]]:
        """Values of the axes at every point; the last axis varies fastest."""
        return list(itertools.product(*(values for _, values in self.axes)))

    def spec(self, point: Sequence[str]) -> Spec:
        """The learner at a point."""
        names = [name for name, _ in self.axes]
        return Spec(self.name, (*self.fixed, *zip(names, point, strict=True)))


@dataclass(frozen=True)
class GridResult:
    """The result of a grid on one stream.

    Parameters
    ----------
    grid : Grid
        The grid.
    stream, metric : str
        Name of the stream, and the metric that was measured.
    figures : tuple of Figure
        One per point, in the order of `Grid.points`.
    seconds : float
        Time spent in kernels, all points together.
    counts : RowCounts
        The stream's rows.
    """

    grid: Grid
    stream: str
    metric: str
    figures: tuple[Figure, ...]
    seconds: float
    counts: RowCounts = field(default_factory=RowCounts)

    @property
    def larger_is_better(self) -> bool:
        """Whether larger values of the metric are better: not for errors and losses, windowed or fading ones too."""
        return self.metric.removeprefix("window_").removeprefix("fading_") not in ERRORS

    @property
    def best(self) -> int:
        """Index of the best point; the first one among equals.

        Raises
        ------
        UsageFailure
            The metric is defined at no point.
        """
        known = [i for i, figure in enumerate(self.figures) if figure.mean is not None]
        if not known:
            raise UsageFailure(
                f"{self.metric} of {self.grid.text} on {self.stream} is undefined everywhere on the grid"
            )
        sign = -1.0 if self.larger_is_better else 1.0
        return min(known, key=lambda i: sign * (self.figures[i].mean or 0.0))

    def sensitivity(self) -> list[tuple[str, str, float | None, float | None]]:
        """(parameter, value, best, mean) over all points with that value: a parameter that matters changes the best."""
        points, found = self.grid.points(), []
        choose = max if self.larger_is_better else min
        for axis, (name, values) in enumerate(self.grid.axes):
            for value in values:
                means = [
                    figure.mean
                    for point, figure in zip(points, self.figures, strict=True)
                    if point[axis] == value and figure.mean is not None
                ]
                found.append((name, value, choose(means, default=None), fmean(means) if means else None))
        return found

    def objects(self) -> list[dict[str, Any]]:
        """One JSON object per point."""
        best = self.best
        return [
            {
                "stream": self.stream,
                "learner": self.grid.spec(point).text,
                **{name: _number(value) for (name, _), value in zip(self.grid.axes, point, strict=True)},
                self.metric: figure.mean,
                "deviation": figure.deviation,
                "best": i == best,
            }
            for i, (point, figure) in enumerate(zip(self.grid.points(), self.figures, strict=True))
        ]


def parse_grid(text: str) -> Grid:
    """Read ``LEARNER:param=v1/v2/v3,other=w``.

    Raises
    ------
    UsageFailure
        The text has another form, nothing varies, a value is repeated, or there are too many points.
    """
    try:
        spec = Spec.parse(text)
    except ParameterError as error:
        raise UsageFailure(f"--grid {text}: {error}") from None
    axes, fixed = [], []
    for name, given in spec.parameters:
        values = tuple(value.strip() for value in given.split("/"))
        if len(values) == 1:
            fixed.append((name, given))
        elif "" in values or len(set(values)) < len(values):
            raise UsageFailure(f"--grid {text}: the values of {name} must differ, and none may be empty")
        else:
            axes.append((name, values))
    grid = Grid(text, spec.name, tuple(axes), tuple(fixed))
    if not axes:
        raise UsageFailure(f"--grid {text}: no parameter varies; write several values, as in dfop:mu=0.001/0.01/0.1")
    count = 1
    for _, values in axes:
        count *= len(values)
    if count > MAX_POINTS:
        raise UsageFailure(f"--grid {text}: {count:,} points are more than {MAX_POINTS:,}")
    return grid


def run_grids(
    open_stream: Callable[..., Any],
    grids: Sequence[Grid],
    jobs: Sequence[Job],
    processes: int = 1,
    progress: Callable[[int], None] | None = None,
) -> list[GridResult]:
    """Evaluate every point of every grid on every stream, by accuracy, or mse in regression.

    Parameters
    ----------
    open_stream : callable
        As `driftway.worker.evaluation.protocols.run`.
    grids : sequence of Grid
        The grids.
    jobs : sequence of Job
        One per stream; their learners are replaced.
    processes, progress
        As `driftway.worker.processes.run_jobs`.

    Raises
    ------
    UsageFailure
        A stream or a learner does not exist.
    """
    pairs = [(grid, job) for job in jobs for grid in grids]
    point_jobs = [replace(job, spec=grid.spec(point)) for grid, job in pairs for point in grid.points()]
    _check(open_stream, point_jobs)
    outcomes = iter(run_jobs(partial(run, open_stream), point_jobs, processes, progress))
    results = []
    for grid, job in pairs:
        found = list(itertools.islice(outcomes, len(grid.points())))
        metric = "mse" if job.target.task == REGRESSION else "accuracy"
        figures = tuple(outcome.figure(metric) for outcome in found)
        seconds = sum(one.seconds for one in found)
        results.append(GridResult(grid, found[0].stream, metric, figures, seconds, found[0].counts))
    return results


def _check(open_stream: Callable[..., Any], jobs: Sequence[Job]) -> None:
    """Fail early, with a clear message, if a learner cannot be created."""
    from driftway.learners import UnknownLearner

    widths: dict[str, int] = {}
    for job in jobs:
        if job.stream not in widths:
            widths[job.stream] = job.width(job.opened(open_stream))
        if job.maps:
            continue
        try:
            job.spec.create(widths[job.stream], job.target.n_classes, job.target.task)
        except UnknownLearner as error:
            raise UsageFailure(str(error)) from None
        except ParameterError as error:
            raise UsageFailure(f"learner {job.spec.text}: {error}") from None


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text

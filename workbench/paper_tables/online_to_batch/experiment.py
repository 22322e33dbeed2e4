"""`--table online-to-batch`: run the experiments of Tao and Lu.

See docs/algorithms/reference-results.md#online-to-batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.online_to_batch.registry import find
from driftway.learners.online_to_batch.training_set import TrainingSet, collect
from driftway.learners.spec import Spec
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.errors import UsageFailure
from driftway.worker.processes import run_jobs

Array = NDArray[np.float64]
Opener = Callable[..., Any]

LINEAR, QUADRATIC = "perceptron:ties=correct", "quadratic_perceptron:ties=correct"
BASES = {"linear": LINEAR, "quadratic": QUADRATIC}
SEEDS = 10
DATA = {
    "phishing": "phishing",
    "htru2": "htru2",
    "magic": "magic04",
    "creditcard": "creditcard_default",
    "a9a": "a9a",
    "w8a": "w8a_train",
}
"""Name in the paper -> stream; of w8a only the training part is available."""
MARKS = (1, 2, 3, 4, 5, 10, 20, 40, 80, 100)
"""Values of phi at which the paper draws Algorithm II."""
LENGTHS = (1, 10, 100)
"""Lengths of the drawn streams, in multiples of the n rows."""
DRAWN = ("random-stopping", "longest-survival")
AVERAGED = ("average", "cutoff-average")
AVERAGED_LENGTHS = (1, 10)


class RunLimits(NamedTuple):
    """Limits of a case: Algorithm II's seeds and largest phi, and the longest stream in multiples of n rows."""

    seeds: int
    phi_max: int
    longest: int


WHOLE = RunLimits(SEEDS, MARKS[-1], LENGTHS[-1])
LIMITS = {("quadratic", "a9a"): RunLimits(3, 100, 100), ("quadratic", "w8a"): RunLimits(2, 40, 10)}
"""(base, data) -> limits, where the whole case would take too long."""


@dataclass(frozen=True)
class BatchRun:
    """One run of a batch algorithm: base and data by name, the algorithm's spec, its seed."""

    base: str
    data: str
    algorithm: str
    seed: int


@dataclass(frozen=True)
class RunResult:
    """Result of a run.

    Parameters
    ----------
    error : float
        Empirical error of the hypothesis, 0..1.
    passes : int
        Passes over the rows.
    seconds : float
        Processor time from the first pass to the last, without reading.
    curve : tuple of (phi, least error so far, error, seconds, passes)
        For Algorithm II only.
    """

    error: float
    passes: int
    seconds: float
    curve: tuple[tuple[int, float, float, float, int], ...] = ()


Results = dict[tuple[str, str, str], list[RunResult]]
"""(base, data, algorithm) -> the result of each seed."""


def limits_of(base: str, data: str) -> RunLimits:
    """Return the limits of a case."""
    return LIMITS.get((base, data), WHOLE)


def algorithms(base: str, data: str) -> list[str]:
    """Return the specs to run on a case."""
    limits = limits_of(base, data)
    drawn = [f"{name}:mult={length}" for name in DRAWN for length in LENGTHS if length <= limits.longest]
    averaged = [f"{name}:mult={length}" for name in AVERAGED for length in AVERAGED_LENGTHS if length <= limits.longest]
    return [f"ii:phi_max={limits.phi_max}", "iii", "i", "iii-weak", *drawn, *(averaged if base == "linear" else [])]


def seeds_of(base: str, data: str, algorithm: str) -> int:
    """Return the number of seeds of an algorithm on a case."""
    return limits_of(base, data).seeds if algorithm.startswith("ii:") else SEEDS


@lru_cache(maxsize=1)
def problem_of(open_stream: Opener, data: str, data_dir: str | None) -> TrainingSet:
    """Read the rows of a data set; a cache of one is enough, since jobs are ordered by data set."""
    stream = open_stream(DATA[data], data_dir=data_dir)
    return collect((block.X, block.y) for block in stream.blocks())


@lru_cache
def compiled(base: str, algorithm: str) -> None:
    """Run an algorithm on a few rows, so that compilation is not measured."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    run_algorithm(collect([(X, np.array([0.0, 1.0, 0.0, 1.0]))]), BatchRun(base, "", algorithm, 0), lambda _: None)


def run_algorithm(problem: TrainingSet, work: BatchRun, progress: Callable[[int], None]) -> RunResult:
    """Run an algorithm to its end."""
    spec = Spec.parse(work.algorithm)
    procedure = find(spec.name)(problem, Spec.parse(BASES[work.base]), work.seed, **dict(spec.parameters))
    seconds, started, at = [0.0], time.process_time(), [0]
    while not procedure.done:
        procedure.advance()
        seconds.append(time.process_time() - started)
        at.append(procedure.progress.passes)
        progress(0)
    result = procedure.result()
    curve = curve_of(result.report, problem.n, at, seconds) if spec.name == "ii" else ()
    return RunResult(result.empirical_error, result.report["passes"], seconds[-1], curve)


def curve_of(
    report: dict[str, Any], n: int, passes: list[int], seconds: list[float]
) -> tuple[tuple[int, float, float, float, int], ...]:
    """Return Algorithm II's curve with elapsed seconds: seconds[i] after passes[i] passes, both ascending."""
    curve, least = [], 1.0
    for point in report["curve"]:
        error = point["errors"] / n
        least = min(least, error)
        after = seconds[int(np.searchsorted(passes, point["passes"]))]
        curve.append((point["phi"], least, error, after, point["passes"]))
    return tuple(curve)


def run_one(open_stream: Opener, data_dir: str | None, work: BatchRun, progress: Callable[[int], None]) -> RunResult:
    """Run one job: compile, read the data set, run the algorithm."""
    compiled(work.base, work.algorithm)
    problem = problem_of(open_stream, work.data, data_dir)
    one = run_algorithm(problem, work, progress)
    progress(1)
    return one


def present(asked: TableRequest) -> Iterator[str]:
    """Yield the data sets that are on this machine."""
    for name, stream in DATA.items():
        try:
            asked.open_stream(stream, data_dir=asked.data_dir)
        except UsageFailure:
            continue
        yield name


def measure(asked: TableRequest, seeds: int | None = None) -> Results:
    """Run everything on every available data set, with at most `seeds` seeds (for tests).

    Raises
    ------
    UsageFailure
        None of the data sets is available.
    """
    names = list(present(asked))
    if not names:
        raise UsageFailure(
            f"none of {', '.join(DATA.values())} is on this machine: give their folder with --data-dir or DRIFTWAY_DATA"
        )
    jobs = [
        BatchRun(base, data, algorithm, seed)
        for data in reversed(names)  # the largest first
        for base in reversed(BASES)
        for algorithm in algorithms(base, data)
        for seed in range(1, min(seeds_of(base, data, algorithm), seeds or SEEDS) + 1)
    ]
    asked.say(f"online-to-batch: {len(jobs)} runs")
    outcomes = run_jobs(partial(run_one, asked.open_stream, asked.data_dir), jobs, asked.processes)
    results: Results = {}
    for work, one in zip(jobs, outcomes, strict=True):
        results.setdefault((work.base, work.data, work.algorithm), []).append(one)
    return results


def runs(results: Results, base: str, data: str, algorithm: str) -> list[RunResult]:
    """Return the runs of an algorithm on a case; for II, whatever its largest phi."""
    if algorithm == "ii":
        algorithm = f"ii:phi_max={limits_of(base, data).phi_max}"
    return results.get((base, data, algorithm), [])

"""Segments, holdout and prequential runs against slow prequential loops; figures over parts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from driftway import cli
from driftway.learners.learner import Learner
from driftway.learners.metrics.prequential import prequential
from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.cli import plan_options
from driftway.worker.evaluation.protocols import RUNNERS, Figure, Job, Outcome, run, segments
from driftway.worker.evaluation.rows import count_rows, first_rows
from driftway.worker.settings.option_values import PROTOCOLS
from driftway.worker.wire.events import Target

ROWS = 1030


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def random_rows(rows: int = ROWS, seed: int = 0) -> Rows:
    """Return rows of two features, a boundary that turns half-way, some labels missing and one row unusable."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 2))
    turned = np.where(np.arange(rows) < rows // 2, X[:, 0], X[:, 1])
    y = (turned + 0.3 * rng.standard_normal(rows) > 0).astype(float)
    y[rng.random(rows) < 0.05] = np.nan
    X[rows // 3, 1] = np.nan
    return Rows(X, y)


@dataclass
class Stream:
    """A stream in memory that does not report its length and draws holdout rows, as generators do."""

    data: Rows
    size: int = 100
    rows: int | None = None
    name: str = "memory"
    n_features: int = 2
    feature_names: tuple[str, ...] = ("a", "b")
    asked: list[tuple[int, int, int, bool]] = field(default_factory=list)

    def blocks(self) -> Iterator[Rows]:
        for start in range(0, len(self.data.y), self.size):
            yield Rows(self.data.X[start : start + self.size], self.data.y[start : start + self.size])

    def holdout(self, row: int, n: int, seed: int, noisy: bool = False) -> Rows:
        self.asked.append((row, n, seed, noisy))
        return unseen_rows(row, n, seed)


def unseen_rows(row: int, n: int, seed: int) -> Rows:
    rng = np.random.default_rng((row, seed))
    X = rng.standard_normal((n, 2))
    return Rows(X, (X[:, 0] > 0).astype(float))


def job(learner: str = "pa1", **rest: Any) -> Job:
    return Job("memory", Spec.parse(learner), standardize=False, **rest)


def carry_out(task: Job, size: int = 100, rows: Rows | None = None) -> Outcome:
    outcome = run(lambda _, **__: Stream(rows or random_rows(), size), task)
    assert outcome.seconds > 0
    return replace(outcome, seconds=0.0)


def hits(learner: Learner, X: np.ndarray, y: np.ndarray) -> float:
    """Return the prequential accuracy, computed row by row."""
    right = labelled = 0
    for x, label in zip(X, y, strict=True):
        if np.isfinite(x).all():
            (score,) = prequential(learner, [(x[None, :].copy(), np.array([label]))])
            right += not math.isnan(label) and (score[0, 0] >= 0) == (label == 1)
            labelled += not math.isnan(label)
    return right / labelled


# Segments.


@pytest.mark.parametrize("rows", [50, 51, 99, 1000, 50_000, 45_312])
def test_ten_segments_of_four_fifths_begin_at_each_fiftieth(rows: int) -> None:
    found = segments(rows)
    assert [start for start, _ in found] == [math.floor(k * rows / 50) for k in range(1, 11)]
    assert {end - start for start, end in found} == {math.floor(4 * rows / 5)}
    assert found[0][0] >= 1
    assert len(set(found)) == 10
    assert found[-1][1] <= rows


def test_segments_of_a_round_number_of_rows_have_exact_bounds() -> None:
    assert segments(50_000)[0] == (1000, 41_000)
    assert segments(50_000)[-1] == (10_000, 50_000)
    assert segments(100, 1) == [(20, 100)]
    assert segments(50_000, first=0) == [(k * 1000, k * 1000 + 40_000) for k in range(10)]
    assert segments(100, 1, first=0) == [(0, 80)]


def test_too_short_a_stream_has_no_segments() -> None:
    with pytest.raises(UsageFailure, match="at least 50 rows, this one has 49"):
        segments(49)


@pytest.mark.parametrize("first", [0, 1])
def test_each_segment_is_learned_from_scratch(first: int) -> None:
    data = random_rows()
    outcome = carry_out(job("pa1", protocol="segments", first=first))
    assert outcome.spans == tuple(segments(ROWS, first=first))
    expected = [hits(Spec.parse("pa1").create(2), data.X[a:b], data.y[a:b]) for a, b in segments(ROWS, first=first)]
    assert outcome.figure("accuracy").values == pytest.approx(expected, rel=1e-15)
    assert len(set(expected)) > 5
    assert [part["rejected"] for part in outcome.parts] == [1] * 10
    assert [part["rows"] for part in outcome.parts] == [4 * ROWS // 5 - 1] * 10


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_row_of_a_stream_is_counted_once(protocol: str) -> None:
    data = random_rows()
    usable = np.isfinite(data.X).all(axis=1)
    counts = carry_out(job("pa1", protocol=protocol)).counts
    labelled = int((usable & ~np.isnan(data.y)).sum())
    assert counts.figures() == {"rows": ROWS - 1, "labelled": labelled, "rejected": 1, "missing": 1}
    assert counts.first_rejected == f"row {ROWS // 3}: b is missing or infinite"
    assert counts.first_unused == f"row {int(np.argmax(np.isnan(data.y)))}: it has no label"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_block_size_changes_nothing(protocol: str) -> None:
    task = job("arow", protocol=protocol, every=110, test_rows=40, points_every=70)
    assert carry_out(task, 1) == carry_out(task, 64) == carry_out(task, 5000)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_limit_equals_a_shorter_stream(protocol: str) -> None:
    task = job("arow", protocol=protocol, every=100, test_rows=20)
    whole = random_rows()
    assert carry_out(replace(task, rows=500)) == carry_out(task, rows=Rows(whole.X[:500], whole.y[:500]))


def periodic() -> Rows:
    """Return rows that repeat every T / 50, so that all segments are the same."""
    data = random_rows(20)
    X = np.nan_to_num(data.X)
    return Rows(np.tile(X, (50, 1)), np.tile(np.nan_to_num(data.y), 50))


@pytest.mark.parametrize(
    ("learner", "random"),
    [("arow", False), ("particle_filter:particles=20", True), ("particle_filter:particles=20,seed=7", True)],
)
def test_random_learners_start_from_another_seed_in_each_segment(learner: str, random: bool) -> None:
    outcome = carry_out(job(learner, protocol="segments"), rows=periodic())
    scores = [part.get("log_loss", part["accuracy"]) for part in outcome.parts]
    assert len(set(scores)) == (10 if random else 1)
    assert outcome.learner == learner
    data = periodic()
    alone = carry_out(job(learner), rows=Rows(data.X[20:820], data.y[20:820]))
    assert outcome.parts[0].items() <= alone.parts[0].items()  # the first segment has the given seed


# Holdout.


def test_holdout_tests_do_not_learn() -> None:
    stream = Stream(random_rows(), 64)
    task = job("pa1", protocol="holdout", every=100, test_rows=30, noisy=True, opening={"seed": 5})
    outcome = run(lambda _, **__: stream, task)
    assert stream.asked == [(row, 30, 5, True) for row in range(99, ROWS, 100)]
    assert outcome.spans == tuple((row - 99, row + 1) for row in range(99, ROWS, 100))
    expected, usable = [], np.isfinite(stream.data.X).all(axis=1)
    for end in range(100, ROWS + 1, 100):
        learner = Spec.parse("pa1").create(2)
        keep = usable[:end]
        list(prequential(learner, [(stream.data.X[:end][keep], stream.data.y[:end][keep])]))
        test, score = unseen_rows(end - 1, 30, 5), np.empty((30, 1))
        learner.predict(test.X, score)
        expected.append(np.mean((score[:, 0] >= 0) == test.y))
    assert outcome.figure("accuracy").values == pytest.approx(expected, rel=1e-15)
    plain = carry_out(job("pa1"))
    assert outcome.totals == plain.parts[0]
    assert {"accuracy", "kappa", "balanced_accuracy"} <= set(outcome.metrics)
    for of_order in ("_temporal", "_m", "window", "fading", "no_change", "majority"):  # they need an order of rows
        assert not [name for name in outcome.metrics if of_order in name.replace("g_mean", "")]


def test_holdout_needs_a_generator_and_enough_rows() -> None:
    class File(Stream):
        holdout = property()

    with pytest.raises(UsageFailure, match="only generators"):
        run(lambda _, **__: File(random_rows()), job(protocol="holdout"))
    with pytest.raises(UsageFailure, match="before the first holdout test, which comes after 2000 rows"):
        carry_out(job(protocol="holdout", every=2000))


def test_holdout_on_a_real_generator_follows_its_concept() -> None:
    """The threshold moves far at row 1000 of 2000: a learner that stopped learning would be right on one side only."""
    task = Job("sea:rows=2000,thresholds=4/14", Spec.parse("dfop:mu=0.05"), protocol="holdout", every=500,
               opening={"seed": 3})  # fmt: skip
    values = run(cli.open_stream, task).figure("accuracy").values
    assert min(values) > 0.85
    assert values == run(cli.open_stream, task).figure("accuracy").values


# Prequential.


def test_prequential_parts_are_partitions() -> None:
    data = random_rows()
    outcome = carry_out(job("pa1", partitions=3))
    expected = [hits(Spec.parse("pa1").create(2), data.X[p::3], data.y[p::3]) for p in range(3)]
    assert [part["accuracy"] for part in outcome.parts] == pytest.approx(expected, rel=1e-15)
    for protocol in ("segments", "holdout"):
        with pytest.raises(UsageFailure, match="several partitions"):
            carry_out(job("pa1", partitions=3, protocol=protocol))


def test_points_are_taken_at_intervals_and_equal_the_end_of_a_shorter_run() -> None:
    outcome = carry_out(job("pa1", points_every=250, partitions=2))
    assert [(p["partition"], p["offset"]) for p in outcome.points] == [
        (p, half - 1) for half in (125, 250, 375, 500) for p in (0, 1)
    ]
    for rows in (250, 750):
        parts = carry_out(job("pa1", rows=rows, partitions=2)).parts
        at = [point for point in outcome.points if point["offset"] == rows // 2 - 1]
        for point, part in zip(at, parts, strict=True):
            assert point == {
                "learner": "pa1", "partition": point["partition"], "offset": point["offset"],
                **{name: value for name, value in part.items() if name not in outcome.counts.figures()},
            }  # fmt: skip


def test_regression_has_its_own_metrics() -> None:
    data = random_rows()
    rows = Rows(np.nan_to_num(data.X), np.nan_to_num(data.X) @ [1.0, 2.0])
    task = job("rls", target=Target("regression", 0), protocol="segments")
    outcome = carry_out(task, rows=rows)
    assert {"mse", "mae", "rmse", "r2", "nmse", "r2_overall"} <= set(outcome.metrics)
    assert "accuracy" not in outcome.metrics
    assert outcome.figure("r2_overall").mean > 0.9


def test_progress_is_reported_for_every_row() -> None:
    for protocol in PROTOCOLS:
        progress: list[int] = []
        run(lambda _, **__: Stream(random_rows(), 400), job(protocol=protocol), progress.append)
        assert progress == [400, 400, 230]


# Figures.


def test_figures_are_mean_and_population_deviation() -> None:
    values = [0.25, 0.5, 0.125, 0.75]
    figure = Figure.of(values)
    assert figure.values == tuple(values)
    assert figure.mean == pytest.approx(statistics.fmean(values), rel=1e-15)
    assert figure.deviation == pytest.approx(statistics.pstdev(values), rel=1e-15)
    assert Figure.of([0.5]) == Figure((0.5,), 0.5, 0.0)
    assert Figure.of(values, ddof=1).deviation == pytest.approx(statistics.stdev(values), rel=1e-15)
    assert Figure.of([0.5], ddof=1) == Figure((0.5,), 0.5, None)


@pytest.mark.parametrize("values", [[], [None], [0.5, None]])
def test_a_part_without_a_value_leaves_no_mean(values: list[float | None]) -> None:
    assert Figure.of(values) == Figure(tuple(values), None, None)


# Small things.


def test_rows_are_counted_if_a_stream_does_not_report_its_length() -> None:
    assert count_rows(Stream(random_rows())) == ROWS
    assert count_rows(Stream(random_rows()), 300) == 300
    assert count_rows(Stream(random_rows(), rows=70)) == 70  # taken as given
    assert [len(y) for _, y in first_rows(Stream(random_rows(), 400).blocks(), 500)] == [400, 100]


def test_each_protocol_of_the_command_can_be_run() -> None:
    assert tuple(RUNNERS) == PROTOCOLS


@pytest.mark.parametrize(
    ("known", "skip", "limit", "rows"),
    [
        (None, 0, None, None),
        (None, 0, 0, 0),
        (None, 0, 7, 7),
        (5, 5, None, 0),
        (5, 9, 7, 0),
        (5, 1, 7, 4),
        (5, 1, 0, 0),
    ],
)
def test_the_number_of_rows_of_a_plan_is_0_or_unknown(
    known: int | None, skip: int, limit: int | None, rows: int | None
) -> None:
    jobs = [Job("memory", Spec("perceptron"), rows=limit, skip=skip)]
    assert plan_options.EvaluationPlan(Stream(random_rows(5), rows=known), jobs).rows == rows

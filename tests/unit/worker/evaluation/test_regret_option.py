"""`driftway evaluate --regret`: a learner's losses minus those of the comparators, computed by hand."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftway import learners
from driftway.learners.hindsight.comparators import fit, row_loss
from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.regret import Regret, parse_hindsight
from driftway.worker.wire.events import Target
from tests.support import cli_runner

ROWS = "sea:rows=1200"


run = partial(cli_runner.run, "evaluate")


def results(*arguments: str) -> list[dict[str, Any]]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def by_hand(spec: str, loss: str, share: slice = slice(None), standardize: bool = True) -> tuple[float, float]:
    """Return the total losses of the learner and of the best fixed model on the rows as the learner sees them."""
    (block,) = open_stream(ROWS, seed=1).blocks(10_000)
    X, y = np.ascontiguousarray(block.X[share]), np.ascontiguousarray(block.y[share])
    score = np.empty((len(X), 1))
    learners.Spec.parse(spec).create(3, standardize=standardize).predict_then_update(X, y, score)
    seen = np.c_[X, np.ones(len(X))]
    if standardize:
        for t in range(len(X)):
            deviation = X[:t].std(axis=0) if t else np.zeros(3)
            away = np.where(deviation > 1e-12, X[t] - (X[:t].mean(axis=0) if t else 0.0), 0.0)
            seen[t, :3] = np.clip(away / np.where(deviation > 1e-12, deviation, 1.0), -10, 10)
    y = 2 * y - 1
    return float(row_loss(loss, score[:, 0], y).sum()), float(row_loss(loss, seen @ fit(loss, seen, y), y).sum())


@pytest.mark.parametrize("loss", ["hinge", "logistic", "square"])
def test_regret_is_the_difference_of_the_losses(loss: str) -> None:
    first, second = results(ROWS, "--learner", "arow", "--learner", "ogd_hinge", "--regret", f"{loss}:k=1,window=300")
    for row, spec in ((first, "arow"), (second, "ogd_hinge")):
        lost, least = by_hand(spec, loss)
        against = row["regret_against"]
        assert against["cumulative_loss"] == pytest.approx(lost)
        assert against["fixed_loss"] == pytest.approx(least, rel=1e-5)
        assert row["regret"] == pytest.approx(lost - least, rel=1e-3)
        assert row["regret_per_row"] == row["regret"] / 1200
        assert row["switching_regret"] >= row["regret"] - 1e-3
        assert set(against["switch_rows"]) <= {300, 600, 900}
    assert first["regret_against"]["fixed_loss"] == second["regret_against"]["fixed_loss"]


def test_more_switches_never_raise_the_loss_and_none_is_the_fixed_model() -> None:
    rows = [
        results(ROWS, "--learner", "arow", "--regret", f"square:k={k},window=200")[0]["regret_against"]
        for k in (0, 1, 3, 99)
    ]
    assert rows[0]["switching_loss"] == rows[0]["fixed_loss"]
    totals = [row["switching_loss"] for row in rows]
    assert totals == sorted(totals, reverse=True)
    assert rows[0]["switch_rows"] == []
    assert results(ROWS, "--learner", "arow", "--regret", "square:k=0,window=1")[0]["regret_against"] == rows[0]


def test_regret_is_on_raw_rows_without_scaling_and_within_the_ball() -> None:
    row = results(ROWS, "--learner", "arow", "--no-standardize", "--regret", "logistic:k=0")[0]
    assert row["regret_against"]["fixed_loss"] == pytest.approx(by_hand("arow", "logistic", standardize=False)[1])
    tight = results(ROWS, "--learner", "arow", "--no-standardize", "--regret", "logistic:k=0,ball=0.01")[0]
    assert row["regret_against"]["fixed_loss"] < tight["regret_against"]["fixed_loss"] <= 1200 * math.log(2)
    assert (row["regret_against"]["ball"], tight["regret_against"]["ball"]) == (None, 0.01)


def test_the_comparators_see_the_mapped_rows() -> None:
    asked = "--learner", "arow", "--no-standardize", "--regret", "square:k=0"
    mapped = results(ROWS, "--map", "polynomial:degree=2", *asked)[0]["regret_against"]
    (block,) = open_stream(ROWS, seed=1).blocks(10_000)
    x, y = block.X.T, 2 * block.y - 1
    seen = np.stack([*x, *(x[i] * x[j] for i in range(3) for j in range(i, 3)), np.ones(1200)], axis=1)
    best = np.linalg.lstsq(seen, y, rcond=None)[0]
    assert mapped["fixed_loss"] == pytest.approx(((seen @ best - y) ** 2).sum() / 2)


def test_each_partition_has_its_own_regret() -> None:
    rows = results(ROWS, "--learner", "arow", "--partitions", "3", "--regret", "square:k=0")
    for p, row in enumerate(rows):
        lost, least = by_hand("arow", "square", slice(p, None, 3))
        assert row["partition"] == p
        assert row["regret"] == pytest.approx(lost - least, abs=1e-3)


def test_the_loss_depends_on_the_task_and_unlabelled_rows_are_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = [f"{a},{b},{'' if i % 7 == 0 else 2 * a - b}" for i, (a, b) in enumerate(rng.standard_normal((300, 2)))]
    (tmp_path / "r.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n")
    row = results(str(tmp_path / "r.csv"), "--task", "regression", "--learner", "rls", "--no-standardize", "--regret")[
        0
    ]
    assert row["regret_against"]["loss"] == "square"
    assert row["regret_against"]["fixed_loss"] < 1e-9
    assert row["regret"] == pytest.approx(row["mse"] * row["labels"] / 2)
    assert results(ROWS, "--learner", "arow", "--regret")[0]["regret_against"]["loss"] == "logistic"


def test_without_labels_there_is_no_regret() -> None:
    regret = Regret(parse_hindsight("hinge", Target()), Target())
    block = np.zeros((3, 2)), np.full(3, np.nan), np.zeros((3, 1)), np.ones(3, bool)
    regret.observe("arow", 0, *block)
    assert regret.result("arow", 0)["regret"] is None


def test_the_table_has_columns_of_regret_only_on_request() -> None:
    assert "switching" in run(ROWS, "--learner", "arow", "--regret", "hinge").stdout
    assert "switching" not in run(ROWS, "--learner", "arow").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--regret", "absolute"),
            "--regret absolute: loss must be one of auto, hinge, logistic, square, got 'absolute'",
        ),
        (("--regret", "hinge:k=-1"), "--regret hinge:k=-1: k must be >= 0, got -1"),
        (("--regret", "hinge:ball=-1"), "--regret hinge:ball=-1: ball must be >= 0, got -1"),
        (("--regret", "hinge:m=1"), "no parameter 'm'; available: loss, k, window, ball"),
        (("--regret", "hinge:k"), "'k' in 'hinge:k' is not parameter=value"),
        (("--regret", "hinge:window=2"), "window=2 makes 600 blocks of 1,200 rows, and more than 200"),
        (
            ("--regret", "hinge", "--task", "regression", "--learner", "rls"),
            "the hinge loss is for classes, not for numbers",
        ),
        (("--regret", "hinge", "--classes", "3", "--learner", "no_change"), "for two classes or a number, not 3"),
    ],
)
def test_conflicting_options_are_refused_in_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    done = run(ROWS, *arguments)
    assert done.exit_code == UsageFailure.exit_code
    assert done.stdout == ""
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1

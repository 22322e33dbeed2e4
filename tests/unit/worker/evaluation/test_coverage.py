"""`driftway evaluate --coverage`: what its rows say, and that realised coverage is what they add up to."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.learners import Spec
from driftway.worker.evaluation.prequential import Evaluation
from driftway.worker.wire.events import Target

N, D = 900, 3


def rows(task):
    draw = np.random.default_rng(4)
    X = draw.normal(size=(N, D))
    noisy = X[:, 0] + 0.3 * draw.normal(size=N)
    y = {"regression": noisy, "two": (noisy > 0).astype(float), "four": np.digitize(noisy, [-0.5, 0.0, 0.5])}[task]
    y = y.astype(float)
    y[::17] = np.nan
    return X, y


TARGETS = {"regression": Target("regression", 0), "two": Target(), "four": Target("classification", 4)}


def evaluation(task, learner, **given):
    return Evaluation(Spec.parse(learner), TARGETS[task], D, window=100, coverage=0.8, **given)


def run(*options):
    done = CliRunner().invoke(main, ["evaluate", *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def end(value, none):
    return none if value is None else value


@pytest.mark.parametrize("options", [(), ("--label-delay", "7"), ("--partitions", "3")])
@pytest.mark.parametrize(
    ("stream", "learner"),
    [
        ("friedman", "arow_regressor"),
        ("sea", "arow"),
        ("led", "auto"),
        pytest.param(
            "friedman", "auto", marks=pytest.mark.slow
        ),  # with late labels, a kernel that takes long to compile
    ],
)
def test_realised_coverage_is_that_of_the_rows(tmp_path: Path, stream: str, learner: str, options: tuple[str, ...]):
    file = tmp_path / "scores.jsonl"
    given = (stream, "--learner", learner, "--limit", "1500", "--coverage", "0.9", *options)
    parts = json.loads(run(*given, "--scores", str(file), "--json"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == 1500
    for p, part in enumerate(parts):
        mine = [line for line in lines if line["row"] % len(parts) == p][: part["labels"]]
        if stream == "friedman":
            ends = [(end(r["low"], -math.inf), end(r["high"], math.inf)) for r in mine]
            covered = [low <= r["y"] <= high for r, (low, high) in zip(mine, ends, strict=True)]
            widths = [high - low for low, high in ends if high < math.inf]
            assert part["endless"] == len(ends) - len(widths) >= 9
            assert part["width"] == pytest.approx(np.mean(widths))
        else:
            covered = [r["y"] in r["set"] for r in mine]
            assert part["set_size"] == pytest.approx(np.mean([len(r["set"]) for r in mine]))
        assert part["coverage"] == pytest.approx(np.mean(covered))
        assert part["coverage"] == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize(("task", "learner"), [("regression", "dfop"), ("two", "pa1"), ("four", "auto")])
def test_coverage_changes_no_prediction_and_does_not_depend_on_batch_cuts(task, learner, delay):
    X, y = rows(task)
    plain = Evaluation(Spec.parse(learner), TARGETS[task], D, window=100, label_delay=delay)
    whole, cut = (evaluation(task, learner, label_delay=delay) for _ in range(2))
    score, _ = whole.step(X, y)
    assert np.array_equal(score, plain.step(X, y)[0])
    all_thresholds = []
    for start in range(0, N, 41):
        cut.step(X[start : start + 41], y[start : start + 41])
        all_thresholds.append(cut.thresholds)
    assert np.array_equal(np.concatenate(all_thresholds), whole.thresholds)
    (found,), (other,), (bare,) = (one.results("x") for one in (whole, cut, plain))
    del found["seconds"], other["seconds"]
    assert found == other
    del bare["seconds"]
    assert bare == {key: found[key] for key in bare}


def test_unusable_rows_have_no_threshold():
    X, y = rows("two")
    X[5] = np.nan
    evaluated = evaluation("two", "pa1")
    evaluated.step(X, y)
    assert np.flatnonzero(np.isnan(evaluated.thresholds)).tolist() == [5]


def test_the_table_shows_coverage():
    table = run("sea", "--learner", "arow", "--limit", "600", "--coverage", "0.95")
    assert {"coverage", "worst window", "set size"} <= {part.strip() for part in table.splitlines()[0].split("  ")}


def test_points_of_curves_have_coverage():
    evaluated = evaluation("two", "pa1", points_every=300)
    evaluated.step(*rows("two"))
    assert [point["offset"] for point in evaluated.points] == [299, 599, 899]
    assert all(0.6 < point["window_coverage"] < 1.0 for point in evaluated.points)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--coverage", "1"), "1.0 is not in the range 0<x<=0.9999"),
        (("--coverage", "0"), "0.0 is not in the range"),
        (("--coverage", "0.9", "--protocol", "segments"), "--coverage belongs to --protocol prequential, not segments"),
        (("--coverage", "0.9", "--grid", "dfop:mu=0.1/0.2"), "--coverage does not go with --grid"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options, sentence):
    done = CliRunner().invoke(main, ["evaluate", "sea", "--limit", "50", *options])
    assert done.exit_code != 0
    assert sentence in f"{done.output} {done.exception}"

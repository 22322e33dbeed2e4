"""Grids of parameters: which are tried, which is best, which parameters matter, and what the command prints."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from driftway import cli, learners
from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.grid.page import curves, grid_page
from driftway.worker.evaluation.grid.search import GridResult, parse_grid, run_grids
from driftway.worker.evaluation.protocols import Figure, Job
from driftway.worker.wire.events import REGRESSION, Target

GRID = parse_grid("dfop:mu=0.001/0.1,delta=1/10,intercept=true")


def figures(*means):
    return tuple(Figure((mean,), mean, 0.0) for mean in means)


def test_a_grid_has_all_combinations_of_values():
    assert GRID.points() == [("0.001", "1"), ("0.001", "10"), ("0.1", "1"), ("0.1", "10")]
    assert GRID.spec(("0.1", "1")).text == "dfop:intercept=true,mu=0.1,delta=1"
    assert parse_grid("ova:arow:q=0/1e-4").spec(("1e-4",)).text == "ova:arow:q=1e-4"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dfop", "no parameter varies"),
        ("dfop:mu=0.1", "no parameter varies"),
        ("dfop:mu=0.1/", "must differ"),
        ("dfop:mu=0.1/0.1", "must differ"),
        ("dfop:mu", "is not parameter=value"),
        (
            "dfop:mu=" + "/".join(map(str, range(1, 102))) + ",delta=" + "/".join(map(str, range(1, 101))),
            "10,100 points",
        ),
    ],
)
def test_an_invalid_grid_is_refused(text, words):
    with pytest.raises(UsageFailure, match=words):
        parse_grid(text)


def test_the_best_point_and_sensitivities_are_found():
    result = GridResult(GRID, "sea", "accuracy", figures(0.7, 0.9, 0.8, 0.9), 1.0)
    assert result.best == 1
    assert result.sensitivity() == [
        ("mu", "0.001", 0.9, pytest.approx(0.8)),
        ("mu", "0.1", 0.9, pytest.approx(0.85)),
        ("delta", "1", 0.8, pytest.approx(0.75)),
        ("delta", "10", 0.9, pytest.approx(0.9)),
    ]
    assert GridResult(GRID, "sru1", "mse", figures(0.7, 0.9, None, 0.8), 1.0).best == 0
    assert [point["best"] for point in result.objects()] == [False, True, False, False]
    assert curves(result, 0) == {"delta=1": [0.7, 0.8], "delta=10": [0.9, 0.9]}
    for loss in ("log_loss", "brier", "hinge_loss", "nmse", "window_mse", "fading_nmse", "window_rmse"):
        assert GridResult(GRID, "sea", loss, figures(0.7, 0.9, None, 0.8), 1.0).best == 0
    for gain in ("kappa", "window_auc", "fading_r2", "no_change_accuracy"):
        assert GridResult(GRID, "sea", gain, figures(0.7, 0.9, None, 0.8), 1.0).best == 1
    with pytest.raises(UsageFailure, match="undefined everywhere"):
        assert GridResult(GRID, "sea", "accuracy", figures(None, None, None, None), 1.0).best


def test_a_grid_measures_the_same_as_single_evaluations():
    job = Job("sea", Spec("rls"), opening={"seed": 3}, rows=2000, standardize=False)
    (result,) = run_grids(open_stream, [parse_grid("dfop:mu=0.0001/0.3")], [job])
    X, y = next((block.X[:2000], block.y[:2000]) for block in open_stream("sea", seed=3).blocks())
    for mu, figure in zip((0.0001, 0.3), result.figures, strict=True):
        score = np.empty((2000, 1))
        learners.create("dfop", 3, mu=mu).predict_then_update(X, y, score)
        assert figure.mean == ((score[:, 0] >= 0) == y).mean()
    assert result.best == 0


def test_of_errors_the_smallest_is_the_best():
    target = Target(REGRESSION, 0)
    job = Job("hyperplane_regression", Spec("rls"), target, standardize=False)
    (result,) = run_grids(open_stream, [parse_grid("dfop:mu=0/0.02")], [job])
    assert (result.metric, result.best) == ("mse", 1)


def test_the_page_lists_every_point_and_marks_the_best():
    text = grid_page([GridResult(GRID, "sea", "accuracy", figures(0.7, 0.9, 0.8, 0.85), 1.0)], "c", 1, 2.0, "grid.png")
    assert "| 0.001 | 10 | **90.00** |" in text
    assert "| 0.1 | 1 | 80.00 |" in text
    assert "| delta | 10 | 90.00 | 87.50 |" in text


def test_the_command_prints_json_and_writes_a_page_and_a_picture(tmp_path):
    grid = "dfop:mu=0.001/0.01,delta=1/10"
    asked = ["evaluate", "sea", "--limit", "1000", "--grid", grid, "--json", "--out", str(tmp_path / "new")]
    done = CliRunner().invoke(cli.main, asked)
    assert done.exit_code == 0, done.output
    points = json.loads(done.stdout)
    assert [(point["mu"], point["delta"]) for point in points] == [(0.001, 1), (0.001, 10), (0.01, 1), (0.01, 10)]
    assert sum(point["best"] for point in points) == 1
    assert "![Grid](grid.png)" in (tmp_path / "new" / "grid.md").read_text()
    assert (tmp_path / "new" / "grid.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["sea", "--grid", "arrow:r=1/2"], "no learner 'arrow'"),
        (["sea", "--grid", "dfop:mu=1/2"], "learner dfop:mu=1"),
        (["sea", "--grid", "dfop:mu=0/0.1", "--learner", "rls"], "--learner does not go with --grid"),
        (["sea", "--grid", "dfop:mu=0/0.1", "--scores", "s"], "--scores does not go with --grid"),
        (["sea", "--table", "dfop"], "leave STREAM and --grid out"),
        (["--table", "dfop", "--learner", "rls"], "--learner does not go with --table"),
        (["sea", "--out", "x"], "--out belongs to"),
        ([], "Missing argument 'STREAM...'"),
    ],
)
def test_conflicting_options_are_refused_in_one_sentence(asked, words):
    done = CliRunner().invoke(cli.main, ["evaluate", *asked])
    assert done.exit_code == 2
    assert words in done.stderr

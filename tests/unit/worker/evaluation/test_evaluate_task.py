"""`driftway evaluate` takes task and classes from a stream that knows them, and refuses options it would ignore."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from driftway.commands import load
from driftway.worker.evaluation.cli.table_options import GRID_REFUSES
from tests.support import cli_runner

run = partial(cli_runner.run, "evaluate")


def results(*arguments: str, **env: str) -> list[dict]:
    done = run(*arguments, "--json", **env)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def refusal(*arguments: str, **env: str) -> str:
    done = run(*arguments, **env)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


NOMINAL = "@relation r\n@attribute a numeric\n@attribute c {low, middle, high}\n@data\n"


@pytest.fixture
def arff(tmp_path: Path) -> str:
    rows = "".join(f"{i % 3 + 0.1 * (i % 7)},{('low', 'middle', 'high')[i % 3]}\n" for i in range(300))
    (tmp_path / "nominal.arff").write_text(NOMINAL + rows)
    return str(tmp_path / "nominal.arff")


@pytest.fixture
def csv(tmp_path: Path) -> str:
    (tmp_path / "classes.csv").write_text("a,y\n" + "".join(f"{i % 3},{i % 3}\n" for i in range(60)))
    return str(tmp_path / "classes.csv")


@pytest.mark.parametrize("stream", ["friedman:rows=400", "hyperplane_regression:rows=400"])
def test_a_regression_generator_needs_no_task(stream):
    own, named = results(stream), results(stream, "--task", "regression", "--learner", "auto")
    assert own[0]["learner"] == "auto"
    for one in (*own, *named):
        del one["seconds"]
    assert own == named
    assert {"mse", "window_nmse"} <= set(own[0])


def test_each_stream_has_its_own_task():
    classes, numbers = results("sea:rows=300", "friedman:rows=300", "--learner", "dfop:mu=0.01")
    assert "accuracy" in classes
    assert "mse" in numbers
    assert "mse" not in classes


def test_classes_come_from_generators_and_nominal_labels(arff):
    for stream, n_classes in (("led:rows=300", 10), (arff, 3)):
        (one,) = results(stream)
        assert one["learner"] == "auto"
        (same,) = results(stream, "--classes", str(n_classes), "--learner", "auto")
        assert one["accuracy"] == same["accuracy"]
    assert results(arff, "--learner", "gaussian_nb")[0]["log_loss"] is not None


def test_classes_come_from_a_fetched_stream_of_the_catalogue(tmp_path, monkeypatch):
    from driftway.producers.streams import files

    (tmp_path / "keystroke.csv").write_text("a,y\n" + "".join(f"{i % 4},{i % 4}\n" for i in range(80)))
    monkeypatch.setattr(files, "fetched_file", lambda name: tmp_path / f"{name}.csv")
    assert results("keystroke", "--limit", "80")[0]["learner"] == "auto"


def test_named_labels_give_the_number_of_classes(tmp_path):
    (tmp_path / "words.csv").write_text("a,y\n" + "".join(f"{i % 3},{'xyz'[i % 3]}\n" for i in range(60)))
    (one,) = results(str(tmp_path / "words.csv"), "--labels", "x,y,z")
    assert one["learner"] == "auto"


def test_the_refusal_of_a_label_beyond_the_classes_names_the_options(csv):
    sentence = refusal(csv)
    assert "label 2 in row 2 is not one of 0, 1: " in sentence
    for option in ("--classes", "--labels", "--task regression"):
        assert option in sentence
    assert results(csv, "--classes", "3")[0]["learner"] == "auto"


@pytest.mark.parametrize(
    ("flags", "env"),
    [(("--task", "classification"), {}), (("--classes", "2"), {}), ((), {"DRIFTWAY_TASK": "classification"})],
)
def test_options_take_precedence_over_the_stream(flags, env):
    assert "is not one of 0, 1" in refusal("friedman:rows=50", *flags, **env)


def test_a_stream_of_classes_may_be_evaluated_as_regression():
    assert "mse" in results("sea:rows=300", "--task", "regression")[0]


def test_a_learner_that_does_not_fit_the_streams_task_is_refused():
    assert "arow does not learn regression" in refusal("friedman:rows=50", "--learner", "arow")
    assert "does not learn 10 classes" in refusal("led:rows=50", "--learner", "dfop")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_protocols_use_the_task_of_the_stream(jobs):
    (one,) = results("friedman:rows=300", "--protocol", "segments", "--jobs", jobs)
    assert len(one["mse_values"]) == 10
    (one,) = results("friedman:rows=300", "--protocol", "holdout", "--holdout-every", "100", "--jobs", jobs)
    assert len(one["holdout_mse_values"]) == 3


def test_a_grid_uses_the_task_of_the_stream():
    found = results("friedman:rows=200", "--grid", "dfop:mu=0.001/0.1")
    assert len(found) == 2
    assert all("mse" in one for one in found)


@pytest.mark.parametrize(
    "option",
    [("--limit", "3"), ("--task", "regression"), ("--learner", "rls"), ("--classes", "3"), ("--labels", "a,b"),
     ("--map", "polynomial:degree=2"), ("--no-standardize",), ("--metric-window", "5"), ("--label", "z"), ("--json",),
     ("--protocol", "holdout"), ("--inject", "gradual:at=5,to=sea"), ("--holdout-every", "5"), ("--csv", "x.csv"),
     ("--curves", "x.png"), ("--scores", "s"), ("--regret",), ("--partitions", "1")],
    ids=lambda option: option[0],
)  # fmt: skip
def test_a_table_refuses_options_that_it_would_ignore(option):
    name = "--standardize" if option[0] == "--no-standardize" else option[0]
    assert f"{name} does not go with --table" in refusal("--table", "dfop", *option)


@pytest.mark.parametrize("option", [("--learner", "rls"), ("--csv", "x.csv"), ("--curves", "x.png"), ("--scores", "s")])
def test_a_grid_refuses_options_that_it_would_ignore(option):
    assert f"{option[0]} does not go with --grid" in refusal("sea", "--grid", "dfop:mu=0/0.1", *option)


def test_the_options_that_a_grid_refuses_exist():
    assert set(GRID_REFUSES) <= {option.name for option in load("evaluate").params}


def test_a_default_of_all_commands_does_not_stop_a_grid():
    assert results("sea:rows=100", "--grid", "dfop:mu=0.001/0.1", DRIFTWAY_LEARNER="arow")

"""Evaluation and training say how many rows they could not use, and fail if none is left."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from driftway.worker.errors import Failure
from driftway.worker.evaluation.rows import RowCounts, chosen_rows
from tests.support.cli_runner import run

ROWS = 200


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """Every second row has no label."""
    path = tmp_path / "half.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},{'' if i % 2 else i % 4 // 2}\n" for i in range(ROWS)))
    return path


@pytest.fixture
def unlabelled(tmp_path: Path) -> Path:
    path = tmp_path / "unlabelled.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 5},\n" for i in range(ROWS)))
    return path


HALF = "100 of the 200 rows of {} could be used: 100 without a label; the first, row 1: it has no label"
NONE = "none of the 200 rows of {} could be used: 200 without a label; the first, row 0: it has no label"
WAYS = [(), ("--jobs", "2"), ("--partitions", "3"), ("--protocol", "segments"), ("--label-delay", "5")]


def counts(result: dict[str, Any]) -> tuple[int, ...]:
    return tuple(result[name] for name in ("rows", "labelled", "rejected", "missing"))


@pytest.mark.usefixtures("forked_jobs")
@pytest.mark.parametrize("way", WAYS)
def test_more_than_a_fifth_of_unused_rows_is_reported_in_one_sentence(half: Path, way: tuple[str, ...]) -> None:
    done = run("evaluate", half, "--learner", "arow", "--learner", "pa1", "--json", *way)
    assert done.exit_code == 0, done.output
    assert done.stderr == f"driftway: {HALF.format(half)}\n"
    of_each: dict[str, list[tuple[int, ...]]] = {}
    for result in json.loads(done.stdout):
        of_each.setdefault(result["learner"], []).append(counts(result))
    for found in of_each.values():
        assert [sum(column) for column in zip(*found, strict=True)] == [ROWS, ROWS // 2, 0, 0]


@pytest.mark.usefixtures("forked_jobs")
@pytest.mark.parametrize("way", WAYS)
def test_an_evaluation_without_a_usable_row_fails(unlabelled: Path, way: tuple[str, ...]) -> None:
    done = run("evaluate", unlabelled, "--learner", "arow", "--json", *way)
    assert (done.exit_code, done.stderr) == (1, f"driftway: {NONE.format(unlabelled)}\n")
    found = json.loads(done.stdout)
    assert {result["accuracy"] for result in found} == {None}
    assert [sum(column) for column in zip(*map(counts, found), strict=True)] == [ROWS, 0, 0, 0]


def test_regression_and_grids_fail_too(unlabelled: Path, half: Path) -> None:
    for words in (("--task", "regression", "--learner", "rls"), ("--grid", "pa1:C=1/2")):
        done = run("evaluate", unlabelled, *words)
        assert (done.exit_code, done.stderr) == (1, f"driftway: {NONE.format(unlabelled)}\n")
    done = run("evaluate", half, "--grid", "pa1:C=1/2", "--grid", "arow:r=1/2")
    assert (done.exit_code, done.stderr) == (0, f"driftway: {HALF.format(half)}\n")


def test_without_usable_rows_no_picture_and_no_table_is_written(unlabelled: Path, tmp_path: Path) -> None:
    done = run("evaluate", unlabelled, "--learner", "arow", "--curves", tmp_path / "c.svg", "--csv", tmp_path / "c.csv")
    assert (done.exit_code, done.stderr) == (1, f"driftway: {NONE.format(unlabelled)}\n")
    assert list(tmp_path.glob("c.*")) == [], "nor a table"


def test_results_of_the_other_streams_are_shown(unlabelled: Path, half: Path) -> None:
    done = run("evaluate", "sea:rows=500", unlabelled, half, "--learner", "arow")
    assert (done.exit_code, done.stderr.splitlines()) == (
        1, [f"driftway: {sentence}" for sentence in (HALF.format(half), NONE.format(unlabelled))]
    )  # fmt: skip
    header, sea, *_ = done.stdout.splitlines()
    assert header.split()[2:5] == ["rows", "labelled", "accuracy"]
    assert sea.split()[2:4] == ["500", "500"]


def test_nothing_is_reported_if_all_rows_are_used(tmp_path: Path) -> None:
    assert run("evaluate", "sea:rows=500", "--learner", "arow").stderr == ""
    path = tmp_path / "x.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{'' if i % 5 == 4 else i % 2}\n" for i in range(100)))
    done = run("evaluate", path, "--learner", "arow", "--json")
    assert done.stderr == "", "a fifth is not more than a fifth"
    assert counts(json.loads(done.stdout)[0]) == (100, 80, 0, 0)


def test_a_stream_without_rows_is_a_failure() -> None:
    """Files without rows are refused when opened, but a filter may leave none of a stream."""
    empty = SimpleNamespace(name="s", blocks=lambda: iter(()))
    with pytest.raises(Failure, match=r"^s holds no rows$"):
        list(chosen_rows(empty, 0, None))
    assert RowCounts().sentence("s") == "s holds no rows"


def test_missing_features_are_counted_whether_filled_in_or_rejected(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("a,b,y\n" + "".join(f"{'' if i % 4 == 1 else i},{i % 5},{i % 2}\n" for i in range(ROWS)))
    plain = path, "--learner", "arow", "--json"
    of_events = *plain, "--feature", "a", "--feature", "b"
    for words in (plain, of_events):
        filling, rejecting = run("evaluate", *words, "--missing", "mean"), run("evaluate", *words)
        assert (counts(json.loads(filling.stdout)[0]), filling.stderr) == ((ROWS, ROWS, 0, 50), "")
        assert counts(json.loads(rejecting.stdout)[0]) == (150, 150, 50, 50)
        assert "150 of the 200 rows" in rejecting.stderr
        assert "50 rejected; the first, row 1: a is missing" in rejecting.stderr
    skipping = run("evaluate", *of_events, "--skip", "2")
    assert "rejected; the first, row 5: a is missing" in skipping.stderr


def test_a_label_that_is_no_class_is_reported_first(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps({"a": i % 7, "y": "up"}) + "\n" for i in range(ROWS)))
    done = run("evaluate", path, "--feature", "a", "--labels", "no,yes", "--learner", "arow")
    assert done.exit_code == 1
    wanted = '200 without a label; the first, row 0: label "up" is not one of'
    assert wanted in done.stderr
    done = run("train", path, "--feature", "a", "--labels", "no,yes", "--out", tmp_path / "m.driftway")
    assert done.exit_code == 1
    assert wanted in done.stderr


def test_training_reports_unused_rows(half: Path, unlabelled: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.driftway"
    done = run("train", half, "--out", out, "--json")
    assert done.exit_code == 0, done.output
    assert done.stderr == f"driftway: {HALF.format(half)}\n"
    found = json.loads(done.stdout)
    assert (found["rows"], found["labelled"], found["unlabelled"], found["rejected"], found["missing"]) == (
        100, 100, 100, 0, 0
    )  # fmt: skip
    done = run("train", "sea:rows=300", "--test", half, "--out", tmp_path / "t.driftway")
    assert done.exit_code == 1, "three features, not two"
    done = run("train", unlabelled, "--out", tmp_path / "u.driftway")
    assert (done.exit_code, done.stderr) == (1, f"driftway: {NONE.format(unlabelled)}\n")
    done = run("train", half, "--test", unlabelled, "--out", out, "--force")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, f"driftway: {NONE.format(unlabelled)}")


def test_a_field_that_the_file_has_no_column_for_is_named(half: Path) -> None:
    """With a policy for missing values, a mistyped name is a feature that is constant."""
    done = run(
        "evaluate", half, "--learner", "pa1", "--feature", "a", "--feature", "bb.c", "--missing", "mean", "--json"
    )
    assert done.exit_code == 0, done.output
    assert f"driftway: {half}: it has no column 'bb', so it is missing in every row\n" in done.stderr
    done = run("evaluate", half, "--learner", "pa1", "--feature", "a", "--feature", "b", "--json")
    assert "it has no column" not in done.stderr

"""`driftway evaluate` where a learner or a stream fails: the results of the others are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli_runner import run

FAILING = "river:naive_bayes.MultinomialNB"
"""It takes the logarithm of negative sums, which standardised rows have."""
SEA = "sea:rows=600"
ROWS = "\n".join(f"{i % 7},{i % 3},{int(i % 7 > 3)}" for i in range(60))


@pytest.mark.parametrize("more", [(), ("--jobs", "2"), ("--protocol", "segments"), ("--label-delay", "3")])
def test_results_of_other_learners_are_kept(more: tuple[str, ...]) -> None:
    asked = ("evaluate", SEA, "--learner", "pa1", "--learner", FAILING, "--learner", "arow", *more, "--json")
    found = run(*asked)
    others = more if "--jobs" not in more else ()
    alone = run("evaluate", SEA, "--learner", "pa1", "--learner", "arow", *others, "--json")
    assert found.exit_code == 1
    kept, expected = json.loads(found.stdout), json.loads(alone.stdout)
    assert [(one["learner"], one["accuracy"]) for one in kept] == [
        (one["learner"], one["accuracy"]) for one in expected
    ]
    (sentence,) = [line for line in found.stderr.splitlines() if "has failed" in line]
    assert FAILING in sentence
    assert "ValueError: math domain error" in sentence
    assert sentence.endswith("the results are those of the others")


def test_a_single_learner_that_fails_leaves_no_results() -> None:
    found = run("evaluate", SEA, "--learner", FAILING)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "has failed at a row after" in found.stderr
    assert "others" not in found.stderr


def test_files_and_curves_have_the_others(tmp_path: Path) -> None:
    table, scores, curves = tmp_path / "r.csv", tmp_path / "s.jsonl", tmp_path / "c.svg"
    files = ("--csv", table, "--scores", scores, "--curves", curves)
    found = run("evaluate", SEA, "--learner", FAILING, "--learner", "pa1", *files)
    assert found.exit_code == 1
    assert [line.split(",")[2] for line in table.read_text().splitlines()[1:]] == ["pa1"]
    learners = [json.loads(line)["learner"] for line in scores.read_text().splitlines()]
    assert learners.count("pa1") == 600
    assert curves.exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_of_other_streams_are_kept(tmp_path: Path, jobs: int) -> None:
    good, bad, wrong = tmp_path / "good.csv", tmp_path / "bad.csv", tmp_path / "wrong.csv"
    good.write_text(f"a,b,y\n{ROWS}\n")
    bad.write_text(f"a,b,y\n{ROWS}\n1,2,3,4,5\n")
    wrong.write_text(f"a,b,y\n{ROWS}\n1,2,7\n")
    found = run("evaluate", good, bad, wrong, "--learner", "pa1", "--json", "--jobs", jobs)
    assert found.exit_code == 2
    assert [(one["stream"], one["rows"]) for one in json.loads(found.stdout)] == [(str(good), 60)]
    sentence = found.stderr.splitlines()[-1]
    assert str(bad) in sentence
    assert f"{wrong}: label 7 in row 60 is not one of 0, 1" in sentence


def test_all_streams_are_opened_before_the_first_is_learned(tmp_path: Path) -> None:
    found = run("evaluate", SEA, tmp_path / "missing.csv", "--learner", "pa1")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "there is no file" in found.stderr


def test_a_stream_given_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"a,b,y\n{ROWS}\n")
    for twice in ((file, file), (file, tmp_path / "." / "other" / ".." / "a.csv"), ("sea", "sine", "sea")):
        for options in (("--learner", "pa1"), ("--grid", "pa1:C=0.1/1")):
            found = run("evaluate", *twice, *options)
            assert (found.exit_code, found.stdout) == (2, "")
            assert f"the stream {twice[-1]} is given twice" in found.stderr


@pytest.mark.parametrize("jobs", [1, 2])
def test_generators_of_one_name_are_different_streams(jobs: int) -> None:
    streams = "sea:rows=300", "sea:rows=300,noise=0"
    learners = "--learner", "pa1", "--learner", "arow"
    found = run("evaluate", *streams, "sine:rows=300", *learners, "--json", "--jobs", jobs)
    assert found.exit_code == 0, found.output
    rows = json.loads(found.stdout)
    assert [one["stream"] for one in rows] == [name for name in (*streams, "sine") for _ in range(2)]
    assert [sorted(one["rank"] for one in rows if one["stream"] == name) for name in streams] == [[1, 2], [1, 2]]

"""Several learners over several streams: ranks and tests next to the results."""

from __future__ import annotations

import math

import pytest

from driftway.worker.evaluation.comparison import add_comparison, comparison, ranks_in_words
from driftway.worker.evaluation.significance import critical_difference, friedman, paired_t
from driftway.worker.wire.codec import read_json
from tests.support.process import driftway

ACCURACIES = {"a": {"x": 0.9, "y": 0.8, "z": 0.7}, "b": {"x": 0.6, "y": 0.7, "z": 0.5}}
"""Stream -> learner -> accuracy: ranks 1 2 3 and 2 1 3."""


def rows_of(figures: dict, metric: str = "accuracy") -> list[dict]:
    return [
        {"stream": stream, "learner": learner, metric: value}
        for stream, learners in figures.items()
        for learner, value in learners.items()
    ]


def test_ranks_and_friedman_over_streams() -> None:
    rows = rows_of(ACCURACIES)
    add_comparison(rows)
    assert [row["rank"] for row in rows] == [1, 2, 3, 2, 1, 3]
    assert [row["mean_rank"] for row in rows] == [1.5, 1.5, 3, 1.5, 1.5, 3]
    table = [list(learners.values()) for learners in ACCURACIES.values()]
    assert {row["friedman_p"] for row in rows} == {friedman(table).p}
    assert {row["critical_difference"] for row in rows} == {critical_difference(3, 2)}
    assert comparison(rows) == [ranks_in_words(["x", "y", "z"], table, True, "streams")]
    assert (
        "Mean ranks over 2 streams: x 1.50, y 1.50, z 3.00. Friedman: chi-square 3.00 (p = 0.22)" in comparison(rows)[0]
    )


def test_smaller_errors_rank_better() -> None:
    rows = rows_of(ACCURACIES, "mse")
    add_comparison(rows)
    assert [row["rank"] for row in rows] == [3, 2, 1, 2, 3, 1]
    assert rows[2]["mean_rank"] == 1


def test_the_first_learner_is_tested_against_the_others_on_the_parts() -> None:
    rows = rows_of({"a": {"x": 0.8, "y": 0.7}})
    rows[0]["accuracy_values"], rows[1]["accuracy_values"] = [0.81, 0.8, 0.79, None], [0.7, 0.71, 0.69, 0.7]
    add_comparison(rows)
    known = paired_t([0.81, 0.8, 0.79], [0.7, 0.71, 0.69])
    assert (rows[1]["first_t"], rows[1]["first_p"], rows[1]["first_verdict"]) == (known.t, known.p, 1)
    assert "first_p" not in rows[0]
    assert "mean_rank" not in rows[0], "one stream has no ranks to average"
    assert comparison(rows) == ["x against y: win/tie/loss 1/0/0 (paired t test on the parts, 95 %)"]


def test_a_difference_that_never_varies_is_certain_and_fits_into_json() -> None:
    rows = rows_of({"a": {"x": 2.0, "y": 1.0}}, "mse")
    rows[0]["mse_values"], rows[1]["mse_values"] = [2.0, 2.0], [1.0, 1.0]
    add_comparison(rows)
    assert (rows[1]["first_t"], rows[1]["first_p"], rows[1]["first_verdict"]) == (None, 0.0, -1)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        rows_of({"a": {"x": 0.9}}),
        rows_of({"a": {"x": 0.9, "y": 0.8}, "b": {"x": 0.9}}),
        rows_of({"a": {"x": 0.9, "y": None}}),
        rows_of({"a": {"x": 0.9, "y": math.inf}, "b": {"x": 0.9, "y": 0.8}}, "mse"),
        [{**row, "partition": 0} for row in rows_of(ACCURACIES)],
    ],
)
def test_rows_that_cannot_be_compared_are_not_changed(rows: list[dict]) -> None:
    before = [dict(row) for row in rows]
    add_comparison(rows)
    assert rows == before
    assert comparison(rows) == []


def test_too_many_learners_have_no_critical_difference() -> None:
    rows = rows_of({stream: {f"l{i}": 0.01 * i for i in range(21)} for stream in "ab"})
    add_comparison(rows)
    assert "critical_difference" not in rows[0]
    assert math.isfinite(rows[0]["friedman_p"])
    assert "Nemenyi" not in comparison(rows)[0]


def test_evaluate_prints_ranks_and_tests() -> None:
    command = ("evaluate", "sea:rows=600", "sine:rows=600", "--protocol", "segments", "--learner", "pa1")
    command += ("--learner", "no_change")
    ended = driftway(*command)
    assert ended.code == 0, ended
    assert "Mean ranks over 2 streams: pa1 1.00, no_change 2.00." in ended.stdout
    assert "pa1 against no_change: win/tie/loss 2/0/0" in ended.stdout
    rows = read_json(driftway(*command, "--json").stdout.encode())
    assert [row["mean_rank"] for row in rows] == [1, 2, 1, 2]
    assert rows[1]["first_p"] < 0.05

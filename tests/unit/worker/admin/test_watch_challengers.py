"""What `driftway watch` says of challengers: per partition, and of all partitions together."""

from __future__ import annotations

import math
from typing import Any

import pytest

from driftway.worker.admin.watch.challengers import Verdict, of_group, verdict
from driftway.worker.admin.watch.dashboard import Dashboard, DashboardRow
from driftway.worker.admin.watch.view import lines
from tests.unit.worker.admin.test_watching import drawn, point


def fields(better: float, worse: float, better_now: float | None = None) -> dict[str, Any]:
    """Fields of a challenger's point, given the largest e-values so far, and the present one if it is another."""
    now = better if better_now is None else better_now
    return {
        "better_log_e": math.log(now), "better_p": 1 / better, "better_since": 41 if better >= 20 else None,
        "worse_log_e": math.log(worse), "worse_p": 1 / worse, "worse_since": 77 if worse >= 20 else None,
    }  # fmt: skip


def watched(*challengers: dict[str, Any]) -> list[DashboardRow]:
    """Rows of a champion and a challenger in as many partitions as there are tests."""
    board = Dashboard()
    for partition, given in enumerate(challengers):
        board.add_point(point(199, partition, "arow", plan=given.get("plan", 1)))
        board.add_point(point(199, partition, "dfop", **given))
    return board.rows()


def test_a_finding_has_its_side_p_value_and_first_offset() -> None:
    assert verdict(point(199)) is None
    assert verdict(fields(better=19.0, worse=0.5)) is None
    assert verdict(fields(better=40.0, worse=0.5)) == Verdict("better", 0.025, 41)
    assert verdict(fields(better=0.5, worse=40.0)) == Verdict("worse", 0.025, 77)
    assert verdict(fields(better=40.0, worse=30.0)) == Verdict("better", 0.025, 41)
    assert verdict(fields(better=40.0, worse=30.0, better_now=0.1)) == Verdict("worse", 1 / 30, 77), "a drift"


def test_partitions_together_have_the_mean_of_their_e_values() -> None:
    assert of_group(watched(fields(1000.0, 0.1))) == {}, "there is nothing to combine"
    assert of_group(watched(fields(50.0, 0.1), fields(0.5, 0.3), fields(0.5, 0.2))) == {}
    found = of_group(watched(fields(100.0, 0.1), fields(0.5, 0.3), fields(0.5, 0.2)))
    assert found == {"dfop": Verdict("better", pytest.approx(3 / 101), None)}
    assert of_group(watched(*[fields(100.0, 0.1, better_now=1.0)] * 2)) == {}, "present values, not the largest"
    assert of_group(watched(*[fields(0.1, 100.0)] * 2)) == {"dfop": Verdict("worse", pytest.approx(0.01), None)}


def test_partitions_of_different_plans_are_not_combined() -> None:
    winning = fields(100.0, 0.1)
    assert of_group(watched({**winning, "plan": 2}, {**winning, "plan": 2}))
    board = Dashboard()
    for partition, plan in enumerate((2, 3)):
        for learner, given in (("arow", {}), ("dfop", winning)):
            board.add_point(point(199, partition, learner, plan=plan, **given))
    assert of_group(board.rows()) == {}


def test_lines_and_table_name_what_was_found() -> None:
    rows = watched(fields(100.0, 0.1), fields(60.0, 0.1), fields(1.0, 1.0))
    first, *each = lines(rows)
    assert first == "all partitions: dfop is better than the champion, p <= 1.9e-02"
    shown = ["better than the champion since 41, p <= 1.0e-02", "better than the champion since 41, p <= 1.7e-02"]
    assert [part for line in each for part in line.split("  ") if "champion" in part] == shown
    text = drawn(rows, 140)
    assert "better p 1e-02" in text
    assert "against" in text
    assert "all partitions: dfop is better than the champion" in text


def test_without_a_finding_there_is_no_column() -> None:
    assert "against" not in drawn(watched(fields(1.0, 1.0)), 140)
    assert "champion" not in "".join(lines(watched(fields(1.0, 1.0))))

"""`driftway watch --metric`: metrics of the newest predictions, equal to the offline ones; columns where asked."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from driftway.learners.metrics.confusion import ConfusionMetrics
from driftway.learners.metrics.margins import MarginMetrics
from driftway.worker.admin.watch.dashboard import Dashboard
from driftway.worker.admin.watch.recent_predictions import WINDOW, RecentPredictions, check_asked, fields_asked
from driftway.worker.admin.watch.view import lines, table
from driftway.worker.errors import UsageFailure
from tests.unit.worker.admin.test_watching import point


def scored(n: int, k: int, seed: int = 7) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return scores f8[n, k] with ties, and labels f8[n]."""
    draw = np.random.default_rng(seed)
    return draw.integers(-5, 6, (n, k)) / 2.0, draw.integers(0, max(2, k), n).astype(float)


@pytest.mark.parametrize("names", [("DOWN", "UP"), (0, 1), (False, True), (0.0, 1.0)])
def test_metrics_of_two_classes_equal_the_offline_ones(names: tuple[Any, Any]) -> None:
    score, y = scored(WINDOW + 300, 1)
    recent = RecentPredictions()
    for i, (s, label) in enumerate(zip(score[:, 0].tolist(), y.astype(int).tolist(), strict=True)):
        recent.add(3, i, s, names[s >= 0], names[label])
    confusion, margins = ConfusionMetrics(2, 1), MarginMetrics()
    confusion.observe(score[-WINDOW:], y[-WINDOW:])
    margins.observe(score[-WINDOW:], y[-WINDOW:])
    found, expected = recent.figures(3), confusion.point()
    for metric in ("precision", "recall", "specificity", "f1", "g_mean", "balanced_accuracy"):
        assert found[f"window_{metric}"] == expected[metric]
    assert found["window_auc"] == margins.point()["window_auc"]
    assert recent.figures(4) == {}


def test_metrics_of_more_classes_equal_the_offline_ones() -> None:
    score, y = scored(400, 3)
    score += np.arange(3) / 10  # no ties
    recent = RecentPredictions()
    for i in range(400):
        recent.add(0, i, score[i].tolist(), "abc"[int(score[i].argmax())], "abc"[int(y[i])])
    confusion = ConfusionMetrics(3, 3)
    confusion.observe(score, y)
    found, expected = recent.figures(0), confusion.point()
    assert found["window_precision"] == pytest.approx(expected["precision"], abs=1e-15)
    assert found["window_recall"] == pytest.approx(expected["recall"], abs=1e-15)
    assert found["window_auc"] is None


def test_rows_without_a_label_and_repeated_ones_do_not_count() -> None:
    recent = RecentPredictions()
    recent.add(0, 5, 1.0, 1, 1)
    recent.add(0, 5, 1.0, 1, 0)
    recent.add(0, 4, 1.0, 1, 0)
    recent.add(0, 6, 1.0, 1, None)
    recent.add(0, 7, [1.0], 1.0, math.nan)
    found = recent.figures(0)
    assert (found["window_precision"], found["window_recall"]) == (1.0, 1.0)
    assert (found["window_specificity"], found["window_auc"]) == (None, None), "there was no row of class 0"


def test_a_class_that_is_only_a_label_counts_as_the_other_class() -> None:
    recent = RecentPredictions()
    for i, label in enumerate(["bad", "good", "bad", "good"]):
        recent.add(0, i, -1.0 - i, "good", label)
    found = recent.figures(0)
    assert (found["window_recall"], found["window_specificity"]) == (0.0, 1.0)
    assert found["window_auc"] == 0.75, "bad is class 1: its scores, -1 and -3, against -2 and -4"


def test_metrics_have_their_usual_names_and_those_of_accuracy_points() -> None:
    assert fields_asked(None) == []
    assert fields_asked("precision, auc,log-loss,kappa,auc") == [
        "window_precision", "window_auc", "window_calibrated_log_loss", "kappa"
    ]  # fmt: skip


def test_an_unknown_metric_is_refused_with_those_there_are() -> None:
    check_asked(["window_precision", "accuracy"], [point(99)])
    check_asked(["anything"], [{}])
    with pytest.raises(UsageFailure, match=r"no metric fscore; there are accuracy, auc, .*precision, recall"):
        check_asked(["fscore"], [point(99)])
    numbers = {"partition": 0, "offset": 9, "learner": "rls", "window_mse": 2.0}
    with pytest.raises(UsageFailure, match="no metric precision; there are window_mse"):
        check_asked(["window_precision"], [numbers])


def asked_board() -> tuple[Dashboard, list[str]]:
    board, asked = Dashboard(), fields_asked("precision,auc,log-loss")
    board.recent = RecentPredictions()
    for learner, loss in (("arow", 0.25), ("pa1", 0.5)):
        board.add_point(point(99, 0, learner, window_calibrated_log_loss=loss, no_change_accuracy=0.5))
    for i, (score, label) in enumerate([(1.0, 1), (2.0, 0), (-1.0, 0), (3.0, 1)]):
        board.predict(0, i, {"prediction": int(score >= 0)})
        board.recent.add(0, i, score, int(score >= 0), label)
    return board, asked


def test_metrics_are_shown_on_request() -> None:
    board, asked = asked_board()
    champion, challenger = lines(board.rows(), asked=asked)
    assert "window 90.0 %  precision 0.667  auc 0.75  log-loss 0.25  no-change 50.0 %" in champion
    assert "window 90.0 %  log-loss 0.5  no-change 50.0 %" in challenger
    assert board.rows()[0].as_object()["window_auc"] == 0.75
    assert "window_auc" not in board.rows()[1].as_object()
    plain = lines(board.rows())[0]
    assert "precision" not in plain
    assert "log-loss" not in plain


def test_metrics_of_classes_are_not_computed_where_targets_are_numbers() -> None:
    board = Dashboard()
    board.recent = RecentPredictions()
    for i in range(5):
        board.recent.add(0, i, i / 7, i / 7, float(i))
        board.predict(0, i, {"prediction": i / 7})
    assert "window_auc" not in board.rows()[0].point, "before the first accuracy point"
    board.add_point({"partition": 0, "offset": 4, "learner": "rls", "labels": 5, "window": 5, "window_mse": 2.0})
    assert board.rows()[0].point["window_mse"] == 2.0
    with pytest.raises(UsageFailure, match="no metric precision; there are "):
        check_asked(["window_precision"], [row.point for row in board.rows()])


@pytest.mark.parametrize("width", [60, 200])
def test_a_table_keeps_the_requested_metrics(width: int) -> None:
    board, asked = asked_board()
    console = Console(width=200, file=io.StringIO(), force_terminal=False)
    console.print(table(board.rows(), width, asked=asked))
    drawn = console.file.getvalue()
    assert all(word in drawn for word in ("precision", "auc", "log-loss", "0.667", "0.75", "0.25", "90.0 %"))
    assert ("50.0 %" in drawn) == (width == 200)

"""Drift detectors on evaluated learners: what counts as found, missed and false."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.learners import Spec
from driftway.learners.drift.detector import DRIFT
from driftway.learners.drift.registry import create
from driftway.worker.evaluation.detection import Detection
from driftway.worker.wire.events import Target

HDDM = "hddm_w"


def watched(errors: np.ndarray, changes: tuple[int, ...], cuts: tuple[int, ...] = ()) -> dict[str, object]:
    """Return the detections on a learner that makes these mistakes while every label is 1."""
    detection = Detection((Spec.parse(HDDM),), Target(), changes)
    for start, end in zip((0, *cuts), (*cuts, len(errors)), strict=True):
        part = errors[start:end]
        score = np.where(np.isnan(part), np.nan, np.where(part > 0.0, -1.0, 1.0))[:, None]
        usable = np.isfinite(score[:, 0])
        detection.observe("arow", "binary", start, np.ones(len(part)), score, usable)
    return dict(detection.result("arow")["detectors"][HDDM])


def mistakes(*shares: float, rows: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(4)
    return np.concatenate([(rng.random(rows) < share).astype(float) for share in shares])


def test_alarms_are_those_of_the_detector_alone_however_blocks_are_cut() -> None:
    errors = mistakes(0.1, 0.5, 0.1, 0.6)
    expected = np.flatnonzero(create(HDDM).observe(errors) == DRIFT).tolist()
    assert watched(errors, ())["alarm_rows"] == expected != []
    assert watched(errors, (), (1, 3001, 7000)) == {"alarms": len(expected), "alarm_rows": expected}


def test_detections_are_counted_as_found_missed_or_false() -> None:
    errors = mistakes(0.1, 0.5, 0.1, 0.6)
    alarms = list(map(int, watched(errors, ())["alarm_rows"]))  # type: ignore[call-overload]
    result = watched(errors, (3000, 6000, 9000))
    first, last = (next(row for row in alarms if row >= change) for change in (3000, 9000))
    assert result["delays"] == [first - 3000, None, last - 9000], "fewer mistakes are no alarm"
    assert (result["changes"], result["missed"]) == (3, 1)
    assert result["median_delay"] == (first - 3000 + last - 9000) / 2
    false = [row for row in alarms if not any(c <= row < c + 1000 for c in (3000, 6000, 9000))]
    assert result["false_alarms"] == len(false)
    assert result["false_per_100000"] == pytest.approx(100_000 * len(false) / 9000)
    elsewhere = watched(errors, (1000,))
    assert (elsewhere["missed"], elsewhere["false_alarms"]) == (1, len([r for r in alarms if not 1000 <= r < 2000]))


def test_rows_without_a_score_are_skipped() -> None:
    errors = mistakes(0.1, 0.6)
    gaps = np.full(2 * len(errors), np.nan)
    gaps[::2] = errors
    assert watched(gaps, ())["alarm_rows"] == [2 * row for row in watched(errors, ())["alarm_rows"]]  # type: ignore[attr-defined]


def test_the_command_prints_detections(tmp_path: Path) -> None:
    stream = "sea:rows=8000,noise=0,thresholds=4/12"
    options = ["evaluate", stream, "--learner", "majority_class", "--learner", "rls", "--detector", "ddm"]
    done = CliRunner().invoke(main, [*options, "--detector", "page_hinkley:lam=20", "--json"])
    assert done.exit_code == 0, done.output
    results = json.loads(done.stdout)
    assert [set(r["detectors"]) for r in results] == [{"ddm", "page_hinkley:lam=20"}] * 2
    assert results[1]["detectors"]["ddm"]["changes"] == 1
    assert results[1]["detectors"]["ddm"]["missed"] == 0
    table = CliRunner().invoke(main, [*options, "--csv", str(tmp_path / "r.csv")])
    assert "median delay" in table.output
    with (tmp_path / "r.csv").open() as file:
        assert next(csv.DictReader(file))["ddm_changes"] == "1"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--jobs", "2"), "--detector needs all learners in one process"),
        (("--protocol", "segments"), "--detector belongs to --protocol prequential"),
        (("--partitions", "2"), "leave --partitions out"),
        (("--task", "regression"), "counts mistakes"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(more: tuple[str, ...], words: str) -> None:
    done = CliRunner().invoke(main, ["evaluate", "sea:rows=100", "--detector", "ddm", *more])
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output

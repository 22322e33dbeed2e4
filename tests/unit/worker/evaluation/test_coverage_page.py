"""docs/results/coverage.md: its figures are those of `evaluate --coverage`, its methods cover, misses are named."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from driftway.cli import main
from tests.regenerate import coverage, coverage_methods
from tests.regenerate.coverage import CLASSES, LEVELS, METHODS, CoverageResult, judged, page, runs_of

ROWS = 2500


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(coverage, "ROWS", ROWS)


@pytest.mark.parametrize(
    ("stream", "size"), [("friedman:rows=40000", "width"), ("sea", "set_size"), ("led", "set_size")]
)
def test_figures_are_those_of_evaluate(few_rows, stream, size):
    (run,) = [one for one in runs_of(stream) if one.name == "auto"]
    found = judged(run, METHODS["`learners/conformal`"](run, 0.8), 0.8)
    command = ["evaluate", stream, "--learner", "auto", "--coverage", "0.8", "--limit", str(ROWS), "--json"]
    (expected,) = json.loads(CliRunner().invoke(main, command, catch_exceptions=False).stdout)
    assert found.total == pytest.approx(100.0 * expected["coverage"])
    assert found.worst == pytest.approx(100.0 * expected["worst_window_coverage"])
    if size == "width":
        assert found.mean_size == pytest.approx(expected["width"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", LEVELS)
def test_each_method_keeps_coverage_without_drift(method, level):
    random = np.random.default_rng(0)
    score = random.normal(size=(6000, 1))
    y = score[:, 0] + random.normal(size=6000)
    learner = coverage.learners_of("bike_hour", score, y)[0][1]
    run = coverage.Run("x", "x", learner, score, y, coverage_methods.conformal_scores(score, y, 0))
    most = 5.0 if method == "SAOCP" else 2.5  # its experts begin anew all the time
    assert judged(run, METHODS[method](run, level), level).total == pytest.approx(100.0 * level, abs=most)


def test_the_threshold_is_the_quantile_of_the_window():
    scores = np.random.default_rng(1).exponential(size=500)
    found = coverage_methods.aci(scores, 0.8, (0.0,), 100)
    for row in (150, 499):
        held = np.sort(scores[row - 100 : row])
        expected = held[79] + 0.8 * (held[80] - held[79])
        assert found[row] == pytest.approx(expected)
    assert np.isinf(found[:4]).all()


def test_the_page_names_runs_that_miss_the_coverage():
    def kept(worst):
        return {
            (method, level, stream, "auto"): CoverageResult(80.0 if level == 0.8 else 95.0, worst, 1.0, 0.0, 1.0, 1.0)
            for method in METHODS
            for level in LEVELS
            for stream in ("bike_hour", CLASSES[0])
        }

    text = page(kept(87.5), "", 1.0)
    assert ": 0 of 4 runs:" in text
    assert "- bike_hour, auto, 0.8: 80.00, 87.5: nobody has looked into it." in text
    assert "nobody" not in (coverage.PAGE.read_text(encoding="utf-8"))
    assert math.isnan(coverage.ratio(1.0, 0.0))

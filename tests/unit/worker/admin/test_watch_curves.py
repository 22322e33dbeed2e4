"""Accuracy points as curves: means, rolling baselines, dips, and the picture drawn from them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from driftway import cli
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.plots.curves import Curves, Line, dips, scaled
from driftway.worker.plots.plotting import Picture, check_output, draw
from driftway.worker.plots.web_page import check_picture, write_page


def point(offset: int, partition: int = 0, learner: str = "arow", **more: Any) -> dict[str, Any]:
    position = {"partition": partition, "offset": offset, "labels": offset + 1, "window": 100, "learner": learner}
    return {**position, "window_accuracy": 0.9, "accuracy": 0.8, "drift": None, "t": 0, **more}


def test_mean_is_taken_where_all_partitions_have_points() -> None:
    curves = Curves()
    for offset in (99, 199, 299):
        curves.add(point(offset, 0, window_accuracy=0.8))
    for offset in (149, 249):
        curves.add(point(offset, 1, window_accuracy=0.6))
    line = curves.mean("arow", "window_accuracy")
    assert line.x.tolist() == [150, 200, 250]
    assert line.y == pytest.approx([0.7, 0.7, 0.7])
    assert scaled(line, 2.0).x.tolist() == [300, 400, 500]


def test_a_repeated_point_counts_once_and_order_does_not_matter() -> None:
    curves = Curves()
    for offset in (199, 99, 199):
        curves.add(point(offset))
    assert curves.line("arow", 0, "accuracy").x.tolist() == [100, 200]


def test_rolling_baseline_equals_counting_in_the_window() -> None:
    rng = np.random.default_rng(7)
    hits = rng.integers(0, 2, 1000)
    curves = Curves()
    for end in range(50, 1001, 50):
        window = min(end, 200)
        curves.add(point(end - 1, window=window, no_change_accuracy=float(hits[:end].mean())))
    line = curves.baseline("no_change_accuracy")
    expected = [hits[max(0, end - 200) : end].mean() for end in range(50, 1001, 50)]
    assert line.y == pytest.approx(expected, abs=1e-12)


def test_weights_of_experts_are_not_metrics() -> None:
    curves = Curves()
    curves.add(point(99, experts={"nearest": 0.25, "logistic": 0.75}))
    assert "experts" not in curves.metrics
    assert set(curves.totals("arow")) == {"labels", "window_accuracy", "accuracy"}


def test_bins_of_probabilities_are_not_metrics() -> None:
    curves = Curves()
    curves.add(point(99, calibration_error=0.1, reliability=[[19, 100, 80, 99_000_000]]))
    assert "reliability" not in curves.metrics
    assert curves.totals("arow")["calibration_error"] == 0.1


def test_totals_weight_partitions_by_their_labels() -> None:
    curves = Curves()
    curves.add(point(99, 0, accuracy=0.5))
    curves.add(point(299, 1, accuracy=0.9))
    assert curves.totals("arow")["accuracy"] == pytest.approx(0.8)
    assert curves.totals("arow")["labels"] == 400


def test_a_dip_has_a_depth_and_a_length() -> None:
    x = np.arange(100.0, 4001.0, 100.0)
    y = np.full(len(x), 0.9)
    y[(x > 2000) & (x <= 2400)] = [0.85, 0.7, 0.8, 0.88]
    (dip,) = dips(Line(x, y), [2000], window=200)
    assert (dip.drift, dip.before, dip.deepest, dip.recovered) == (2000, pytest.approx(0.9), 0.7, 500)
    assert dip.visible


def test_a_dip_may_never_end_and_a_drift_may_have_none() -> None:
    x = np.arange(100.0, 4001.0, 100.0)
    y = np.where(x <= 2000, 0.9, np.where(x <= 3000, 0.7, 0.71))
    first, second = dips(Line(x, y), [2000, 3000], window=200)
    assert first.recovered is None
    assert first.visible
    assert not second.visible
    assert dips(Line(x, y), [], window=200) == []
    assert dips(Line(x, y), [9000], window=200) == []


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG\r\n"), (".svg", b"<?xml")])
def test_picture_is_written(tmp_path: Path, suffix: str, magic: bytes) -> None:
    pytest.importorskip("matplotlib")
    curves = Curves()
    for offset in range(99, 2000, 100):
        for partition in (0, 1):
            for learner in ("dfop", "arow"):
                baselines = {"no_change_accuracy": 0.5, "majority_accuracy": 0.6, "kappa_temporal": None}
                curves.add(point(offset, partition, learner, **baselines))
    out = tmp_path / f"picture{suffix}"
    draw(curves, Picture("sea", drifts=(1000, 2000), rows=2.0), str(out))
    assert out.read_bytes().startswith(magic)
    with pytest.raises(UsageFailure, match="have no window_mse; they have window_accuracy"):
        draw(curves, Picture("sea", "window_mse"), str(out))


def test_pictures_of_regression_and_of_a_metric_without_values_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves = Curves()
    for offset in (9, 19):
        errors = {"window_mse": 4.0, "mse": 5.0, "r2": None}
        curves.add({"partition": 0, "offset": offset, "labels": offset, "window": 10, "learner": "rls", **errors})
    draw(curves, Picture("fried"), str(tmp_path / "a.png"))
    draw(curves, Picture("$\\frac$ of $fried$.csv", "r2"), str(tmp_path / "b.png"))  # no formula
    assert (tmp_path / "b.png").stat().st_size > 1000


def test_where_a_challenger_was_found_better_is_marked_on_its_line(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves = Curves()
    for offset in range(99, 2000, 100):
        for partition, since in ((0, 149), (1, None)):
            tested = {"better_log_e": 3.5, "better_p": 0.03, "better_since": since if offset > 149 else None}
            curves.add(point(offset, partition))
            curves.add(point(offset, partition, "dfop", window_accuracy=offset / 2000, **tested))
    marks = curves.findings("dfop", "window_accuracy", "better")
    assert (marks.x.tolist(), marks.y.tolist()) == ([150.0], [pytest.approx(149 / 2000)])
    for learner, side in (("arow", "better"), ("dfop", "worse")):
        assert not len(curves.findings(learner, "window_accuracy", side).x)
    assert {"better_log_e", "better_p"} <= set(curves.metrics)
    assert "better_since" not in curves.metrics
    for metric, texts in ((None, 1), ("better_log_e", 1)):
        draw(curves, Picture("sea", metric), str(tmp_path / "a.svg"))
        assert (tmp_path / "a.svg").read_text().count("<!-- better than the champion -->") == texts


def test_a_page_contains_its_pictures_and_needs_no_other_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves, page = Curves(), tmp_path / "page.html"
    for offset in range(99, 2000, 100):
        curves.add(point(offset, drift={"adwin": offset - 9} if offset == 1099 else None))
    write_page([(curves, Picture("<sea>", drifts=(1000,))), (curves, Picture("two", "accuracy"))], str(page))
    text = page.read_text()
    assert "<title>Driftway: &lt;sea&gt;, two</title>" in text
    images = [base64.b64decode(part.partition('"')[0]).decode() for part in text.split("base64,")[1:]]
    assert [image.startswith("<?xml") for image in images] == [True, True]
    assert "concept drift" in images[0]
    assert "concept drift" not in images[1]
    assert 'src="http' not in text
    with pytest.raises(Failure, match="cannot write"):
        write_page([(curves, Picture("sea"))], str(tmp_path))


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.png"])
def test_plot_writes_the_format_of_the_file_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pytest.importorskip("matplotlib")
    curves = Curves()
    for offset in range(99, 2000, 100):
        curves.add(point(offset))
    monkeypatch.setattr("driftway.worker.admin.cli.plot._read", lambda *_: (curves, 1, {}))
    asked = ["plot", "--input", "EVENTS", "--stream", "sea:rows=4000", "--bootstrap", "unused:1"]
    done = CliRunner().invoke(cli.main, [*asked, "--out", str(tmp_path / name)])
    assert done.exit_code == 0, done.output
    assert done.stderr == f"wrote {tmp_path / name}\n"
    start = {"a.html": b"<!doctype html>", "a.svg": b"<?xml", "a.png": b"\x89PNG"}[name]
    assert (tmp_path / name).read_bytes().startswith(start)
    done = CliRunner().invoke(cli.main, [*asked, "--out", str(tmp_path / "a.pdf")])
    assert done.exit_code == 2
    assert "must end in .png, .svg or .html" in done.stderr


def test_pictures_that_cannot_be_written_are_refused_early(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("c.png", "c.SVG", "c.html"):
        check_picture(str(tmp_path / name))
    with pytest.raises(UsageFailure, match=r"must end in \.png, \.svg or \.html"):
        check_picture(str(tmp_path / "c.pdf"))
    with pytest.raises(UsageFailure, match="no directory"):
        check_picture(str(tmp_path / "no" / "c.html"))


def test_a_plot_that_cannot_be_drawn_is_refused_with_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match=r"must end in \.png or \.svg"):
        check_output(str(tmp_path / "picture.html"))
    with pytest.raises(UsageFailure, match="there is no directory"):
        check_output(str(tmp_path / "nowhere" / "picture.png"))
    pytest.importorskip("matplotlib")
    with pytest.raises(Failure, match="no accuracy points of EVENTS"):
        draw(Curves(), Picture("EVENTS"), str(tmp_path / "picture.png"))

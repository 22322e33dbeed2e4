"""The reliability diagram: bins of partitions together, and the picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftway.worker.errors import Failure
from driftway.worker.plots.reliability import added_up, calibration_error, draw_reliability

ONE = [[10, 20, 11, 10_600_000], [19, 100, 97, 98_000_000]]
OTHER = [[19, 50, 49, 48_500_000]]


def test_bins_of_partitions_are_added_up() -> None:
    assert added_up([ONE, OTHER]) == [[10, 20, 11, 10_600_000], [19, 150, 146, 146_500_000]]
    assert calibration_error(added_up([ONE, OTHER])) == pytest.approx((0.4 + 0.5) / 170)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_picture_is_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"reliability{suffix}"
    draw_reliability({"pa1": ONE, "auto": OTHER, "no rows": []}, "EVENTS", str(path))
    assert path.stat().st_size > 10_000


def test_points_without_probabilities_are_reported(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no probabilities"):
        draw_reliability({"rls": []}, "EVENTS", str(tmp_path / "it.png"))

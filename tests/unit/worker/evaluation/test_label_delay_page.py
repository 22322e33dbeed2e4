"""docs/results/label-delay.md: an expert is as good as the learner that it equals, and misses of `auto` are listed."""

from __future__ import annotations

import pytest

from tests.regenerate import label_delay
from tests.regenerate.label_delay import AUTO, DRAWN, JUDGED, NOTES, Cell, cell_of, draw, page

ROWS = 500


@pytest.mark.parametrize("delay", [7, 100])
def test_an_expert_alone_is_as_good_as_the_learner_that_it_equals(delay: int) -> None:
    cell = cell_of("sea", delay, [AUTO, "pa", "knn_win:window=512"], rows=ROWS)
    assert cell.experts["passive_aggressive"] == pytest.approx(cell.learners["pa"])
    assert cell.experts["nearest"] == pytest.approx(cell.learners["knn_win:window=512"])


def test_an_expert_alone_is_as_good_as_its_learner_with_several_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(label_delay.N_CLASSES, "waveform", 3)
    cell = cell_of("waveform", 5, [AUTO, "mc_pa"], rows=ROWS)
    assert cell.experts["passive_aggressive"] == pytest.approx(cell.learners["mc_pa"])


def test_the_page_lists_where_auto_is_behind(tmp_path) -> None:
    asked = {(stream, delay) for delays in (DRAWN, JUDGED) for stream, some in delays.items() for delay in some}
    learners = {AUTO: 80.0, "dfop": 70.0, "pa": 71.0}
    cells = {key: Cell(60.0, learners, {"a": 80.5, "b": 50.0}) for key in asked}
    cells["keystroke", 20] = Cell(80.6, learners, {"a": 80.4, "b": 50.0})
    text = page(cells, [["bike_hour", "1", "0.0", "80.0", "95.0"]], 1.0)
    assert "It holds in 19 of 20:" in text
    assert "keystroke, 20 rows late (-0.60): nobody has looked into it." in text
    assert text.count("**-") == 1
    draw(cells, str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").stat().st_size > 0


def test_every_explained_case_is_measured() -> None:
    assert {(stream, delay) for stream, delays in JUDGED.items() for delay in delays} >= set(NOTES)

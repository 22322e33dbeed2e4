"""The table of online-to-batch: which runs it has, which seconds belong to which phi, and what the page marks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driftway.producers.streams import open_stream
from driftway.workbench.paper_tables import TABLES
from driftway.workbench.paper_tables.online_to_batch import experiment as online_to_batch
from driftway.workbench.paper_tables.online_to_batch import page as page_module
from driftway.workbench.paper_tables.online_to_batch.experiment import (
    BASES,
    DATA,
    LIMITS,
    RunResult,
    algorithms,
    curve_of,
    limits_of,
    measure,
)
from driftway.workbench.paper_tables.online_to_batch.page import (
    AVERAGES,
    IID,
    MAIN,
    findings,
    is_outside,
    page,
    phi_of_equal_time,
    surpassed,
)
from driftway.workbench.paper_tables.online_to_batch.picture import draw
from driftway.workbench.paper_tables.published import PublishedFigure
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.errors import UsageFailure


def opener(name: str, **_: Any) -> Any:
    if name == DATA["phishing"]:
        return open_stream("sea:rows=200,noise=0.1")
    raise UsageFailure(f"there is no stream {name}")


@pytest.fixture(scope="module")
def results() -> online_to_batch.Results:
    return measure(TableRequest(opener, Path(), processes=1), seeds=2)


def test_every_algorithm_runs_on_the_available_streams(results: online_to_batch.Results) -> None:
    assert set(results) == {(base, "phishing", one) for base in BASES for one in algorithms(base, "phishing")}
    assert {len(found) for found in results.values()} == {2}
    ii = results["linear", "phishing", "ii:phi_max=100"][0]
    assert [point[0] for point in ii.curve] == list(range(1, 101))
    least = [point[1] for point in ii.curve]
    assert least == sorted(least, reverse=True)
    assert least[-1] == ii.error == min(point[2] for point in ii.curve)
    seconds = [point[3] for point in ii.curve]
    assert seconds == sorted(seconds)
    assert seconds[-1] <= ii.seconds
    one = results["linear", "phishing", "i"][0]
    assert (one.error, one.passes) == (ii.curve[0][2], ii.curve[0][4])  # Algorithm I is II with one copy of each row


def test_without_any_stream_the_table_is_refused() -> None:
    def nothing(name: str, **_: Any) -> Any:
        raise UsageFailure(f"there is no stream {name}")

    with pytest.raises(UsageFailure, match=r"none of phishing, .* is on this machine"):
        measure(TableRequest(nothing, Path()))


def test_the_seconds_of_a_phi_end_with_its_last_pass() -> None:
    report = {
        "curve": [
            {"phi": 1, "errors": 5, "passes": 2, "mistakes": 9},
            {"phi": 2, "errors": 7, "passes": 3, "mistakes": 9},
            {"phi": 3, "errors": 4, "passes": 5, "mistakes": 9},
        ]
    }
    curve = curve_of(report, 10, [0, 1, 2, 3, 4, 5], [0.0, 0.1, 0.2, 0.4, 0.8, 1.6])
    assert curve == ((1, 0.5, 0.5, 0.2, 2), (2, 0.5, 0.7, 0.4, 3), (3, 0.4, 0.4, 1.6, 5))


@pytest.mark.parametrize(
    ("mean", "outside"), [(5.0, False), (5.2, False), (5.204, False), (5.21, True), (4.79, True), (4.8, False)]
)
def test_figures_beyond_two_deviations_are_outside(mean: float, outside: bool) -> None:
    assert is_outside(mean, PublishedFigure(5.0, 0.1, "")) is outside
    assert not is_outside(mean, PublishedFigure(5.0, None, ""))


def test_the_page_shows_published_and_own_figures_and_marks_differences(results: online_to_batch.Results) -> None:
    text = page(results, "picture.png", 12.0, 2)
    assert "![Empirical error against running time](picture.png)" in text
    assert "in 12 s on 2 processes" in text
    assert "## Linear classifiers" in text
    assert "## Quadratic classifiers" in text
    assert "(5.96)**" in text  # on rows of SEA, "phishing" misses its published figure
    assert "linear II φ=1 on phishing" in text
    assert "htru2 |" not in text
    for column in (*MAIN, *IID, *AVERAGES):
        assert column.heading in text
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith("|"))


def test_a_page_whose_figures_agree_has_no_marks(results: online_to_batch.Results) -> None:
    curve = tuple(
        (phi, 0.0596 if phi < 5 else 0.0575 if phi < 100 else 0.0568, 0.0596, 0.1 * phi, 12) for phi in range(1, 101)
    )
    same = {("linear", "phishing", "ii:phi_max=100"): [RunResult(0.0573, 99, 10.0, curve)]}
    text = page({**same, ("linear", "phishing", "iii"): [RunResult(0.0588, 9, 1.95)]}, "p.png")
    assert "5 figures were compared; outside: none." in text.replace("\n", " ")
    assert "| phishing | 5.96 ± 0.00 (5.96) | 5.75 ± 0.00 (5.79) | 5.75 ± 0.00 (5.73) |" in text
    assert (
        phi_of_equal_time({**same, ("linear", "phishing", "iii"): [RunResult(0.0588, 9, 1.95)]}, "linear", "phishing")
        == 20
    )
    assert len(findings(results)) == 3
    runs = {
        ("linear", "phishing", "iii"): [RunResult(0.06, 9, 1.0)],
        ("linear", "phishing", "random-stopping:mult=1"): [RunResult(0.0601, 1, 1.0)],
        ("linear", "phishing", "longest-survival:mult=10"): [RunResult(0.0599, 1, 1.0)],
    }
    ending = "in 1 of 2 (more than longest survival 10n on phishing, linear)."
    assert surpassed(runs, [("linear", "phishing")]).endswith(ending)


def test_expensive_cases_are_shortened_and_the_page_says_so(results: online_to_batch.Results) -> None:
    (base, data), cut = next((case, cut) for case, cut in LIMITS.items() if cut.phi_max < 100)
    assert limits_of(base, data) == cut
    assert f"ii:phi_max={cut.phi_max}" in algorithms(base, data)
    assert "longest-survival:mult=100" not in algorithms(base, data)
    curve = tuple((phi, 0.1, 0.1, 0.1, 3) for phi in range(1, cut.phi_max + 1))
    heavy = {
        (base, data, f"ii:phi_max={cut.phi_max}"): [RunResult(0.1, 9, 1.0, curve)],
        (base, data, "iii"): [RunResult(0.1, 9, 1.0)],
    }
    text = page({**results, **heavy}, "p.png")
    assert f"{data}: II with {cut.seeds} seeds, φ up to {cut.phi_max}; streams up to {cut.longest}n" in text
    assert f"| {data} | 10.00 ± 0.00 | 10.00 ± 0.00 | 10.00 ± 0.00 | – |" in text


def test_the_picture_is_drawn(results: online_to_batch.Results, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "p.png"
    draw(results, str(out))
    assert out.read_bytes()[:4] == b"\x89PNG"


def test_the_table_writes_page_and_picture(
    results: online_to_batch.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(page_module, "measure", lambda asked: results)
    assert TABLES["online-to-batch"] == page_module.__name__
    written = page_module.write(replace(TableRequest(opener, Path()), out=tmp_path))
    assert [path.name for path in written] == ["online-to-batch.md", "online-to-batch.png"]
    assert all(path.stat().st_size > 1000 for path in written)

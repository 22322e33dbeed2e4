"""The commands of tests/results: what they write from given figures. The figures themselves take minutes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.results import moving_targets, sanity_table
from tests.results.moving_targets import LEARNERS, Choice, Column


def test_sanity_page_marks_what_is_outside_its_tolerance() -> None:
    six = [90.0, 80.0, 70.0, 60.0, 50.0, 40.0]
    near = [90.3, 80.0, 69.7, 60.0, 50.0, 40.0]
    far = [90.31, 80.0, 69.6, 60.0, 50.0, 40.0]
    text = sanity_table.page([("arow (r=1)", near, six, 0.3), ("pa", far, six, 0.3), ("slack", far, six, 1.0)])
    assert "| arow (r=1) | 90.30 (+0.30) | 80.00 (+0.00) | 69.70 (-0.30) |" in text
    assert "| pa | **90.31 (+0.31)** | 80.00 (+0.00) | **69.60 (-0.40)** |" in text
    assert "| slack | 90.31 (+0.31) |" in text
    assert "3 learners, 3 rows, 18 cells; outside the tolerance: pa on sea, pa on UG-2C-2D." in text


def test_sanity_page_says_if_all_is_well() -> None:
    assert "outside the tolerance: none" in sanity_table.page([("pa", [1.0] * 6, [1.0] * 6, 0.3)])


def test_sanity_table_refuses_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert sanity_table.main(["arrow"]) == 2
    assert "no learner arrow in the conformance table" in capsys.readouterr().err


@pytest.mark.data
def test_sanity_table_measures_what_the_suite_measures() -> None:
    usenet2 = sanity_table.accuracy("perceptron", {}, 3)
    assert not sanity_table.is_outside(usenet2, 74.87, sanity_table.TOLERANCE)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([12, 14, 13, 15], "holds (+3.8 ± 0.5)"),
        ([9, 11, 10, 8], "undecided (-0.2 ± 0.6)"),
        ([2, 3, 1, 2], "fails (-7.8 ± 0.5)"),
    ],
)
def test_an_order_is_judged_by_paired_differences(more: list[int], words: str) -> None:
    assert moving_targets.verdict(np.array([9, 10, 10, 10]), np.array(more)) == words


def test_margins_of_the_grid_are_ratios_only() -> None:
    for name, count in (("perceptron", 1), ("norma", 42), ("norma_zero_margin", 7), ("alma", 42)):
        assert len(moving_targets.grid(name)) == count
    rows = moving_targets.plane("gaussian_mixture_switch", 101)
    for name, scaled in (
        ("norma", ({"alpha": 0.5, "lam": 0.02, "rho": 1.0}, {"alpha": 1.0, "lam": 0.01, "rho": 2.0})),
        ("alma", ({"alpha": 0.5, "B": 3.0, "rho": 1.0}, {"alpha": 1.0, "B": 6.0, "rho": 2.0})),
    ):
        first, second = (moving_targets.mistakes(name, parameters, "2", None, rows) for parameters in scaled)
        assert first == second


def test_moving_targets_page_counts_the_columns_in_which_the_order_holds() -> None:
    choices = dict.fromkeys(LEARNERS, Choice({"alpha": 0.3, "rho": 1.0}, 8.0, True))
    right = dict(zip(LEARNERS, (40, 30, 20, 30, 20), strict=True))
    wrong = {**right, "alma": 35}
    steps = np.arange(20)
    columns = [
        Column("gaussian_mixture_drift", mapped, "2", choices, {name: means[name] + steps % 3 for name in LEARNERS})
        for mapped, means in ((False, wrong), (True, right))
    ]
    columns[1].mistakes["norma"][0] += 1
    text = moving_targets.page(columns)
    assert "| plane | 0 of 1 | 1 of 1 | 0 of 1 | 0 of 1 |" in text
    assert "| Fourier map, p = 2: as in the paper | 1 of 1 | 1 of 1 | 1 of 1 | 1 of 1 |" in text
    assert "fails (-5.0 ± 0.0)" in text
    assert "alpha=0.3, rho=1, gamma=8 *" in text

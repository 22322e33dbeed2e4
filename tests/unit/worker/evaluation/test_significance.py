"""Significance tests against scipy and the worked example of Demsar 2006."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from driftway.worker.errors import Failure
from driftway.worker.evaluation.comparison import add_comparison, comparison
from driftway.worker.evaluation.significance import (
    LOSS,
    NEEDS_SCIPY,
    NEMENYI,
    TIE,
    WIN,
    alike,
    chi_square_tail,
    critical_difference,
    f_tail,
    friedman,
    paired_t,
    ranks,
    robustness,
    student_tails,
    win_tie_loss,
)

DEMSAR = np.array(
    [
        (0.763, 0.768, 0.771, 0.798),
        (0.599, 0.591, 0.590, 0.569),
        (0.954, 0.971, 0.968, 0.967),
        (0.628, 0.661, 0.654, 0.657),
        (0.882, 0.888, 0.886, 0.898),
        (0.936, 0.931, 0.916, 0.931),
        (0.661, 0.668, 0.609, 0.685),
        (0.583, 0.583, 0.563, 0.625),
        (0.775, 0.838, 0.866, 0.875),
        (1.000, 1.000, 1.000, 1.000),
        (0.940, 0.962, 0.965, 0.962),
        (0.619, 0.666, 0.614, 0.669),
        (0.972, 0.981, 0.9751, 0.975),  # printed as 0.975 twice, with ranks 2 and 3
        (0.957, 0.978, 0.946, 0.970),
    ]
)
"""Demsar 2006, table 6: area under the curve of C4.5, with m, with cf, with both, on 14 data sets."""


@pytest.mark.parametrize("df", [1, 2, 3, 9, 30.5, 400])
def test_tail_probabilities_equal_those_of_scipy(df):
    for x in (0.0, 0.01, 0.3, 1.0, 2.262, 5.0, 9.28, 80.0, 390.0, 900.0):
        assert chi_square_tail(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-9, abs=1e-15)
        assert student_tails(-x, df) == pytest.approx(2 * stats.t.sf(x, df), rel=1e-9, abs=1e-300)
        for other in (1, 4, 39, 1000):
            assert f_tail(x, df, other) == pytest.approx(stats.f.sf(x, df, other), rel=1e-8, abs=1e-15)


def test_tail_probabilities_are_exact_at_the_ends():
    assert chi_square_tail(math.inf, 1) == 0.0
    assert student_tails(math.inf, 9) == 0.0
    assert student_tails(0.0, 9) == 1.0
    assert (f_tail(math.inf, 6, 4), f_tail(0.0, 6, 4)) == (0.0, 1.0)


def test_equal_values_share_their_mean_rank():
    rows = np.random.default_rng(1).integers(0, 4, (50, 6)).astype(float)
    assert np.array_equal(ranks(rows), stats.rankdata(-rows, axis=1))
    assert np.array_equal(ranks(rows, larger_is_better=False), stats.rankdata(rows, axis=1))


def test_friedmans_test_gives_the_worked_example():
    found = friedman(DEMSAR)
    assert found.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.chi_square == pytest.approx(9.28, abs=0.005)
    assert pytest.approx(3.69, abs=0.005) == found.F
    assert found.p == pytest.approx(stats.chi2.sf(found.chi_square, 3))
    assert found.p_F == pytest.approx(stats.f.sf(found.F, 3, 39))
    assert found.p_F < 0.05  # the paper: 3.69 exceeds the critical value 2.85


def test_the_critical_difference_is_that_of_the_worked_example():
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=0.005)


def test_friedmans_test_without_ties_equals_that_of_scipy():
    rows = np.random.default_rng(2).standard_normal((12, 5)) + np.arange(5) * 0.3
    found = friedman(rows, larger_is_better=False)
    reference = stats.friedmanchisquare(*rows.T)
    assert (found.chi_square, found.p) == (pytest.approx(reference.statistic), pytest.approx(reference.pvalue))


def test_friedmans_test_of_equal_orders_has_the_least_p():
    found = friedman(np.tile([3.0, 2.0, 1.0], (7, 1)))
    assert (found.F, found.p_F) == (math.inf, 0.0)
    assert friedman(np.ones((3, 3))).p == 1.0


@pytest.mark.parametrize("level", NEMENYI)
def test_q_is_the_studentized_range(level):
    for k, q in enumerate(NEMENYI[level], start=2):
        assert stats.studentized_range.sf(q * math.sqrt(2), k, np.inf) == pytest.approx(level, abs=3e-4), k


def test_groups_without_a_difference_are_those_of_the_worked_example():
    # At level 0.10 C4.5 differs from both that use m (Demsar 2006, section 3.2.4); cf lies between.
    assert alike([3.143, 2.000, 2.893, 1.964], critical_difference(4, 14, 0.10)) == [(3, 1, 2), (2, 0)]
    assert alike([1.0, 2.0, 3.0], 1.5) == [(0, 1), (1, 2)]
    assert alike([3.0, 1.0, 2.0], 5.0) == [(1, 2, 0)]
    assert alike([1.0, 2.0, 3.0], 0.5) == []


def test_the_paired_t_test_equals_that_of_scipy():
    rng = np.random.default_rng(3)
    seen = set()
    for shift in (-1.0, -0.3, 0.0, 0.3, 1.0):
        for _ in range(20):
            theirs = rng.standard_normal(10)
            ours = theirs + shift + rng.standard_normal(10)
            found, reference = paired_t(ours, theirs), stats.ttest_rel(ours, theirs)
            assert (found.t, found.p) == (pytest.approx(reference.statistic), pytest.approx(reference.pvalue))
            expected = TIE if abs(reference.statistic) <= 2.262157 else WIN if reference.statistic > 0 else LOSS
            assert found.verdict == expected
            seen.add(found.verdict)
    assert seen == {WIN, TIE, LOSS}


def test_the_paired_t_test_without_variance_is_certain_or_undecided():
    assert paired_t([1.0, 2.0], [1.0, 2.0]).verdict == TIE
    assert paired_t([2.0, 3.0], [1.0, 2.0]).verdict == WIN
    assert paired_t([1.0, 2.0], [2.0, 3.0]).verdict == LOSS
    assert win_tie_loss([WIN, TIE, WIN, LOSS]) == (2, 1, 1)


def test_robustness_is_the_share_of_the_worst():
    assert np.array_equal(robustness([[50.0, 75.0], [90.0, 45.0]]), [[1.0, 1.5], [2.0, 1.0]])
    assert np.isnan(robustness([[0.0, 1.0]])).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: paired_t([1.0], [2.0]),
        lambda: paired_t([1.0, 2.0], [2.0]),
        lambda: friedman([[1.0, 2.0]]),
        lambda: friedman([[1.0, np.nan], [1.0, 2.0]]),
        lambda: critical_difference(21, 5),
        lambda: critical_difference(3, 5, 0.01),
    ],
)
def test_input_that_cannot_be_tested_is_refused(call):
    with pytest.raises(ValueError, match=r"needs two or more|no q for"):
        call()


def test_without_scipy_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftway.worker.evaluation.significance.can_test", lambda: False)
    monkeypatch.setattr("driftway.worker.evaluation.comparison.can_test", lambda: False)
    with pytest.raises(Failure, match=r"need scipy: pip install 'driftway\[statistics\]'"):
        paired_t([1.0, 2.0], [2.0, 4.0])
    rows = [
        {"stream": one, "learner": name, "accuracy": figure} for one in "ab" for name, figure in (("x", 1), ("y", 0))
    ]
    add_comparison(rows)
    assert [row.keys() for row in rows] == [{"stream", "learner", "accuracy", "rank"}] * 4
    assert comparison(rows) == [NEEDS_SCIPY]

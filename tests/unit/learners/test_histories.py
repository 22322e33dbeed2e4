"""Experts with spans of the past: who is alive when, and bases that make something before a batch."""

from __future__ import annotations

import numpy as np
import pytest

import learners
from tests.conformance.checks import scores
from tests.conformance.rows import rows


def alive_at(t):
    """Rows j 2^k, j odd, of which t is at most 2^(k + 2) behind."""
    return [born for born in range(1, t + 1) if t <= born + 4 * (born & -born)]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 6, 12, 13, 63, 64, 65, 700])
def test_flh_has_the_experts_of_the_definition(n):
    X, y = rows("binary", n, 3)
    flh = learners.create("flh", 3)
    scores(flh, X, y)
    in_use = np.flatnonzero(flh.state["weight"])
    learned = sorted(int(flh.state["states"].view(np.int64)[e, 4]) for e in in_use)
    # An expert born before row b has learned rows b to n.
    assert learned == sorted(n + 1 - born for born in alive_at(n + 1))
    assert flh.state["weight"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 100])
def test_saol_has_an_expert_for_each_power_of_two(n):
    X, y = rows("binary", n, 3)
    saol = learners.create("saol", 3)
    scores(saol, X, y)
    scales = (n + 1).bit_length()
    assert saol.state["slots"][0] == scales
    learned = saol.state["states"].view(np.int64)[:scales, 4].tolist()
    assert learned == [(n + 1) % 2**j for j in range(scales)]


@pytest.mark.parametrize("name", ["flh", "saol"])
@pytest.mark.parametrize("base", ["winnow", "tracking_winnow", "norma", "alma", "alma_gentile"])
def test_newborn_makes_what_follows_from_its_state(name, base):
    X, y = rows("binary", 200, 4)
    whole, cut = (learners.create(name, 4, base=base) for _ in range(2))
    assert scores(whole, X, y).tobytes() == scores(cut, X, y, tuple(range(1, 200))).tobytes()


@pytest.mark.parametrize(("name", "parameters"), [("flh", {"alpha": 1e6}), ("flh", {"alpha": 1e-6}), ("saol", {})])
def test_weights_neither_vanish_nor_grow(name, parameters):
    X, y = rows("binary", 5000, 4)
    ensemble = learners.create(name, 4, **parameters)
    assert np.isfinite(scores(ensemble, X, 1.0 - y)).all()
    assert 0.0 < ensemble.state["weight"].sum() < 100.0

"""The e-process that compares two learners: its oracle, false findings, and how soon it finds the better learner."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway.learners.engine.state import State
from driftway.learners.metrics.e_process import LEVEL, MOST, NEVER, EProcess
from tests.support.oracle import e_process as oracle

STREAMS, ROWS = 1000, 2000
MAX_FALSE = 72
"""If each of 1,000 streams has a false finding with probability 0.05, more have one only once in 1,000 times."""


def wins(challenger, n, seed=0):
    """Errors of champion and challenger on n rows, of which the challenger wins the share `challenger`."""
    won = np.random.default_rng(seed).random(n) < challenger
    return won.astype(float), 1.0 - won


def after(champion, challenger, *cuts):
    """The test after some rows, cut into batches."""
    test, offsets = EProcess(), np.arange(len(champion)) * 10
    for start, end in zip([0, *cuts], [*cuts, len(champion)], strict=True):
        test.counter(champion[start:end], challenger[start:end], offsets[start:end])(0, end - start)
    return test


def found(champion, challenger):
    """`better_since` and `worse_since` in rows; errors f8[n]."""
    point = after(champion, challenger).point()
    return [None if (at := point[f"{side}_since"]) is None else at // 10 for side in ("better", "worse")]


@pytest.mark.parametrize("challenger", [0.0, 0.35, 0.5, 0.65])
def test_capital_in_metrics_equals_the_oracle(challenger):
    champion, other = wins(challenger, 60)
    point = after(champion, other).point()
    histories = {"better": (champion > other).tolist(), "worse": (other > champion).tolist()}
    for side, won in histories.items():
        capitals = [float(oracle.capital(won[:t])) for t in range(len(won) + 1)]
        assert math.exp(point[f"{side}_log_e"]) == pytest.approx(capitals[-1], rel=1e-12)
        assert point[f"{side}_p"] == pytest.approx(1.0 / max(capitals), rel=1e-12)
        rows = [t for t, capital in enumerate(capitals) if capital >= 1.0 / LEVEL]
        assert point[f"{side}_since"] == (10 * (rows[0] - 1) if rows else None)


def test_before_the_first_row_there_is_no_evidence():
    nothing = {"log_e": 0.0, "p": 1.0, "since": None}
    assert EProcess().point() == {
        f"{side}_{key}": value for side in ("better", "worse") for key, value in nothing.items()
    }


def test_rows_without_a_winner_change_nothing():
    champion, challenger = wins(0.7, 100)
    apart = [np.insert(errors, np.arange(100), like) for errors, like in ((champion, 0.0), (challenger, 0.0))]
    apart = [np.insert(errors, np.arange(200), like) for errors, like in zip(apart, (np.nan, 1.0), strict=True)]
    alone, among = after(champion, challenger), after(*apart)
    assert among.state["staked"].tobytes() == alone.state["staked"].tobytes()
    assert among.point()["better_p"] == alone.point()["better_p"]


def test_smaller_losses_win():
    rng = np.random.default_rng(3)
    losses = rng.random((2, 500))
    as_mistakes = (losses[0] > losses[1]).astype(float)
    assert after(*losses).state.memory.tobytes() == after(as_mistakes, 1.0 - as_mistakes).state.memory.tobytes()


@pytest.mark.parametrize("cuts", [(1,), (0, 7, 7, 500), tuple(range(1000))])
def test_cutting_batches_changes_no_bit(cuts):
    rows = wins(0.55, 1000, seed=1)
    assert after(*rows, *cuts).state.memory.tobytes() == after(*rows).state.memory.tobytes()


def test_a_fair_row_gains_nothing_on_average():
    """The next capital, averaged over both winners, is the present one: the e-process is a martingale."""
    for seed in range(20):
        rows = wins(0.3 + 0.02 * seed, 50 + seed, seed)
        now = after(*rows).state["capital"].copy()
        nexts = [
            after(*(np.append(e, x) for e, x in zip(rows, last, strict=True))) for last in ((1.0, 0.0), (0.0, 1.0))
        ]
        assert (nexts[0].state["capital"] + nexts[1].state["capital"]) / 2 == pytest.approx(now, rel=1e-12)


def test_capital_is_bounded_and_lost_when_the_other_side_wins():
    champion, challenger = wins(1.0, 100_000)
    rich = after(champion, challenger)
    assert rich.point()["better_log_e"] == pytest.approx(math.log(MOST))
    assert rich.point()["better_p"] == pytest.approx(1.0 / MOST)
    lost = np.concatenate([champion, np.zeros(60)]), np.concatenate([challenger, np.ones(60)])
    assert after(*lost).point()["better_log_e"] < 0.0 < after(*lost).point()["worse_log_e"]
    assert found(*lost)[1] is not None


def fair_streams(kind):
    """Errors of pairs of equally good learners, f8[2, streams, rows]: none is ever likelier to win the next row."""
    rng = np.random.default_rng(17)
    errors = np.empty((2, STREAMS, ROWS))
    rate, lead = np.full(STREAMS, 0.2), np.zeros(STREAMS)
    for t in range(ROWS):
        if kind == "drifting":  # both are wrong more often after each drift, and learn until the next
            rate = np.full(STREAMS, 0.05 + 0.4 * math.exp(-(t % 500) / 100))
        if kind == "after mistakes":  # both are wrong more often after a mistake of the champion
            rate = np.where(errors[0, :, t - 1] == 1.0, 0.6, 0.1) if t else rate
        if kind == "while ahead":  # they differ only while the challenger has won more rows, and rarely otherwise
            rate = np.where(lead > 0, 0.5, 0.05)
        both = (rng.random(STREAMS) < 0.5 * rate) if kind == "drifting" else np.zeros(STREAMS, bool)
        errors[:, :, t] = (rng.random((2, STREAMS)) < rate) | both
        lead += errors[0, :, t] - errors[1, :, t]
    return errors


@pytest.mark.parametrize("kind", ["independent", "drifting", "after mistakes", "while ahead"])
def test_equally_good_learners_are_rarely_distinguished(kind):
    champion, challenger = fair_streams(kind)
    sides = [found(*pair) for pair in zip(champion, challenger, strict=True)]
    for side in range(2):
        assert sum(one[side] is not None for one in sides) <= MAX_FALSE
    lead = np.cumsum(champion - challenger, axis=1)
    differ = np.cumsum(champion != challenger, axis=1)
    tested_at_each_row = ((lead > 1.645 * np.sqrt(differ)) & (differ >= 20)).any(axis=1)
    assert tested_at_each_row.sum() > 2 * MAX_FALSE, (
        "a test meant for one look finds too much if repeated after each row"
    )


def test_a_worse_learner_is_rarely_found_better_whatever_the_drift():
    rng = np.random.default_rng(4)
    falsely = 0
    for _ in range(200):
        share = np.repeat(rng.random(20) * 0.5, 100)  # of wins of the challenger, at most a half
        won = rng.random(2000) < share
        falsely += found(won.astype(float), 1.0 - won)[0] is not None
    assert falsely <= 22  # 0.999 quantile of 200 draws with probability 0.05


@pytest.mark.parametrize(("challenger", "most"), [(0.9, 25), (0.7, 80), (0.55, 1200)])
def test_a_better_learner_is_found(challenger, most):
    delays = sorted(found(*wins(challenger, 2 * most, seed))[0] or 2 * most for seed in range(50))
    assert delays[25] <= most


def test_exchanging_the_learners_exchanges_the_findings():
    champion, challenger = wins(0.6, 2000, seed=2)
    assert found(champion, challenger) == found(challenger, champion)[::-1]
    assert found(champion, challenger)[0] is not None


def test_losses_before_a_drift_do_not_delay_a_finding():
    """A side that bets from the first row on only must first win back what it has lost."""
    (lost, worse), (won, better) = wins(0.3, 1000, 5), wins(0.7, 300, 6)
    champion, challenger = np.concatenate([lost, won]), np.concatenate([worse, better])
    at, _ = found(champion, challenger)
    assert at is not None
    assert 1000 < at < 1250
    assert oracle.of_starts((champion > challenger).tolist())[0] < 1.0


def test_a_state_out_of_range_is_refused():
    test = after(*wins(0.5, 10))
    for field, value in (("won", -1), ("since", NEVER - 1)):
        memory = test.state.memory.copy()
        State(test.state.fields, memory)[field][0] = value
        with pytest.raises(ValueError, match=f"{field} in the state is {value}"):
            test.check_state(memory)
    test.check_state(test.state.memory)

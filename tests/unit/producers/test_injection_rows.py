"""Noise, flips, missing values, imbalance and virtual drift: rates within statistical bounds, all else unchanged.

Bounds are 4.5 standard deviations: a correct implementation fails one such check in 150,000 seeds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from driftway.producers.streams import open_stream
from driftway.producers.streams.injection.injection_kind import SALT
from driftway.producers.streams.stream import Stream
from driftway.worker.errors import UsageFailure
from tests.support.oracle.random import Xoshiro
from tests.unit.producers.injected import GivenStream, numbered, put, read

N = 40_000
SIGMAS = 4.5


def near(count: float, n: float, p: float) -> bool:
    """Return whether `count` of `n` independent trials of probability p is plausible."""
    return abs(count - n * p) <= SIGMAS * math.sqrt(n * p * (1 - p)) + 1e-9


def classes(n: int = N, k: int = 4, shares: list[float] | None = None) -> GivenStream:
    rng = np.random.default_rng(11)
    y = rng.choice(k, n, p=shares).astype(float)
    return GivenStream(np.column_stack([rng.normal(size=n) + y, rng.normal(size=n), np.arange(n)]), y)


@pytest.mark.parametrize("share", [0.0, 0.07, 0.5, 1.0])
def test_label_noise_is_wrong_at_its_rate_in_every_class_and_evenly_over_the_others(share: float) -> None:
    held = classes()
    X, y, _ = read(put(held, f"label_noise:share={share},classes=4"))
    assert X.tobytes() == held.X.tobytes()
    table = np.zeros((4, 4))
    np.add.at(table, (held.y.astype(int), y.astype(int)), 1)
    for label in range(4):
        total, wrong = table[label].sum(), np.delete(table[label], label)
        assert near(wrong.sum(), total, share)
        if share > 0:
            assert stats.chisquare(wrong).pvalue > 1e-5


def test_label_noise_equals_the_oracle_and_spares_rows_without_label_or_outside() -> None:
    held = classes(3000, 3)
    held.y.flags.writeable = True
    held.y[::5] = np.nan
    rng, expected = Xoshiro((9 ^ SALT) + 1), held.y.copy()
    for t in range(3000):
        hit, other = rng.uniform() < 0.3, rng.randint(2)
        if hit and 500 <= t < 2500 and not math.isnan(expected[t]):
            expected[t] = other if other < expected[t] else other + 1
    stream = put(held, "label_noise:share=0.3,classes=3,from=500,until=2500", seed=9)
    assert read(stream, 77)[1].tobytes() == expected.tobytes()
    assert [(change.kind, change.at, change.drift) for change in stream.changes] == [
        ("label_noise", 500, False),
        ("label_noise ends", 2500, False),
    ]
    assert stream.drift_points == ()


def test_wrong_labels_are_independent_of_each_other_and_of_the_injection_before() -> None:
    held = numbered(N)
    once = read(put(held, "label_noise:share=0.3"))[1] != held.y
    assert near((once[1:] & once[:-1]).sum(), N, 0.09)
    twice = read(put(held, "label_noise:share=0.3", "label_noise:share=0.3"))[1] != held.y
    assert near(twice.sum(), N, 2 * 0.3 * 0.7)  # with the same draws, the second would undo the first
    holes = np.isnan(read(put(held, "label_noise:share=0.3", "missing:share=0.3,columns=x1"))[0][:, 0])
    assert near((holes & once).sum(), N, 0.09)


def test_more_noise_includes_the_changes_of_less_noise() -> None:
    held = numbered(5000)
    less, more = (read(put(held, f"label_noise:share={share}"))[1] != held.y for share in (0.1, 0.2))
    assert (more | ~less).all()
    assert more.sum() > less.sum()


@pytest.mark.parametrize("k", [2, 5])
def test_label_flip_changes_every_label_of_its_window_and_no_other(k: int) -> None:
    held = classes(3000, k)
    stream = put(held, f"label_flip:at=1000,until=2000,classes={k}")
    X, y, concept = read(stream, 300)
    inside = (np.arange(3000) >= 1000) & (np.arange(3000) < 2000)
    assert X.tobytes() == held.X.tobytes()
    assert ((y != held.y) == inside).all()
    assert sorted({*zip(held.y[inside], y[inside], strict=True)}) == [(c, (c + 1) % k) for c in range(k)]
    assert concept.tolist() == inside.astype(int).tolist()
    assert stream.drift_points == (1000, 2000)


@pytest.mark.parametrize("share", [0.0, 0.13, 1.0])
def test_missing_values_have_their_rate_in_each_of_the_columns(share: float) -> None:
    held = classes()
    X, y, concept = read(put(held, f"missing:share={share},columns=x1/x3"))
    holes = np.isnan(X)
    assert not holes[:, 1].any()
    assert near(holes[:, 0].sum(), N, share)
    assert near(holes[:, 2].sum(), N, share)
    assert near((holes[:, 0] & holes[:, 2]).sum(), N, share**2)
    assert np.array_equal(X[~holes], held.X[~holes])
    assert y.tobytes() == held.y.tobytes()
    assert not concept.any()


def test_missing_equals_the_oracle() -> None:
    held = classes(900)
    rng, expected = Xoshiro((1 ^ SALT) + 1), held.X.copy()
    for t in range(900):
        for j in (1, 2):
            if rng.uniform() < 0.3 and 200 <= t < 700:
                expected[t, j] = math.nan
    assert read(put(held, "missing:share=0.3,columns=x3/x2,from=200,until=700"), 77)[0].tobytes() == expected.tobytes()


@pytest.mark.parametrize("fill", [0.0, -9.5])
def test_fill_replaces_exactly_the_missing_values(fill: float) -> None:
    held = classes(3000)
    window = "columns=x1/x2,from=200,until=2700"
    holes = np.isnan(read(put(held, f"missing:share=0.3,{window}"))[0])
    X, y, _ = read(put(held, f"missing:share=0.3,fill={fill},{window}"), 77)
    assert X.tobytes() == np.where(holes, fill, held.X).tobytes()
    assert y.tobytes() == held.y.tobytes()


def test_missing_values_stay_in_their_window() -> None:
    holes = np.isnan(read(put(classes(3000), "missing:share=0.5,from=1000,until=2000"))[0]).any(axis=1)
    assert not holes[:1000].any()
    assert not holes[2000:].any()
    assert near(holes[1000:2000].sum(), 1000, 1 - 0.5**3)


@pytest.mark.parametrize("own", [0.5, 0.2])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.7, 0.95])
def test_imbalance_reaches_the_share_and_keeps_the_rows_that_stay(own: float, share: float) -> None:
    held = classes(N, 2, [1 - own, own])
    X, y, _ = read(put(held, f"imbalance:class=1,share={share}"))
    at = X[:, 2].astype(int)  # the column that numbers the rows
    assert (np.diff(at) > 0).all()
    assert np.array_equal(held.X[at], X)
    assert np.array_equal(held.y[at], y)
    # The estimate of the own share varies by sqrt(p (1 - p) / 2000); on average that changes the result by < 0.003.
    spread = SIGMAS * math.sqrt(share * (1 - share) / len(y)) + 0.003
    assert y.mean() == pytest.approx(share, abs=spread)
    if share != own:
        rarer = y == (share < own)
        assert rarer.sum() < (held.y == (share < own)).sum()
        assert (y == (share >= own)).sum() == (held.y == (share >= own)).sum()  # only one side is thinned


def test_imbalance_leaves_each_class_as_it_was() -> None:
    held = classes(N, 2)
    X, y, _ = read(put(held, "imbalance:class=0,share=0.1"))
    for label in range(2):
        assert stats.ks_2samp(X[y == label, 0], held.X[held.y == label, 0]).pvalue > 1e-4


@pytest.mark.parametrize(("share", "left"), [(0, {0.0}), (1, {1.0})])
def test_imbalance_can_leave_one_class_alone(share: int, left: set[float]) -> None:
    assert {*read(put(classes(2000, 2), f"imbalance:share={share}"))[1]} == left


def test_imbalance_follows_a_share_that_drifts_keeps_unlabelled_rows_and_its_window() -> None:
    rng = np.random.default_rng(4)
    y = (rng.random(N) < np.where(np.arange(N) < N // 2, 0.5, 0.1)).astype(float)
    y[::10] = np.nan
    held = GivenStream(np.column_stack([np.arange(N), np.zeros(N)]), y)
    X, kept, _ = read(put(held, "imbalance:share=0.3,from=10000"))
    at = X[:, 0].astype(int)
    assert {*range(10_000), *range(0, N, 10)} <= {*at.tolist()}
    late = kept[(at >= N // 2 + 4000) & ~np.isnan(kept)]
    assert late.mean() == pytest.approx(0.3, abs=SIGMAS * math.sqrt(0.21 / len(late)) + 0.005)


def logistic(n: int = N) -> GivenStream:
    """P(y = 1 | x) = 1 / (1 + exp(-x1)): nothing but x1 decides."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 2)) * [1, 3] + [0, 10]
    return GivenStream(X, rng.random(n) < 1 / (1 + np.exp(-X[:, 0])))


@pytest.mark.parametrize("tilt", [-3, 1.5])
def test_tilt_moves_the_features_and_not_the_labels_rule(tilt: float) -> None:
    held = logistic()
    stream = put(held, f"virtual:at=10000,tilt={tilt},columns=x1")
    X, y, concept = read(stream)
    assert X[:10_000].tobytes() == held.X[:10_000].tobytes()
    assert concept.tolist() == [0] * 10_000 + [1] * (len(y) - 10_000)
    x, late = X[10_000:, 0], y[10_000:]
    # E[x] of the density 2 phi(x) / (1 + exp(-tilt x)), computed numerically.
    grid = np.linspace(-8, 8, 20_001)
    weight = stats.norm.pdf(grid) / (1 + np.exp(-tilt * grid))
    assert x.mean() == pytest.approx((grid * weight).sum() / weight.sum(), abs=0.04)
    assert abs(x.mean()) > 0.4
    assert near(len(late), 30_000, 0.5)
    # The rule holds: in every bin as many ones as it gives for these very x.
    for low in np.arange(-2, 2, 0.5):
        here = (x >= low) & (x < low + 0.5)
        p = 1 / (1 + np.exp(-x[here]))
        assert abs(late[here].sum() - p.sum()) < SIGMAS * math.sqrt((p * (1 - p)).sum())
    assert stats.ks_2samp(X[10_000:, 1], held.X[:, 1]).pvalue > 1e-4  # the other column is unchanged


def test_tilt_keeps_the_labelling_rule_of_a_generator() -> None:
    stream = open_stream("sea:noise=0,rows=8000,thresholds=8", inject=["virtual:at=2000,tilt=4,columns=x1"])
    X, y, _ = read(stream)
    assert ((X[:, 0] + X[:, 1] <= 8) == y).all()
    assert X[:2000, 0].mean() == pytest.approx(5, abs=0.3)
    assert X[2000:, 0].mean() > 6.5


@pytest.mark.parametrize("at", [4, 500])
def test_tilt_equals_the_oracle(at: int) -> None:
    held = logistic(2000)
    held.X.flags.writeable = True
    held.X[::9, 0] = np.nan
    held.X[:, 1] = 4.0  # constant: no z-score
    rng, kept = Xoshiro((1 ^ SALT) + 1), []
    before = held.X[:at, 0][~np.isnan(held.X[:at, 0])]
    for t in range(2000):
        z = (held.X[t, 0] - before.mean()) / before.std()
        p = 1 / (1 + math.exp(-2 * (0 if math.isnan(z) else z) / math.sqrt(2)))
        if rng.uniform() < p or not at <= t < 1800:
            kept.append(t)
    X, y, _ = read(put(held, f"virtual:at={at},until=1800,tilt=2"), 64)
    assert X.tobytes() == held.X[kept].tobytes()
    assert y.tobytes() == held.y[kept].tobytes()


def test_shifted_features_keep_their_labels() -> None:
    held = logistic(1000)
    X, y, concept = read(put(held, "virtual:at=300,until=600,shift=2,scale=0.5,columns=x2"), 100)
    expected = held.X.copy()
    expected[300:600, 1] = 0.5 * expected[300:600, 1] + 2
    assert X.tobytes() == expected.tobytes()
    assert y.tobytes() == held.y.tobytes()
    assert concept.tolist() == [0] * 300 + [1] * 300 + [0] * 400


def without_rows(stream: Stream) -> Stream:
    stream.rows = None
    return stream


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("quux", "there is no injection 'quux'; available: sudden, gradual, incremental, recurring, label_noise, "
         "label_flip, missing, imbalance, virtual"),
        ("suden:at=1", "there is no injection 'suden'; did you mean sudden?"),
        ("sudden", "sudden needs at and to"),
        ("sudden:at=5", "sudden needs to"),
        ("sudden:to=x,at=5", "sudden needs at; to=STREAM comes last, everything after it belongs to STREAM"),
        ("sudden:at=5,to=", "to= names no stream in 'sudden:at=5,to='"),
        ("sudden:at=0,to=x", "sudden: at must be a whole number from 1 to 1e+15, got 0"),
        ("sudden:at=10,to=x", "sudden: at must be below 10, the rows of held, got 10"),
        ("sudden:at=5,width=3,to=x", "sudden has no parameter 'width'; available: at, seed, to"),
        ("sudden:at=5,seed=-1,to=x", "sudden: seed must be a whole number from 0 to 2^64 - 1, got -1"),
        ("missing:share=0.1,to=x", "missing has no parameter 'to'; available: share, fill, from, until, columns, seed"),
        ("missing:share=0.1,columns=x1/q", "missing: held has no feature 'q'; features: x1, x2"),
        ("missing:share=0.1,fill=nan", "missing: fill must be a number, got nan"),
        ("missing:share=1.1", "missing: share must be a number from 0 to 1, got 1.1"),
        ("missing:share=0.1,from=5,until=5", "missing: until must lie after from, got 5 and 5"),
        ("label_flip:at=5,until=2", "label_flip: until must lie after at, got 2 and 5"),
        ("incremental:from=5,until=5,to=x", "incremental: until must lie after from, got 5 and 5"),
        ("virtual:at=5", "virtual needs either tilt (rows are chosen) or shift and scale (features are displaced)"),
        ("virtual:at=5,tilt=1,shift=1",
         "virtual needs either tilt (rows are chosen) or shift and scale (features are displaced)"),
        ("imbalance:share=0.5,class=4,classes=3", "imbalance: class must be an index of 0 to 2, got 4"),
        ("label_noise:share", "'share' in 'label_noise:share' is not parameter=value"),
    ],
)  # fmt: skip
def test_a_bad_injection_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        put(numbered(10), text, seconds=[numbered(10, -1)])
    assert str(failure.value) == sentence


def test_streams_that_do_not_fit_together_are_refused() -> None:
    wide, swapped, named, other = numbered(10), numbered(10), numbered(10), numbered(10)
    wide.feature_names = ("x1", "x2", "x3")
    swapped.feature_names = ("x2", "x1")
    first = numbered(10)
    first.labels, named.labels = ("a", "b"), ("b", "a")
    first.task, other.task = "classification", "regression"
    for second, words in (
        (wide, "have 2 and 3 features"),
        (swapped, "have the same features in another order"),
        (named, "have the labels a,b and b,a"),
        (other, "are of classification and of regression"),
    ):
        with pytest.raises(UsageFailure, match=words):
            put(first, "sudden:at=5,to=x", seconds=[second])


@pytest.mark.parametrize("text", ["label_noise:share=0.1", "label_flip:at=1", "imbalance:share=0.1"])
def test_class_injections_refuse_a_regression(text: str) -> None:
    held = numbered(10)
    held.task = "regression"
    with pytest.raises(UsageFailure, match="needs classes; held is a regression stream"):
        put(held, text)


def test_the_refusal_of_a_label_that_is_no_class_names_its_row() -> None:
    held = without_rows(GivenStream(np.ones((10, 1)), [0, 1, 0, 1, 0, 1, -1, 0, 1, 0]))
    with pytest.raises(UsageFailure, match=r"label_noise: label -1 in row 6 is not a class index of 0 to 1; name"):
        read(put(held, "label_noise:share=0"), 4)

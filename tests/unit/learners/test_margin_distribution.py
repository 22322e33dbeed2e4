"""Margin distribution learners against their definitions: gradients, minima, restarts, forks, measured figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.hindsight.odm_batch import odm_batch, odm_objective
from driftway.learners.margin_distribution.d_odm import DODM, MAX_CANDIDATES, epochs_of
from tests.conformance.rows import COLUMNS, rows
from tests.support.learning import learned
from tests.support.oracle.margin_distribution import Dynamic
from tests.support.oracle.protocol import run


def numeric_gradient(f, w, h=1e-6):
    return np.array([(f(w + h * e) - f(w - h * e)) / (2 * h) for e in np.eye(len(w))])


@pytest.mark.parametrize(
    "parameters", [{}, {"rate": "doubling"}, {"rate": "adahedge"}, {"meta_loss": "zero_one"}, {"f_clip": 2.0}], ids=str
)
def test_a_grid_grown_by_forks_equals_the_full_grid(parameters):
    X, y = rows("binary", 1500, 3)
    expected = run(Dynamic(3, 2, "binary", finite=math.ceil(math.log2(1500)) + 1, **parameters), X.tolist(), y.tolist())
    learner, score = learned("d_odm", X, y, **parameters)
    np.testing.assert_allclose(score, np.array(expected)[:, 0], rtol=1e-12, atol=1e-12)
    assert learner.state["candidates"][0] == 2 + math.floor(math.log2(1500))


def test_candidates_are_restarted_odms_and_their_prior_is_the_documented_one():
    X, y = rows("binary", 300, 4)
    state = learned("d_odm", X, y)[0].state
    n = state["candidates"][0]
    assert state["epoch"][:n].tolist() == [1, 2, 4, 8, 16, 32, 64, 128, 256, 0]
    for i in range(n - 1):
        alone = learned("restarted_odm", X, y, epoch=2**i)[0].state
        assert (state["weight"][i] == alone["weight"]).all()
        assert state["age"][i] == alone["age"][0]
    assert (state["weight"][n - 1] == learned("online_odm", X, y)[0].state["weight"]).all()
    prior = [1 / (k * (k + 1)) for k in range(1, n)] + [1 / n]
    np.testing.assert_allclose(np.exp(state["log_prior"][:n]), prior, rtol=1e-12)
    assert state["beta"].sum() == pytest.approx(1.0, abs=1e-12)


def test_forks_stop_at_the_largest_number_of_candidates():
    X, y = rows("binary", 10, 2)
    learner = learned("d_odm", X, y)[0]
    n = int(learner.state["candidates"][0])
    learner.state["candidates"][0], learner.state["learned"][0] = MAX_CANDIDATES, 2 ** (MAX_CANDIDATES - 1) - 1
    learner.state["epoch"][n - 1 :] = 0
    learner.predict_then_update(X, y, np.empty((10, 1)))
    assert learner.state["candidates"][0] == MAX_CANDIDATES
    assert np.isfinite(learner.state["beta"]).all()


def test_a_step_goes_against_the_gradient():
    rng = np.random.default_rng(31)
    for _ in range(50):
        x, w, y = rng.standard_normal(4), 2 * rng.standard_normal(4), float(rng.integers(0, 2))
        learner = learners.create("online_odm", 4, schedule="const", eta=1e-4, intercept=False)
        learner.state["weight"][:] = w
        learner.predict_then_update(x[None], np.array([y]), np.empty((1, 1)))
        slope = numeric_gradient(lambda v, x=x, y=y: odm_objective(v, x[None], np.array([y]))[0], w)
        np.testing.assert_allclose(learner.state["weight"], w - 1e-4 * slope, rtol=0, atol=1e-8)


def test_a_safe_step_never_raises_the_loss_of_its_row():
    rng = np.random.default_rng(32)
    for _ in range(200):
        x, w, y = 10.0 ** rng.uniform(-3, 3) * rng.standard_normal(4), rng.standard_normal(4), np.ones(1)
        learner = learners.create("online_odm", 4, intercept=False)
        learner.state["weight"][:] = w
        before = odm_objective(w, x[None], y)[0]
        learner.predict_then_update(x[None], y, np.empty((1, 1)))
        assert odm_objective(learner.state["weight"], x[None], y)[0] <= before * (1 + 1e-12)


def test_restarted_odm_equals_new_learners():
    X, y = rows("binary", 400, 3)
    assert (learned("restarted_odm", X, y, epoch=401)[1] == learned("online_odm", X, y)[1]).all()
    whole = learned("restarted_odm", X, y, epoch=100)[1]
    parts = [learned("restarted_odm", X[i : i + 100], y[i : i + 100])[1] for i in range(0, 400, 100)]
    assert (whole == np.concatenate(parts)).all()
    assert learned("restarted_odm", X, y, epoch=400)[0].state["weight"].any() == 0


def test_random_starts_depend_on_the_seed_and_have_the_stated_length():
    X, y = rows("binary", 50, 3)
    one, same, other = (learned("restarted_odm", X, y, epoch=7, init="random", seed=s)[1] for s in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).all()
    fresh = learners.create("restarted_odm", 999, init="random", init_scale=2.0)
    assert np.linalg.norm(fresh.state["weight"]) == pytest.approx(2.0, rel=0.1)


def test_one_outlier_freezes_the_weights_unless_losses_are_clipped():
    rng = np.random.default_rng(33)
    X = rng.standard_normal((4000, 3))
    y = (X[:, 0] > 0).astype(float)
    y[2000:] = 1.0 - y[2000:]
    X[128] *= 1e4  # at a power of 2 all candidates but the top one have just restarted
    late = slice(2500, 3900)
    hits = {clip: ((learned("d_odm", X, y, f_clip=clip)[1] >= 0) == y)[late].mean() for clip in (0.0, 100.0)}
    assert hits[100.0] > hits[0.0] + 0.05


@pytest.mark.parametrize("rate", ["anytime", "adahedge"])
def test_zero_one_losses_are_not_clipped_as_documented(rate):
    X, y = rows("binary", 500, 3)
    scores = [learned("d_odm", X, y, rate=rate, meta_loss="zero_one", f_clip=clip)[1] for clip in (0.0, 0.5)]
    assert scores[0].tobytes() == scores[1].tobytes()
    f_clip = next(one for one in DODM.Params.describe() if one["name"] == "f_clip")
    assert "`zero_one` mistakes are bounded already, and f_clip has no effect on them" in f_clip["text"]


def test_epochs_cover_the_horizon():
    assert epochs_of(1000, 50.0, 1000.0) == [1, 2]
    assert epochs_of(20_000, 100.0, 20_000.0) == [1, 2]
    assert epochs_of(1024, 0.5, 0.0) == [2**i for i in range(11)]
    assert epochs_of(1024, 0.5, 4.0) == [1, 2, 4, 8, 16]
    assert epochs_of(1, 1e300, 1e300) == [1]
    assert epochs_of(2**60, 1.0, 1e-300)[-1] == 2**62
    for T, C in [(100, 3.0), (20_000, 1000.0)]:
        assert T <= epochs_of(T, C, 0.0)[-1] < 2 * T + 1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"horizon": 10, "C": 2.9}, "C must be >= lam = 3"),
        ({"horizon": 10, "rate": "adahedge"}, "rate must be anytime"),
    ],
)
def test_parameters_that_conflict_with_a_horizon_are_refused(parameters, words):
    with pytest.raises(ParameterError, match=words):
        learners.create("d_odm", 3, **parameters)


def test_batch_odm_has_the_right_gradient_and_reaches_its_minimum():
    rng = np.random.default_rng(34)
    for _ in range(20):
        X, y = rng.standard_normal((60, 5)), rng.integers(0, 2, 60).astype(float)
        w, loss = rng.standard_normal(5), (10.0 ** rng.uniform(-2, 2), rng.uniform(0.1, 1.0), rng.uniform(0.0, 0.9))
        np.testing.assert_allclose(
            odm_objective(w, X, y, *loss)[1],
            numeric_gradient(lambda v, X=X, y=y, loss=loss: odm_objective(v, X, y, *loss)[0], w),
            rtol=1e-4,
            atol=1e-4,
        )
        best = odm_batch(X, y, *loss)
        assert np.linalg.norm(odm_objective(best, X, y, *loss)[1]) <= 1e-8
        assert np.linalg.norm(best) <= math.sqrt(2 * loss[0])


def test_the_batch_minimum_equals_a_search_without_gradients():
    rng = np.random.default_rng(35)
    X, y = rng.standard_normal((12, 2)), rng.integers(0, 2, 12).astype(float)
    at, step = np.zeros(2), 1.0
    while step > 1e-9:
        near = [at + step * np.array([math.cos(a), math.sin(a)]) for a in np.arange(0, 2 * math.pi, math.pi / 8)]
        best = min([at, *near], key=lambda w: odm_objective(w, X, y)[0])
        at, step = best, step if best is not at else step / 2
    assert odm_objective(odm_batch(X, y), X, y)[0] <= odm_objective(at, X, y)[0] + 1e-14
    np.testing.assert_allclose(odm_batch(X, y), at, atol=1e-6)


def test_batch_refuses_what_it_cannot_minimise():
    with pytest.raises(ArithmeticError, match="no minimum"), np.errstate(all="ignore"):
        odm_batch(np.full((3, 2), 1e200), np.array([0.0, 1.0, 1.0]))


def test_regret_of_online_odm_is_within_its_logarithmic_bound():
    rng = np.random.default_rng(36)
    n, d = 3000, 4
    y = rng.integers(0, 2, n).astype(float)
    X = rng.standard_normal((n, d)) + (2 * y - 1)[:, None] * np.array([1.0, 0.5, 0.0, 0.0])
    learner = learners.create("online_odm", d, intercept=False)
    f, longest = 0.0, 0.0
    for x, label in zip(X, y, strict=True):
        value, gradient = odm_objective(learner.state["weight"], x[None], np.array([label]))
        f, longest = f + value, max(longest, float(np.linalg.norm(gradient)))
        learner.predict_then_update(x[None], np.array([label]), np.empty((1, 1)))
    regret = f - n * odm_objective(odm_batch(X, y), X, y)[0]
    assert 0.0 < regret <= longest**2 / 2 * (1 + math.log(n))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"C": 10.0}, (87.6, 93.6, 97.6, 77.0, 88.3, 96.9)),
        ({"C": 100.0}, (85.8, 92.5, 97.6, 73.2, 88.2, 95.8)),
        ({"C": 1000.0}, (79.7, 81.2, 97.2, 72.1, 86.3, 94.0)),
        ({"C": 100.0, "V_T": "T"}, (60, 51, 63, 42, 65, 62)),
    ],
    ids=str,
)
def test_accuracy_with_a_known_horizon_is_the_documented_one(real_streams, parameters, expected):
    for column, accuracy in zip(COLUMNS, expected, strict=True):
        X, y = real_streams.rows(*column)
        given = {k: len(X) if v == "T" else v for k, v in parameters.items()}
        learner = learners.create("d_odm", X.shape[1], standardize=True, horizon=len(X), **given)
        score = np.empty((len(X), 1))
        learner.predict_then_update(X, y, score)
        printed = 0.3 if isinstance(accuracy, float) else 0.5
        assert 100 * ((score[:, 0] >= 0) == y).mean() == pytest.approx(accuracy, abs=printed), column

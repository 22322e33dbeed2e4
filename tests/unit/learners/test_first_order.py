"""First-order learners: properties of a step that their sources prove, and special cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.registry import ALIASES, LEARNERS, find
from tests.conformance.rows import rows
from tests.support.learning import learned


@pytest.fixture(scope="module")
def stream():
    return rows("binary", 400, 4, unlabelled=0.1)


@pytest.mark.parametrize(
    ("special", "general"),
    [
        (("p_norm_perceptron", {}), ("perceptron", {})),
        (("p_norm_perceptron", {"ties": "correct"}), ("perceptron", {"ties": "correct"})),
        (("norma", {"alpha": 0.3, "lam": 0.0, "rho": 0.0, "p": 4.0}), ("p_norm_perceptron", {"alpha": 0.3, "p": 4.0})),
        (("norma", {"rho": 0.0, "p": "auto"}), ("norma_zero_margin", {"p": "auto"})),
        (("alma", {"rho": 0.0}), ("alma_zero_margin", {})),
        (("alma_zero_margin", {"B": 1e9}), ("p_norm_perceptron", {"alpha": 0.1})),
        (("pa1", {"C": 1e300}), ("pa", {})),
        (("pa2", {"C": 1e300}), ("pa", {})),
        (
            ("pegasos", {"lam": 0.25}),
            ("ogd_hinge", {"eta": 4.0, "schedule": "inv_t", "l2": 0.25, "radius": 2.0}),
        ),
        (("restarted_ogd", {"loss": "hinge", "delta": 1000}), ("ogd_hinge", {})),
        (("restarted_ogd", {"loss": "square", "delta": 1000}), ("ogd_square", {})),
    ],
)
def test_special_cases_have_the_same_bits(special, general, stream):
    got = learned(special[0], *stream, **special[1])[1]
    assert got.tobytes() == learned(general[0], *stream, **general[1])[1].tobytes()


def test_a_restarted_learner_equals_a_new_one(stream):
    X, _ = stream
    y = np.arange(len(X)) % 2.0
    whole = learned("restarted_ogd", X, y, delta=100)[1]
    parts = [learned("ogd_logistic", X[i : i + 100], y[i : i + 100])[1] for i in range(0, 400, 100)]
    assert np.array_equal(whole, np.concatenate(parts))


def steps(name, stream, field="weight", **parameters):
    """Yield (row with intercept, sign, weights before, weights after) of every labelled row."""
    X, y = stream
    learner = learners.create(name, X.shape[1], **parameters)
    for x, label in zip(X, y, strict=True):
        before = learner.state[field].copy()
        learner.predict_then_update(x[None, :].copy(), np.array([label]), np.empty((1, 1)))
        if not math.isnan(label):
            yield np.append(x, 1.0), 2.0 * label - 1.0, before, learner.state[field].copy()


def test_pa_takes_the_shortest_step_to_a_margin_of_1(stream):
    for x, sign, before, after in steps("pa", stream):
        margin = sign * before @ x
        assert sign * after @ x == pytest.approx(max(margin, 1.0), abs=1e-9)
        moved = after - before
        assert moved @ moved * (x @ x) == pytest.approx((moved @ x) ** 2, abs=1e-9), "it moves along the row only"


@pytest.mark.parametrize("C", [0.01, 0.3])
def test_pa1_and_pa2_minimise_their_objectives(C, stream):
    for name in ("pa1", "pa2"):
        for x, sign, before, after in steps(name, stream, C=C):
            tau = sign * (after - before) @ x / (x @ x)
            loss = max(0.0, 1.0 - sign * after @ x)
            if name == "pa1":  # |v - w|^2 / 2 + C loss
                assert -1e-12 <= tau <= C + 1e-12
                assert loss < 1e-9 or tau == pytest.approx(C)
            else:  # |v - w|^2 / 2 + C loss^2: the gradient is zero
                assert tau == pytest.approx(2.0 * C * loss, abs=1e-9)


def test_aromma_takes_the_shortest_weights_in_both_half_spaces(stream):
    X, y = stream
    moved = 0
    for x, sign, before, after in steps("aromma", (X[:60], y[:60])):
        if np.array_equal(before, after):
            continue
        assert sign * after @ x == pytest.approx(1.0)
        # w'u >= |w|^2, with equality unless only the row's constraint is active.
        assert after @ before >= before @ before * (1.0 - 1e-9)
        if after @ before > before @ before * (1.0 + 1e-9):
            np.testing.assert_allclose(after, sign * x / (x @ x), rtol=1e-9)
        else:
            coefficients = np.linalg.lstsq(np.stack([before, x], axis=1), after, rcond=None)[0]
            np.testing.assert_allclose(np.stack([before, x], axis=1) @ coefficients, after, rtol=1e-9, atol=1e-12)
        moved += 1
    assert moved > 20


def test_aromma_is_rescaled_long_before_it_overflows():
    X, y = rows("binary", 20_000, 3)
    flipped = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 1.0 - y, y)
    learner, score = learned("aromma", X, flipped)
    assert np.isfinite(score).all()
    assert np.abs(learner.state["weight"]).max() <= 1e6
    assert 0.0 < learner.state["mu"][0] < 1e-6
    assert learner.state["skipped"][0] == 0


@pytest.mark.parametrize("p", [2.0, 3.0, 100.0, 1e4])
@pytest.mark.parametrize("size", [1e-250, 1.0, 1e250])
def test_weights_of_a_p_norm_keep_their_norm(p, size):
    rng = np.random.default_rng(1)
    x = np.array([[*rng.standard_normal(5)]]) * size
    learner = learners.create("p_norm_perceptron", 5, p=p, intercept=False)
    learner.predict_then_update(x, np.ones(1), np.empty((1, 1)))
    score = np.empty((5, 1))
    learner.predict(np.eye(5), score)
    weight, q = score[:, 0] / size, p / (p - 1.0)
    ratio = np.abs(x[0]) / np.abs(x).max()
    norm_p = (ratio**p).sum() ** (1.0 / p) * np.abs(x).max() / size
    assert (np.abs(weight) ** q).sum() ** (1.0 / q) == pytest.approx(norm_p, rel=1e-9)
    assert weight @ x[0] / size == pytest.approx(norm_p**2, rel=1e-9)


@pytest.mark.parametrize("p", [2.0, 5.0])
def test_alma_stays_in_its_ball(p, stream):
    for _, _, _, theta in steps("alma", stream, field="theta", p=p, B=1.5):
        assert (np.abs(theta) ** p).sum() ** (1.0 / p) <= 1.5 * (1.0 + 1e-12)


@pytest.mark.parametrize(("name", "parameters"), [("ogd_hinge", {"radius": 0.7}), ("pegasos", {"lam": 4.0})])
def test_descent_stays_in_its_ball(name, parameters, stream):
    for *_, weight in steps(name, stream, **parameters):
        assert np.sqrt(weight @ weight) <= parameters.get("radius", 0.5) * (1.0 + 1e-12)


def test_lms_with_a_safe_step_never_overshoots():
    X, y = rows("regression", 300, 4)
    learner = learners.create("ogd_square", 4, task="regression", schedule="const", eta=100.0)
    score = np.empty((1, 1))
    for t in range(len(X)):
        row = 50.0 * X[t : t + 1]
        learner.predict_then_update(row, y[t : t + 1], score)
        learner.predict(row, score)
        assert score[0, 0] == pytest.approx(y[t])


def test_winnow_forms_make_the_same_mistakes(stream):
    normalised, plain = (learned("winnow", *stream, normalize=flag)[1] for flag in (True, False))
    assert np.array_equal(normalised >= 0.0, plain >= 0.0)
    assert np.abs(normalised).max() <= 10.0 * max(1.0, np.abs(stream[0]).max())


def test_winnow2_finds_a_disjunction_with_few_mistakes():
    rng = np.random.default_rng(2)
    X = (rng.random((4000, 200)) < 0.02).astype(float)
    y = X[:, :3].max(axis=1)
    _, score = learned("winnow", X, y, balanced=False, intercept=False)
    assert ((score >= 0.0) != y).sum() < 120
    assert ((score >= 0.0) == y)[2000:].all()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("norma", {"alpha": 0.5, "lam": 2.0}, "lam must be < 1/alpha = 2, got 2.0"),
        ("norma_zero_margin", {"alpha": 0.5, "lam": 3.0}, "lam must be < 1/alpha = 2, got 3.0"),
        ("kernel_norma", {"alpha": 0.5, "lam": 2.0}, "lam must be < 1/alpha = 2, got 2.0"),
        ("mc_norma", {"alpha": 0.5, "lam": 2.0}, "lam must be < 1/alpha = 2, got 2.0"),
        ("bogd", {"eta": 0.5, "lam": 2.0}, "lam must be < 1/eta = 2, got 2.0"),
        ("ogd_hinge", {"eta": 0.5, "l2": 2.5}, "l2 must be <= 1/eta = 2, got 2.5"),
        ("restarted_ogd", {"eta": 0.5, "l2": 2.5}, "l2 must be <= 1/eta = 2, got 2.5"),
        ("winnow", {"balanced": False}, "intercept must be false"),
        ("norma", {"p": "manual"}, "p must be a number"),
    ],
)
def test_conflicting_parameters_are_refused(name, parameters, message):
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        learners.create(name, 3, **parameters)


def test_the_automatic_exponent_follows_the_number_of_features():
    assert learners.create("norma", 3, p="auto").parameters.describe()[3]["values"] == "number, 2 <= value, or auto"
    for d, p in ((1, 2.0), (19, 2.0 * math.log(20))):
        X, y = rows("binary", 50, d)
        got, expected = (learned("p_norm_perceptron", X, y, p=exponent)[1] for exponent in ("auto", p))
        assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("name", "field"),
    [
        (n, "weight")
        for n in ("pa", "pa2", "ogd_hinge", "ogd_logistic", "ogd_square", "restarted_ogd", "pegasos", "aromma")
    ]
    + [
        (n, "theta")
        for n in ("p_norm_perceptron", "norma", "norma_zero_margin", "alma", "alma_zero_margin", "alma_gentile")
    ],
)
def test_rows_that_overflow_are_counted_and_change_nothing(name, field):
    learner = learners.create(name, 2)
    learner.state[field][:] = 1e200
    kept = {key: learner.state[key].copy() for key in learner.state if key not in ("skipped", "learned")}
    score = np.empty((2, 1))
    learner.predict_then_update(np.full((2, 2), 1e308), np.array([0.0, 1.0]), score)
    assert score[:, 0].tolist() == [0.0, 0.0]
    assert learner.state["skipped"].tolist() == [2]
    assert all(learner.state[key].tobytes() == values.tobytes() for key, values in kept.items())


def test_lms_is_an_alias_of_ogd_square():
    assert find("lms") is find("ogd_square")
    assert not set(ALIASES) & set(LEARNERS)
    alias, named = (learners.create(name, 3, task="regression", eta=0.5) for name in ("lms", "ogd_square"))
    named.restore(alias.snapshot())
    with pytest.raises(learners.UnknownLearner, match="no learner 'lmss'"):
        find("lmss")


@pytest.mark.parametrize("a", [0.3, 0.6, 0.9])
def test_alma_gentile_approximates_the_largest_margin(a):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 2))
    X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
    X = np.ascontiguousarray(X[np.abs(X[:, 0]) > 0.2])
    sign = np.sign(X[:, 0])
    angles = np.linspace(-0.5, 0.5, 20_001)
    largest = (sign[:, None] * (X @ np.stack([np.cos(angles), np.sin(angles)]))).min(axis=0).max()
    learner = learners.create("alma_gentile", 2, a=a, intercept=False)
    before = -1
    while learner.state["k"][0] != before:
        before = learner.state["k"][0]
        learner.predict_then_update(X, (sign > 0).astype(float), np.empty((len(X), 1)))
    theta = learner.state["theta"]
    assert (sign * (X @ theta)).min() / np.sqrt(theta @ theta) >= (1.0 - a) * largest
    assert before - 1 <= 2.0 / largest**2 * (2.0 / a - 1.0) ** 2 + 8.0 / a - 4.0


@pytest.mark.parametrize("p", [2.0, 5.0])
def test_alma_gentile_stays_in_the_unit_ball(p, stream):
    for _, _, _, theta in steps("alma_gentile", stream, field="theta", p=p):
        assert (np.abs(theta) ** p).sum() ** (1.0 / p) <= 1.0 + 1e-12


def test_alma_gentile_survives_weights_that_cancel():
    learner = learners.create("alma_gentile", 2, a=1.0, C=1.0, intercept=False)
    score = np.empty((3, 1))
    learner.state["k"][0] = 1
    learner.predict_then_update(np.ones((1, 2)), np.ones(1), score[:1])
    learner.state["k"][0] = 1
    learner.predict_then_update(-np.ones((1, 2)), np.ones(1), score[:1])
    assert learner.state["theta"].tolist() == [0.0, 0.0]
    learner.predict_then_update(np.ones((3, 2)), np.array([0.0, 1.0, 0.0]), score)
    assert np.isfinite(score).all()


@pytest.mark.parametrize("seed", range(5))
def test_conjunction_makes_few_mistakes_where_one_exists(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((3000, 12)) < 0.5).astype(float)
    y = (X[:, 2] * X[:, 7] * (1.0 - X[:, 9])).astype(float)
    learner, score = learned("conjunction", X, y)
    wrong = (score >= 0.0) != y
    assert 0 < wrong.sum() <= 13
    assert (y[wrong] == 1.0).all(), "what is left implies what is true"
    assert np.flatnonzero(learner.state["positive"]).tolist() == [2, 7]
    assert np.flatnonzero(learner.state["negative"]).tolist() == [9]
    assert learner.state["inconsistent"].tolist() == [0]
    run_on = np.empty((1, 1))
    learner.predict_then_update(np.ones((1, 12)) - np.eye(12)[9:10], np.zeros(1), run_on)
    assert learner.state["inconsistent"].tolist() == [1]


@pytest.mark.parametrize(
    ("name", "parameters", "column", "expected"),
    [
        ("conjunction", {}, ("usenet2", 1500), 48.40),
        ("conjunction", {}, ("spam500", 2500), 66.00),
        ("winnow", {"balanced": False, "intercept": False}, ("usenet2", 1500), 71.67),
        ("winnow", {"balanced": False, "intercept": False}, ("spam500", 2500), 87.32),
    ],
)
def test_accuracy_on_unscaled_boolean_features_is_the_documented_one(real_streams, name, parameters, column, expected):
    X, y = real_streams.rows(*column)
    _, score = learned(name, X, y, **parameters)
    assert 100 * ((score >= 0.0) == y).mean() == pytest.approx(expected, abs=0.01)

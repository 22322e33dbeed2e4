"""Learners for ratings, similarity and several tasks: documented figures, and rows with invalid ids.

See docs/algorithms/reference-results.md#learners-for-other-tasks.
"""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.explain import explain
from driftway.learners.numeric.symmetric import clip_eigenvalues
from driftway.learners.preprocessing.standardizer import OnlineStandardizer
from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from tests.support.learning import scores

LAST = 50
"""Number of previous rows among which the specification looks for partners."""


def learner_of(text, d, standardize=True):
    task = "regression" if text.startswith("online_mf") else "classification"
    return Spec.parse(text).create(d, task=task, standardize=standardize)


def errors(text, stream):
    """Return the RMSE of each 10,000 ratings, in units of the ratings' deviation, and the block of ratings."""
    (block,) = open_stream(stream).blocks(60_000)
    squared = (scores(learner_of(text, 2), *block) - block.y) ** 2
    return np.sqrt(squared.reshape(-1, 10_000).mean(axis=1)) / block.y.std(), block


def partners(y, matches, rng):
    """Yield for each row a random one of the last rows of its class (`matches`) or of others; -1 if there is none."""
    for t in range(len(y)):
        past = np.arange(max(0, t - LAST), t)
        found = past[(y[past] == y[t]) == matches]
        yield rng.choice(found) if len(found) else -1


def test_factors_are_learned_as_in_the_specification():
    found, _ = errors("online_mf", "ratings")
    assert found == pytest.approx(np.array([1.14, 1.14, 1.10, 0.92, 0.61, 0.35]) / 1.12, abs=0.08)


def test_clusters_are_found_as_in_the_specification():
    found, block = errors("online_mf:mode=cocluster", "ratings:of=blocks,rows=40000,noise=0.3")
    assert found * block.y.std() == pytest.approx([1.03, 0.53, 0.40, 0.37], abs=0.07)


def test_an_extreme_rating_does_not_destroy_the_factors():
    """Without bounds, they overflow after a rating of 3500, and 53,000 of 60,000 ratings are skipped."""
    (block,) = open_stream("ratings").blocks(60_000)
    y = block.y.copy()
    y[5000] = 3500.0
    learner = learner_of("online_mf:rank=5", 2)
    squared = (scores(learner, block.X, y) - block.y)[50_000:] ** 2
    assert np.sqrt(squared.mean()) < 0.8 * block.y.std()
    assert learner.state["skipped"][0] == 0


@pytest.mark.parametrize(("mode", "known"), [("factors", "mean"), ("cocluster", "user")])
@pytest.mark.parametrize("item", [0.5, -1.0, 7.0, 1e300, np.nextafter(2.0, 3.0)])
def test_an_invalid_id_counts_as_unknown(mode, known, item):
    learner = learner_of(f"online_mf:max_users=5,max_items=7,mode={mode}", 2)
    scores(learner, [[1, 2], [1, 3], [4, 2]], [3.0, 4.0, 8.0])
    before = {name: learner.state[name].copy() for name in learner.state}
    (got,) = scores(learner, [[1, item]], [100.0])
    assert got == pytest.approx({"mean": 5.0, "user": 3.5}[known])
    assert learner.state["skipped"][0] == before.pop("skipped")[0] + 1
    assert all(np.array_equal(learner.state[name], array) for name, array in before.items())


def test_clusters_predict_from_the_ids_that_are_known():
    learner = learner_of("online_mf:mode=cocluster", 2)
    got = scores(learner, [[1, 2], [8, 9], [1, 9], [1, 5], [6, 9]], [3.0, 5.0, 7.0, np.nan, np.nan])
    # First no id at all is known, then neither of the two; in the last two rows one of them is.
    assert got[:2].tolist() == [0.0, 3.0]
    assert got[3:].tolist() == [5.0, 6.0]


def test_tasks_with_more_in_common_make_fewer_mistakes_on_electricity(real_streams):
    X, y = real_streams.rows("electricity", 20_000)
    rows = np.column_stack([np.round(X[:, 2] * 47) // 12, X])
    for b, expected in {0: 89.91, 1: 90.72, 4: 91.81, 100: 92.94}.items():
        right = (scores(learner_of(f"omtl_perceptron:tasks=4,b={b}", 9), rows, y) >= 0) == y
        assert 100 * right.mean() == pytest.approx(expected, abs=0.1)


def test_unrelated_tasks_are_learned_by_separate_perceptrons():
    rng = np.random.default_rng(0)
    X, y, task = rng.standard_normal((300, 3)), rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    got = scores(learner_of("omtl_perceptron:tasks=3,b=0", 4, standardize=False), np.column_stack([task, X]), y)
    for k in range(3):
        alone = scores(learners.create("perceptron", 3), X[task == k], y[task == k])
        assert got[task == k].tobytes() == alone.tobytes()


@pytest.mark.parametrize("task", [0.5, -1.0, 3.0, 1e300])
def test_a_row_of_an_invalid_task_is_scored_0_and_not_learned(task):
    learner = learner_of("omtl_perceptron:tasks=3", 2, standardize=False)
    scores(learner, [[0, 1.0], [2, -2.0]], [0, 1])
    before = learner.state["weight"].copy()
    assert before.any()
    assert scores(learner, [[task, 1.0]], [0]).tolist() == [0.0]
    assert learner.state["skipped"][0] == 1
    assert np.array_equal(learner.state["weight"], before)


@pytest.mark.parametrize(
    "text",
    [
        "omtl_perceptron:tasks=3",
        "ova:omtl_perceptron:tasks=3",
        "online_bagging:base=omtl_perceptron/tasks=3,n=2",
        "weighted_majority:experts=pa1+omtl_perceptron/tasks=3",
    ],
)
def test_the_task_column_is_not_scaled_behind_any_wrapper(text):
    rng = np.random.default_rng(1)
    X, y = (
        np.column_stack([rng.integers(0, 3, 200), 5.0 + 7.0 * rng.standard_normal((200, 2))]),
        rng.integers(0, 2, 200),
    )
    learner = learner_of(text, 3)
    assert isinstance(learner, OnlineStandardizer)
    assert learner.unscaled == (0,)
    seen = []
    run = learner.inner._run
    learner.inner._run = lambda rows, *rest: (seen.append(rows.copy()), run(rows, *rest))
    scores(learner, X, y)
    assert seen[0][:, 0].tobytes() == np.ascontiguousarray(X[:, 0]).tobytes()
    assert abs(seen[0][100:, 1:3].mean()) < 0.5
    scaled = learner_of("scaled:omtl_perceptron:tasks=3", 3)
    scaled.state["scaled.mean"][:] = 1.0
    plain = learner_of("omtl_perceptron:tasks=3", 3, standardize=False)
    assert scores(scaled, X, y).tobytes() == scores(plain, X - [0.0, 1.0, 1.0], y).tobytes()


def test_features_of_a_task_are_explained_within_it():
    rng = np.random.default_rng(3)
    X, y = np.column_stack([rng.integers(0, 3, 200), rng.standard_normal((200, 2))]), rng.integers(0, 2, 200)
    learner = learner_of("omtl_perceptron:tasks=3", 3)
    scores(learner, X, y)
    found = explain(learner, X[7])
    assert found.contributions[0] == 0.0
    assert (found.contributions[1:] != 0.0).all()
    assert found.remainder == pytest.approx(0.0, abs=1e-12)


def test_triplets_of_keystroke_are_put_in_order(real_streams):
    X, y = real_streams.rows("keystroke", 1600)
    rng = np.random.default_rng(0)
    near, far = (np.fromiter(partners(y, matches, rng), int) for matches in (True, False))
    t = np.flatnonzero((near >= 0) & (far >= 0))
    rows = np.hstack([X[t], X[near[t]], X[far[t]]])
    share = {
        C: 100 * (scores(learner_of(f"oasis_metric:C={C}", 30), rows, np.ones(len(t))) > 0).mean()
        for C in (0.1, 1e-300)
    }
    assert share[0.1] == pytest.approx(88.1, abs=2.0)
    assert share[1e-300] == pytest.approx(82.6, abs=1.5)  # as at the start, W = I


def test_labels_of_triplets_are_ignored():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((100, 6)), rng.integers(0, 2, 100)
    first, second = learner_of("oasis_metric", 6, False), learner_of("oasis_metric", 6, False)
    assert scores(first, X, y).tobytes() == scores(second, X, 1 - y).tobytes()
    nothing = np.zeros((2, 6))
    nothing[0, :2], nothing[1, 2:4] = 1.0, 1.0  # near and far are equal, then the first item is zero
    scores(first, nothing, [1, 1])
    assert first.state["skipped"][0] == 2
    assert np.array_equal(first.state["W"], second.state["W"])


@pytest.mark.parametrize(
    ("name", "rows", "expected", "within"), [("keystroke", 1600, 76.5, 1.5), ("4CR", 8000, 99.97, 0.05)]
)
def test_pairs_of_one_class_are_closer(real_streams, name, rows, expected, within):
    X, y = real_streams.rows(name, rows)
    rng = np.random.default_rng(0)
    near, far = (np.fromiter(partners(y, matches, rng), int) for matches in (True, False))
    pairs = [(X[t], X[other[t]], label) for t in range(rows) for other, label in ((near, 1), (far, 0)) if other[t] >= 0]
    first, second, label = map(np.array, zip(*pairs, strict=True))
    score = scores(learner_of("rdml", 2 * X.shape[1]), np.hstack([first, second]), label)
    rank = np.argsort(np.argsort(score)) + 1
    ones, zeros = (label == 1).sum(), (label == 0).sum()
    auc = (rank[label == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros)
    assert 100 * auc == pytest.approx(expected, abs=within)


@pytest.mark.parametrize("d", [1, 2, 5, 24, 128])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_clipping_eigenvalues_equals_lapack(d, scale):
    rng = np.random.default_rng(d)
    M = rng.standard_normal((d, d))
    M = M + M.T + np.diag(np.arange(d) % 3)
    P = M * scale
    clip_eigenvalues(P, np.empty((d, d)), np.empty((d, d)))
    values, vectors = np.linalg.eigh(M)
    assert (values < 0).any() or d == 1
    np.testing.assert_allclose(P / scale, vectors @ np.diag(np.maximum(values, 0)) @ vectors.T, rtol=0, atol=1e-12 * d)
    assert P.tobytes() == np.ascontiguousarray(P.T).tobytes()
    assert (np.diag(P) >= 0).all()


def test_clipping_leaves_zero_and_positive_matrices_unchanged():
    D, Q = np.empty((3, 3)), np.empty((3, 3))
    for P in (np.zeros((3, 3)), np.diag([1.0, 2.0, 4.0])):
        before = P.copy()
        clip_eigenvalues(P, D, Q)
        assert np.array_equal(P, before)


@pytest.mark.parametrize(
    ("text", "d", "sentence"),
    [
        ("online_mf", 3, "online_mf reads two columns, user and item, got 3"),
        ("rdml", 5, "rdml reads two items with the same number of columns: 5 is odd"),
        ("rdml", 258, "rdml reads items of at most 128 columns, got 129"),
        (
            "oasis_metric",
            4,
            "oasis_metric reads three items with the same number of columns: 4 columns are not a multiple of 3",
        ),
    ],
)
def test_a_wrong_number_of_columns_is_refused(text, d, sentence):
    with pytest.raises(ParameterError) as caught:
        learner_of(text, d)
    assert str(caught.value) == sentence


def test_the_least_number_of_features_is_known_before_any_event():
    narrowest = {"online_mf": 2, "rdml": 2, "oasis_metric": 3, "omtl_perceptron": 1}
    found = {
        name: Spec.parse(name).min_features(task="regression" if name == "online_mf" else "classification")
        for name in narrowest
    }
    assert found == narrowest

"""What a feature added to a score, computed by hand from the weights, and what `driftway explain` reports of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import driftway.learners.explain
from driftway.learners import Spec
from driftway.learners.explain import baseline_of, explain
from driftway.learners.learner import Learner
from driftway.learners.preprocessing.maps import create_mapped
from driftway.worker.admin.cli.snapshot.tables import confidence_text
from driftway.worker.admin.explain import (
    ExplainedPrediction,
    WrittenPrediction,
    class_or_number,
    column_of_class,
    confidence_for,
    scores_for,
)
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.codec import encode_events, encode_predictions
from driftway.worker.wire.columns import Confidence
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Batch, Target
from driftway.worker.wire.packed import encode_predictions as pack_predictions
from tests.unit.worker.rows import drifting, records

D = 4
X, Y = drifting(200, D)
X = X * [1.0, 10.0, 0.1, 3.0] + [5.0, -2.0, 0.0, 100.0]
ROW = X[-1]


def trained(text: str, *maps: str, standardize: bool = True, n_classes: int = 2) -> Learner:
    """Return a learner over D features that has learned 199 rows."""
    made = create_mapped(Spec.parse(text), [Spec.parse(one) for one in maps], D, n_classes, standardize=standardize)
    y = Y if n_classes == 2 else np.where(np.isnan(Y), Y, np.arange(200.0) % n_classes)
    made.predict_then_update(X[:-1].copy(), y[:-1].copy(), np.empty((199, made.n_scores)))
    return made


def score_of(learner: Learner, row: Any) -> float:
    score = np.empty((1, learner.n_scores))
    learner.predict(np.array([row]), score)
    return float(score[0, 0])


@pytest.mark.parametrize("text", ["perceptron", "dfop:mu=0.01", "arow", "rls"])
def test_contributions_of_a_linear_learner_are_weights_times_deviations(text: str) -> None:
    learner = trained(text)
    weight = learner.state["weight"]
    mean, squares = learner.state["standardize.mean"], learner.state["standardize.squares"]
    deviations = (ROW - mean) / np.sqrt(squares / learner.state["standardize.rows"][0])
    found = explain(learner, ROW)
    assert found.baseline.tolist() == mean.tolist()
    np.testing.assert_allclose(found.contributions, weight[:D] * deviations, rtol=1e-9, atol=1e-12)
    assert found.baseline_score == pytest.approx(weight[D], rel=1e-12)
    assert abs(found.remainder) < 1e-9 * max(1.0, abs(found.score))
    assert found.score == score_of(learner, ROW), "the very bits"


def test_auto_is_explained_like_any_other() -> None:
    learner = trained("auto")
    found = explain(learner, ROW)
    assert found.baseline.tolist() == learner.state["standardize.mean"].tolist()
    assert np.abs(found.contributions).argmax() == np.abs(explain(trained("arow"), ROW).contributions).argmax()
    assert found.score == score_of(learner, ROW)


def test_without_a_standardiser_the_baseline_is_zero() -> None:
    learner = trained("perceptron", standardize=False)
    found = explain(learner, ROW)
    assert found.baseline.tolist() == [0.0] * D
    np.testing.assert_allclose(found.contributions, learner.state["weight"][:D] * ROW, rtol=1e-9)
    assert found.baseline_score == learner.state["weight"][D]


def test_interactions_of_features_are_the_remainder() -> None:
    """With products of two features: contributions from scores by hand; products of two belong to no feature."""
    learner = trained("ogd_logistic", "polynomial:degree=2", standardize=False)
    found = explain(learner, ROW)
    zero = score_of(learner, np.zeros(D))
    single = [score_of(learner, np.where(np.arange(D) == j, ROW, 0.0)) - zero for j in range(D)]
    assert found.contributions.tolist() == single
    weight, at, pairs = learner.state["weight"], D, 0.0
    for i in range(D):
        for j in range(i, D):
            pairs += weight[at] * ROW[i] * ROW[j] if i != j else 0.0
            at += 1
    assert found.remainder == pytest.approx(pairs, rel=1e-6)
    assert abs(pairs) > 1e-3
    assert found.score == pytest.approx(zero + sum(single) + found.remainder, rel=1e-12)


def test_means_of_mapped_features_are_not_used_as_baseline() -> None:
    learner = trained("perceptron", "hashing:buckets=4")
    assert learner.state["standardize.mean"].shape == (D,), "as many as features, and none of them"
    assert baseline_of(learner).tolist() == [0.0] * D


def test_the_score_of_each_class_can_be_explained() -> None:
    learner = trained("ova:perceptron", n_classes=3)
    for k in range(3):
        found = explain(learner, ROW, k)
        weight = learner.state[f"class_{k}.weight"]
        assert found.baseline_score == pytest.approx(weight[D])
        assert abs(found.remainder) < 1e-9
    with pytest.raises(ValueError, match="there is no score 3, only 0 to 2"):
        explain(learner, ROW, 3)


def test_explaining_changes_no_state_and_does_not_depend_on_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = trained("arow")
    before, whole = learner.state.memory.tobytes(), explain(learner, ROW)
    monkeypatch.setattr(driftway.learners.explain, "BLOCK_NUMBERS", 3 * D)
    cut = explain(learner, ROW)
    assert cut.contributions.tobytes() == whole.contributions.tobytes()
    assert learner.state.memory.tobytes() == before
    whole.baseline[:] = 0.0
    assert learner.state.memory.tobytes() == before, "the baseline is a copy"
    with pytest.raises(ValueError, match=r"expected \(4,\)"):
        explain(learner, ROW[:3])


def batch(target: Target, n: int = 3) -> Batch:
    return Decoder(target).decode(records(list(encode_events(X[:n], Y[:n], 0)), 7))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_found_in_predictions_of_either_format(n_classes: int) -> None:
    target, k = Target(n_classes=n_classes), 1 if n_classes == 2 else n_classes
    rows, score = batch(target), np.random.default_rng(3).normal(size=(3, k))
    predicted = np.zeros(3)
    for i in range(3):
        written = encode_predictions(rows, score, predicted, target, "arow").to_list()[i]
        assert scores_for(written, 7 + i, "arow") == score[i].tolist()
        assert scores_for(written, 8 + i, "arow") is None
        assert scores_for(written, 7 + i, "pa1") is None
        packed = pack_predictions(rows, score, predicted.astype(np.int64), target).to_list()[i]
        assert scores_for(packed, 7 + i, "whoever") == score[i].tolist()
        assert scores_for(packed, 8 + i, "whoever") is None


def test_confidence_is_found_in_either_format_with_the_labels_of_the_wire() -> None:
    target = Target(labels=("down", "up"))
    rows, score, predicted = batch(target), np.zeros((3, 1)), np.zeros(3)
    confidence = Confidence(np.full(3, 750_000), members=np.array([[True, True], [False, True], [False, False]]))
    plain = encode_predictions(rows, score, predicted, target, "arow", 1, confidence).to_list()
    packed = pack_predictions(rows, score, predicted.astype(np.int64), target, 1, confidence).to_list()
    for values in (plain, packed):
        found = [confidence_for(value or b"", target) for value in values]
        assert found == [{"probability": 0.75, "set": some} for some in (["down", "up"], ["up"], [])]
    assert confidence_text(found[0]) == "probability 0.75, set down, up"
    assert confidence_text({"low": None, "high": 1.5}) == "interval none to 1.5"


def test_an_id_that_looks_like_an_offset_is_not_one() -> None:
    written = json.dumps({"id": {"offset": 7}, "offset": 9, "learner": "arow", "score": 1.0}, separators=(",", ":"))
    assert b'"offset":7' in written.encode()
    assert scores_for(written.replace("7}", '7,"a":1}').encode(), 7, "arow") is None


def test_the_explained_class_is_the_predicted_or_the_named_one() -> None:
    named = Target(n_classes=3, labels=("low", "1", "high"))
    assert column_of_class(named, 3, 2.0, None) == (2, "high")
    assert column_of_class(named, 3, 2.0, "low") == column_of_class(named, 3, 2.0, '"low"') == (0, "low")
    assert column_of_class(named, 3, 2.0, "1") == (1, 1)
    assert column_of_class(Target(labels=("DOWN", "UP")), 1, 0.0, None) == (0, "UP")
    with pytest.raises(UsageFailure, match='--class up is not one of "low", 1, "high"'):
        column_of_class(named, 3, 2.0, "up")
    with pytest.raises(UsageFailure, match='one score, that of "UP": leave --class out'):
        column_of_class(Target(labels=("DOWN", "UP")), 1, 0.0, "DOWN")
    regression = Target("regression", 0)
    assert column_of_class(regression, 1, 0.3, None) == (0, None)
    with pytest.raises(UsageFailure, match="--class belongs to classification"):
        column_of_class(regression, 1, 0.3, "1")
    assert class_or_number(named, 0.0) == "low"
    assert class_or_number(named, float("nan")) is None
    assert class_or_number(regression, 0.25) == 0.25


def test_the_largest_contribution_comes_first() -> None:
    learner = trained("perceptron")
    found = explain(learner, ROW)
    names = ["a", "b", "c", "d"]
    fields = ExplainedPrediction(
        "perceptron", 5, 1, None, 1, names, ROW, [found.score], found, "nowhere", WrittenPrediction("absent")
    ).as_dict()
    sizes = [abs(feature["contribution"]) for feature in fields["features"]]
    assert sizes == sorted(sizes, reverse=True)
    by_name = {feature["name"]: feature for feature in fields["features"]}
    assert [by_name[name]["value"] for name in names] == ROW.tolist()
    assert [by_name[name]["contribution"] for name in names] == found.contributions.tolist()
    total = fields["baseline_score"] + sum(found.contributions.tolist()) + fields["remainder"]
    assert total == pytest.approx(fields["score"], abs=1e-12)

"""Models of River in `driftway evaluate`: they predict what River predicts, and say what they cannot."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from river import drift, ensemble, forest, linear_model, multiclass, naive_bayes, rules, tree

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.learner import SnapshotMismatch
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.probabilities import link_of, probabilities
from driftway.worker.errors import Failure
from driftway.worker.evaluation.river import classes
from driftway.worker.evaluation.river.spec import RiverSpec, spec_of
from tests.support.cli_runner import run

ROWS = 300
BAGGING = "river:ensemble.BaggingClassifier:model=tree.HoeffdingTreeClassifier/grace_period=20,n_models=3"


def rows_of(task: str, n: int = ROWS, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Rows, f8[n, d], and labels of two classes, of three, or numbers, f8[n]."""
    draw = np.random.default_rng(3)
    X = draw.normal(size=(n, d))
    number = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.3 * draw.normal(size=n)
    y = {"binary": number > 0, "multiclass": np.digitize(number, [-1.0, 1.0]), "regression": number}[task]
    return X, y.astype(float)


def shape_of(task: str) -> tuple[int, int, str]:
    """Arguments of `Spec.create`."""
    kind = "regression" if task == "regression" else "classification"
    return 4, 3 if task == "multiclass" else 2, kind


def scores_of(text: str, task: str, X: np.ndarray, y: np.ndarray, standardize: bool = False) -> np.ndarray:
    learner = spec_of(text).create(*shape_of(task), standardize)
    score = np.empty((len(X), learner.n_scores))
    learner.predict_then_update(X, y, score)
    return score


def said_by_river(model: Any, task: str, X: np.ndarray, y: np.ndarray) -> list[Any]:
    """What a model of River predicts, row by row."""
    read = {"binary": bool, "multiclass": int, "regression": float}[task]
    said = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        said.append(model.predict_one(x))
        model.learn_one(x, read(label))
    return said


CASES: list[tuple[str, str, Any]] = [
    ("river:linear_model.ALMAClassifier", "binary", linear_model.ALMAClassifier()),
    (
        "river:tree.HoeffdingTreeClassifier:grace_period=30,leaf_prediction=nb",
        "binary",
        tree.HoeffdingTreeClassifier(grace_period=30, leaf_prediction="nb"),
    ),
    ("river:tree.HoeffdingTreeClassifier,grace_period=30", "multiclass", tree.HoeffdingTreeClassifier(grace_period=30)),
    (
        BAGGING,
        "binary",
        ensemble.BaggingClassifier(tree.HoeffdingTreeClassifier(grace_period=20), n_models=3, seed=1),
    ),
    (
        "river:ensemble.VotingClassifier:models=naive_bayes.GaussianNB+linear_model.Perceptron",
        "binary",
        ensemble.VotingClassifier([naive_bayes.GaussianNB(), linear_model.Perceptron()]),
    ),
    (
        "river:multiclass.OneVsRestClassifier:classifier=linear_model.PAClassifier/C=0.1",
        "multiclass",
        multiclass.OneVsRestClassifier(linear_model.PAClassifier(C=0.1)),
    ),
    (
        "river:drift.DriftRetrainingClassifier:model=naive_bayes.GaussianNB,drift_detector=drift.binary.DDM/warm_start=9",
        "binary",
        drift.DriftRetrainingClassifier(naive_bayes.GaussianNB(), drift.binary.DDM(warm_start=9)),
    ),
    ("river:rules.AMRules:n_min=50", "regression", rules.AMRules(n_min=50)),
    ("river:forest.ARFRegressor:n_models=2,seed=7", "regression", forest.ARFRegressor(n_models=2, seed=7)),
]


@pytest.mark.parametrize(("text", "task", "model"), CASES, ids=[f"{text}-{task}" for text, task, _ in CASES])
def test_predictions_equal_those_of_river(text: str, task: str, model: Any) -> None:
    X, y = rows_of(task)
    score = scores_of(text, task, X, y)
    said = said_by_river(model, task, X, y)
    if task == "regression":
        np.testing.assert_array_equal(score[:, 0], said)
        return
    found = predicted_class(score, task)
    known = [t for t, one in enumerate(said) if one is not None]
    assert len(known) > ROWS - 5
    np.testing.assert_array_equal(found[known], np.array([int(said[t]) for t in known]))
    assert all((score[t] == 0).all() for t, one in enumerate(said) if one is None)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_scores_give_the_probabilities_of_river(task: str) -> None:
    X, y = rows_of(task)
    text = "river:naive_bayes.GaussianNB"
    learner = spec_of(text).create(*shape_of(task))
    link = link_of(learner)
    assert link == ("logistic" if task == "binary" else "direct")
    found, model = probabilities(scores_of(text, task, X, y), link), naive_bayes.GaussianNB()
    for t, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        said = model.predict_proba_one(x)
        if len(said) > 1:
            np.testing.assert_allclose(found[t], [said.get(k, 0.0) for k in range(len(found[t]))], atol=1e-12)
        model.learn_one(x, bool(label) if task == "binary" else int(label))


def test_a_model_without_probabilities_has_none() -> None:
    learner = spec_of("river:multiclass.OneVsOneClassifier:classifier=linear_model.Perceptron").create(4, 3)
    assert link_of(learner) is None
    X, y = rows_of("multiclass")
    score = np.empty((ROWS, 3))
    learner.predict_then_update(X, y, score)
    assert set(np.unique(score)) == {0.0, 1.0}
    assert (score[10:].sum(axis=1) == 1.0).all()


def test_scores_do_not_depend_on_batch_cuts_and_repeat_after_a_reset() -> None:
    X, y = rows_of("binary")
    y[::7] = np.nan
    learner = spec_of(BAGGING).create(*shape_of("binary"), standardize=True)
    whole, pieces, other = np.empty((ROWS, 1)), np.empty((ROWS, 1)), np.empty((ROWS, 1))
    learner.predict_then_update(X, y, whole)
    learner.reset()
    for start in range(0, ROWS, 37):
        end = start + 37
        learner.predict(X[start:end], other[start:end])  # learns nothing
        learner.predict_then_update(X[start:end], y[start:end], pieces[start:end])
    np.testing.assert_array_equal(whole, pieces)
    learner.clone_empty().predict_then_update(X, y, other)
    np.testing.assert_array_equal(whole, other)


def test_a_random_model_without_a_seed_gets_seed_1() -> None:
    X, y = rows_of("binary")
    first = scores_of(BAGGING, "binary", X, y)
    np.testing.assert_array_equal(first, scores_of(f"{BAGGING},seed=1", "binary", X, y))
    assert (first != scores_of(f"{BAGGING},seed=2", "binary", X, y)).any()
    assert spec_of(f"{BAGGING},seed=2").create(4).parameters.seed == 2
    assert spec_of("river:linear_model.ALMAClassifier").create(4).parameters.seed is None


PROGRAM = """
import sys, numpy as np
from driftway.worker.evaluation.river.spec import spec_of
draw = np.random.default_rng(0)
X = draw.normal(size=(150, 6)); y = (X[:, 0] > X[:, 1]).astype(float); score = np.empty((150, 1))
for text in sys.argv[1:]:
    spec_of(text).create(6).predict_then_update(X, y, score)
    print(score.tobytes().hex())
"""
"""Prints the scores of models."""


def test_every_process_computes_the_same_scores() -> None:
    # A set of texts has another order in each process: the seed of their hashes differs.
    texts = "river:forest.ARFClassifier:n_models=2", "river:ensemble.SRPClassifier:n_models=2"
    command = [sys.executable, "-c", PROGRAM, *texts]
    processes = [
        subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE) for seed in "12"
    ]
    first, second = (process.communicate()[0] for process in processes)
    assert first == second
    assert len(first) == 2 * (150 * 16 + 1)


WRONG = {
    "river:": "no class ''; write it as in river:tree.HoeffdingTreeClassifier",
    "river:tree": "no class 'tree'; write it as in",
    "river:treee.HoeffdingTreeClassifier": "no module 'treee'; did you mean 'tree'?",
    "river:tree.HoeffdingTreClassifier": "no class 'HoeffdingTreClassifier' in river.tree; did you mean",
    "river:_river_rust.X": "no module '_river_rust'",
    "river:tree.no.HoeffdingTreeClassifier": "no module 'tree.no'; did you mean 'tree'?",
    "river:tree.HoeffdingTreeClassifier.X": "no module 'tree.HoeffdingTreeClassifier'",
    "river:drift.ADWIN": "it is neither a classifier nor a regressor",
    "river:tree.HoeffdingTreeClassifier:grace=3": "has no parameter 'grace'; it has grace_period, max_depth",
    "river:naive_bayes.GaussianNB:alpha=1": "has no parameter 'alpha'; it has none",
    "river:ensemble.BaggingClassifier": "needs the parameter 'model'",
    "river:ensemble.BaggingClassifier:model=tree.Oak": "no class 'Oak' in river.tree",
    "river:linear_model.ALMAClassifier:p=two": "it does not learn rows of 4 numbers: TypeError",
    "river:linear_model.ALMAClassifier:p": "is not parameter=value",
    "river:linear_model.LinearRegression": "does not learn binary; it learns: regression",
    "river:base.Classifier": "does not take these parameters: TypeError: Can't instantiate abstract class",
    "river:active.EntropySampler:classifier=naive_bayes.GaussianNB": "it does not learn rows of 4 numbers",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_spec_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ParameterError) as error:
        spec_of(text).create(4)
    assert WRONG[text] in str(error.value)
    assert "\n" not in str(error.value)


def test_more_classes_than_the_model_learns_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"it learns two classes, not 3; river:multiclass\.OneVsRestClassifier"):
        spec_of("river:linear_model.ALMAClassifier").create(4, 3)
    with pytest.raises(ParameterError, match="does not learn regression"):
        spec_of("river:linear_model.ALMAClassifier").create(4, task="regression")


def test_without_river_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ParameterError, match=r"pip install 'driftway\[river\]'"):
        spec_of("river:linear_model.ALMAClassifier").create(4)


def test_a_failure_of_the_model_is_reported_in_one_sentence() -> None:
    learner = spec_of("river:naive_bayes.MultinomialNB").create(2)
    X, y, score = np.array([[1.0, 2.0], [-3.0, 1.0], [1.0, 1.0]]), np.array([0.0, 1.0, 1.0]), np.empty((3, 1))
    with pytest.raises(Failure, match=r"river:naive_bayes\.MultinomialNB has failed at a row after [12] label"):
        learner.predict_then_update(X, y, score)


def test_models_of_river_have_no_snapshot() -> None:
    learner = spec_of("river:linear_model.ALMAClassifier").create(4)
    with pytest.raises(SnapshotMismatch, match="has no snapshot"):
        learner.snapshot()
    with pytest.raises(SnapshotMismatch, match="cannot be restored"):
        learner.restore(b"DWL2")


def test_specs_of_driftways_learners_are_unchanged() -> None:
    assert not isinstance(spec_of("arow:r=2"), RiverSpec)
    assert spec_of("arow:r=2").text == "arow:r=2"
    spec = spec_of(" river: tree.HoeffdingTreeClassifier : grace_period = 3 ")
    assert spec.text == "river:tree.HoeffdingTreeClassifier:grace_period=3"
    assert spec_of(spec.text) == spec == pickle.loads(pickle.dumps(spec))
    assert classes.value_of("1e+4") == 10_000.0


def test_models_of_river_are_evaluated_beside_driftways_learners() -> None:
    tree_of_river = "river:tree.HoeffdingTreeClassifier:grace_period=50"
    learners = "--learner", "majority_class", "--learner", tree_of_river
    found = run("evaluate", "sea", "--limit", "600", *learners)
    assert found.exit_code == 0, found.output
    assert f"driftway: {tree_of_river}: River" in found.stderr
    assert "rows a second" in found.stderr
    line = next(line for line in found.stdout.splitlines() if tree_of_river in line)
    assert float(line.split()[3]) > 70.0
    for more in (
        ["--protocol", "segments"],
        ["--partitions", "2", "--label-delay", "20", "--coverage", "0.9"],
        ["--protocol", "holdout", "--holdout-every", "100", "--holdout-rows", "50"],
    ):
        found = run("evaluate", "sea", "--limit", "200", *learners, "--json", *more)
        assert found.exit_code == 0, found.output
        assert f'"learner":"{tree_of_river}"' in found.stdout
        assert found.stderr.count("rows a second") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["worker", "--input", "x", "--group", "g", "--learner", "river:tree.HoeffdingTreeClassifier"],
        ["train", "sea", "--learner", "ova:river:linear_model.ALMAClassifier", "--out", "x.driftway"],
    ],
    ids=["worker", "train"],
)
def test_other_commands_refuse_models_of_river(words: list[str]) -> None:
    found = run(*words)
    assert found.exit_code == 2
    assert "models of River are learners of `driftway evaluate --learner` alone" in found.output
    assert found.output.count("\n") == 1

"""River's and scikit-learn's own checks of a model: which pass, and which cannot."""

from __future__ import annotations

import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from river import checks, datasets, evaluate, metrics, preprocessing
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import driftway as dw
from tests.support.forkserver import SERVER

MODELS = [dw.Classifier("pa1"), dw.Classifier("gaussian_nb"), dw.Regressor("dfop")]

FIXED_FEATURES = {"check_emerging_features", "check_disappearing_features", "check_radically_disappearing_features",
                  "check_learn_many_matches_learn_one"}  # fmt: skip
"""A model has the features of its first row. Others are an error that names them, not a silent 0."""
ONLY_OF_RIVER = {"check_tags", "check_init_has_default_params_for_tests", "check_mutate_can_be_idempotent"}
"""They call what only classes derived from River's have."""
BEFORE_ANY_LABEL = {"check_predict_proba_one_binary"}
"""It wants both classes before the first label has come."""


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_checks_of_scikit_learn_pass(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert Counter(r["status"] for r in results)["passed"] > 50


def checked(model: Any) -> tuple[set[str], set[str]]:
    """Return the names of River's checks that fail and that pass."""
    failed, passed = set(), set()
    for check in checks.yield_checks(model):
        try:
            check(model.clone())
        except Exception:  # whatever it is: it is compared with what cannot pass
            failed.add(check.__name__)
        else:
            passed.add(check.__name__)
    return failed, passed


@pytest.mark.parametrize("model", [dw.Classifier("pa1"), dw.Classifier("gaussian_nb", classes=7)], ids=repr)
def test_the_checks_of_river_pass_but_the_known_ones(model: Any) -> None:
    """In a process with few kernels: a check of memory follows the references of a kernel to all of them, in 12 s."""
    with ProcessPoolExecutor(1, SERVER) as pool:
        failed, passed = pool.submit(checked, model).result()
    several = model.classes is not None
    assert failed == FIXED_FEATURES | ONLY_OF_RIVER | (set() if several else BEFORE_ANY_LABEL)
    assert len(passed) >= 15


def test_models_work_in_functions_and_pipelines_of_river() -> None:
    model = dw.create("arow")
    assert evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.88
    assert evaluate.progressive_val_score(datasets.Phishing(), dw.create("arow"), metrics.LogLoss()).get() < 0.3
    piped = preprocessing.StandardScaler() | dw.create("dfop", "regression")
    assert evaluate.progressive_val_score(datasets.TrumpApproval(), piped, metrics.MAE()).get() < 6.0


def test_models_work_in_pipelines_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    model = make_pipeline(StandardScaler(), dw.Classifier("arow")).fit(X, np.where(X[:, 0] > 0.0, "up", "down"))
    assert model.score(X, np.where(X[:, 0] > 0.0, "up", "down")) > 0.95

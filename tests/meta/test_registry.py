"""Registry, source files and conformance table contain the same learners."""

from __future__ import annotations

import ast

from driftway.learners.ensembles.ensemble import Ensemble
from driftway.learners.learner import Learner
from driftway.learners.registry import LEARNERS, WRAPPERS, find
from driftway.learners.spec import Spec
from driftway.learners.trees.tree_learner import TreeLearner
from tests.conformance.checks import CHECKS
from tests.conformance.table import TABLE
from tests.conformance.test_multiclass_accuracy import ACCURACY
from tests.meta.sources import files, module, tree

NOT_A_FAMILY = {
    "driftway.learners.learner",
    "driftway.learners.ensembles.ensemble",
    "driftway.learners.trees.tree_learner",
    *(f"driftway.learners.preprocessing.{name}" for name in ("feature_map", "standardizer", "wrapper")),
}
"""Modules whose Learner classes are not created through the registry."""


def learner_classes() -> set[str]:
    """module:Class of every class derived from Learner, found in the source."""
    return {
        f"{module(path)}:{node.name}"
        for path in files("learners")
        if module(path) not in NOT_A_FAMILY
        for node in tree(path).body
        if isinstance(node, ast.ClassDef)
        and any(getattr(b, "id", "") in ("Learner", "Wrapper", "Ensemble", "TreeLearner") for b in node.bases)
    }


def test_the_registry_has_exactly_the_learners_of_the_source():
    assert learner_classes() == {*LEARNERS.values(), *WRAPPERS.values()}, "a learner has a line in learners/registry.py"
    assert len(set(LEARNERS.values())) == len(LEARNERS)


def test_learner_names_agree_with_their_classes():
    for name in LEARNERS:
        found = find(name)
        assert issubclass(found, Learner)
        assert found.name == name
        assert found.__module__.rpartition(".")[2] == name
        assert found.__mro__[1] in (Learner, Ensemble, TreeLearner), "inheritance is one deep"


def test_conformance_table_is_complete():
    rows = [row.name for row in TABLE]
    assert rows == list(LEARNERS), "each learner has a row in tests/conformance/table, in the order of the registry"


def test_opting_out_is_rare_and_reasoned():
    names = {check.__name__ for check in CHECKS} | {"learns", "adapts", "recovers@binary", "recovers@multiclass"}
    opted = [(row.name, check, reason) for row in TABLE for check, reason in row.opt_out.items()]
    assert all(check in names and len(reason) > 8 for _, check, reason in opted)
    assert len(opted) == 68, "opt-outs are counted: a new one with its reason changes this number"


def test_every_learner_is_tested_for_drift_or_says_why_not():
    untested = {row.name for row in TABLE if not row.adapts and "adapts" not in row.opt_out}
    assert untested == set(), "their rows need `adapts`, or a reason in `opt_out`"


def test_every_classifier_that_learns_from_features_has_an_accuracy_row():
    """Except learners with their own row format, which cannot use these streams."""
    learns = [r for r in TABLE if find(r.name).uses_features and r.form is None]
    classifies = [r for r in learns if find(r.name).tasks != ("regression",)]
    known = {row.name for row in classifies if row.accuracy} | {Spec.parse(text).name for text in ACCURACY}
    unmeasured = {row.name for row in classifies} - known
    assert unmeasured == set(), "their rows need `accuracy`, or an entry in `ACCURACY` of test_multiclass_accuracy.py"

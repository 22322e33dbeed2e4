"""Ensembles: valid bases, and pools whose experts are replaced."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.ensembles.ensemble import Ensemble
from driftway.learners.registry import LEARNERS, find
from driftway.learners.spec import Spec
from tests.conformance.checks import scores
from tests.conformance.rows import rows
from tests.support.selection import slow_but, slow_but_each_once

ENSEMBLES = [name for name in LEARNERS if issubclass(find(name), Ensemble) and "binary" in find(name).tasks]


def of(name, kind="binary", d=3, **parameters):
    task = "regression" if kind == "regression" else "classification"
    return learners.create(name, d, 4 if kind == "multiclass" else 2, task, **parameters)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_an_unsuitable_base_is_refused_in_one_sentence(name):
    for base, why in (
        ("perhaps", "no learner 'perhaps'"),
        ("ova:pa1", "a plain learner, not ova:pa1"),
        ("dwm", "a plain learner, not dwm"),
        ("arow/r", "parameter=value"),
        ("arow/r=-1", "r must be > 0"),
        ("arow/speed=1", "no parameter 'speed'"),
    ):
        with pytest.raises(ParameterError, match=why) as caught:
            of(name, base=base)
        assert "base" in str(caught.value) or "parameter=value" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_binary_base_is_refused_for_more_classes():
    with pytest.raises(
        ParameterError, match="base of dwm must be a learner of this task: arow does not learn 4 classes"
    ):
        of("dwm", "multiclass", base="arow")


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["gaussian_nb", "averaged_perceptron"],
        ["pa1", "arow", "dfop", "gaussian_nb", "averaged_perceptron", "d_odm", "restarted_odm"],
    ),
)
def test_one_expert_votes_as_its_learner_predicts(name):
    X, y = rows("binary", 400, 4)
    alone, one = learners.create(name, 4), of("dwm", d=4, base=name, period=1000)
    expected = np.where(scores(alone, X, y) >= 0.0, 1.0, -1.0)
    assert (scores(one, X, y) == expected).all()


def test_a_full_pool_keeps_its_size_and_its_best_expert():
    X, y = rows("binary", 600, 4)
    y = np.where(np.arange(600) % 7 < 3, 1.0 - y, y)  # mistakes never end
    dwm = of("dwm", d=4, period=1, max_experts=3, theta=1e-9)
    scores(dwm, X, y)
    assert dwm.state["experts"][0] == 3
    assert dwm.state["weight"].max() == 1.0


@pytest.mark.parametrize(
    ("base", "text"),
    slow_but_each_once(
        ["averaged_perceptron", "winnow", "tracking_winnow", "norma", "alma", "alma_gentile"],
        [
            "dwm:period=3,max_experts=3,base=",
            "on_drift:{}:detector=ddm/min_n=5/warn=0.2/drift=0.5",
            "on_drift:{}:detector=ddm/min_n=5/warn=0.2/drift=0.5,action=background",
        ],
        most=3,  # the other learners are in tests of other ensembles
    ),
)
def test_derived_values_follow_a_state_from_slot_to_slot(text, base):
    """Some learners cache values derived from their state in scratch; a slot with a new state must not keep them."""
    text = text.format(base) if "{}" in text else text + base
    X, y = rows("binary", 300, 4)
    y = np.where(np.arange(300) % 40 < 20, 1.0 - y, y)
    whole, cut = (Spec.parse(text).create(4) for _ in range(2))
    expected = scores(whole, X, y)
    assert (scores(cut, X, y, tuple(range(1, 300))) == expected).all()
    assert (cut.state.memory == whole.state.memory).all()
    if "on_drift" in text:
        assert whole.state["alarms"][0] > 2

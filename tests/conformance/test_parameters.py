"""Parameters are validated by name and bounds, and learners by the tasks they can learn."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from driftway.learners.registry import LEARNERS, UnknownLearner, find
from driftway.learners.spec import Spec
from tests.conformance.table import ROWS


def task_of(name):
    """Return a task of the learner, classification if it can."""
    return "regression" if find(name).tasks == ("regression",) else "classification"


def width_of(name):
    """Return a number of columns that the learner accepts; most accept any."""
    return ROWS[name].width(3)


def refuse(name, parameter, value, *words):
    with pytest.raises(ParameterError) as caught:
        learners.create(name, width_of(name), task=task_of(name), **{parameter: value})
    for word in (parameter, *words):
        assert word in str(caught.value)


@pytest.mark.parametrize("name", LEARNERS)
def test_parameters_are_validated(name):
    for field in fields(find(name).Params):
        params_validated(name, field)


def params_validated(name, field):
    bounds = field.metadata["bounds"]
    if bounds.kind in ("number", "integer"):
        for value in (math.nan, math.inf, -math.inf, "nan", "inf"):
            refuse(name, field.name, value, "finite")
        for value in ("much", None, True):
            refuse(name, field.name, value, "number")
        assert ROWS[name].invalid[field.name], "the table lists no invalid value"
        for value in ROWS[name].invalid[field.name]:
            assert any(sign in bounds.describe() for sign in "<>")
            refuse(name, field.name, value, "must be")
            refuse(name, field.name, str(value), "must be")
            with pytest.raises(ParameterError, match=r"must be (>|>=|<|<=) -?[0-9.e+-]+, got"):
                learners.create(name, width_of(name), task=task_of(name), **{field.name: value})
    else:
        for value in ("perhaps", 0, None):
            refuse(name, field.name, value, "must be")
    assert getattr(learners.create(name, width_of(name), task=task_of(name)).parameters, field.name) == field.default
    assert Spec.parse(f"{name}:{field.name}={field.default}").create(width_of(name), task=task_of(name)).parameters == (
        learners.create(name, width_of(name), task=task_of(name)).parameters
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_shape_and_task_are_validated(name):
    with pytest.raises(ParameterError, match="no parameter 'speed'"):
        learners.create(name, width_of(name), task=task_of(name), speed=1)
    with pytest.raises(ParameterError, match="n_features must be >= 1"):
        learners.create(name, 0)
    with pytest.raises(ParameterError, match="n_classes must be >= 2"):
        learners.create(name, width_of(name), 1)
    with pytest.raises(ParameterError, match="task must be"):
        learners.create(name, width_of(name), task="clustering")
    tasks = find(name).tasks
    for kind, call in {
        "binary": lambda: learners.create(name, width_of(name)),
        "multiclass": lambda: learners.create(name, width_of(name), 4),
        "regression": lambda: learners.create(name, width_of(name), task="regression"),
    }.items():
        if kind in tasks:
            assert call().kind == kind
        else:
            with pytest.raises(ParameterError, match="does not learn"):
                call()


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownLearner, match="did you mean 'dfop'"):
        learners.create("dfopp", 3)

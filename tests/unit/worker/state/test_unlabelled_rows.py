"""Rows whose label never arrives: a learner that uses them gets each once, when it is dropped; others never do."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.learners.contract import Array, Counts, Learner, Parameters, UpdateRule, field, fragment, intercept
from driftway.learners.learner import Learner as AnyLearner
from driftway.learners.metrics.e_process import EProcess
from driftway.learners.preprocessing.standardizer import OnlineStandardizer
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state import model as models
from driftway.worker.state.factory import make_learner
from driftway.worker.state.model import Model
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records
from tests.support.delayed_labels import late_stream

WAIT = 30
SETTINGS = ModelSettings((Spec.parse("perceptron"), Spec.parse("pa1")), wait=LabelWait(WAIT), accuracy_every=40)


class OrderDependentSums(NamedTuple):
    """Sums over rows of either kind, which depend on their order."""

    labelled: Array = field("f8[d]", "sum of rows with their label")
    unlabelled: Array = field("f8[d]", "fading sum of rows without one")
    count: Counts = field("i8[2]", "how many")


class LearnsFromBothKinds(Learner):
    """Learns from both kinds of rows, so that their order shows.

    Cost
    ----
    O(d).

    Source
    ------
    None.
    """

    name = "both"
    tasks = ("binary",)

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return UpdateRule(
            score, learn, self.parameters.numbers(), OrderDependentSums, learn_unlabelled=learn_unlabelled
        )


@fragment
def score(x: Array, _p: Any, memory: OrderDependentSums) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * (memory.labelled[j] + memory.unlabelled[j])
    return total


@fragment
def learn(x: Array, y: float, _omega: float, _margin: float, _p: Any, memory: OrderDependentSums) -> None:
    memory.count[0] += 1
    for j in range(x.shape[0]):
        memory.labelled[j] += y * x[j]


@fragment
def learn_unlabelled(x: Array, margin: float, _p: Any, memory: OrderDependentSums) -> None:
    memory.count[1] += 1
    for j in range(x.shape[0]):
        memory.unlabelled[j] = 0.9 * memory.unlabelled[j] + (x[j] if margin >= 0.0 else -x[j])


@pytest.fixture(params=[False, True], ids=["plain", "standardized"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the learner of this file the champion."""

    def make(spec: Spec, settings: ModelSettings, d: int) -> AnyLearner:
        if spec.name != "perceptron":
            return make_learner(spec, settings, d)
        learner = LearnsFromBothKinds(d, intercept=False)
        return OnlineStandardizer(learner) if request.param else learner

    monkeypatch.setattr(models, "make_learner", make)


def records(values: list[bytes], first: int = 0) -> Records:
    n = len(values)
    return Records(0, np.arange(first, first + n), ListColumn(values), ListColumn([None] * n), [0] * n)


def advanced(values: list[bytes], cuts: list[int]) -> tuple[Model, list[bytes]]:
    model, written = Model(SETTINGS, 0), list[bytes]()
    for start, end in zip([0, *cuts], [*cuts, len(values)], strict=True):
        out = model.advance(records(values[start:end], start))
        written += [*(value or b"" for value in out.predictions), *(value for _, value in out.points)]
    return model, sorted(written)


def memory_of(learner: AnyLearner, name: str) -> list[float]:
    found: list[float] = learner.state[name].tolist()
    return found


@pytest.mark.usefixtures("made")
def test_each_row_is_passed_on_once_when_it_is_dropped_however_rows_are_cut() -> None:
    values = late_stream(400, seed=3, delay=25)
    whole, written = advanced(values, [])
    rng = random.Random(1)
    for _ in range(4):
        cuts = sorted(rng.sample(range(1, len(values)), 30))
        model, same = advanced(values, cuts)
        assert same == written
        assert [part.tobytes() for part in model.save().parts] == [part.tobytes() for part in whole.save().parts]
    metrics = whole.delay_metrics()
    assert memory_of(whole.learners[0], "count")[1] == metrics["never_labelled"] > 10


@pytest.mark.usefixtures("made")
def test_other_learners_and_the_metrics_are_unaffected(monkeypatch: pytest.MonkeyPatch) -> None:
    values = late_stream(400, seed=4, delay=25)
    beside, _ = advanced(values, [])
    monkeypatch.setattr(models, "make_learner", make_learner)
    alone, _ = advanced(values, [])
    assert beside.learners[1].state.memory.tobytes() == alone.learners[1].state.memory.tobytes()
    found, expected = (model.latest_points()["pa1"] for model in (beside, alone))
    of_champion = EProcess().point().keys()
    assert {k: v for k, v in found.items() if k not in of_champion} == {
        k: v for k, v in expected.items() if k not in of_champion
    }
    assert beside.delay_metrics() == alone.delay_metrics()


def test_the_sums_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "make_learner", lambda spec, settings, d: LearnsFromBothKinds(d, intercept=False))
    settings = ModelSettings((Spec.parse("perceptron"),), wait=LabelWait(2))
    model = Model(settings, 0)
    xs = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0], [1.0, 1.0]]
    values = [json.dumps({"id": i, "x": x}).encode() for i, x in enumerate(xs)]
    model.advance(records([*values[:2], b'{"id":1,"y":0}', *values[2:]]))
    # Row 0 is dropped before row 2 is scored, and row 2 before row 4; row 1 had its label.
    memory = model.learners[0].state
    assert memory["count"].tolist() == [1, 2]
    assert memory["labelled"].tolist() == [0.0, -1.0]
    assert memory["unlabelled"].tolist() == [0.9 * 1.0 + 2.0, 0.0]

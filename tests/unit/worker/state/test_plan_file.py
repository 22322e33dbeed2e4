"""A history of plans in a file, the models that follow it, and the figures of what they emit."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.delayed_labels.pending_rows import OrderedBatch
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.emitted import EmittedFigures, LabelledPredictions
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption, PlannedModel
from driftway.worker.state.plans.plan_file import read_history
from driftway.worker.state.plans.plan_run import PlanRun
from tests.support.delayed_labels import late_stream
from tests.unit.worker.rows import drifting, events, model_settings, pieces, records

FIRST: dict[str, Any] = {"plan": 1, "models": [{"learner": "pa1"}], "adopted_at": {}}
SECOND: dict[str, Any] = {
    "plan": 2, "models": [{"learner": "arow"}, {"learner": "pa1"}], "made_at": 7, "change": "add arow",
    "adopted_at": {"0": 40, "1": 50},
}  # fmt: skip
THIRD: dict[str, Any] = {"plan": 4, "models": [{"learner": "arow:r=2", "from": "arow"}], "adopted_at": {"1": 50}}
ROWS = records(events(120), partition=1)
LATE = 600
OF_POINTS = "labels", "accuracy", "window_accuracy", "kappa", "kappa_temporal", "no_change_accuracy"


def written(folder: Path, *objects: dict[str, Any], lines: bool = False) -> str:
    text = "\n".join(map(json.dumps, objects)) if lines else json.dumps(objects)
    (folder / "plans.json").write_text(text, encoding="utf-8")
    return str(folder / "plans.json")


@pytest.mark.parametrize("lines", [False, True])
def test_a_history_is_read_as_the_command_prints_it_or_line_by_line(tmp_path: Path, lines: bool) -> None:
    history = read_history(written(tmp_path, FIRST, THIRD, SECOND, lines=lines))
    assert [plan.number for plan in history.plans] == [1, 2, 4]
    assert [(adoption.offset, adoption.plan.names) for adoption in history.adoptions(1)] == [
        (50, ("arow", "pa1")), (50, ("arow:r=2",)),
    ]  # fmt: skip
    assert [adoption.plan.number for adoption in history.adoptions(0)] == [2], "passed over, or not taken yet"
    assert history.adoptions(2) == []
    assert history.partitions == [0, 1]


def test_the_offset_where_a_plan_was_applied_overrides_the_planned_one(tmp_path: Path) -> None:
    asked = {"plan": 2, "models": [{"learner": "arow"}], "at": {"0": 30, "1": 30}}
    assert [one.offset for one in read_history(written(tmp_path, FIRST, asked)).adoptions(1)] == [30]
    taken = read_history(written(tmp_path, FIRST, asked | {"adopted_at": {"1": 35}}))
    assert [[one.offset for one in taken.adoptions(p)] for p in (0, 1)] == [[], [35]]


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], "plan 1, with which every partition begins, is missing"),
        ([SECOND], "the first one is plan 2"),
        ([FIRST, SECOND, SECOND], "plan 2 is there twice"),
        ([FIRST, SECOND, THIRD | {"adopted_at": {"1": 49}}], "adopts plan 4 at 49, which is before plan 2 at 50"),
        ([FIRST, SECOND | {"adopted_at": {"one": 3}}], "entry 2: adopted_at is"),
        ([FIRST, SECOND | {"adopted_at": {"1": -3}}], "entry 2: adopted_at is -3"),
        ([FIRST, SECOND | {"adopted_at": 3}], "entry 2: adopted_at is 3"),
        ([FIRST, SECOND | {"models": []}], "entry 2: it has 0 models"),
        ([FIRST, SECOND | {"models": [{"learner": "pa1:C"}]}], "entry 2: learner"),
        ([FIRST, 7], "entry 2 is"),
    ],
)  # fmt: skip
def test_an_invalid_history_is_refused_with_the_reason(tmp_path: Path, objects: list[Any], message: str) -> None:
    with pytest.raises(UsageFailure) as refused:
        read_history(written(tmp_path, *objects))
    assert message in str(refused.value), str(refused.value)
    assert "models history --json" in str(refused.value)


def test_a_file_that_is_missing_or_not_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match="cannot read"):
        read_history(str(tmp_path / "none.json"))
    (tmp_path / "text").write_text(json.dumps(FIRST) + "\nplan 2", encoding="utf-8")
    with pytest.raises(UsageFailure, match="line 2 is not JSON"):
        read_history(str(tmp_path / "text"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [("no_such_learner", "no learner"), ("pa1:C=-1", "C must be"), ("ogd_huber", "regression")],
)  # fmt: skip
def test_plans_are_checked_as_workers_do(tmp_path: Path, wrong: str, message: str) -> None:
    history = read_history(written(tmp_path, FIRST, SECOND | {"models": [{"learner": wrong}]}))
    with pytest.raises(UsageFailure) as refused:
        history.require_possible(model_settings("pa1"))
    assert "plan 2: " in str(refused.value)
    assert message in str(refused.value)


def test_a_relearned_model_needs_the_rows_that_it_has_learned(tmp_path: Path) -> None:
    joined = {
        "plan": 2,
        "models": [{"learner": "pa1"}, {"learner": "arow", "relearned": True}],
        "adopted_at": {"0": 40},
    }
    given_up = {"plan": 3, "models": [{"learner": "pa1"}], "adopted_at": {"0": 60}}
    source = {"relearned_models": ["arow"], "relearned_from": 0, "relearned_records": 40, "relearned_features": 3}
    with pytest.raises(UsageFailure, match="plan 2 relearns arow, but does not say from which rows of partition 0"):
        read_history(written(tmp_path, FIRST, joined)).require_relearned_from(0)
    read_history(written(tmp_path, FIRST, joined)).require_relearned_from(1)
    read_history(written(tmp_path, FIRST, joined, given_up)).require_relearned_from(0)
    read_plans = read_history(written(tmp_path, FIRST, joined | {"relearned": {"0": source}}))
    read_plans.require_relearned_from(0)
    (adoption,) = read_plans.adoptions(0)
    assert adoption.relearned is not None
    assert (adoption.relearned.models, adoption.relearned.offset, adoption.relearned.records) == (("arow",), 0, 40)


def test_a_run_applies_each_plan_at_its_offset_however_the_rows_are_cut() -> None:
    plans = [ModelPlan(n, (PlannedModel(Spec.parse(name)),)) for n, name in ((2, "arow"), (3, "dfop"), (4, "pa1"))]
    adoptions = [PlanAdoption(offset, plan) for offset, plan in zip((40, 40, 90), plans, strict=True)]
    settings = ModelSettings((Spec.parse("pa1"),))
    model, expected = Model(settings, 1), list[bytes | None]()
    for end, following in ((40, plans[:2]), (90, plans[2:]), (120, [])):
        start = len(expected)
        expected += model.advance(ROWS.before(end).after(start)).predictions.to_list()
        for plan in following:
            model = model.followed_by(plan)
    draw = random.Random(1)
    for _ in range(5):
        read_plans = list[int]()
        run = PlanRun(Model(settings, 1), 1, adoptions)
        run.on_adoption = lambda model, read_plans=read_plans: read_plans.append(model.plan.number)  # type: ignore[misc]
        got = [
            value
            for part in pieces(ROWS, [draw.randrange(120) for _ in range(4)])
            for piece in run.pieces(part)
            for value in run.model.advance(piece).predictions.to_list()
        ]
        assert got == expected
        assert read_plans == [2, 3, 4]


def listened(model: Model, figures: list[EmittedFigures], judged: list[LabelledPredictions]) -> None:
    """Let figures count what a model emits."""

    def hear(steps: OrderedBatch, scores: list[Any]) -> None:
        if not figures:
            wait = model.settings.wait
            figures.append(EmittedFigures(model.champion, model.settings.window, wait.rows if wait else 0))
        judged.append(figures[0].observe(steps, scores[0]))

    model.monitors.observer = hear


@pytest.mark.parametrize("wait", [None, "50", "30"])
def test_figures_of_emitted_predictions_equal_those_of_accuracy_points(wait: str | None) -> None:
    """Also where waiting rows use the same slots again within a batch."""
    settings = model_settings("dfop:mu=0.01", wait=None if wait is None else LabelWait.parse(wait))
    values = late_stream(LATE, seed=3)
    model, figures, judged = Model(settings, 3), list[EmittedFigures](), list[LabelledPredictions]()
    listened(model, figures, judged)
    outputs = [model.advance(part) for part in pieces(records(values), [7, 300, 301, 650])]
    point, real = figures[0].point(), model.latest_points()["dfop:mu=0.01"]
    assert {name: point[name] for name in OF_POINTS} == {name: real[name] for name in OF_POINTS}
    assert figures[0].rows == sum(one.rows for one in outputs) == LATE
    assert sum(len(one.y) for one in judged) == point["labels"] > (100 if wait else 10)


def test_labels_of_rows_from_before_do_not_count() -> None:
    settings = model_settings("dfop:mu=0.01", wait=LabelWait.parse("50"))
    whole = records(late_stream(LATE, seed=4))
    ids = [json.loads(value or b"").get("id") for value in whole.values]
    cut = 500
    before = {str(name) for name, value in zip(ids[:cut], whole.values, strict=False) if b'"x"' in (value or b"")}
    for cuts in ([cut], [cut, cut + 3, cut + 90, 900]):
        model, figures, judged = Model(settings, 3), list[EmittedFigures](), list[LabelledPredictions]()
        parts = pieces(whole, cuts)
        model.advance(parts[0])
        listened(model, figures, judged)
        for part in parts[1:]:
            model.advance(part)
        counted = np.concatenate([one.offsets for one in judged]).tolist()
        assert counted
        assert all(str(ids[offset]) not in before for offset in counted)
        assert any(str(ids[offset]) in before for offset in range(cut, cut + 60)), "there were such labels"


def test_probabilities_of_different_kinds_have_no_common_loss() -> None:
    logistic = Model(model_settings("ogd_logistic"), 1)
    figures, judged = list[EmittedFigures](), list[LabelledPredictions]()
    listened(logistic, figures, judged)
    logistic.advance(records(events(100), partition=1))
    assert figures[0].point()["log_loss"] > 0.0
    figures[0].follow(logistic.champion)
    assert "log_loss" in figures[0].point()
    other = Model(replace(logistic.settings, specs=(Spec.parse("pa1"),), n_features=drifting()[0].shape[1]), 1)
    figures[0].follow(other.champion)
    assert "log_loss" not in figures[0].point()

"""Challengers' predictions are those of the same models as champions, one by one, in the order of events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from driftway.learners import Spec
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import EVERY_MODEL, LabelWait
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import ChallengerPredictions, Outputs, joined
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.wire.codec import JSON, PACKED, read_json
from driftway.worker.wire.events import Records, Target
from driftway.worker.wire.packed import decode_predictions
from tests.support.delayed_labels import late_stream
from tests.support.selection import slow_but_each_once
from tests.unit.worker.rows import events, model_settings, pieces, records

CHAMPION, CHALLENGERS = "perceptron", ("arow", "dfop:mu=0.01")
CUTS = ((), (1, 2, 77, 150))
Found = dict[str, list[tuple[bytes | None, Any]]]
"""Name -> key and fields of each prediction."""


def emitted(settings: ModelSettings, parts: list[Records]) -> list[Outputs]:
    model = Model(replace(settings, emit=EVERY_MODEL), 3, "g")
    return [model.advance(part) for part in parts]


def fields(value: bytes) -> dict[str, Any]:
    """A prediction in either format by field; without the version, which tells challengers from champions."""
    if value[:1] == b"{":
        return dict(read_json(value))
    found = decode_predictions([value])
    named = {name: getattr(found, name)[0].tobytes() for name in ("y", "prediction", "scores", "t", "offset", "plan")}
    return named | {"id": found.ids[0], "learner": found.learners[0]}


def by_name(outputs: list[Outputs]) -> Found:
    found: Found = {}
    for one in (one for part in outputs for one in part.challengers):
        for key, value in zip(one.keys, one.predictions, strict=True):
            record = fields(value or b"")
            found.setdefault(record["learner"], []).append((key, record))
    return found


def of_champion(settings: ModelSettings, name: str, whole: Records) -> list[tuple[bytes | None, Any]]:
    """What the same model predicts as champion."""
    model = Model(replace(settings, specs=(Spec.parse(name),)), 3, "g")
    outputs = model.advance(whole)
    pairs = zip(outputs.keys, outputs.predictions, strict=True)
    return [(key, fields(value or b"") | {"learner": name}) for key, value in pairs]


KINDS = {
    "binary, of one and two scores": ((CHAMPION, "mc_softmax", "arow"), {}),
    "three classes": (("majority_class", "mc_pa", "mc_softmax"), {"target": Target("classification", 3)}),
    "regression": (("no_change", "rls", "lms"), {"task": "regression"}),
    "late labels": ((CHAMPION, *CHALLENGERS), {"wait": LabelWait(20)}),
}


@pytest.mark.parametrize(("kind", "cuts", "form"), slow_but_each_once([*KINDS], CUTS, [JSON, PACKED]))
def test_a_challengers_predictions_equal_those_of_the_model_as_champion(
    kind: str, cuts: tuple[int, ...], form: str
) -> None:
    names, rest = KINDS[kind]
    settings = model_settings(*names, output_form=form, **rest)
    values = late_stream(300, seed=1) if settings.wait else events(regression="task" in rest)
    whole = records([b"?", *values])
    outputs = emitted(settings, pieces(whole, cuts) if cuts else [whole])
    found = by_name(outputs)
    assert list(found) == list(names[1:])
    for name in names[1:]:
        assert found[name] == of_champion(settings, name, whole) != []
    champion = replace(settings, specs=settings.specs[:1])
    assert [v for out in outputs for v in out.predictions] == list(Model(champion, 3, "g").advance(whole).predictions)


@pytest.mark.parametrize("form", [JSON, PACKED])
def test_challenger_predictions_of_a_row_are_adjacent_however_batches_are_cut(form: str) -> None:
    settings, whole = model_settings(CHAMPION, *CHALLENGERS, output_form=form), records(events())
    values = []
    for cuts in CUTS:
        outputs = emitted(settings, pieces(whole, cuts) if cuts else [whole])
        own = [one for part in outputs for one in part.challengers]
        values.append([value for one in own for value in one.predictions])
        assert [key for one in own for key in one.identities()] == [
            (offset, name.encode()) for offset in range(300) for name in CHALLENGERS
        ]
        assert sum(part.rows for part in outputs) == 300
    assert values[0] == values[1]
    assert [fields(value or b"")["learner"] for value in values[0][:4]] == [*CHALLENGERS] * 2


def test_challenger_predictions_have_the_headers_of_the_event() -> None:
    headers = [((f"trace{i}", b"1"), ("other", b"2")) for i in range(300)]
    whole = records(events(), headers=headers)
    (outputs,) = emitted(model_settings(CHAMPION, *CHALLENGERS, pass_headers=("*",)), [whole])
    assert outputs.challengers[0].headers == [own for own in headers for _ in CHALLENGERS]
    kept = outputs.challengers[0].chosen(outputs.challengers[0].offsets == 7)
    assert kept.headers == [headers[7]] * 2
    assert kept.identities() == [(7, b"arow"), (7, b"dfop:mu=0.01")]


@pytest.mark.parametrize("form", [JSON, PACKED])
def test_a_replaced_champion_continues_as_a_challenger(form: str) -> None:
    settings, whole = model_settings(CHAMPION, CHALLENGERS[0], output_form=form, emit=EVERY_MODEL), records(events())
    model = Model(settings, 3, "g")
    before = model.advance(whole.before(100))
    other = PlannedModel(Spec.parse("no_change"))
    plan = ModelPlan(2, (PlannedModel(Spec.parse(CHALLENGERS[0])), PlannedModel(Spec.parse(CHAMPION)), other))
    model = model.followed_by(plan)
    after = model.advance(whole.after(100))
    found = by_name([before, after])
    assert [len(found[name]) for name in (CHALLENGERS[0], CHAMPION, "no_change")] == [100, 200, 200]
    alone = Model(replace(settings, specs=settings.specs[:1]), 3, "g").advance(whole).predictions
    scores = "score" if form == JSON else "scores"
    assert [row[scores] for _, row in found[CHAMPION]] == [fields(value or b"")[scores] for value in alone][100:]
    plans = {name: [row.get("plan") for _, row in rows] for name, rows in found.items()}
    first, second = (None, 2) if form == JSON else ((1).to_bytes(8, "little"), (2).to_bytes(8, "little"))
    assert plans == {CHALLENGERS[0]: [first] * 100, CHAMPION: [second] * 200, "no_change": [second] * 200}
    both = joined(before, after)
    assert both.challengers == [*before.challengers, *after.challengers]


def test_no_predictions_are_made_without_challengers_or_without_the_option() -> None:
    whole = records(events(30))
    assert Model(model_settings(CHAMPION, emit=EVERY_MODEL), 3).advance(whole).challengers == []
    assert Model(model_settings(CHAMPION, *CHALLENGERS), 3).advance(whole).challengers == []
    assert (
        Model(model_settings(CHAMPION, *CHALLENGERS, emit=EVERY_MODEL), 3).advance(whole, emit=False).challengers == []
    )


def test_challenger_predictions_count_as_bytes_that_wait_for_a_commit() -> None:
    (outputs,) = emitted(model_settings(CHAMPION, *CHALLENGERS), [records(events(50))])
    (own,) = outputs.challengers
    assert isinstance(own, ChallengerPredictions)
    assert own.nbytes == sum(len(one or b"") for column in (own.keys, own.predictions) for one in column)
    assert outputs.nbytes == own.nbytes + outputs.predictions.nbytes + outputs.keys.nbytes

"""Models that begin with the state of a model file: how it is stored, what goes on from it, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.admin.models import rolled_back
from driftway.worker.admin.state_admin.from_file import from_file
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.state.plans.file_state import FileState, StateChunks, StoredLearner, state_of
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption, PlannedModel
from driftway.worker.state.plans.plan_topic import with_states_of
from driftway.worker.state.plans.relearned_from import RelearnedFrom
from driftway.worker.state.plans.transition import why_not
from driftway.worker.state.stored_fields import CHUNK_BYTES, Malformed
from driftway.worker.wire.events import CLASSIFICATION, Schema, Target
from tests.unit.worker.rows import events, model_settings, records

WHOLE, ADOPTED_AT = records(events()), 157
SETTINGS = model_settings("perceptron", accuracy_every=10)
CHAMPION = PlannedModel(Spec.parse("perceptron"))


def learned(settings: ModelSettings, whole: Any = WHOLE) -> Model:
    model = Model(settings, 3, "g")
    model.advance(whole.before(ADOPTED_AT))
    return model


def file_of(settings: ModelSettings, whole: Any = WHOLE) -> model_file.ModelFile:
    """A file with a champion and a challenger that have learned the rows up to ADOPTED_AT."""
    model = learned(replace(settings, specs=(*settings.specs, Spec.parse("no_change"))), whole)
    return model_file.unpack(
        model_file.pack(model, model.save(), ADOPTED_AT, {"made": "here"}), "/some/where/it.driftway"
    )


def state_with(model: PlannedModel) -> FileState:
    assert model.file is not None
    return model.file


def plan(model: PlannedModel) -> ModelPlan:
    return ModelPlan(2, (CHAMPION, model))


def collected(state: FileState, order: slice = slice(None)) -> StateChunks:
    chunks = StateChunks()
    for key, value in list(state.records())[order]:
        assert chunks.take(key, value)
    return chunks


def test_a_state_is_stored_in_chunks_and_found_again_in_any_order() -> None:
    stored = StoredLearner({"learner": "pa1", "n_features": 3}, ("a", "b", "c"), bytes(range(250)) * (3 * 4000))
    state = state_of("it.driftway", stored)
    assert state.chunks == 1 + len(stored.memory) // CHUNK_BYTES == 4
    assert max(len(value) for _, value in state.records()) <= CHUNK_BYTES
    assert len({key for key, _ in state.records()}) == 4
    planned = plan(PlannedModel(Spec.parse("pa1"), file=state))
    read = ModelPlan.parse(planned.write())
    assert read == planned
    assert read.lacking is not None
    for order in (slice(None), slice(None, None, -1)):
        whole = read.with_states(collected(state, order).of)
        assert whole.lacking is None
        assert whole.states[0].learner == stored
    assert not StateChunks().take(b"2", planned.write())
    assert not StateChunks().take(None, b"")


def test_an_adoption_keeps_what_was_relearned_when_it_gets_the_states_of_files() -> None:
    state = state_of("it.driftway", StoredLearner({"learner": "pa1"}, None, b"12345678"))
    planned = ModelPlan(
        2, (PlannedModel(Spec.parse("pa1"), file=state), PlannedModel(Spec.parse("arow"), relearned=True))
    )
    source = RelearnedFrom(("arow",), 0, 40, Schema(3))
    adoptions = [PlanAdoption(40, ModelPlan.parse(planned.write()), source)]
    (adoption,) = with_states_of(adoptions, [planned])
    assert (adoption.offset, adoption.relearned) == (40, source)
    assert adoption.plan.lacking is None
    (lacks,) = with_states_of(adoptions, [])
    assert lacks == adoptions[0]


def test_a_state_with_a_missing_or_altered_chunk_is_ignored() -> None:
    state = state_of("it.driftway", StoredLearner({"learner": "pa1"}, None, b"12345678" * 200_000))
    unread = replace(state, learner=None)
    assert collected(state, slice(1)).of(unread).learner is None
    altered = collected(state)
    (key, value), *_ = state.records()
    altered.take(key, value[:-1] + b"9")
    assert altered.of(unread).learner is None
    assert collected(state).of(unread).learner == state.learner


@pytest.mark.parametrize(
    "file",
    ['1', '{}', '{"name":"a","digest":"00","chunks":1}', '{"name":"a","digest":"%s","chunks":0}' % ("0" * 32),
     '{"name":"a","digest":"%s","chunks":100000}' % ("0" * 32), '{"name":1,"digest":"%s","chunks":1}' % ("0" * 32)],
)  # fmt: skip
def test_a_value_that_is_not_a_state_is_refused(file: str) -> None:
    with pytest.raises(Malformed):
        ModelPlan.parse(b'{"plan":2,"models":[{"learner":"pa1","file":%s}]}' % file.encode())


@pytest.mark.parametrize("learner", ["arow", "scaled:pa1", "auto"])
def test_a_challenger_from_a_file_continues_as_the_files_model_does(learner: str) -> None:
    settings = model_settings(learner)
    model = from_file(file_of(settings), learned(SETTINGS))
    assert model.name == learner
    read = ModelPlan.parse(plan(model).write()).with_states(collected(state_with(model)).of)
    following = learned(SETTINGS).followed_by(read)
    assert following.latest_points()[learner]["labels"] == 0, "its metrics are of this group's rows"
    following.advance(WHOLE.after(ADOPTED_AT))
    alone = learned(settings)
    alone.advance(WHOLE.after(ADOPTED_AT))
    assert following.learners[1].state.memory.tobytes() == alone.champion.state.memory.tobytes()


def test_an_existing_model_keeps_its_state_and_a_dropped_one_restarts_from_the_file() -> None:
    model = from_file(file_of(model_settings("arow")), learned(SETTINGS))
    second, stored = plan(model), state_with(model).learner
    assert stored is not None
    following = learned(SETTINGS).followed_by(second)
    following.advance(WHOLE.after(ADOPTED_AT))
    kept = following.learners[1].state.memory.tobytes()
    promoted = following.followed_by(ModelPlan(3, (model, CHAMPION)))
    assert promoted.champion.state.memory.tobytes() == kept
    third = ModelPlan(3, (CHAMPION,))
    dropped = following.followed_by(third)
    again = dropped.followed_by(ModelPlan(4, rolled_back([ModelPlan(1, (CHAMPION,)), second, third], 2)))
    assert again.learners[1].state.memory.tobytes() == stored.memory


def test_a_state_that_is_unread_or_has_other_features_is_skipped() -> None:
    model = from_file(file_of(model_settings("arow")), learned(SETTINGS))
    unread = ModelPlan.parse(plan(model).write())
    assert "it.driftway is missing" in str(why_not(unread, SETTINGS))
    with pytest.raises(Failure, match="missing"):
        learned(SETTINGS).followed_by(unread)
    other = records([b'{"x":[1,2,3,4,5,6,7],"y":1}'] * 200)
    with pytest.raises(Failure, match="not 7"):
        learned(SETTINGS, other).followed_by(plan(model))
    assert model.file is not None
    assert model.file.learner is not None
    damaged = model.file.learner._replace(memory=model.file.learner.memory[:-8])
    with pytest.raises(Failure, match="layout"):
        learned(SETTINGS).followed_by(plan(replace(model, file=replace(model.file, learner=damaged))))


def named(*names: str) -> Any:
    x = ",".join(f'"{name}":{i}' for i, name in enumerate(names))
    return records([b'{"x":{%s},"y":1}' % x.encode()] * 200)


MULTI = Target(CLASSIFICATION, 3)


@pytest.mark.parametrize(
    ("settings", "rows", "group", "message"),
    [
        (model_settings("rls", task="regression"), WHOLE, SETTINGS, "has regression, the group classification with 2"),
        (replace(SETTINGS, target=MULTI), WHOLE, SETTINGS, "with 3 classes, the group classification with 2 classes"),
        (replace(SETTINGS, maps=(Spec.parse("polynomial:degree=2"),)), WHOLE, SETTINGS, "polynomial:degree=2"),
        (replace(SETTINGS, standardize=False), WHOLE, SETTINGS, "the group standardises .* the file does not"),
        (SETTINGS, WHOLE, replace(SETTINGS, standardize=False), "the file standardises"),
        (SETTINGS, named("a", "b"), SETTINGS, "learned from 2 features"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_sentence(
    settings: ModelSettings, rows: Any, group: ModelSettings, message: str
) -> None:
    settings = replace(settings, specs=(Spec.parse("mc_arow" if settings.target == MULTI else settings.specs[0].text),))
    with pytest.raises(UsageFailure, match=message):
        from_file(file_of(settings, rows), learned(group))


@pytest.mark.parametrize(
    ("theirs", "ours", "message"),
    [
        (named("a", "b"), named("a", "c"), "other names"),
        (records([b'{"x":[1,2],"y":1}'] * 200), named("a", "b"), "only by their order"),
        (named("a", "b"), records([b'{"x":[1,2],"y":1}'] * 200), None),
        (named("b", "a"), named("a", "b"), None),
    ],
)
def test_features_must_have_the_same_names(theirs: Any, ours: Any, message: str | None) -> None:
    file = file_of(model_settings("arow"), theirs)
    if message is None:
        assert from_file(file, learned(SETTINGS, ours)).name == "arow"
        return
    with pytest.raises(UsageFailure, match=message):
        from_file(file, learned(SETTINGS, ours))


def test_labels_must_be_the_same() -> None:
    group = replace(SETTINGS, target=Target(CLASSIFICATION, 2, ("no", "yes")))
    file = file_of(replace(SETTINGS, target=Target(CLASSIFICATION, 2, ("yes", "no"))))
    with pytest.raises(UsageFailure, match="has the labels yes,no, the group no,yes"):
        from_file(file, learned(group))


def test_a_file_without_a_learner_is_refused() -> None:
    model = Model(SETTINGS, 3)
    empty = model_file.unpack(model_file.pack(model, model.save(), 0, {}), "it")
    with pytest.raises(Failure, match="no learner yet"):
        from_file(empty, learned(SETTINGS))

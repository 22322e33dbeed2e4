"""Models that are relearned next to a task have the bits of one run, however rows are handed over."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from driftway.learners.spec import Spec
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait, SharingOption
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition
from driftway.worker.state.model import Model
from driftway.worker.state.plans.changes import PlanChanges
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption, PlannedModel, first_plan
from driftway.worker.state.plans.relearned_from import RelearnedFrom
from driftway.worker.state.stored_fields import Malformed
from driftway.worker.stream.relearning import relearner
from driftway.worker.stream.relearning.from_log import followed_by, unlearned, why_not_relearned
from driftway.worker.stream.relearning.relearner import Relearner, Relearning, owned
from driftway.worker.warm_start import WarmStart
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.events import NO_LABEL_OFFSET, Records, Schema
from driftway.worker.wire.schema.feature import MissingPolicy
from tests.unit.worker.rows import events, records, untested

ROWS, N, ADOPTED_AT = records(events(300)), 300, 170
SETTINGS = ModelSettings((Spec.parse("pa1"),), accuracy_every=10, window=50)
NEW = "arow"


def plan(number: int, *models: str, **at: int) -> ModelPlan:
    """A plan of models; ``learner*`` is relearned."""
    named = tuple(PlannedModel(Spec.parse(name.rstrip("*")), relearned=name.endswith("*")) for name in models)
    return ModelPlan(number, named, {int(name.removeprefix("p")): offset for name, offset in at.items()})


ADDED = plan(2, "pa1", f"{NEW}*")


def run(settings: ModelSettings, rows: Records, size: int = 64) -> Model:
    model = Model(settings, 3, "group")
    for start in range(0, len(rows), size):
        model.advance(rows.before(min(start + size, len(rows))).after(start))
    return model


def live(settings: ModelSettings = SETTINGS, rows: int = ADOPTED_AT) -> Model:
    return run(settings, ROWS.before(rows))


def both(settings: ModelSettings = SETTINGS) -> ModelSettings:
    """The settings with the challenger from the first row on."""
    return replace(settings, specs=(*settings.specs, Spec.parse(NEW)))


def fed(one: Relearner, log: int, size: int = 13) -> None:
    """Read the log up to offset `log`, and hand over the rest up to the adoption in batches."""
    one.near = True
    one.follow(log)
    one.begin(0)
    for start in range(0, log, size):
        one.learn(ROWS.before(min(start + size, log)).after(start))
    one.reached(log)
    for start in range(log, ADOPTED_AT, size):
        one.hand(ROWS.before(min(start + size, ADOPTED_AT)).after(start))


def points(model: Model) -> Iterator[bytes]:
    """Accuracy points of the challenger behind the adoption, without its plan and without its test."""
    for _, value in model.advance(ROWS.after(ADOPTED_AT)).points:
        if read_json(value)["learner"] == NEW:
            yield re.sub(rb'"plan":\d+,?', b"", untested(value)).replace(b",}", b"}")


@pytest.mark.parametrize("log", [0, 64, ADOPTED_AT])
@pytest.mark.parametrize(
    "settings",
    [SETTINGS, replace(SETTINGS, missing=MissingPolicy("mean", 0.0), indicators=True), replace(SETTINGS, window=7)],
)
def test_a_relearned_challenger_equals_one_that_was_there_from_the_first_row(settings: ModelSettings, log: int) -> None:
    here, relearning = live(settings), Relearning()
    assert relearning.prepare(here, ADDED, (NEW,), 0) is None
    one = relearning.relearner
    assert one is not None
    fed(one, log)
    assert one.position == log
    while one.learn_handed():
        assert one.began == MergePosition(0, 0)
    assert one.ready
    after, adoption = relearning.followed_by(here, PlanAdoption(ADOPTED_AT, ADDED), (NEW,))
    assert adoption.relearned == RelearnedFrom((NEW,), 0, ADOPTED_AT, here.schema or Schema(0))
    whole = run(both(settings), ROWS.before(ADOPTED_AT))
    assert after.learners[1].state.memory.tobytes() == whole.learners[1].state.memory.tobytes()
    assert list(points(after)) == list(points(whole))
    assert after.latest_points()[NEW]["better_p"] > 0


def test_small_batches_do_not_make_relearning_appear_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call takes as long for three rows as for a hundred: otherwise a fast stream would wait for minutes."""
    clock = itertools.count(0.0, 0.0001)
    monkeypatch.setattr(relearner.time, "thread_time", lambda: next(clock))
    relearning = Relearning()
    relearning.prepare(live(), ADDED, (NEW,), 0)
    one = relearning.relearner
    assert one is not None
    one.begin(0)
    for start in range(0, 200, 100):
        one.learn(ROWS.before(start + 100).after(start))
    fast = one.piece
    assert fast > 900
    for start in range(200, 290, 3):
        one.learn(ROWS.before(start + 3).after(start))
    assert one.piece == fast


def test_the_test_of_a_relearned_challenger_begins_where_it_joins() -> None:
    """The earlier rows may have influenced its choice."""
    here = live()
    relearned = unlearned(here, ADDED, (NEW,), here.schema or Schema(0))
    relearned.advance(ROWS.before(ADOPTED_AT), emit=False)
    adoption = PlanAdoption(ADOPTED_AT, ADDED, RelearnedFrom((NEW,), 0, ADOPTED_AT, here.schema or Schema(0)))
    after, whole = followed_by(here, adoption, relearned), run(both(), ROWS.before(ADOPTED_AT))
    assert after.latest_points()[NEW]["better_p"] == 1.0
    assert whole.latest_points()[NEW]["better_p"] < 1.0


def test_the_loop_relearns_only_few_rows_at_a_time() -> None:
    one = Relearner(live(), ADDED, (NEW,), 0)
    fed(one, 100)
    one._cost = 1.0, 1.0
    assert not one.ready, "70 rows are left, and one takes seconds"
    while one.learn_handed():
        pass
    assert one.ready
    assert one.left == 0


def test_relearning_returns_to_the_log_if_too_many_rows_were_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relearner, "MAX_ROWS", 40)
    relearning = Relearning()
    assert relearning.prepare(live(), ADDED, (NEW,), 0) is None
    one = relearning.relearner
    assert one is not None
    fed(one, 100)
    assert (one.handed_from, one.near, one.read, one.ready) == (None, False, False, False)
    assert one.position == 100
    one.near = True
    relearning.prepare(one._live, ADDED, (NEW,), ADOPTED_AT)
    assert one.handed_from == ADOPTED_AT
    one.learn(ROWS.before(ADOPTED_AT).after(one.position))
    one.reached(ADOPTED_AT)
    model, source = one.finish()
    assert source.records == ADOPTED_AT
    assert model.save().parts[0].tobytes() == run(both(), ROWS.before(ADOPTED_AT)).learners[1].state.memory.tobytes()


def test_relearning_begins_again_if_retention_deletes_rows() -> None:
    one = Relearner(live(), ADDED, (NEW,), 0)
    one.begin(0)
    one.learn(ROWS.before(20))
    one.begin(50)
    one.learn(ROWS.before(ADOPTED_AT).after(50))
    _, source = one.finish()
    assert (source.offset, source.records) == (50, ADOPTED_AT - 50)


def test_a_learner_that_fails_at_a_row_does_not_end_the_thread() -> None:
    one = Relearner(live(), ADDED, (NEW,), 0)
    one.begin(0)
    one.learn(replace(ROWS, values=None))
    assert "arow cannot be relearned" in str(one.failed)
    assert not one.ready


def test_rows_that_are_handed_over_are_copied() -> None:
    """The client overwrites its buffers at the next poll."""
    copied = owned(ROWS.before(5))
    assert copied.values is not ROWS.values
    assert (list(copied.values), list(copied.keys)) == (list(ROWS.values[:5]), list(ROWS.keys[:5]))
    assert copied.offsets.base is None


def test_two_models_of_a_plan_are_relearned_in_one_pass() -> None:
    two = plan(2, "pa1", "arow*", "dfop*", "no_change")
    here = live()
    one = Relearner(here, two, ("arow", "dfop"), 0)
    fed(one, 90)
    model, source = one.finish()
    after = followed_by(here, PlanAdoption(ADOPTED_AT, two, source), model)
    whole = run(replace(SETTINGS, specs=tuple(map(Spec.parse, ("pa1", "arow", "dfop")))), ROWS.before(ADOPTED_AT))
    for i in (0, 1, 2):
        assert after.learners[i].state.memory.tobytes() == whole.learners[i].state.memory.tobytes()


def test_a_relearned_model_has_the_rows_that_wait_for_labels() -> None:
    """With late labels, what it predicted for rows that still wait is part of its state."""
    wait = LabelWait.parse("40")
    own, other, whole = (
        run(replace(one, wait=wait), ROWS.before(ADOPTED_AT))
        for one in (both(), replace(SETTINGS, specs=both().specs[1:]), both())
    )
    pending, relearned = own.planned.pending, other.planned.pending
    assert pending is not None
    assert relearned is not None
    for column in (pending._scores[1], pending.cached_predictions[1]):
        column[:] = 0
    pending.adopt(1, relearned, 0)
    wanted = whole.planned.pending
    assert wanted is not None
    assert pending.save().tobytes() == wanted.save().tobytes()


def with_labels(n: int) -> Records:
    """Events, and labels from a topic of their own as a worker has merged them: several before some of the events."""
    values, offsets, own = list[bytes](), list[int](), list[int]()
    label = 100
    for i in range(n):
        for late in range(i - 9, i - 3) if i % 6 == 5 else ():
            values.append(json.dumps({"id": late, "y": late % 2}).encode())
            offsets.append(i)
            own.append(label := label + 1)
        values.append(json.dumps({"id": i, "x": [i % 2 - 0.5, (i * i) % 7 - 3.0]}).encode())
        offsets.append(i)
        own.append(NO_LABEL_OFFSET)
    made = records(values)
    return replace(made, offsets=np.array(offsets), label_offsets=np.array(own))


@pytest.mark.parametrize("piece", [1, 4, 7])
def test_labels_of_a_separate_topic_are_learned_where_they_were_merged(
    monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """Pieces end anywhere, also between labels; what is given up is read from the log from exactly there on."""
    monkeypatch.setattr(relearner, "MAX_ROWS", 60)
    rows, settings = with_labels(90), replace(SETTINGS, wait=LabelWait.parse("40"))
    here, order = run(settings, rows, 1000), MergeOrder(MergePosition(0, 100))
    one = Relearner(here, ADDED, (NEW,), 0, order)
    one.near = True
    one.follow(0, order)
    one.begin(0, 100)
    one.reached(0)
    monkeypatch.setattr(Relearner, "piece", piece)
    done, given_up = 0, list[MergePosition]()
    while done < len(rows):
        one.hand(rows.before(done + 13).after(done))
        done = min(len(rows), done + 13)
        if one.handed_from is None:
            given_up.append(one.merged)
            learned = len(rows.before(one._records))
            one.learn(rows.before(done).after(learned))
            one.near = True
            one.follow(90, order)
            one.reached(90)
        for _ in range(3):
            one.learn_handed()
    model, source = one.finish()
    assert (source.begin, source.label, source.records) == (MergePosition(0, 100), 100, len(rows))
    assert one.merged == MergePosition(90, int(rows.label_offsets.max()) + 1)
    assert bool(given_up) == (piece == 1)
    whole = run(both(settings), rows, 64)
    assert model.learners[0].state.memory.tobytes() == whole.learners[1].state.memory.tobytes()
    assert model.latest_points()[NEW]["labels"] == whole.latest_points()[NEW]["labels"] > 40


def test_after_a_label_the_position_is_before_the_event_it_was_merged_before() -> None:
    rows, one = with_labels(12), Relearner(live(replace(SETTINGS, wait=LabelWait.parse("40"))), ADDED, (NEW,), 0)
    one.begin(0, 100)
    first = int((rows.offsets == 5).argmax())
    one.learn(rows.before(first + 2))
    assert one.merged == MergePosition(5, 103)
    one.learn(rows.before(first + 7).after(first + 2))
    assert one.merged == MergePosition(6, 107)


def test_a_challenger_relearned_next_to_a_model_from_a_file_begins_empty() -> None:
    """Missing values are filled in as the file says."""
    options = replace(SETTINGS, missing=MissingPolicy("mean", 0.0), indicators=True)
    values = [
        re.sub(rb'"x":\[[^,]+', b'"x":[null', one) if i % 7 == 0 else one for i, one in enumerate(events(ADOPTED_AT))
    ]
    rows, trained = records(values), run(options, records(events(60, seed=6)))
    assert trained.imputer is not None
    assert trained.schema is not None
    memories = trained.learners[0].state.memory.tobytes(), trained.imputer.state.memory.tobytes()
    for frozen in (False, True):
        warm = WarmStart("file", "0a", frozen, trained.schema, *memories)
        here = run(replace(options, warm=warm), rows)
        named = replace(ADDED, models=(replace(ADDED.models[0], start=warm.start), ADDED.models[1]))
        one = Relearner(here, named, (NEW,), 0)
        one.begin(0)
        one.learn(rows)
        model, source = one.finish()
        after = followed_by(here, PlanAdoption(ADOPTED_AT, named, source), model)
        whole = run(both(replace(options, warm=warm)), rows)
        assert after.plan.names == whole.plan.names == (f"{warm.start}:pa1", NEW)
        for i in (0, 1):
            assert after.learners[i].state.memory.tobytes() == whole.learners[i].state.memory.tobytes()
        unfilled = run(both(options), rows)
        assert after.learners[1].state.memory.tobytes() != unfilled.learners[1].state.memory.tobytes()
    here.settings = replace(here.settings, warm=WarmStart("0a", "0a"))
    with pytest.raises(Failure, match="--warm-start"):
        unlearned(here, named, (NEW,), trained.schema)


# Plans and adoptions.


def test_an_adoption_is_stored_with_what_was_relearned() -> None:
    for names, label in ((None, None), (("a", "b"), None), (None, 0), (("a", "b"), 8)):
        adoption = PlanAdoption(41, ADDED, RelearnedFrom((NEW,), 5, 30, Schema(2, names), label))
        assert PlanAdoption.parse(adoption.write()) == adoption
    for made in (ADDED, replace(ADDED, relearn_from={0: 7, 12: 9})):
        assert ModelPlan.parse(made.write()) == made
    with pytest.raises(Malformed, match="relearn_from"):
        ModelPlan.parse(b'{"plan":2,"models":[{"learner":"pa1"}],"relearn_from":{"0":-1}}')
    with pytest.raises(Malformed, match="relearned_names"):
        PlanAdoption.parse(
            b'{"offset":1,"plan":2,"models":[{"learner":"pa1"}],"relearned_from":0,"relearned_records":1,'
            b'"relearned_models":["pa1"],"relearned_features":3,"relearned_names":["a"]}'
        )


def test_rows_that_the_log_has_lost_are_reported() -> None:
    adoption = PlanAdoption(41, ADDED, RelearnedFrom((NEW,), 5, 30, Schema(2)))
    assert adoption.why_gone(MergePosition(5, 0)) == PlanAdoption(41, ADDED).why_gone(MergePosition(99, 9)) == ""
    assert adoption.why_gone(MergePosition(6, 0)) == (
        "arow of plan 2, adopted at offset 41, learned the rows from offset 5 on, and the log begins at 6"
    )
    labelled = PlanAdoption(41, ADDED, RelearnedFrom((NEW,), 5, 30, Schema(2), label=7))
    assert labelled.why_gone(MergePosition(5, 7)) == ""
    assert "the labels from offset 7 on, and the log of the label topic begins at 8" in labelled.why_gone(
        MergePosition(5, 8)
    )


def test_a_plan_waits_for_its_models_and_later_plans_wait_for_it() -> None:
    changes = PlanChanges(3, [ADDED, plan(3, "arow", "pa1", p3=50)])
    changes.held = lambda one: one.number == 2
    assert changes.due(1, 40, 40, committing=True) is None
    assert changes.due(1, 40, 50, committing=False) is None
    changes.held = lambda _: False
    assert changes.due(1, 60, 60, committing=True) == PlanAdoption(60, ADDED)


def test_a_plan_with_an_offset_is_applied_there_or_later() -> None:
    changes = PlanChanges(3, [plan(2, "pa1", "arow*", p3=50)])
    changes.held = lambda _: True
    assert changes.due(1, 40, 50, committing=False) is None
    changes.held = lambda _: False
    assert changes.due(1, 51, 51, committing=True) is not None


def test_a_recorded_adoption_is_applied_whatever_is_being_relearned() -> None:
    changes = PlanChanges(3, [ADDED])
    changes.held = lambda _: True
    recorded = PlanAdoption(50, ADDED, RelearnedFrom((NEW,), 0, 50, Schema(4)))
    changes.restart([recorded], committed=80)
    assert changes.due(1, 45, 50, committing=False) == recorded
    assert changes.following(1) is None


def test_existing_models_and_those_not_in_the_newest_plan_are_not_relearned() -> None:
    first = first_plan(SETTINGS.specs)
    assert PlanChanges(3, [ADDED]).to_relearn(ADDED, first) == (NEW,)
    assert PlanChanges(3, [ADDED]).to_relearn(ADDED, plan(1, "pa1", NEW)) == ()
    assert PlanChanges(3, [ADDED, plan(3, "pa1")]).to_relearn(ADDED, first) == ()


def test_a_learner_that_would_have_exchanged_updates_cannot_be_relearned() -> None:
    sharing = replace(SETTINGS, share=SharingOption.parse("average"))
    why = why_not_relearned(ADDED, sharing)
    assert "arow cannot be relearned in a group with --share-models" in str(why)
    for made, settings in (
        (plan(2, "pa1", NEW), sharing),
        (plan(2, "pa1", "majority_class*"), sharing),
        (ADDED, replace(SETTINGS, wait=LabelWait.parse("9"))),
    ):
        assert why_not_relearned(made, settings) is None

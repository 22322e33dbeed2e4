"""A partition's model: the same rows give the same bytes, however they are batched and however often it is rewound."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftway import learners
from driftway.learners import Spec
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import MAX_BYTES, Model, SavedState
from driftway.worker.wire import packed
from driftway.worker.wire.events import Target
from tests.unit.worker.rows import drifting, events, model_settings, pieces, records, untested, wire

BAD = [b"?", None, b'{"x":[1]}', b'{"x":[1,2,3,4],"y":9}', b'{"id":1,"y":0}']
SPOILT = [value for i, good in enumerate(events()) for value in ([BAD[i % 5], good] if i % 13 == 0 else [good])]
SETTINGS = {
    "binary": model_settings("dfop:mu=0.01"),
    "two learners": model_settings("arow", "dfop:mu=0.01", "no_change"),
    "raw features": model_settings("pa1", standardize=False, n_features=4),
    "labels": model_settings("perceptron", target=Target("classification", 2, ("0", "1"))),
    "regression": model_settings("rls", "no_change", task="regression"),
    "detectors": model_settings(
        "perceptron", "no_change", detectors=(Spec.parse("ddm:min_n=5,warn=0.2,drift=0.5"), Spec.parse("adwin:clock=1"))
    ),
    "losses": model_settings("rls", task="regression", detectors=(Spec.parse("page_hinkley:lam=2,min_n=5"),)),
    "multiclass": model_settings("majority_class", "no_change", target=Target("classification", 3)),
}


def state(model: Model) -> tuple[object, int, list[bytes]]:
    saved = model.save()
    return saved.schema, saved.rows, [part.tobytes() for part in saved.parts]


@pytest.mark.parametrize("name", SETTINGS)
@settings(max_examples=12)
@given(cuts=st.lists(st.integers(0, len(SPOILT)), max_size=12))
def test_batch_cuts_change_no_byte_of_output_or_state(name: str, cuts: list[int]) -> None:
    whole = records(SPOILT)
    one, many = Model(SETTINGS[name], 3), Model(SETTINGS[name], 3)
    expected = wire([one.advance(whole)])
    assert wire([many.advance(part) for part in pieces(whole, cuts)]) == expected
    assert state(many) == state(one)


def test_advancing_row_by_row_changes_no_byte() -> None:
    whole = records(SPOILT)
    one, many = (Model(SETTINGS["two learners"], 3) for _ in range(2))
    assert wire([many.advance(part) for part in pieces(whole, range(len(whole)))]) == wire([one.advance(whole)])


def test_wide_rows_come_in_smaller_batches() -> None:
    """Events may leave out most of the features, so that few bytes become many numbers."""
    model = Model(SETTINGS["two learners"], 3)
    assert model.max_rows == float("inf")
    model.advance(records(SPOILT))
    assert model.max_rows * 8 * (4 + 3) <= MAX_BYTES < (model.max_rows + 1) * 8 * (4 + 3)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("at", [0, 1, 40, 137])
def test_rewinding_repeats_every_byte(name: str, at: int) -> None:
    whole = records(SPOILT)
    model = Model(SETTINGS[name], 3)
    if at:
        model.advance(whole.before(at))
    saved, before = model.save(), state(model)
    first = wire([model.advance(whole.after(at))])
    model.load(saved)
    assert state(model) == before
    assert wire([model.advance(whole.after(at))]) == first


def test_a_saved_state_is_a_copy() -> None:
    model = Model(SETTINGS["binary"], 3)
    model.advance(records(events(50)))
    saved = model.save()
    bytes_then = [part.tobytes() for part in saved.parts]
    model.advance(records(events(50), first=50))
    assert [part.tobytes() for part in saved.parts] == bytes_then
    assert saved.nbytes == sum(map(len, bytes_then))


def test_rewinding_before_the_first_good_event_resets_the_schema() -> None:
    model = Model(SETTINGS["binary"], 3)
    empty = model.save()
    model.advance(records(events(50)))
    model.load(empty)
    assert model.schema is None
    assert model.advance(records([b'{"x":[1,2]}'])).rows == 1


def test_a_state_of_other_learners_is_refused() -> None:
    model, other = Model(SETTINGS["binary"], 3), Model(SETTINGS["two learners"], 3)
    for each in (model, other):
        each.advance(records(events(5)))
    with pytest.raises(ValueError, match="other sizes than these learners"):
        model.load(other.save())
    with pytest.raises(ValueError, match="other sizes"):
        model.load(SavedState(model.schema, 5, ()))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_silent_replay_gives_the_same_state_and_no_output(name: str) -> None:
    whole = records(SPOILT)
    loud, silent = Model(SETTINGS[name], 3), Model(SETTINGS[name], 3)
    out = silent.advance(whole, emit=False)
    loud.advance(whole)
    assert (out.predictions, out.points, out.keys) == ([], [], [])
    assert out.next_offset == len(whole)
    assert state(silent) == state(loud)


def test_scores_equal_those_of_the_learner_alone() -> None:
    X, y = drifting()
    model = Model(SETTINGS["two learners"], 3)
    out = model.advance(records(events()))
    learner = learners.create("arow", 4, standardize=True)
    score = np.empty((len(X), 1))
    learner.predict_then_update(X, y, score)
    found = [json.loads(value) for value in out.predictions]
    assert np.array([row["score"] for row in found]).tobytes() == score.tobytes()
    assert [row["prediction"] for row in found] == (score[:, 0] >= 0).astype(int).tolist()
    assert {row["learner"] for row in found} == {"arow"}
    assert out.keys == [b"k%d" % i for i in range(300)]


def points_of(settings: ModelSettings, learner: str) -> list[bytes]:
    out = Model(settings, 3).advance(records(events()))
    return [value for key, value in out.points if key == f"{learner}/3".encode()]


def test_challengers_do_not_affect_the_champion_and_have_their_own_points() -> None:
    both = SETTINGS["two learners"]
    alone = Model(model_settings("arow"), 3).advance(records(events()))
    together = Model(both, 3).advance(records(events()))
    assert together.predictions == alone.predictions
    for spec in both.specs:
        assert list(map(untested, points_of(both, spec.text))) == points_of(model_settings(spec.text), spec.text)


def test_accuracy_points_come_after_a_fixed_number_of_rows_despite_rejections() -> None:
    out = Model(model_settings(accuracy_every=40), 3).advance(records(SPOILT))
    predicted = [json.loads(value)["offset"] for value in out.predictions]
    found = [json.loads(value) for _, value in out.points]
    assert [point["offset"] for point in found] == predicted[39::40]
    unlabelled = sum(json.loads(value)["y"] is None for value in list(out.predictions)[:40])
    assert unlabelled > len(range(0, 40, 17)), "some labels are set aside"
    assert found[0]["labels"] == 40 - unlabelled
    assert [key for key, _ in out.points] == [b"dfop:mu=0.01/3"] * 7


def test_a_label_is_not_used_before_its_prediction() -> None:
    _, y = drifting()
    with_label = Model(SETTINGS["binary"], 3).advance(records(events()))
    values = events()
    values[200] = values[200].replace(b'"y":%d' % y[200], b'"y":%d' % (1 - y[200]))
    assert values[200] != events()[200]
    flipped = Model(SETTINGS["binary"], 3).advance(records(values))
    scores = [[json.loads(value)["score"] for value in out.predictions] for out in (with_label, flipped)]
    assert scores[0][:201] == scores[1][:201]
    assert scores[0][201:] != scores[1][201:]


def test_regression_predicts_numbers_and_echoes_targets() -> None:
    X, y = drifting(regression=True)
    model = Model(SETTINGS["regression"], 3)
    out = model.advance(records(events(regression=True)))
    learner = learners.create("rls", 4, task="regression", standardize=True)
    score = np.empty((len(X), 1))
    learner.predict_then_update(X, y, score)
    found = [json.loads(value) for value in out.predictions]
    assert np.array([row["score"] for row in found]).tobytes() == score.tobytes()
    assert all(row["prediction"] == row["score"] for row in found)
    assert [row["y"] for row in found] == [None if np.isnan(v) else v for v in y]
    assert "mse" in json.loads(out.points[0][1])


def test_packed_and_json_events_of_the_same_rows_give_the_same_scores() -> None:
    X, y = drifting()
    a = Model(model_settings(), 3).advance(records(events()))
    b = Model(model_settings(form="packed"), 3).advance(records(packed.encode_events(X, y)))
    assert [json.loads(v)["score"] for v in a.predictions] == [json.loads(v)["score"] for v in b.predictions]


def test_latest_points_are_keyed_by_learner_and_empty_before_the_first_row() -> None:
    model = Model(SETTINGS["two learners"], 3)
    assert model.latest_points() == {}
    model.advance(records(events(40)))
    assert list(model.latest_points()) == ["arow", "dfop:mu=0.01", "no_change"]

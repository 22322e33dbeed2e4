"""The library has the bits of a worker, whatever is learned and asked row by row or in tables."""

from __future__ import annotations

import copy
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import driftway as dw
from driftway.learners.metrics.calibrator import Calibrator
from driftway.learners.preprocessing import standardizer
from driftway.learners.spec import Spec
from driftway.library.online import INTERRUPT_ROWS
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.warm_start import FROZEN
from driftway.worker.wire.schema.schema import EventSchema
from tests.unit.worker.rows import drifting, model_settings, records

N, D = 700, 4
X, Y = drifting(N, D)
Y = np.where(np.isnan(Y), 0.0, Y)
NAMES = ("a", "b", "c", "d")
DICTS = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
TABLE = pd.DataFrame(X, columns=list(NAMES))
SHARES = 5, 256, 300, N - 561


def whole(learner: str, task: str = "classification") -> tuple[np.ndarray, np.ndarray]:
    """Return the scores, and the probabilities in millionths, of one batch."""
    made = Spec.parse(learner).create(D, 2, task, standardize=True)
    score = np.empty((N, 1))
    made.predict_then_update(X, Y, score)
    return score, np.zeros(N) if task == "regression" else Calibrator.behind(made).calibrate(score, Y)


@pytest.mark.parametrize("learner", ["pa1", "arow:r=0.5", "gaussian_nb"])
def test_learning_row_by_row_equals_one_batch(learner: str) -> None:
    score, sure = whole(learner)
    model = dw.create(learner)
    for t, (x, y) in enumerate(zip(DICTS, Y.tolist(), strict=True)):
        if t % 3:  # not every row is asked for, and some are asked for more than once
            assert model.predict_one(x) == int(score[t, 0] >= 0.0)
        if t % 2 and t:
            found = model.predict_proba_one(x)
            assert found[int(score[t, 0] >= 0.0)] == pytest.approx(sure[t] / 1e6, abs=1e-12)
        model.learn_one(x, int(y))


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where a shell in the background has made the process ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_stops_a_long_table_between_two_of_its_rows() -> None:
    """What was learned until then equals the same rows learned in one call."""
    rows, y = np.tile(X, (4_000, 1)), np.tile(Y, 4_000)
    model = dw.create("arow").fit(rows[:10], y[:10])
    learner = model.learned()[1].learner
    before = learner.state.memory.tobytes()

    def interrupt(*_: object) -> None:
        if learner.state.memory.tobytes() == before:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
        else:
            signal.raise_signal(signal.SIGINT)

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(rows, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
    stopped = learner.state.memory.tobytes()
    other, at = dw.create("arow").fit(rows[:10], y[:10]), 0
    while other.learned()[1].learner.state.memory.tobytes() != stopped:
        other.partial_fit(rows[at : at + INTERRUPT_ROWS], y[at : at + INTERRUPT_ROWS])
        at += INTERRUPT_ROWS
    assert 0 < at < len(rows)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_between_two_kernels_waits_until_both_have_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A standardiser has a kernel of its own, which runs ahead of the learner's."""
    scale = standardizer.standardize

    def interrupted(*arguments: Any) -> None:
        scale(*arguments)
        signal.raise_signal(signal.SIGINT)

    model, other = dw.create("arow"), dw.create("arow").fit(X, Y)
    with monkeypatch.context() as patch:
        patch.setattr(standardizer, "standardize", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
    assert model.learned()[1].state() == other.learned()[1].state()


def test_regression_row_by_row_equals_one_batch() -> None:
    score, _ = whole("dfop", "regression")
    model = dw.create("dfop", "regression")
    for t, (x, y) in enumerate(zip(DICTS, Y.tolist(), strict=True)):
        if t % 2:
            assert model.predict_one(x) == score[t, 0]
        model.learn_one(x, y)


def test_alternating_tables_and_rows_equal_one_batch() -> None:
    score, sure = whole("arow")
    model, at = dw.create("arow"), 0
    for share in SHARES:
        for t in range(at, at + share // 2):
            model.learn_one(X[t].tolist(), Y[t])
        rows = slice(at + share // 2, at + share)
        assert np.array_equal(model.predict_then_update(X[rows], Y[rows]), score[rows, 0] >= 0.0)
        at += share
    assert at == N
    last = dw.create("arow").partial_fit(X[: N - 1], Y[: N - 1])
    assert last.predict_proba(X[N - 1 :])[0, int(score[-1, 0] >= 0.0)] == sure[-1] / 1e6


def test_predicting_changes_nothing() -> None:
    asked, quiet = dw.create("arow"), dw.create("arow")
    for x, y in zip(DICTS[:300], Y.tolist(), strict=False):
        asked.predict_one(x), asked.predict_proba_one(DICTS[0])
        asked.predict(TABLE[:3]) if asked.__sklearn_is_fitted__() and y else None
        asked.learn_one(x, y)
        quiet.learn_one(x, y)
    assert asked.__getstate__()["_state"] == quiet.__getstate__()["_state"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), "file"])
def test_copies_and_files_continue_with_the_same_bits(copied: Callable[[Any], Any] | str, tmp_path: Path) -> None:
    model = dw.create("arow", classes=["no", "yes"])
    words = np.array(["no", "yes"])[Y.astype(int)]
    for x, y in zip(DICTS[:400], words.tolist(), strict=False):
        model.learn_one(x, y)
    if copied == "file":
        model.save(tmp_path / "a.driftway")
        other = dw.load(tmp_path / "a.driftway")
    else:
        other = copied(model)
    assert (repr(other), other.classes_.tolist()) == (repr(model), ["no", "yes"])
    for x, y in zip(DICTS[400:500], words[400:].tolist(), strict=False):
        assert other.predict_proba_one(x) == model.predict_proba_one(x)
        other.learn_one(x, y), model.learn_one(x, y)


@pytest.mark.parametrize(
    "names", [("0", "1"), ("1", "2"), ("01", "1e3"), ("false", "true"), (False, True), (-1, 1), (0, 1)]
)
def test_a_loaded_model_has_the_labels_that_were_learned(names: tuple[Any, Any], tmp_path: Path) -> None:
    labels = [names[int(y)] for y in Y.tolist()]
    model = dw.create("arow").partial_fit(X[:400], labels[:400])
    model.save(tmp_path / "a.driftway")
    other = dw.load(tmp_path / "a.driftway")
    predicted = other.predict(X).tolist()
    assert predicted == model.predict(X).tolist()
    assert {type(one) for one in predicted} == {type(names[0])}
    assert other.partial_fit(X[400:], labels[400:]).classes_.tolist() == list(names)


def test_a_worker_starts_from_a_saved_model(tmp_path: Path) -> None:
    score, sure = whole("arow")
    model = dw.create("arow").partial_fit(X[:400], Y[:400])
    model.save(tmp_path / "a.driftway")
    warm = model_file.load(tmp_path / "a.driftway").warm_start()
    started = Model(model_settings("arow", n_features=D, warm=warm), 0)
    assert (warm.start == FROZEN, started.champion.state.memory.tobytes()) == (False, model.__getstate__()["_state"][0])
    assert started.monitors.confidence.champion_state == model.__getstate__()["_state"][1]
    assert np.array_equal(model.predict(X[400:401]), score[400:401, 0] >= 0.0)
    assert sure[400] > 0


def test_a_model_that_reads_events_takes_events(tmp_path: Path) -> None:
    schema = EventSchema.parse(("amount", "colour:one-of=red|blue"), label="fraud", missing="mean")
    model = Model(model_settings("arow", events=schema), 0)
    events = [
        b'{"amount": %f, "colour": "%s", "fraud": %d}' % (row[0], b"red" if row[1] > 0 else b"blue", y)
        for row, y in zip(X.tolist(), Y.astype(int).tolist(), strict=True)
    ]
    model.advance(records(events))
    model_file.save(tmp_path / "a.driftway", model_file.pack(model, model.save(), N, {"made_by": "a test"}))
    loaded = dw.load(tmp_path / "a.driftway")
    expected = model.decode(records([b'{"amount": 0.5, "colour": "blue"}'])).X
    score = np.empty((1, 1))
    model.champion.predict(expected, score)
    assert loaded.predict_one({"amount": 0.5, "colour": "blue"}) == int(score[0, 0] >= 0.0)
    twice = [loaded.predict_proba_one({"colour": "red"}) for _ in range(2)]  # filled in, and not learned from
    assert twice[0] == twice[1]
    assert loaded.predict([{"amount": 0.5, "colour": "blue"}, {"colour": "red"}]).shape == (2,)
    with pytest.raises(ValueError, match=r"the event cannot be used: .*amount"):
        loaded.predict_one({"amount": "much", "colour": "red"})
    with pytest.raises(ValueError, match="load its file again instead of copying it"):
        copy.deepcopy(loaded)
    with pytest.raises(ValueError, match="export its file from a worker"):
        loaded.save(tmp_path / "b.driftway")

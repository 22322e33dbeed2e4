"""Labels that arrive a number of rows late, offline: the same bits as a worker on the same order of events."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.producers.delayed_labels import DelayedLabels
from driftway.producers.messages import Messages
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.prequential import Evaluation
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import encode_events
from driftway.worker.wire.events import Target
from tests.unit.worker.rows import model_settings, pieces, records

N, D = 300, 3


def rows(task: str) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(4)
    X = draw.normal(size=(N, D))
    y = X[:, 0] + 0.3 * draw.normal(size=N)
    y = y if task == "regression" else (y > 0).astype(float)
    y[::17] = np.nan
    return X, y


def replayed(X: np.ndarray, y: np.ndarray, delay: str) -> list[bytes]:
    """Return what `driftway replay --label-delay` sends."""
    late = DelayedLabels(delay, 7, None)
    sent: list[bytes] = []
    for start in range(0, N, 64):
        end = min(N, start + 64)
        values = encode_events(X[start:end], np.full(end - start, np.nan), start)
        sent += [value or b"" for value in late.interleave(Messages(start, end - start, values), y[start:end]).values]
    return sent


@pytest.mark.parametrize("delay", [1, 7, 1000])
@pytest.mark.parametrize(
    ("task", "learner"),
    [
        ("classification", "auto"),
        ("classification", "arow"),
        ("classification", "omr:tau=30"),
        ("regression", "arow_regressor"),
        pytest.param("regression", "auto", marks=pytest.mark.slow),  # a kernel that takes long to compile
    ],
)
def test_evaluate_equals_a_worker(task: str, learner: str, delay: int) -> None:
    X, y = rows(task)
    target = Target(task, 0) if task == "regression" else Target()
    evaluation = Evaluation(Spec.parse(learner), target, D, window=50, label_delay=delay)
    scores = np.concatenate([evaluation.step(X[i : i + 41], y[i : i + 41])[0] for i in range(0, N, 41)])
    model = Model(model_settings(learner, target=target, wait=LabelWait(delay + 1)), 3)
    outs = [model.advance(part) for part in pieces(records(replayed(X, y, str(delay))), list(range(0, 600, 29)))]
    emitted = [json.loads(value)["score"] for out in outs for value in out.predictions]
    assert emitted == scores[:, 0].tolist()
    (found,) = evaluation.results("x")
    assert model.latest_points()[learner] == {key: found[key] for key in model.latest_points()[learner]}
    assert not [one for out in outs for one in out.rejected]


def test_a_delay_of_0_equals_no_delay() -> None:
    X, y = rows("classification")
    late, today = (Evaluation(Spec.parse("auto"), Target(), D, label_delay=0) for _ in range(2))
    assert np.array_equal(late.step(X, y)[0], today.step(X, y)[0])


def test_a_delayed_label_is_sent_after_later_rows_with_key_and_partition_of_its_row() -> None:
    late = DelayedLabels("2", 1, ("no", "yes"))
    keys = [b"a", b"b", b"c", b"d"]
    sent = late.interleave(Messages(10, 4, [b"0", b"1", b"2", b"3"], keys), np.array([0.0, np.nan, 1.0, 0.0]))
    assert list(sent.values) == [b"0", b"1", b"2", b'{"id":10,"y":"no"}', b"3"]
    assert list(sent.keys or ()) == [b"a", b"b", b"c", b"a", b"d"]
    assert sent.effective_partition_rows().tolist() == [10, 11, 12, 10, 13]
    assert [share for _, share in sent.by_partition(2)] == [[0, 2, 3], [1, 4]]
    more = late.interleave(Messages(14, 1, [b"4"], [b"e"]), np.array([np.nan]))
    assert list(more.values) == [b"4", b'{"id":12,"y":"yes"}']
    assert sent.of_rows(2, 4).effective_partition_rows().tolist() == [12, 10, 13]


def test_random_delays_depend_only_on_seed_and_row() -> None:
    X, y = rows("classification")
    once, again = (replayed(X, y, "geometric:20") for _ in range(2))
    assert once == again
    order = [json.loads(value)["id"] for value in once if b'"x"' not in value]
    assert order != sorted(order)
    assert len(order) > N // 2


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1.5", "geometric", "geometric:0", "uniform:3", "column", "column:", "9" * 20]
)
def test_an_invalid_delay_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageFailure, match="label-delay"):
        DelayedLabels(text, 1, None)

"""What predictions say of how sure they are, in either format: all combinations of fields, and sets of many classes."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from driftway.worker.admin.audit.diff import confidence_of, fields
from driftway.worker.wire.codec import encode_predictions
from driftway.worker.wire.columns import Confidence
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Batch, Target
from driftway.worker.wire.json_tokens.class_sets import set_texts
from driftway.worker.wire.packed import decode_predictions
from driftway.worker.wire.packed import encode_predictions as pack
from tests.unit.worker.rows import events, records

N = 40
COMBINED = list(itertools.product((True, False), (1, 4), ("", "arow")))


def batch(target: Target) -> Batch:
    return Decoder(target).decode(records(events(N, regression=not target.n_classes)))


@pytest.mark.parametrize("n_classes", [2, 3, 8, 9, 40])
@pytest.mark.parametrize(("with_sure", "plan", "challenger"), COMBINED)
def test_sets_are_the_same_in_both_formats(n_classes: int, with_sure: bool, plan: int, challenger: str) -> None:
    rng, target = np.random.default_rng(n_classes), Target(n_classes=n_classes)
    rows, k = batch(target), 1 if n_classes == 2 else n_classes
    score, predicted = rng.normal(size=(N, k)), rng.integers(n_classes, size=N)
    members = rng.random((N, n_classes)) < rng.random((N, 1))
    members[0], members[1] = True, False
    sure = rng.integers(10**6 // n_classes, 10**6, N) if with_sure else None
    confidence = Confidence(sure, members=members)
    plain = [json.loads(v) for v in encode_predictions(rows, score, predicted * 1.0, target, "arow", plan, confidence)]
    compact = [fields(v) for v in pack(rows, score, predicted, target, plan, confidence, challenger).to_list()]
    for i, (one, other) in enumerate(zip(plain, compact, strict=True)):
        assert one["set"] == np.flatnonzero(members[i]).tolist()
        assert confidence_of(other) == confidence_of(one)
        assert other["scores"] == (one["score"] if k > 1 else [one["score"]])
        assert other["id"] == json.dumps(one["id"]).encode()
        assert (other.get("learner", ""), one.get("plan", 1)) == (challenger, plan)


@pytest.mark.parametrize("plan", [1, 4])
def test_intervals_are_the_same_in_both_formats_and_an_end_may_be_missing(plan: int) -> None:
    rng, target = np.random.default_rng(3), Target("regression", 0)
    rows, score = batch(target), rng.normal(size=(N, 1)) * 1e9
    width = np.exp(rng.normal(size=N) * 100.0)
    width[:3] = math.inf
    confidence = Confidence(ends=(score[:, 0] - width, score[:, 0] + width))
    plain = [json.loads(v) for v in encode_predictions(rows, score, score[:, 0], target, "rls", plan, confidence)]
    packed = pack(rows, score, score[:, 0], target, plan, confidence).to_list()
    for i, one in enumerate(plain):
        finite = math.isfinite(width[i])
        assert one["low"] == (score[i, 0] - width[i] if finite else None)
        assert one["high"] == (score[i, 0] + width[i] if finite else None)
        assert one["score"] == one["prediction"] == score[i, 0]
        assert list(one)[3:8] == ["prediction", "score", "low", "high", "y"]
    assert [confidence_of(fields(value)) for value in packed] == [confidence_of(one) for one in plain]
    assert np.isneginf(decode_predictions(packed).low[:3]).all()


def test_a_packed_prediction_with_a_field_that_is_not_known_is_refused() -> None:
    target, score = Target("regression", 0), np.zeros((N, 1))
    value = bytearray(
        pack(batch(target), score, score[:, 0], target, 2, Confidence(ends=(score[:, 0], score[:, 0])))[0]
    )
    assert value[0] == 3
    value[40] |= 32
    with pytest.raises(ValueError, match="fields that this version does not know"):
        decode_predictions([bytes(value)])


def test_sets_are_written_as_lists_of_labels() -> None:
    members = np.array([[True, False, True], [False, False, False], [True, True, True]])
    text, bounds = set_texts(members, [b'"a"', b"-1", b'"\\u00e9"'])
    assert [text[start:end].tobytes() for start, end in bounds.T] == [b'"a","\\u00e9"', b"", b'"a",-1,"\\u00e9"']
    assert len(text) - bounds[1, -1] >= 32

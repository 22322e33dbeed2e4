"""An unusable label is set aside, and its event is predicted like one without a label, bit for bit."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records
from driftway.worker.wire.rejections import RejectionLimit, headers_of, is_set_aside, kind_of
from driftway.worker.wire.schema.schema import EventSchema
from tests.unit.worker.rows import events, model_settings, pieces, records

BAD = {3: 7, 4: "yes", 11: [1], 12: {"a": 1}, 60: "maybe", 61: -0.5, 299: 1e300}
"""Row -> a label that is not one of 0 and 1."""


def labelled(bad: dict[int, Any]) -> list[bytes]:
    return [
        json.dumps({**json.loads(value), **({"y": bad[i]} if i in bad else {})}).encode()
        for i, value in enumerate(events())
    ]


def packed(values: list[bytes], bad: dict[int, float]) -> list[bytes]:
    rows = [json.loads(value) for value in values]
    labels = [bad.get(i, np.nan if row.get("y") is None else row["y"]) for i, row in enumerate(rows)]
    return [struct.pack("<BBd4d", 1, 8, label, *row["x"]) for label, row in zip(labels, rows, strict=True)]


def mapped(values: list[bytes]) -> list[bytes]:
    return [
        json.dumps({**dict(zip("abcd", json.loads(v)["x"], strict=True)), **json.loads(v)}).encode() for v in values
    ]


NULLS = dict.fromkeys(BAD)
NUMBERS = dict.fromkeys(BAD, 7.0)
MAPPED = EventSchema.parse(list("abcd"), missing="mean")
FORMS = {
    "json": ({}, labelled(BAD), labelled(NULLS)),
    "delayed": ({"wait": LabelWait(50)}, labelled(BAD), labelled(NULLS)),
    "packed": ({"form": "packed"}, packed(events(), NUMBERS), packed(events(), dict.fromkeys(BAD, np.nan))),
    "schema": ({"events": MAPPED}, mapped(labelled(BAD)), mapped(labelled(NULLS))),
}


def run(settings: ModelSettings, parts: list[Records], since: int = 0) -> tuple[Model, list[Outputs]]:
    model = Model(settings, 3)
    model.decoder.set_aside_from = since
    return model, [model.advance(part) for part in parts]


def state(model: Model) -> list[bytes]:
    return [part.tobytes() for part in model.save().parts]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cuts", [[], [4, 5, 61]])
def test_an_event_with_an_unusable_label_is_predicted_as_one_without_a_label(form: str, cuts: list[int]) -> None:
    options, bad, without = FORMS[form]
    settings = model_settings("auto", "arow", **options)
    model, found = run(settings, pieces(records(bad), cuts))
    plain, expected = run(settings, [records(without)])
    assert [v for out in found for v in out.predictions] == list(expected[0].predictions)
    assert [p for out in found for p in out.points] == expected[0].points
    assert state(model) == state(plain)
    told = [one for out in found for one in out.rejected]
    assert [one.offset for one in told] == list(BAD)
    assert all(one.set_aside and one.value == bad[one.offset] for one in told)
    assert {kind_of(one.reason, one.set_aside) for one in told} == {"label"}


@pytest.mark.parametrize("form", FORMS)
def test_an_event_before_the_offset_is_rejected_as_by_earlier_versions(form: str) -> None:
    options, bad, without = FORMS[form]
    settings = model_settings("auto", "arow", **options)
    _, (new,) = run(settings, [records(bad)])
    model, (old,) = run(settings, [records(bad)], since=60)
    rejected = [one.offset for one in old.rejected if not one.set_aside]
    assert rejected == [i for i in BAD if i < 60]
    assert old.rows == len(bad) - len(rejected)
    assert [(one.offset, one.reason) for one in old.rejected] == [(one.offset, one.reason) for one in new.rejected]
    kept = [(i, v) for i, v in enumerate(without) if i not in rejected]
    offsets, values = np.array([i for i, _ in kept]), ListColumn([v for _, v in kept])
    none = ListColumn([None] * len(kept))
    plain, _ = run(settings, [Records(0, offsets, values, none, np.asarray(records(bad).timestamps)[offsets])])
    assert state(model) == state(plain)


def test_a_first_event_with_an_unusable_label_fixes_the_schema() -> None:
    first = [b'{"x":[1,2],"y":"?"}', b'{"x":[1,2,3],"y":1}', b'{"x":[3,4],"y":1}']
    _, (out,) = run(model_settings(), [records(first)])
    assert (out.offsets.tolist(), [one.offset for one in out.rejected]) == ([0, 2], [0, 1])
    _, (old,) = run(model_settings(), [records(first)], since=3)
    assert (old.offsets.tolist(), [one.set_aside for one in old.rejected]) == ([1], [False, False])


def test_unusable_features_reject_the_event_whatever_its_label() -> None:
    for options, value in (
        ({}, b'{"x":[1,"a"],"y":7}'),
        ({"form": "packed"}, struct.pack("<BBd2d", 1, 8, 7.0, 1.0, np.inf)),
        ({"events": EventSchema.parse(["a", "b"])}, b'{"a":1,"b":[],"y":7}'),
    ):
        _, (out,) = run(model_settings(n_features=None if "events" in options else 2, **options), [records([value])])
        (one,) = out.rejected
        assert not one.set_aside
        assert "label" not in one.reason
        assert out.rows == 0


@pytest.mark.parametrize("y", ['"1.5"', "true", "{}", "[1]"])
def test_a_target_that_is_not_finite_is_set_aside_too(y: str) -> None:
    value = f'{{"x":[1,2,3],"y":{y}}}'.encode()
    _, (out,) = run(model_settings("rls", task="regression"), [records([value])])
    (one,) = out.rejected
    assert (out.rows, one.set_aside, kind_of(one.reason, one.set_aside)) == (1, True, "label")


def test_labels_of_earlier_events_are_records_of_the_same_kind() -> None:
    values = [
        b'{"id":1,"x":[1,2]}',
        b'{"id":1,"y":7}',
        b'{"id":9,"y":1}',
        b'{"id":1,"y":null}',
        b'{"id":1,"y":1}',
        b"?",
    ]
    _, (out,) = run(model_settings("pa1", wait=LabelWait(9)), [records(values)])
    assert [(one.offset, one.set_aside) for one in out.rejected] == [(1, True), (2, True), (3, True), (5, False)]
    _, (old,) = run(model_settings("pa1", wait=LabelWait(9)), [records(values)], since=9)
    assert [(one.offset, one.set_aside) for one in old.rejected] == [(i, False) for i in (1, 2, 3, 5)]


def test_the_record_has_a_header_that_only_the_label_was_set_aside() -> None:
    _, (out,) = run(model_settings(), [records([b'{"x":[1],"y":7}', b"?"])])
    label, event = (dict(headers_of(one, "E", 3)) for one in out.rejected)
    assert label["set-aside"] == b"label"
    assert (is_set_aside(label), is_set_aside(event)) == (True, False)
    assert list(event) == ["reason", "topic", "partition", "offset", "timestamp", "headers"]


def test_max_rejected_counts_an_event_with_an_unusable_label_once() -> None:
    settings = model_settings(max_rejected=RejectionLimit.parse("0.5/4"))
    bad, good = b'{"x":[1],"y":7}', b'{"x":[1],"y":1}'
    _, (out,) = run(settings, [records([good, bad, good, bad, good, bad])])
    assert out.excess is None
    _, (out,) = run(settings, [records([good, bad, bad, b"?", bad])])
    assert str(out.excess).startswith("partition 3: 3 of its last 4 events were rejected, more than")
    _, (out,) = run(settings, [records([bad, bad, bad])])
    assert "3 of its last 3 events were rejected or had their label set aside, more" in str(out.excess)

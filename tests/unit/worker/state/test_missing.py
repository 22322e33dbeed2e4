"""Missing values in a model: the same bits wherever batches are cut and wherever the model is saved and loaded."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftway.worker.errors import UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.wire.events import Records, Schema
from driftway.worker.wire.packed import encode_events as encode_packed
from driftway.worker.wire.schema.feature import MissingPolicy
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.selection import slow_but_each_once
from tests.unit.worker.rows import drifting, model_settings, pieces, records, wire

N, D = 300, 4
NAMES = ("a", "b", "c", "d")


def lacking() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which about every fifth value is missing."""
    X, y = drifting(N, D)
    X[np.random.default_rng(8).random(X.shape) < 0.2] = np.nan
    return X, y


def nullable(value: float) -> float | None:
    return None if np.isnan(value) else value


def mapped(i: int, row: list[float], label: float) -> bytes:
    """Return an event whose missing values are null if `i` is odd, and absent otherwise."""
    pairs = {name: nullable(value) for name, value in zip(NAMES, row, strict=True)}
    event = {name: value for name, value in pairs.items() if value is not None or i % 2}
    return json.dumps({"id": i, **event, "y": nullable(label)}).encode()


def plain(i: int, row: list[float], label: float) -> bytes:
    return json.dumps({"id": i, "x": [*map(nullable, row)], "y": nullable(label)}).encode()


def named(i: int, row: list[float], label: float) -> bytes:
    pairs = {name: nullable(value) for name, value in zip(NAMES, row, strict=True)}
    x = {name: value for name, value in pairs.items() if value is not None or i % 2}
    return json.dumps({"id": i, "x": x, "y": nullable(label)}).encode()


POLICIES = ("mean", "last", "0.5")


def made(form: str, missing: str, indicators: bool) -> tuple[ModelSettings, Records]:
    X, y = lacking()
    policy: dict[str, Any] = {"missing": MissingPolicy.parse(missing), "indicators": indicators}
    if form == "packed":
        return model_settings(form="packed", n_features=D, **policy), records(list(encode_packed(X, y)))
    if form == "mapped":
        policy = {"events": EventSchema.parse(NAMES, missing=missing, indicators=indicators)}
    else:
        policy |= {"n_features": D, "feature_names": NAMES if form == "named" else None}
    write = {"mapped": mapped, "plain": plain, "named": named}[form]
    values = [write(i, *pair) for i, pair in enumerate(zip(X.tolist(), y.tolist(), strict=True))]
    return model_settings(**policy), records(values)


@pytest.mark.parametrize(
    ("form", "missing", "indicators"),
    slow_but_each_once(["mapped", "plain", "named", "packed"], POLICIES, [False, True]),
)
def test_cuts_and_restarts_anywhere_change_no_bit(form: str, missing: str, indicators: bool) -> None:
    settings, whole = made(form, missing, indicators)
    once = Model(settings, 3)
    out = once.advance(whole)
    assert (out.rows, out.rejected) == (N, [])
    cuts = np.random.default_rng(1).integers(0, N, 12).tolist()
    cut, going = Model(settings, 3), Model(settings, 3)
    expected, several, restarted = wire([out]), [], []
    for part in pieces(whole, cuts):
        several.append(cut.advance(part))
        fresh = Model(settings, 3)
        fresh.load(going.save())
        going = fresh
        restarted.append(going.advance(part))
    assert wire(several) == expected
    assert wire(restarted) == expected
    for model in (cut, going):
        assert [part.tobytes() for part in model.save().parts] == [part.tobytes() for part in once.save().parts]


@pytest.mark.parametrize("missing", POLICIES)
def test_every_format_learns_the_same(missing: str) -> None:
    """The same rows, filled in the same way, whatever their format."""
    states = []
    for form in ("mapped", "plain", "named", "packed"):
        settings, whole = made(form, missing, indicators=True)
        model = Model(settings, 3)
        model.advance(whole)
        states.append([part.tobytes() for part in model.save().parts])
    assert states == [states[0]] * 4


def test_missing_values_are_replaced_by_the_policy_of_their_column() -> None:
    schema = EventSchema.parse(["a:missing=last,indicator", "b:one-of=x|y,missing=mean", "c:missing=7"])
    model = Model(model_settings(events=schema), 3)
    values = [b'{"a":2,"b":"x","c":1}', b"{}", b'{"a":4,"b":"y"}', b'{"b":null,"c":null}']
    batch = model.decode(records(values))
    assert model.columns == ("a", "b=x", "b=y", "c", "a missing")
    assert batch.X.tolist() == [[2, 1, 0, 1, 0], [2, 1, 0, 7, 1], [4, 0, 1, 7, 0], [4, 0.5, 0.5, 7, 1]]


def test_rejected_events_do_not_affect_replacement_values() -> None:
    schema = EventSchema.parse(["a:missing=mean", "b"])
    model = Model(model_settings(events=schema), 3)
    batch = model.decode(records([b'{"a":2,"b":1}', b'{"a":1000}', b'{"a":1000,"b":"x"}', b'{"b":1}']))
    assert batch.X.tolist() == [[2, 1], [2, 1]]


def test_without_a_policy_missing_values_are_rejected_as_before() -> None:
    model = Model(model_settings(n_features=2), 3)
    out = model.advance(records([b'{"x":[1,null]}', b'{"x":[1,2]}']))
    assert [bad.reason for bad in out.rejected] == ["x[1] is not a number"]
    assert model.columns == ("x[0]", "x[1]")


def test_a_first_event_without_all_values_fixes_the_schema() -> None:
    model = Model(model_settings(missing=MissingPolicy("mean")), 3)
    out = model.advance(records([b'{"x":[null,2]}', b'{"x":[1,2,3]}', b'{"x":[3,null]}']))
    assert model.schema == Schema(2)
    assert [bad.reason for bad in out.rejected] == ["x has 3 features, expected 2"]


def test_indicators_need_a_policy() -> None:
    with pytest.raises(UsageFailure, match="--missing-indicators: say with --missing"):
        replace(model_settings(), indicators=True)

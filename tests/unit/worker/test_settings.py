"""What a worker is told: refused before anything starts, or taken as it is."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from learners import Spec
from worker.errors import UsageFailure
from worker.events import Target
from worker.settings import ModelSettings, WorkerSettings

SPEC = Spec.parse("dfop:mu=0.01")
MODEL = ModelSettings((SPEC,))


def worker(**more: Any) -> WorkerSettings:
    return WorkerSettings("h:1", "EVENTS", "g", MODEL, **more)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"specs": ()}, "name at least one --learner"),
        ({"specs": (SPEC, Spec.parse(" dfop:mu=0.01"))}, "the same --learner is given twice"),
        ({"form": "xml"}, "format must be one of json, packed"),
        ({"output_form": "xml"}, "output-format must be one of json, packed"),
        (
            {"output_form": "packed", "target": Target("classification", 65_536)},
            "packed predictions hold at most 65535 scores: use --output-format json",
        ),
        ({"window": 0}, "window and accuracy-every must be >= 1"),
        ({"accuracy_every": 0}, "window and accuracy-every must be >= 1"),
        ({"n_features": 0}, "features must be >= 1"),
        ({"target": Target("regression", 0, ("a", "b"))}, "labels belong to classification"),
    ],
)
def test_impossible_model_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageFailure) as caught:
        ModelSettings(**{"specs": (SPEC,), **given})
    assert str(caught.value) == words


@pytest.mark.parametrize("name", ["commit_interval", "snapshot_interval", "snapshot_rows"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_impossible_interval_is_refused(name: str, value: float) -> None:
    with pytest.raises(UsageFailure, match=r"must be > 0$"):
        worker(**{name: value})


def test_the_same_learner_with_other_parameters_is_another_learner() -> None:
    assert len(ModelSettings((SPEC, Spec.parse("dfop:mu=0.02"), Spec.parse("dfop"))).specs) == 3


@pytest.mark.parametrize("settings", [MODEL, worker()])
def test_settings_are_frozen(settings: Any) -> None:
    for field in dataclasses.fields(settings):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(settings, field.name, None)


def test_policies_refuse_by_default() -> None:
    made = worker()
    assert (made.if_unrestorable, made.if_offset_lost, made.guarantee) == ("refuse", "refuse", "exactly-once")
    assert (made.start, made.stop_at_end) == ("earliest", False)


def test_topics_are_named_after_input_and_group() -> None:
    assert worker().topics.outputs() == (
        "EVENTS.predictions",
        "EVENTS.accuracy",
        "EVENTS.rejected",
        "EVENTS.g.snapshots",
    )


@pytest.mark.parametrize(
    ("passthrough", "incremental"),
    [
        ({}, False),
        ({"group.protocol": "classic"}, False),
        ({"group.protocol": "consumer"}, True),
        ({"partition.assignment.strategy": "range"}, False),
        ({"partition.assignment.strategy": "cooperative-sticky"}, True),
    ],
)
def test_handing_over_one_by_one_follows_from_the_protocol(passthrough: dict[str, str], incremental: bool) -> None:
    assert worker(passthrough=passthrough).incremental is incremental

"""A worker's settings: refused before anything starts, or accepted as given."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import pytest

from driftway.learners import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.topics import Topics, in_topics
from driftway.worker.settings import FORBIDDEN_PROPERTIES, ModelSettings, WorkerSettings
from driftway.worker.wire.events import Target

SPEC = Spec.parse("dfop:mu=0.01")
MODEL = ModelSettings((SPEC,))


def worker(**more: Any) -> WorkerSettings:
    return WorkerSettings("h:1", "EVENTS", "g", MODEL, **more)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"specs": ()}, "name at least one --learner"),
        ({"specs": (SPEC, Spec.parse(" dfop:mu=0.01"))}, "the same --learner is given twice"),
        ({"form": "xml"}, "format must be one of json, packed, avro, protobuf, json-schema"),
        ({"output_form": "xml"}, "output-format must be one of json, packed, avro, protobuf, json-schema"),
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
    parsed = worker()
    assert (parsed.on_restore_failure, parsed.on_offset_out_of_range, parsed.guarantee) == (
        "fail",
        "fail",
        "exactly-once",
    )
    assert (parsed.start, parsed.stop_at_end) == ("earliest", False)


def test_topics_are_named_after_input_and_group() -> None:
    assert worker().topics.outputs() == (
        "EVENTS.g.predictions",
        "EVENTS.g.accuracy",
        "EVENTS.g.rejected",
        "EVENTS.g.snapshots",
    )


def test_only_where_detectors_watch_there_is_a_topic_of_alarms() -> None:
    watched = WorkerSettings("b:1", "EVENTS", "g", dataclasses.replace(MODEL, detectors=(Spec.parse("adwin"),)))
    assert set(watched.topics.outputs()) - set(worker().topics.outputs()) == {"EVENTS.g.alarms"}
    with pytest.raises(UsageFailure, match=r"one of the outputs would be the input, A\.alarms"):
        WorkerSettings("b:1", "A.alarms", "g", MODEL, outputs="A")


def test_the_classic_protocol_is_taken_unless_somebody_says_otherwise() -> None:
    assert worker().protocol == "classic"
    for word in ("consumer", "Consumer", "CONSUMER"):  # the client takes any case
        assert worker(passthrough={"group.protocol": word}).protocol == "consumer"


@pytest.mark.parametrize("key", FORBIDDEN_PROPERTIES)
def test_properties_that_defeat_a_promise_are_refused_with_the_reason(key: str) -> None:
    with pytest.raises(
        UsageFailure, match=f"client property {key} cannot be set for a worker: {FORBIDDEN_PROPERTIES[key]}"
    ):
        worker(passthrough={key: "1"})


def test_transactional_ids_of_two_groups_and_inputs_are_never_alike() -> None:
    names = ["a", "b", "a-b", "b-a", "a/b", "a.b"]
    parsed = [
        WorkerSettings("b:1", topic, group, MODEL, transactional_id_prefix=prefix).transactional_id(partition)
        for prefix in ("", "team.")
        for group in names
        for topic in names
        if "/" not in topic
        for partition in (0, 1)
    ]
    assert len(set(parsed)) == len(parsed)
    assert parsed[0] == "a/a/0"
    assert parsed[-1].startswith("team.")


def test_snapshot_topics_of_two_groups_and_inputs_are_never_alike() -> None:
    groups = ["a", "b", "c", "a.b", "b.c", "a.b.c", "b-c", "b_c", "b/c", "b c", in_topics("b.c"), in_topics("b c")]
    parsed = {
        (topic, group): Topics(topic, group).snapshots for topic in ("a", "b", "a.b", "a.b.c") for group in groups
    }
    assert len(set(parsed.values())) == len(parsed)
    assert Topics("EVENTS", "my-group_1").snapshots == "EVENTS.my-group_1.snapshots"
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in parsed.values())

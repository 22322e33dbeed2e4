"""`driftway topics`: the topics it creates, and its messages if some are missing or differ."""

from __future__ import annotations

import json

import pytest

from driftway.worker.kafka.topics import partition_counts
from tests.support.kafka import admin, create_topic
from tests.support.process import driftway


def topics(verb: str, kafka: str, topic: str, *more: str) -> tuple[int, str]:
    finished = driftway("topics", verb, "--bootstrap", kafka, "--input", topic, "--partitions", "3", *more)
    assert "Traceback" not in finished.stderr
    return finished.code, finished.stderr


def test_topics_create_creates_all_topics_and_topics_check_passes(kafka: str, topic: str, group: str) -> None:
    assert topics("create", kafka, topic, "--group", group)[0] == 0
    present = partition_counts(admin(kafka).list_topics(timeout=10))
    own = {name: count for name, count in present.items() if name.startswith(topic)}
    outputs = ("predictions", "accuracy", "rejected", "snapshots")
    assert own == {topic: 3, **{f"{topic}.{group}.{name}": 3 for name in outputs}}
    assert topics("check", kafka, topic, "--group", group) == (
        0,
        f"5 topics of {topic} are set up as expected\n",
    )
    assert topics("check", kafka, topic) == (0, f"1 topic of {topic} is set up as expected\n")
    again = topics("create", kafka, topic, "--group", group)
    assert again[0] == 0
    assert "created" not in again[1]


@pytest.mark.parametrize("option", ["alarms", "challengers", "shares"])
def test_optional_outputs_are_created_and_checked_with_their_option(
    kafka: str, topic: str, group: str, option: str
) -> None:
    assert topics("create", kafka, topic, "--group", group)[0] == 0
    assert topics("check", kafka, topic, "--group", group, f"--{option}") == (
        1,
        f"driftway: {topic}.{group}.{option} is missing\n",
    )
    printed = topics("create", kafka, topic, "--group", group, f"--{option}")[1].splitlines()
    assert [line for line in printed if "created" in line] == [f"created {topic}.{group}.{option} (3 partitions)"]
    assert topics("check", kafka, topic, "--group", group, f"--{option}")[0] == 0


def test_topics_check_names_missing_and_different_topics(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 2)
    create_topic(kafka, f"{topic}.{group}.snapshots", 3)
    code, output = topics("check", kafka, topic, "--group", group)
    assert code == 1
    assert f"{topic} has 2 partitions, not 3" in output
    assert f"{topic}.{group}.predictions is missing" in output
    assert f"{topic}.{group}.snapshots has cleanup.policy delete, not compact" in output


def test_a_name_that_differs_only_in_dots_is_refused_with_the_way_out(kafka: str, topic: str) -> None:
    """Kafka takes both characters for the same in names of metrics."""
    create_topic(kafka, topic)
    create_topic(kafka, f"{topic}_g_predictions")
    group = "--input", topic, "--group", "g", "--bootstrap", kafka, "--learner", "pa1"
    refused = driftway("worker", *group, "--stop-at-end")
    assert refused.code == 1
    assert refused.stderr.endswith("choose another, for outputs with --output-prefix\n")
    (outputs,) = [
        one for one in json.loads(driftway("check", *group, "--json").stdout)["checks"] if one["status"] == "error"
    ]
    assert outputs["command"].endswith(" --output-prefix PREFIX")
    assert driftway("worker", *group, "--output-prefix", f"{topic}.mine", "--stop-at-end").code == 0


def test_topics_create_refuses_another_number_of_partitions(kafka: str, topic: str) -> None:
    create_topic(kafka, topic, 2)
    assert topics("create", kafka, topic) == (2, f"driftway: topic {topic} has 2 partitions, not 3\n")


def test_a_property_that_driftway_sets_itself_is_refused_with_the_reason(kafka: str, topic: str) -> None:
    code, output = topics("check", kafka, topic, "-X", "isolation.level=read_uncommitted")
    assert code == 2
    assert "isolation.level cannot be set" in output


def test_topics_without_a_broker_ends_with_exit_code_5() -> None:
    code, output = topics("check", "127.0.0.1:1", "nothing")
    assert code == 5
    assert output.startswith("driftway: no Kafka broker answered at 127.0.0.1:1")
    assert output.count("\n") == 1

"""The judgement of each check of `driftway check`, over descriptions of clusters, topics, samples and machines."""

from __future__ import annotations

import dataclasses
import json
import shlex
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.learners.spec import Spec
from driftway.worker.admin.check import access, cluster, events, finding, machine, retention, topics
from driftway.worker.admin.check.commands import Commands
from driftway.worker.admin.check.facts import ClusterState, TopicFacts
from driftway.worker.admin.check.finding import ERROR, OK, SKIPPED, WARNING, Finding
from driftway.worker.admin.check.sample import Decoded, Sample
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.wire.events import Schema
from driftway.worker.wire.rejections import RejectionLimit
from driftway.worker.wire.schema.schema import EventSchema

COMMANDS = Commands("k:9092", "E", "g", "ann", options=("--learner", "arow"), client=("-X", "acks=all"))
CONFIG = {"cleanup.policy": "delete", "min.insync.replicas": "1", "retention.ms": "-1", "retention.bytes": "-1"}
BROKER = {
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.min.session.timeout.ms": "6000",
    "group.max.session.timeout.ms": "1800000",
    "default.replication.factor": "1",
}
HOUR, DAY = 3_600_000, 86_400_000


def settings(
    passthrough: dict[str, Any] | None = None, model: dict[str, Any] | None = None, **more: Any
) -> WorkerSettings:
    what = ModelSettings((Spec.parse("arow"),), **(model or {}))
    return WorkerSettings("k:9092", "E", "g", what, passthrough=passthrough or {}, **more)


def topic(name: str = "E", replicas: tuple[tuple[int, ...], ...] = ((1,), (1,)), **config: str) -> TopicFacts:
    """A topic all of whose replicas are in sync; in the names of settings, _ stands for a dot."""
    written = CONFIG | {key.replace("_", "."): value for key, value in config.items()}
    return TopicFacts(name, replicas, tuple(map(len, replicas)), written, frozenset(("READ", "WRITE", "ALTER")))


def state(*found: TopicFacts, brokers: tuple[int, ...] = (1,), config: dict[str, str] | None = None) -> ClusterState:
    by_name = {one.name: one for one in found}
    broker_config = BROKER if config is None else config
    return ClusterState(brokers, by_name, {name: one.partitions for name, one in by_name.items()}, broker_config)


def outcome(one: Finding) -> tuple[str, str]:
    return one.check, one.status


def test_a_command_starts_the_same_worker_with_one_more_option() -> None:
    words = shlex.split(COMMANDS.worker("-X", "session.timeout.ms=6000"))
    assert words == [
        "driftway", "worker", "--input", "E", "--group", "g", "--bootstrap", "k:9092", "-X", "acks=all",
        "--learner", "arow", "-X", "session.timeout.ms=6000",
    ]  # fmt: skip
    assert COMMANDS.worker("-X", "acks=1").endswith("--bootstrap k:9092 --learner arow -X acks=1")
    given = dataclasses.replace(COMMANDS, options=("--commit-interval", "9", "--http-port", "9"))
    assert given.worker("--http-port", "9").endswith(" -X acks=all --commit-interval 9 --http-port 9")
    assert COMMANDS.warm() == "driftway warm --learner arow"
    assert dataclasses.replace(COMMANDS, before=("--config", "a b")).warm().startswith("driftway --config 'a b' warm")


def test_the_plan_to_add_replicas_keeps_the_present_ones() -> None:
    command = COMMANDS.add_replicas("T", ((2,), (1,)), (1, 2, 3), 3)
    plan = json.loads(shlex.split(command)[1])
    assert [part["partition"] for part in plan["partitions"]] == [0, 1]
    for part, leader in zip(plan["partitions"], (2, 1), strict=True):
        assert part["replicas"][0] == leader
        assert sorted(part["replicas"]) == [1, 2, 3]


def test_the_command_to_grant_a_right_on_a_prefix_is_complete() -> None:
    command = COMMANDS.grant("transactional-id", "g/E/*", ["WRITE"])
    assert command == (
        "kafka-acls.sh --bootstrap-server k:9092 --add --allow-principal User:ann --operation WRITE "
        "--transactional-id g/E/ --resource-pattern-type prefixed"
    )


def test_exit_codes_distinguish_errors_from_warnings() -> None:
    ok, skipped = Finding("a", "b", OK, ""), Finding("a", "b", SKIPPED, "")
    warning, error = Finding("a", "b", WARNING, ""), Finding("a", "b", ERROR, "", exit_code=4)
    assert finding.exit_code([]) == finding.exit_code([ok, skipped]) == 0
    assert finding.exit_code([ok, warning, skipped]) == 6
    assert finding.exit_code([warning, error, Finding("a", "b", ERROR, "", exit_code=1)]) == 4
    assert (
        finding.in_words([ok, Finding("a", "b", WARNING, "why"), error]) == "1 error and 1 warning, the first error: "
    )
    assert finding.in_words([ok, Finding("a", "b", WARNING, "why"), warning]) == "2 warnings, the first one: why"
    found = finding.as_object([ok, warning])
    assert found["status"] == WARNING
    assert found["counts"] == {"ok": 1, "skipped": 0, "warning": 1, "error": 0}
    assert found["checks"][1] == {"group": "a", "check": "b", "status": "warning", "sentence": "", "command": ""}


@pytest.mark.parametrize(
    ("config", "release", "status"),
    [
        ({"inter.broker.protocol.version": "3.9-IV0", "zookeeper.connect": ""}, (3, 9), OK),
        ({"inter.broker.protocol.version": "3.2-IV0"}, (3, 2), WARNING),
        (BROKER, (4, 0), OK),
        ({**BROKER, "zookeeper.connect": "z"}, None, SKIPPED),
        ({"a": "b"}, None, SKIPPED),
    ],
)
def test_untested_old_brokers_are_a_warning(config: dict[str, str], release: Any, status: str) -> None:
    assert cluster.release(config) == release
    assert cluster.check_brokers(state(config=config)).status == status


def test_a_client_version_that_leaks_memory_is_a_warning() -> None:
    assert cluster.check_client("2.13.1", "2.12.1").status == WARNING
    assert cluster.check_client("2.13.2", "2.13.0").status == OK
    assert cluster.check_client("2.13.2rc1", "2.13.0").status == WARNING


@pytest.mark.parametrize(
    ("given", "config", "status", "words"),
    [
        ({}, {}, OK, "6000 ms"),
        ({"session.timeout.ms": "5000"}, {}, ERROR, "the brokers allow 6000"),
        ({"session.timeout.ms": "6000"}, {}, OK, "6000 ms"),
        ({"session.timeout.ms": "6000", "heartbeat.interval.ms": "6000"}, {}, ERROR, "between two heartbeats"),
        ({"group.protocol": "consumer"}, {}, OK, "consumer"),
        ({"group.protocol": "consumer"}, {"group.coordinator.rebalance.protocols": "classic"}, ERROR, "do not offer"),
    ],
)
def test_the_group_protocol_is_judged(given: dict[str, str], config: dict[str, str], status: str, words: str) -> None:
    found = cluster.check_protocol(state(config=BROKER | config), settings(given), COMMANDS)
    assert found.status == status
    assert words in found.sentence
    assert (found.command != "") == (status == ERROR)


def test_a_missing_input_and_unsuitable_topics_are_errors() -> None:
    missing = topics.check_input(state(), settings(), COMMANDS)
    assert (missing.status, missing.exit_code) == (ERROR, 2)
    assert missing.command.startswith("driftway topics create --input E --partitions 1 ")
    assert topics.check_input(state(topic()), settings(), COMMANDS).status == OK
    own = dataclasses.replace(settings(), input="__consumer_offsets")
    assert "an internal topic of Kafka" in topics.check_input(state(), own, COMMANDS).sentence
    circle = dataclasses.replace(settings(), input="E.g.predictions")
    assert (
        "an output of group g"
        in topics.check_input(state(topic(), topic("E.g.predictions")), circle, COMMANDS).sentence
    )


@pytest.mark.parametrize(
    ("labels", "command"),
    [
        (None, "driftway topics create --input L --partitions 2 "),
        (1, "kafka-topics.sh --bootstrap-server k:9092 --alter --topic L --partitions 2"),
        (3, "driftway topics create --input NAME --partitions 2 "),
        (2, ""),
    ],
)
def test_the_label_topic_must_exist_with_the_partitions_of_the_input(labels: int | None, command: str) -> None:
    asked = settings(model={"wait": LabelWait(10)}, label_topic="L")
    there = () if labels is None else (topic("L", ((1,),) * labels),)
    (found,) = topics.check_label_topic(state(topic(), *there), asked, COMMANDS)
    assert found.status == (ERROR if command else OK)
    assert found.command.startswith(command)
    assert list(topics.check_label_topic(state(topic()), settings(), COMMANDS)) == []


def test_output_topics_are_judged_before_they_are_created() -> None:
    def judged(*found: TopicFacts, refused: Any = None, **more: Any) -> Finding:
        return topics.check_outputs(state(topic(), *found, **more), settings(), COMMANDS, refused or {})

    assert "will create E.g.predictions" in judged().sentence
    assert judged(topic("E.g.accuracy", ((1,),))).sentence.endswith("will add partitions to E.g.accuracy")
    fixed = dataclasses.replace(topic("E.g.accuracy", ((1,),)), operations=frozenset(("READ", "WRITE")))
    assert judged(fixed).status == ERROR
    more = judged(topic("E.g.accuracy", ((1,),) * 5))
    assert (more.status, more.exit_code) == (ERROR, 2)
    assert more.command.endswith("--topic E --partitions 5")
    refused = judged(refused={"E.g.accuracy": "Topic authorization failed."})
    assert refused.status == ERROR
    assert refused.command.startswith("driftway topics create --input E --partitions 2 --group g ")
    alone = judged(brokers=(1, 2))
    assert alone.status == WARNING
    assert alone.command.endswith("--replication-factor 2")


SNAPSHOTS, PREDICTIONS = "E.g.snapshots", "E.g.predictions"
THREE = ((1, 2, 3), (1, 2, 3))
SAFE = {"min_insync_replicas": "2"}


def behind(name: str, *in_sync: int) -> TopicFacts:
    """A topic with three replicas, of which so many are in sync in each partition."""
    return dataclasses.replace(topic(name, THREE, **SAFE), in_sync=in_sync)


@pytest.mark.parametrize(
    ("found", "brokers", "expected"),
    [
        (topic(), 1, ("settings", OK)),
        (topic(cleanup_policy="compact"), 1, ("clean-up", WARNING)),
        (topic(SNAPSHOTS), 1, ("clean-up", WARNING)),
        (topic(SNAPSHOTS, cleanup_policy="compact"), 1, ("settings", OK)),
        (topic(PREDICTIONS, min_insync_replicas="2"), 1, ("replicas in sync", ERROR)),
        (topic(min_insync_replicas="2"), 1, ("replicas in sync", WARNING)),
        (topic(PREDICTIONS), 3, ("replicas", WARNING)),
        (topic(PREDICTIONS, THREE), 3, ("replicas", WARNING)),
        (topic(PREDICTIONS, THREE, **SAFE), 3, ("settings", OK)),
        (topic(PREDICTIONS, THREE, **SAFE, unclean_leader_election_enable="true"), 3, ("replicas", WARNING)),
        (behind(PREDICTIONS, 3, 1), 3, ("replicas in sync", ERROR)),
        (behind(PREDICTIONS, 3, 2), 3, ("replicas in sync", WARNING)),
        (behind("E", 3, 1), 3, ("replicas in sync", WARNING)),
        (behind("E", 3, 0), 3, ("replicas in sync", ERROR)),
        (topic(PREDICTIONS, max_message_bytes="999999"), 1, ("message size", ERROR)),
        (topic(PREDICTIONS, max_message_bytes="1048588"), 1, ("settings", OK)),
        (topic(max_message_bytes="5000000"), 1, ("message size", ERROR)),
        (TopicFacts("E"), 1, ("settings", SKIPPED)),
    ],
)  # fmt: skip
def test_replicas_and_settings_are_judged(found: TopicFacts, brokers: int, expected: tuple[str, str]) -> None:
    asked = settings({"receive.message.max.bytes": "4000000"})
    cluster_of = state(found, brokers=tuple(range(1, brokers + 1)))
    (one,) = topics.check_topic(found, cluster_of, asked, COMMANDS)
    assert outcome(one) == expected
    assert bool(one.command) == (one.status in (WARNING, ERROR))


@pytest.mark.parametrize(
    ("source", "labels", "wait", "expected"),
    [
        ({}, None, None, [("input", OK)]),
        ({"retention_ms": str(2 * DAY)}, None, None, [("input", OK)]),
        ({"retention_ms": str(DAY)}, None, None, [("input", WARNING)]),
        ({"retention_ms": str(DAY), "cleanup_policy": "compact"}, None, None, [("input", OK)]),
        ({"retention_ms": str(2 * DAY)}, None, LabelWait(100, 7 * DAY), [("input", WARNING)]),
        ({"retention_ms": str(7 * DAY)}, None, LabelWait(100, 7 * DAY), [("input", OK)]),
        ({"retention_ms": str(7 * DAY)}, {"retention_ms": str(DAY)}, LabelWait(100), [("label topic", WARNING)]),
        ({"retention_ms": str(7 * DAY)}, {"retention_ms": "-1"}, LabelWait(100), [("input", OK)]),
        ({}, {"retention_ms": str(DAY)}, LabelWait(100), [("label topic", WARNING)]),
        ({"retention_bytes": "1000000"}, None, None, [("input size", WARNING)]),
        ({"retention_bytes": "100000000"}, None, None, [("input", OK)]),
    ],
)
def test_retention_is_judged(source: Any, labels: Any, wait: LabelWait | None, expected: list[tuple[str, str]]) -> None:
    asked = settings(model={"wait": wait}, label_topic="" if labels is None else "L")
    there = () if labels is None else (topic("L", **labels),)
    found = list(retention.check_retention(state(topic(**source), *there), asked, COMMANDS, 100.0))
    assert [outcome(one) for one in found] == expected


def test_missing_rights_on_topics_are_errors_with_commands() -> None:
    read = dataclasses.replace(topic("E.g.accuracy"), operations=frozenset(("READ",)))
    (found,) = access.check_topic_rights(state(topic(), read), settings(), COMMANDS)
    assert found.status == ERROR
    assert found.command.endswith("--allow-principal User:ann --operation WRITE --topic E.g.accuracy")
    (found,) = access.check_topic_rights(state(topic()), settings(), COMMANDS)
    assert found.status == OK
    (found,) = access.check_topic_rights(state(TopicFacts("E")), settings(), COMMANDS)
    assert found.status == SKIPPED


@pytest.mark.parametrize(
    ("at", "policy", "status"),
    [
        (access.Position(0, 9, None), "fail", OK),
        (access.Position(0, 9, 9), "fail", OK),
        (access.Position(5, 9, 4), "fail", ERROR),
        (access.Position(0, 9, 10), "fail", ERROR),
        (access.Position(5, 9, 4), "earliest", OK),
        (access.Position(5, 9, 7, 5), "fail", OK),
        (access.Position(5, 9, 7, 0), "fail", ERROR),
        (access.Position(0, 9, 7, 0, "gone"), "earliest", ERROR),
        (access.Position(0, 9, None, None, "recreated", True), "earliest", OK),
    ],
)
def test_where_a_group_continues(at: access.Position, policy: str, status: str) -> None:
    found = access.check_positions(
        {0: access.Position(0, 9, 9), 1: at}, settings(on_offset_out_of_range=policy), COMMANDS
    )
    assert found.status == status
    assert found.exit_code == (4 if status == ERROR else 1)


def sample(rejected: int = 0, aside: int = 0, labelled: int = 50, **more: Any) -> Sample:
    counts = Counter({"features": rejected} if rejected else {}), Counter({"label": aside} if aside else {})
    return Sample(Decoded(100, *counts, labelled=labelled, example="E/0@1: why", **more))


@pytest.mark.parametrize(
    ("taken", "model", "new", "expected"),
    [
        (Sample(), {}, True, [("sample", SKIPPED)]),
        (sample(), {}, True, [("sample", OK), ("labels", OK)]),
        (sample(7), {}, True, [("sample", WARNING), ("labels", OK)]),
        (sample(7), {"max_rejected": RejectionLimit.parse("0.05/1000")}, True, [("sample", ERROR), ("labels", OK)]),
        (sample(100, labelled=0), {}, True, [("sample", ERROR)]),
        (sample(100, labelled=0), {}, False, [("sample", WARNING)]),
        (sample(aside=3), {}, True, [("sample", OK), ("labels", WARNING)]),
        (sample(labelled=0), {}, True, [("sample", OK), ("labels", WARNING)]),
        (sample(labelled=0, identified=9), {"wait": LabelWait(100)}, True, [("sample", OK), ("labels", WARNING)]),
        (sample(labelled=0, labels=40, identified=9), {"wait": LabelWait(100)}, True, [("sample", OK), ("labels", OK)]),
        (sample(), {"wait": LabelWait(9)}, True, [("sample", OK), ("ids of events", WARNING), ("labels", OK)]),
    ],
)
def test_sampled_events_are_judged(taken: Sample, model: Any, new: bool, expected: list[tuple[str, str]]) -> None:
    found = list(events.check_events(taken, settings(model=model), COMMANDS, new))
    assert [outcome(one) for one in found] == expected
    assert all(bool(one.command) == (one.status in (WARNING, ERROR)) for one in found)
    assert "7.0% of 100 events" in found[0].sentence or taken.events.rejected.total() != 7


def test_labels_of_a_separate_topic_are_judged() -> None:
    asked = settings(model={"wait": LabelWait(100)}, label_topic="L")
    bad = Decoded(10, Counter({"no-x": 1}), Counter({"label": 4}), example="L/0@2: why")
    taken = dataclasses.replace(sample(labelled=0), labels=bad)
    found = list(events.check_events(taken, asked, COMMANDS, True))[-1]
    assert (found.check, found.status) == ("label topic", WARNING)
    assert found.sentence.startswith("50.0% of 10 labels of L cannot be used (label 4, no-x 1)")


def test_a_time_field_that_no_event_has_is_reported() -> None:
    asked = settings(model={"events": EventSchema.parse(["a"], time="when")})
    found = {one.check: one for one in events.check_events(sample(), asked, COMMANDS, True)}
    assert found["times"].status == WARNING
    assert found["times"].sentence.startswith("when is a time in none of 100 events")
    taken = sample()
    taken.events.timed = 1
    assert "times" not in {one.check for one in events.check_events(taken, asked, COMMANDS, True)}


@pytest.mark.parametrize(("ahead", "status"), [(-DAY, OK), (4_000, OK), (6_000, WARNING), (2 * HOUR, WARNING)])
def test_timestamps_in_the_future_are_a_warning(ahead: int, status: str) -> None:
    now = 1_764_000_000_000
    taken = Sample(Decoded(1, newest_ms=now + ahead, newest_at="E/0@7"))
    found = events.check_clock(taken, now)
    assert found.status == status
    assert events.check_clock(Sample(), now).status == SKIPPED
    assert ("E/0@7" in found.sentence) == (status == WARNING)


def test_disk_files_and_memory_of_the_machine_are_judged() -> None:
    small = machine.Machine(100 * machine.MIB, machine.MIB, 64)
    large = machine.Machine(64_000 * machine.MIB, 64_000 * machine.MIB, 65_536)
    wide, asked = Schema(3000), settings(model={"n_features": 3000})
    assert machine.check_disk(small, Path("/k")).status == WARNING
    assert machine.check_disk(large, Path("/k")).status == OK
    assert machine.check_files(small, 10).status == WARNING
    assert machine.check_files(large, 10).status == OK
    assert machine.check_threads(large, 10).status == OK
    assert machine.check_threads(large._replace(threads=1024), 10).status == OK
    assert machine.check_threads(large._replace(threads=100), 10).status == WARNING
    assert machine.check_memory(settings(), None, 4, large).status == SKIPPED
    assert machine.check_memory(asked, wide, 4, large).status == OK
    assert machine.check_memory(asked, wide, 4, small).status == ERROR
    between = machine.Machine(400 * machine.MIB, None, 0)
    shared = machine.check_memory(asked, wide, 60, between)
    assert shared.status == WARNING
    assert shared.command.startswith("docker compose up -d --scale worker=2 ")
    assert machine.state_bytes(settings(model={"n_features": 3000, "wait": LabelWait(1000)}), wide) > 24_000_000


def test_the_http_port_must_be_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = machine.check_port("127.0.0.1", port, COMMANDS)
        assert (busy.status, f"127.0.0.1:{port}: Address already in use" in busy.sentence) == (WARNING, True)
    assert machine.check_port("127.0.0.1", port, COMMANDS).status == OK
    nowhere = machine.check_port("192.0.2.1", 0, COMMANDS)
    assert (nowhere.status, nowhere.exit_code) == (ERROR, 2)


@pytest.mark.timeout(300)  # as by default: tests with a limit start first, and this one waits
def test_without_a_broker_the_machine_is_still_checked() -> None:
    line = ("check", "--input", "E", "--group", "g", "--bootstrap", "127.0.0.1:1", "--learner", "no_change", "--json")
    done = CliRunner().invoke(main, line)
    assert done.exit_code == 5
    assert "the first error: no Kafka broker answered" in done.stderr
    found = {one["check"]: one for one in json.loads(done.stdout)["checks"]}
    assert found["brokers"]["sentence"].startswith("no Kafka broker answered at 127.0.0.1:1")
    assert {"kernels", "disk", "memory", "open files", "threads"} <= found.keys()


def test_a_wrong_option_is_a_usage_error_as_for_the_worker() -> None:
    done = CliRunner().invoke(main, ("check", "--input", "E", "--group", "g", "--learner", "nope"))
    assert done.exit_code == 2
    assert "nope" in done.stderr

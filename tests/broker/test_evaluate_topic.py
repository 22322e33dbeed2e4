"""`driftway evaluate` on the records of a group's workers: with their plans, and with other learners instead."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from tests.broker.test_models import CHALLENGER, PLAIN, ROWS, change, models
from tests.broker.test_models_restored import KEEPS_ALL
from tests.broker.test_policies import learn
from tests.support.delayed_labels import late_stream
from tests.support.evaluated_predictions import accuracy_of
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import admin, create_topic, produce, read_all, unique
from tests.support.process import Finished, driftway
from tests.support.selection import slow_but

CHANGES = ("add", CHALLENGER), ("promote", CHALLENGER), ("set", CHALLENGER, "r=2")
ADOPTED_AT = [(200, 250), (400, 430), (600, 600)]
OF_RIVER = "river:linear_model.Perceptron"
WAIT, PIECE = "200", 100
FIGURES = (
    "labels", "window", "accuracy", "window_accuracy", "fading_accuracy", "kappa", "kappa_temporal",
    "no_change_accuracy", "majority_accuracy",
)  # fmt: skip
TESTED = tuple(f"{side}_{what}" for side in ("better", "worse") for what in ("log_e", "p", "since"))


def evaluate(kafka: str, topic: str, group: str, *more: str) -> Finished:
    return driftway("evaluate", "--topic", topic, "--group", group, "--bootstrap", kafka, *more)


def rows_of(done: Finished) -> dict[tuple[int | None, str], dict[str, Any]]:
    """(partition, learner) -> its row; the partition is None in rows about all of them."""
    assert done.code == 0, done
    return {(row.get("partition"), row["learner"]): row for row in json.loads(done.stdout)}


def selected(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: row[name] for name in names}


@pytest.fixture(scope="module")
def planned(kafka: str) -> FaultScenario:
    """A group of two partitions that has applied three plans at fixed offsets."""
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN)
    for words, at in zip(CHANGES, ADOPTED_AT, strict=True):
        change(scenario, *words, at=at)
    learn(scenario, 100, 700, *PLAIN)
    learn(scenario, 700, ROWS, *PLAIN)
    return scenario


@pytest.fixture(scope="module")
def history(planned: FaultScenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The group's plans in a file."""
    done = models(planned, "history", "--json")
    assert done.code == 0, done
    path = tmp_path_factory.mktemp("plans") / "plans.json"
    path.write_text(done.stdout, encoding="utf-8")
    return path


def written(scenario: FaultScenario, name: str, partition: int) -> list[bytes]:
    return [
        one.value or b""
        for one in read_all(scenario.bootstrap, f"{scenario.prefix}.{name}")
        if one.partition == partition
    ]


def test_a_history_of_plans_is_replayed_byte_for_byte(planned: FaultScenario, history: Path, tmp_path: Path) -> None:
    files = "--scores", str(tmp_path / "scores"), "--points", str(tmp_path / "points")
    done = evaluate(planned.bootstrap, planned.topic, planned.group, "--plan", str(history), *files, "--json")
    rows = rows_of(done)
    for file, name in (("scores", "predictions"), ("points", "accuracy")):
        lines = (tmp_path / file).read_bytes().splitlines()
        assert lines == [value for p in range(2) for value in written(planned, name, p)]
        assert {json.loads(line).get("plan", 1) for line in lines} == {1, 2, 3, 4}
    for partition in range(2):
        assert rows[partition, "emitted"]["champions"] == [LEARNER, CHALLENGER, f"{CHALLENGER}:r=2"]
        assert (rows[partition, "emitted"]["rows"], rows[partition, "emitted"]["plan"]) == (ROWS, 4)
        points = [json.loads(value) for value in written(planned, "accuracy", partition)]
        for learner in (LEARNER, f"{CHALLENGER}:r=2"):
            last = [point for point in points if point["learner"] == learner][-1]
            assert selected(rows[partition, learner], FIGURES) == selected(last, FIGURES)


def test_a_file_with_the_same_rows_gives_the_same_bits(planned: FaultScenario, history: Path, tmp_path: Path) -> None:
    """Row i is offset i; only the times of records are not in the file."""
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(b"\n".join(planned.events[1]))
    files = "--scores", str(tmp_path / "scores"), "--points", str(tmp_path / "points")
    place = "--partition", "1", "--group", planned.group, *PLAIN
    done = driftway("evaluate", str(rows), "--plan", str(history), *place, *files, "--json")
    assert done.code == 0, done
    for file, name in (("scores", "predictions"), ("points", "accuracy")):
        found = [json.loads(line) for line in (tmp_path / file).read_bytes().splitlines()]
        expected = [json.loads(value) for value in written(planned, name, 1)]
        assert [one | {"t": None} for one in found] == [one | {"t": None} for one in expected]


def test_a_history_with_another_first_champion(planned: FaultScenario, history: Path, tmp_path: Path) -> None:
    """Its predictions differ up to the promotion, and are the challenger's from there on."""
    plans, other, scores = json.loads(history.read_text()), tmp_path / "other.json", tmp_path / "scores"
    changed = [{"learner": "pa1" if one["learner"] == LEARNER else one["learner"]} for one in plans[1]["models"]]
    wanted = [plans[0] | {"models": [{"learner": "pa1"}]}, plans[1] | {"models": changed}, *plans[2:]]
    other.write_text("\n".join(map(json.dumps, wanted)))
    more = "--plan", str(other), "--partition", "0", "--scores", str(scores)
    done = evaluate(planned.bootstrap, planned.topic, planned.group, *more)
    assert done.code == 0, done
    found, real = scores.read_bytes().splitlines(), written(planned, "predictions", 0)
    assert found[400:] == real[400:]
    assert all(b'"learner":"pa1"' in line for line in found[:400])


def test_the_workers_figures_equal_its_outputs(planned: FaultScenario) -> None:
    begin = "--from", "0:200", "--from", "1:250"
    place = planned.bootstrap, planned.topic, planned.group
    learners = "--learner", CHALLENGER, "--learner", "pa1", "--learner", OF_RIVER
    rows = rows_of(evaluate(*place, *learners, *begin, "--json"))
    for partition, first in enumerate((200, 250)):
        emitted = [json.loads(value) for value in written(planned, "predictions", partition)][first:]
        worker = rows[partition, "worker"]
        assert worker["champions"] == [LEARNER, CHALLENGER, f"{CHALLENGER}:r=2"]
        assert (worker["rows"], worker["labels"]) == (ROWS - first, ROWS - first)
        assert worker["accuracy"] == sum(one["prediction"] == one["y"] for one in emitted) / (ROWS - first)
        assert rows[partition, OF_RIVER]["accuracy"] == accuracy_of(OF_RIVER, planned.events[partition][first:])
    for learner in ("worker", CHALLENGER, "pa1", OF_RIVER):
        whole, parts = rows[None, learner], [rows[p, learner] for p in range(2)]
        assert whole["rows"] == 2 * ROWS - 450
        right = sum(row["accuracy"] * row["labels"] for row in parts)
        assert whole["accuracy"] == pytest.approx(right / whole["labels"], abs=1e-12)
        if learner != "worker":
            assert (whole["won"], whole["lost"]) == tuple(sum(row[key] for row in parts) for key in ("won", "lost"))
            mean = sum(math.exp(row["worse_log_e"]) for row in parts) / 2
            assert whole["worse_p"] == pytest.approx(min(1.0, 1.0 / mean))


@pytest.mark.slow
def test_figures_from_an_offset_equal_those_of_a_challenger_added_there(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN)
    change(scenario, "add", CHALLENGER, at=[200])
    learn(scenario, 100, ROWS, *PLAIN)
    rows = rows_of(evaluate(kafka, scenario.topic, scenario.group, "--learner", CHALLENGER, "--from", "200", "--json"))
    last = [json.loads(value) for value in written(scenario, "accuracy", 0)][-1]
    assert (last["learner"], last["offset"], last["labels"]) == (CHALLENGER, ROWS - 1, ROWS - 200)
    assert selected(rows[0, CHALLENGER], FIGURES + TESTED) == selected(last, FIGURES + TESTED)
    assert min(last["better_p"], last["worse_p"]) < 1.0
    assert (None, "worker") not in rows, "with one partition there is no total"


LABELS = "with the rows", "in a topic", "among the rows"


@pytest.mark.parametrize("labels", slow_but(LABELS[:1], LABELS))
def test_the_groups_own_learner_gets_exactly_the_workers_figures(kafka: str, labels: str, tmp_path: Path) -> None:
    """Another learner gets the figures of a group that runs it, as far as the order of labels is the same."""
    topic, group, label_topic = unique("events"), unique("group"), unique("labels")
    create_topic(kafka, topic, 2)
    streams = {p: late_stream(ROWS, seed=p) for p in range(2)}
    late: tuple[str, ...] = () if labels == "with the rows" else ("--label-wait", WAIT)
    if labels == "in a topic":
        create_topic(kafka, label_topic, 2)
        late += "--label-topic", label_topic
        for start in range(0, max(map(len, streams.values())), PIECE):
            for p, values in streams.items():
                for name, wanted in ((topic, True), (label_topic, False)):
                    piece = values[start : start + PIECE]
                    produce(kafka, name, [value for value in piece if (b'"x"' in value) is wanted], p)
    else:
        for p, values in streams.items():
            produce(kafka, topic, values, p)
    options = "--bootstrap", kafka, "--commit-interval", "0.05", *late, *PLAIN, "--stop-at-end"
    ended = driftway("worker", "--input", topic, "--group", group, "--learner", LEARNER, *options)
    assert ended.code == 0, ended
    rows = rows_of(evaluate(kafka, topic, group, "--learner", LEARNER, "--learner", CHALLENGER, "--json"))
    listed = driftway("models", "history", "--input", topic, "--group", group, "--bootstrap", kafka, "--json")
    (tmp_path / "plans.json").write_text(listed.stdout, encoding="utf-8")
    files = "--scores", str(tmp_path / "scores"), "--points", str(tmp_path / "points")
    repeated = evaluate(kafka, topic, group, "--plan", str(tmp_path / "plans.json"), *files)
    assert repeated.code == 0, repeated
    for file, name in (("scores", "predictions"), ("points", "accuracy")):
        written_there = read_all(kafka, f"{topic}.{group}.{name}")
        assert (tmp_path / file).read_bytes().splitlines() == [one.value for one in written_there]
    later = rows_of(evaluate(kafka, topic, group, "--learner", LEARNER, "--from", str(ROWS // 2), "--json"))
    real = {LEARNER: group, CHALLENGER: unique("group")}
    ended = driftway("worker", "--input", topic, "--group", real[CHALLENGER], "--learner", CHALLENGER, *options)
    assert ended.code == 0, ended
    for partition in range(2):
        worker, same, other = (rows[partition, name] for name in ("worker", LEARNER, CHALLENGER))
        assert {key: value for key, value in same.items() if key in worker and key != "learner"} == {
            key: value for key, value in worker.items() if key not in ("learner", "champions")
        }
        assert (same["won"], same["lost"]) == (0, 0)
        assert other["labels"] == worker["labels"] > (100 if labels == "with the rows" else 900)
        assert other["won"] + other["lost"] > 0
        of_worker, of_learner = later[partition, "worker"], later[partition, LEARNER]
        assert 0 < of_learner["labels"] == of_worker["labels"] < worker["labels"]
        assert labels != "with the rows" or selected(of_learner, FIGURES) == selected(of_worker, FIGURES)
        for learner, row in ((LEARNER, worker), (CHALLENGER, other)):
            if labels == "in a topic" and learner == CHALLENGER:
                continue  # another group may merge both topics in another order
            shown = driftway(
                "snapshot", "show", "--input", topic, "--group", real[learner], "--bootstrap", kafka, "--partition",
                str(partition), "--at", str(row["to"]), "--json",
            )  # fmt: skip
            assert shown.code == 0, shown
            (state,) = json.loads(shown.stdout)["learners"]
            assert selected(row, FIGURES) == selected(state["metrics"], FIGURES)


def test_invalid_combinations_are_refused_with_one_sentence(
    planned: FaultScenario, history: Path, tmp_path: Path
) -> None:
    plans = json.loads(history.read_text())
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps([plans[0], plans[1] | {"models": [{"learner": "no_such_learner"}]}]))
    for words, message in (
        (("--learner", "no_such_learner"), "no learner 'no_such_learner'"),
        (("--learner", "ogd_huber"), "regression"),
        (("--learner", "pa1", "--from", "5000"), f"up to {ROWS} only"),
        (("--learner", "pa1", "--from", "x"), "write OFFSET, or PARTITION:OFFSET"),
        (("--learner", "pa1", "--partition", "2"), "there is no partition 2"),
        (("--learner", "pa1", "--metric-window", "5"), "--metric-window does not go with --topic"),
        (("--plan", str(wrong)), "plan 2: no learner 'no_such_learner'"),
        ((), "name the learners"),
    ):
        done = evaluate(planned.bootstrap, planned.topic, planned.group, *words)
        assert (done.code, done.stdout) == (2, ""), done
        assert message in done.stderr, done
        assert done.stderr.count("\n") == 1, done
    done = evaluate(planned.bootstrap, planned.topic, "nobody", "--learner", "pa1")
    assert done.code == 2
    assert "no worker of group nobody has run" in done.stderr


def test_the_table_names_both_sides_and_the_source_of_the_workers_figures(planned: FaultScenario) -> None:
    done = evaluate(planned.bootstrap, planned.topic, planned.group, "--learner", "no_change")
    assert done.code == 0, done
    assert f"worker: {LEARNER}, {CHALLENGER}, {CHALLENGER}:r=2" in done.stdout
    assert "worse since" in done.stdout
    assert "replayed from" in done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines()[1:]} == {"0", "1", "all"}


OTHER_OPTIONS = {
    "detectors and missing values": (
        "--missing",
        "mean",
        "--missing-indicators",
        "--detector",
        "ddm",
        "--features",
        "3",
    ),
    "regression": ("--task", "regression"),
    "three classes behind a map": ("--classes", "3", "--map", "polynomial:degree=2", "--metric-window", "100"),
    "a schema": ("--feature", "a", "--feature", "c:missing=0", "--label", "y", "--labels", "0,1"),
    "at least once": ("--guarantee", "at-least-once"),
}


@pytest.mark.parametrize("what", slow_but(["detectors and missing values", "a schema"], OTHER_OPTIONS))
def test_the_groups_options_are_read_from_its_snapshot(kafka: str, what: str) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, 1)
    task = "regression" if what == "regression" else "classification"
    values = [value for value in late_stream(ROWS, seed=1, delay=1, task=task) if b'"x"' in value]
    known = [json.loads(value) for value in late_stream(ROWS, seed=1, delay=1, task=task) if b'"x"' not in value]
    labels = {one["id"]: one["y"] for one in known if one["y"] is not None}
    events = [{"y": labels.get(one["id"]), **one} for one in map(json.loads, values)]
    if what.startswith("detectors"):
        events = [one if i % 7 else {**one, "x": [None, *one["x"][1:]]} for i, one in enumerate(events)]
    if what == "a schema":
        events = [{**dict(zip("abc", one.pop("x"), strict=True)), **one} for one in events]
    produce(kafka, topic, [json.dumps(one).encode() for one in events])
    options = OTHER_OPTIONS[what]
    learner = {"regression": "rls", "three classes behind a map": "mc_pa"}.get(what, LEARNER)
    ended = driftway(
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", learner, *options, *PLAIN,
        "--commit-interval", "0.05", "--stop-at-end",
    )  # fmt: skip
    assert ended.code == 0, ended
    rows = rows_of(evaluate(kafka, topic, group, "--learner", learner, "--learner", "no_change", "--json"))
    worker, same = rows[0, "worker"], rows[0, learner]
    assert (worker["rows"], worker["from"], worker["to"]) == (ROWS, 0, ROWS)
    assert worker["labels"] > ROWS // 2
    assert {key: same[key] for key in worker if key not in ("learner", "champions")} == {
        key: value for key, value in worker.items() if key not in ("learner", "champions")
    }
    last = json.loads(read_all(kafka, f"{topic}.{group}.accuracy")[-1].value or b"")
    assert last["offset"] == ROWS - 1
    shared = [key for key in last if key in worker and key not in ("learner", "partition")]
    assert {"labels", "window"} < set(shared)
    assert selected(worker, tuple(shared)) == selected(last, tuple(shared))
    assert rows[0, "no_change"]["won"] + rows[0, "no_change"]["lost"] > 10


@pytest.mark.slow
def test_a_group_with_shared_models_can_only_be_replayed_as_it_was(kafka: str, tmp_path: Path) -> None:
    """The updates that its learners received are recorded; those that others would have received are not."""
    scenario, shared = FaultScenario(kafka, partitions=2, rows=ROWS), (*PLAIN, "--share-models", "average:rows=50")
    learn(scenario, 0, 100, *shared)
    for words, at in zip(CHANGES[:2], ADOPTED_AT[:2], strict=True):
        change(scenario, *words, at=at)
    learn(scenario, 100, 700, *shared)
    plans, files = tmp_path / "plans.json", ("--scores", str(tmp_path / "scores"), "--points", str(tmp_path / "points"))
    plans.write_text(models(scenario, "history", "--json").stdout, encoding="utf-8")
    place = kafka, scenario.topic, scenario.group
    done = evaluate(*place, "--plan", str(plans), *files)
    assert done.code == 0, done
    for file, name in (("scores", "predictions"), ("points", "accuracy")):
        lines = (tmp_path / file).read_bytes().splitlines()
        assert lines == [value for p in range(2) for value in written(scenario, name, p)]
    assert any(json.loads(one.value or b"")["received"] for one in read_all(kafka, f"{scenario.prefix}.shares"))
    moved = json.loads(plans.read_text())
    moved[1]["adopted_at"]["1"] += 7
    plans.write_text(json.dumps(moved), encoding="utf-8")
    done = evaluate(*place, "--plan", str(plans))
    assert (done.code, f"from offset 250 on, {scenario.topic}/1 had other models" in done.stderr) == (1, True), done
    done = evaluate(*place, "--learner", "pa1")
    assert (done.code, "what pa1 would have got from other partitions is not known" in done.stderr) == (1, True), done
    rows = rows_of(evaluate(*place, "--learner", "no_change", "--json"))
    assert rows[1, "no_change"]["won"] + rows[1, "no_change"]["lost"] > 10


@pytest.fixture
def group_keeping_all(kafka: str, tmp_path: Path) -> tuple[FaultScenario, str]:
    """A group of one partition with a topic of snapshots that keeps all, and its plans in a file."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    create_topic(kafka, f"{scenario.prefix}.snapshots", 1, **KEEPS_ALL)
    learn(scenario, 0, 100, *PLAIN)
    change(scenario, "add", CHALLENGER, at=[200])
    change(scenario, "promote", CHALLENGER, at=[900])
    for begin, end in ((100, 400), (400, 700), (700, ROWS)):
        learn(scenario, begin, end, *PLAIN)
    done = models(scenario, "history", "--json")
    assert done.code == 0, done
    (tmp_path / "plans.json").write_text(done.stdout, encoding="utf-8")
    return scenario, str(tmp_path / "plans.json")


def delete_before(scenario: FaultScenario, topic: str, offset: int) -> None:
    client = admin(scenario.bootstrap)
    for done in client.delete_records([TopicPartition(topic, 0, offset)]).values():
        done.result(timeout=30)


@pytest.mark.slow
def test_a_replay_begins_at_the_oldest_snapshot_whose_rows_still_exist(
    group_keeping_all: tuple[FaultScenario, str], tmp_path: Path
) -> None:
    scenario, plans = group_keeping_all
    delete_before(scenario, scenario.topic, 350)
    place = scenario.bootstrap, scenario.topic, scenario.group
    done = evaluate(*place, "--learner", CHALLENGER, "--json")
    rows = rows_of(done)
    worker, same = rows[0, "worker"], rows[0, CHALLENGER]
    begin = worker["from"]
    assert 350 <= begin <= 400
    assert f"before offset {begin} are left out" in done.stderr
    assert (worker["champions"], worker["rows"]) == ([LEARNER, CHALLENGER], ROWS - begin)
    emitted = [json.loads(value) for value in written(scenario, "predictions", 0)][begin:]
    assert worker["accuracy"] == sum(one["prediction"] == one["y"] for one in emitted) / (ROWS - begin)
    assert same["labels"] == ROWS - begin
    scores = tmp_path / "scores"
    done = evaluate(*place, "--plan", plans, "--scores", str(scores))
    assert done.code == 0, done
    assert scores.read_bytes().splitlines() == written(scenario, "predictions", 0)[begin:]
    history = json.loads(Path(plans).read_text())
    history[1]["models"] = [{"learner": "pa1"}, {"learner": CHALLENGER}]
    other = tmp_path / "other.json"
    other.write_text(json.dumps(history))
    done = evaluate(*place, "--plan", str(other))
    assert done.code == 2, done
    assert f"begins at offset {begin}, where the group has plan 2, {LEARNER}, {CHALLENGER}, and not" in done.stderr


@pytest.mark.slow
def test_a_file_of_plans_has_the_models_that_compaction_has_removed(
    group_keeping_all: tuple[FaultScenario, str], tmp_path: Path
) -> None:
    """No snapshot of the first plan is left: the file lists the models with which the group began."""
    scenario, plans = group_keeping_all
    chunks = [one for one in read_all(scenario.bootstrap, f"{scenario.prefix}.snapshots") if one.key == b"0.0"]
    delete_before(scenario, f"{scenario.prefix}.snapshots", chunks[-1].offset)
    files = "--scores", str(tmp_path / "scores"), "--points", str(tmp_path / "points")
    done = evaluate(scenario.bootstrap, scenario.topic, scenario.group, "--plan", plans, *files)
    assert done.code == 0, done
    for file, name in (("scores", "predictions"), ("points", "accuracy")):
        assert (tmp_path / file).read_bytes().splitlines() == written(scenario, name, 0)

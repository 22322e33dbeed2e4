"""Challengers that are relearned during live traffic equal, bit for bit, ones that were there from the first row."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings
from driftway.worker.state import model_file
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import PlanAdoption
from driftway.worker.state.snapshot import read_snapshot_header
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.events import Records
from driftway.worker.wire.schema.feature import MissingPolicy
from tests.broker.test_models import CHALLENGER, EVERY, PLAIN, audit, change, columns, history, models
from tests.broker.test_policies import CANNOT_RESTORE, commit, delete_before, last_commit, learn, refused
from tests.broker.test_snapshot_damage import flipped
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, committed_offset, create_topic, empty, produce, read_all
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but
from tests.unit.worker.rows import untested

ROWS = 1200
ADD = "add", CHALLENGER, "--relearned"
KEEPS_ALL = {"cleanup_policy": "compact,delete", "max_message_bytes": "10485760"}
FIRST_PLAN = re.compile(rb'"plan":\d+,?')


def uninterrupted(scenario: FaultScenario, partition: int, rows: int, **more: Any) -> dict[str, list[bytes]]:
    """Accuracy points of models with the challenger from the first row on, by learner; without plan and test."""
    specs = Spec.parse(LEARNER), Spec.parse(CHALLENGER)
    model = Model(ModelSettings(specs, accuracy_every=EVERY, **more), partition, scenario.group)
    outputs = model.advance(Records(partition, *columns(scenario.events[partition][:rows], 0)))
    points = [*map(plain, points_of(outputs.points))]
    return {name: [one for one in points if learner(one) == name] for name in model.settings.names}


def points_of(points: list[tuple[bytes, bytes]]) -> list[bytes]:
    return [value for _, value in points]


def learner(point: bytes) -> str:
    return str(read_json(point)["learner"])


def plain(point: bytes) -> bytes:
    """A point without its plan's number and without the test, which begins where a challenger joins."""
    return FIRST_PLAN.sub(b"", untested(point)).replace(b",}", b"}")


def require_same_points(scenario: FaultScenario, rows: int = ROWS) -> None:
    """Check that the challenger's points from its offset on, and all of the champion's, equal those of one run."""
    adopted_at = history(scenario)[1]["adopted_at"]
    assert len(adopted_at) == scenario.partitions
    for partition in range(scenario.partitions):
        at, wanted = adopted_at[str(partition)], uninterrupted(scenario, partition, rows)
        found = [
            plain(one.value or b"")
            for one in read_all(scenario.bootstrap, f"{scenario.prefix}.accuracy")
            if one.partition == partition
        ]
        assert [one for one in found if learner(one) == LEARNER] == wanted[LEARNER]
        late = [one for one in wanted[CHALLENGER] if read_json(one)["offset"] >= at]
        assert [one for one in found if learner(one) == CHALLENGER] == late
        assert late, "there are points after the offset"


def require_audited(scenario: FaultScenario) -> None:
    done = audit(scenario)
    assert done.code == 0, done
    assert "trusted" not in done.stderr + done.stdout


@contextmanager
def traffic(scenario: FaultScenario, first: int, last: int, pause: float = 0.01) -> Iterator[threading.Event]:
    """Produce rows a few at a time, `pause` seconds apart, in the block; yield an event that is set at the end."""
    over, all_sent = threading.Event(), threading.Event()

    def send() -> None:
        for start in range(first, last, 5):
            scenario.fill(start, min(start + 5, last))
            if over.wait(pause):
                return
        all_sent.set()

    thread = threading.Thread(target=send, name="traffic")
    thread.start()
    try:
        yield all_sent
        assert all_sent.wait(60)
    finally:
        over.set()
        thread.join(60)


@pytest.mark.parametrize("client", slow_but([NATIVE], [PYTHON, NATIVE]))
def test_a_relearned_challenger_joins_two_partitions_under_traffic(kafka: str, client: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    scenario.fill(0, 400)
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN, "--client", client)) as worker:
        auditor.await_all(800)
        with traffic(scenario, 400, ROWS, 0.06):  # a busy machine relearns slowly
            change(scenario, *ADD)
            await_until(lambda: worker.stderr.count("plan adopted") == 2, 60, "both partitions have applied it")
        auditor.await_all(2 * ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
        summary = worker.stderr
    assert summary.count("relearning partition=") == summary.count("relearned partition=") == 2, summary
    assert f"relearned={CHALLENGER} relearned_from=0" in summary
    offsets = history(scenario)[1]["adopted_at"].values()
    assert all(400 <= offset < ROWS for offset in offsets), offsets
    require_same_points(scenario)
    require_audited(scenario)


def test_predictions_of_a_relearned_challenger_equal_those_of_one_there_from_the_first_row(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 400, *PLAIN)
    change(scenario, *ADD)
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN)) as worker:
        await_until(lambda: "plan adopted" in worker.stderr, 60, "the partition has applied it")
        change(scenario, "promote", CHALLENGER, at=[600])
        await_until(lambda: "plan plan=3" in worker.stderr, 30, "the worker has read it")
        scenario.fill(400, ROWS)
        auditor.await_all(ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    one = Model(ModelSettings((Spec.parse(CHALLENGER),)), 0, scenario.group)
    wanted = one.advance(Records(0, *columns(scenario.events[0], 0))).predictions.to_list()[600:]
    found = [record.value for record in read_all(kafka, f"{scenario.prefix}.predictions")][600:]
    assert [FIRST_PLAN.sub(b"", value or b"") for value in found] == [
        FIRST_PLAN.sub(b"", value or b"") for value in wanted
    ]
    require_audited(scenario)


@pytest.mark.parametrize(
    "step", slow_but([Step.SNAPSHOT_PRODUCED], [Step.SNAPSHOT_PRODUCED, Step.COMMITTED]), ids=lambda step: step.value
)
def test_outputs_are_exact_if_a_worker_is_killed_while_it_relearns_a_challenger(kafka: str, step: Step) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    learn(scenario, 0, 300, *PLAIN)
    change(scenario, *ADD)
    with Driftway(*scenario.worker(*PLAIN)) as victim:
        await_until(lambda: "relearning partition=" in victim.stderr, 60, "it relearns")
        victim.kill()
    options = scenario.worker(*PLAIN)
    with CrashingDriftway(step, 1, *options) as victim:  # an idle group commits only the plan
        assert victim.wait(60) == -9
    scenario.fill(300, 600)
    with Driftway(*options) as worker, scenario.auditor() as auditor:
        auditor.await_all(1200)
        await_until(lambda: all(map(taken, partitions(scenario))), 60, "both partitions have applied it")
        scenario.fill(600, ROWS)
        auditor.await_all(2 * ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    require_same_points(scenario)
    require_audited(scenario)


def partitions(scenario: FaultScenario) -> list[int]:
    """Number of the plan that each partition has."""
    done = models(scenario, "show", "--json")
    assert done.code == 0, done
    found: dict[str, int] = json.loads(done.stdout)["adopted"]
    return list(found.values())


def taken(number: int) -> bool:
    return number >= 2


@pytest.mark.slow
def test_a_partition_that_moves_while_it_relearns_starts_relearning_again(kafka: str) -> None:
    """Nothing of the relearning was durable."""
    scenario, fed = FaultScenario(kafka, partitions=4, rows=ROWS), 300
    learn(scenario, 0, fed, *PLAIN)
    change(scenario, *ADD)
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN)) as first:
        for client in (NATIVE, PYTHON):
            with Driftway(*scenario.worker(*PLAIN, "--client", client)) as second:
                second.await_text("running")
                scenario.fill(fed, fed := fed + 150)
                await_until(lambda: auditor.seen >= 4 * fed, 60, "rows predicted")
                second.terminate()
                second.wait(30)
        await_until(lambda: all(map(taken, partitions(scenario))), 60, "all partitions have applied it")
        scenario.fill(fed, ROWS)
        auditor.await_all(4 * ROWS)
        first.terminate()
        assert first.wait(30) == 0, first.summary()
    require_same_points(scenario)
    require_audited(scenario)


def joined(kafka: str, *more: str) -> FaultScenario:
    """A group at row 500 whose challenger joined at 300, with all its snapshots."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    create_topic(kafka, f"{scenario.prefix}.snapshots", 1, **KEEPS_ALL)
    learn(scenario, 0, 200, *PLAIN, *more)
    learn(scenario, 200, 300, *PLAIN, *more)
    change(scenario, *ADD)
    with Driftway(*scenario.worker(*PLAIN, *more)) as worker:
        await_until(lambda: "plan adopted" in worker.stderr, 60, "the partition has applied it")
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    assert history(scenario)[1]["adopted_at"] == {"0": 300}
    return scenario


def damage(scenario: FaultScenario, first: int) -> None:
    """Damage all snapshots from input offset `first` on, as if the topic's disk had lost these blocks."""
    topic, (committed, pointer) = f"{scenario.prefix}.snapshots", last_commit(scenario)
    _, metadata = committed_offset(scenario.bootstrap, scenario.group, scenario.topic)
    written = read_all(scenario.bootstrap, topic)
    empty(scenario.bootstrap, topic, 1)
    keys, values, state_offsets = list[bytes | None](), list[bytes | None](), list[int]()
    for record in written:
        header = read_snapshot_header(record.value or b"") if record.key == b"0.0" else None
        broken = header is not None and header.state_offset >= first
        keys.append(record.key)
        values.append(flipped(record.value or b"", -300) if broken else record.value)
        state_offsets += [header.state_offset] if header is not None else []
    produce(scenario.bootstrap, topic, values, keys=keys)
    last = [record.offset for record in read_all(scenario.bootstrap, topic) if record.key == b"0.0"][-1]
    moved = Pointer(last, 1, state_offsets[-1])
    for value in [record.value for record in written if record.key == b"0.position"][-1:]:
        produce(
            scenario.bootstrap, topic, [replace(CommitRecord.parse(value), pointer=moved).write()], keys=[b"0.position"]
        )
    commit(scenario, committed, metadata.replace(pointer.text(), moved.text()))


@pytest.mark.slow
def test_past_states_relearn_the_challenger_where_it_joined(kafka: str) -> None:
    scenario = joined(kafka)
    learn(scenario, 300, 500, *PLAIN, "--snapshot-rows", "1000000")
    damage(scenario, 300)
    place = *scenario.options, "--partition", "0"
    for offset, learners in ((299, [LEARNER]), (300, [LEARNER, CHALLENGER]), (450, [LEARNER, CHALLENGER])):
        done = driftway("snapshot", "show", *place, "--at", str(offset), "--json")
        assert done.code == 0, done
        shown = json.loads(done.stdout)
        assert [one["learner"] for one in shown["learners"]] == learners
    done = driftway("explain", *place, "--offset", "470", "--json")
    assert done.code == 0, done
    assert json.loads(done.stdout)["emitted"]["verdict"] == "same"


@pytest.mark.slow
def test_a_restore_from_an_older_snapshot_relearns_the_challenger_again(kafka: str) -> None:
    scenario = joined(kafka)
    learn(scenario, 300, 500, *PLAIN, "--snapshot-rows", "1000000")
    damage(scenario, 300)
    summary = learn(scenario, 500, 700, *PLAIN)
    assert re.search("relearning from the older snapshot at offset [12]00", summary), summary
    learn(scenario, 700, ROWS, *PLAIN)
    require_same_points(scenario)


@pytest.mark.slow
def test_the_restore_policy_does_not_retry_a_failed_relearning(kafka: str) -> None:
    """Compaction may have removed some rows: then the policy continues without the snapshots before the offset."""
    scenario = joined(kafka)
    topic = f"{scenario.prefix}.snapshots"
    (found,) = (one.value for one in read_all(kafka, topic) if one.key == b"0.plan.2")
    adoption = PlanAdoption.parse(found)
    assert adoption.relearned is not None
    other = replace(adoption, relearned=replace(adoption.relearned, records=301))
    produce(kafka, topic, [other.write()], keys=[b"0.plan.2"])
    learn(scenario, 300, 500, *PLAIN, "--snapshot-rows", "1000000")
    damage(scenario, 300)
    assert "learned 301 records from offset 0 to 300, the log holds 300" in refused(scenario, *PLAIN)
    summary = learn(scenario, 500, 700, *PLAIN, "--on-restore-failure", "replay")
    assert "relearning the log from offset 0, as configured" in summary, summary


@pytest.mark.slow
def test_no_older_snapshot_is_used_without_the_rows_that_the_challenger_learned(kafka: str) -> None:
    scenario = joined(kafka)
    learn(scenario, 300, 500, *PLAIN, "--snapshot-rows", "1000000")
    delete_before(scenario, scenario.topic, 60)
    done = audit(scenario)
    assert done.code == 0, done
    assert (
        f"{CHALLENGER} of plan 2, adopted at offset 300, learned the rows from offset 0 on" in done.stdout + done.stderr
    )
    assert "was trusted" in done.stdout + done.stderr
    damage(scenario, 300)
    sentence = refused(scenario, *PLAIN)
    assert "the log begins at 60" in sentence
    assert "--on-restore-failure" in sentence
    place = *scenario.options, "--partition", "0"
    shown = driftway("snapshot", "show", *place, "--at", "450")
    assert shown.code == CANNOT_RESTORE, shown
    assert "the log begins at 60" in shown.stderr


@pytest.mark.slow
def test_a_challenger_relearned_next_to_a_model_from_a_file_begins_empty(kafka: str, tmp_path: Path) -> None:
    """Missing values are filled in as in the file, so past states need the file."""
    file, filled = tmp_path / "model.driftway", MissingPolicy("mean", 0.0)
    trained = Model(ModelSettings((Spec.parse(LEARNER),), missing=filled), 0)
    rows = FaultScenario(kafka, partitions=1, rows=100, seed=3).events[0]
    trained.advance(Records(0, *columns(rows, 0)))
    model_file.save(file, model_file.pack(trained, trained.save(), 100))
    more = "--warm-start", str(file)
    scenario = joined(kafka, *more)
    learn(scenario, 300, 500, *PLAIN, *more, "--snapshot-rows", "1000000")
    wanted = uninterrupted(scenario, 0, 700, warm=model_file.load(file).warm_start(), missing=filled)[CHALLENGER]
    damage(scenario, 300)
    place = (
        *scenario.options,
        "--partition",
        "0",
        "--at",
        "450",
    )
    done = driftway("snapshot", "show", *place)
    assert (done.code, "which --warm-start names" in done.stderr) == (1, True), done
    done = driftway("snapshot", "show", *place, *more)
    assert done.code == 0, done
    assert "relearning from the older snapshot" in learn(scenario, 500, 700, *PLAIN, *more)
    found = [plain(one.value or b"") for one in read_all(kafka, f"{scenario.prefix}.accuracy")]
    late = [one for one in wanted if read_json(one)["offset"] >= 300]
    assert [one for one in found if learner(one) == CHALLENGER] == late
    assert late, "there are points after the offset"


@pytest.mark.slow
def test_a_challenger_can_be_relearned_from_an_offset(kafka: str) -> None:
    """It equals one that began at this offset, and the log need not have earlier rows."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 300, *PLAIN)
    for begin in (301, 10):
        delete_before(scenario, scenario.topic, 20)
        done = models(scenario, *ADD, "--from-offset", f"0:{begin}")
        assert (done.code, "cannot relearn from offset" in done.stderr) == (2, True), done
    assert models(scenario, "add", CHALLENGER, "--from-offset", "0:50").code == 2
    change(scenario, *ADD, "--from-offset", "0:50")
    with Driftway(*scenario.worker(*PLAIN)) as worker:
        await_until(lambda: "plan adopted" in worker.stderr, 60, "the partition has applied it")
        assert f"relearned={CHALLENGER} relearned_from=50 records=250" in worker.stderr
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    change(scenario, "promote", CHALLENGER, at=[400])
    learn(scenario, 300, 500, *PLAIN)
    one = Model(ModelSettings((Spec.parse(CHALLENGER),)), 0, scenario.group)
    wanted = one.advance(Records(0, *columns(scenario.events[0][50:500], 50))).predictions.to_list()[350:]
    found = [record.value or b"" for record in read_all(kafka, f"{scenario.prefix}.predictions")][400:]
    assert [FIRST_PLAN.sub(b"", value) for value in found] == [FIRST_PLAN.sub(b"", value) for value in wanted]
    done = audit(scenario)
    assert done.code == 0, done


def test_the_commands_report_what_is_relearned_and_what_cannot_be(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 200, *PLAIN)
    assert models(scenario, "show").stdout.endswith("  adopted by the partition\n")
    done = models(scenario, *ADD, "--from", LEARNER)
    assert (done.code, "not both" in done.stderr) == (2, True), done
    change(scenario, *ADD)
    done = models(scenario, "show")
    assert done.code == 0, done
    assert f"{CHALLENGER}  (relearned)" in done.stdout
    assert "adopts plan 2 at its next commit, once it has caught up: it is relearning" in done.stdout
    shared = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(shared, 0, 200, "--share-models", "average")
    done = models(shared, *ADD)
    assert done.code == 2, done
    assert "would have exchanged models with other partitions that did not have it" in done.stderr
    change(shared, "add", "majority_class", "--relearned")

"""`driftway audit` on a real Kafka: it succeeds on genuine outputs and reports where outputs were altered."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from confluent_kafka import Consumer, TopicPartition

from driftway.worker.kafka.client_config import NATIVE, PYTHON, quiet
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.wire import codec, packed
from tests.support.audit import tampered
from tests.support.fault_scenario import LEARNER, OUTPUTS, FaultScenario
from tests.support.kafka import await_until, committed_offset, create_topic, empty, produce, read_all, truncate, unique
from tests.support.process import Driftway, Finished, driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

ROWS, PARTITIONS = 2000, 2
CHALLENGER = ("--learner", "arow")
BAD = {100: b"not JSON", 101: None, 700: b'{"x":[1,2],"y":1}', 1999: b'{"x":[1,2,3,4],"y":7}'}
CLIENTS = [NATIVE]


@pytest.fixture(autouse=True, params=slow_but([1], [1, 2]), ids=["native", "both"])
def clients(request: pytest.FixtureRequest) -> None:
    """Audits use the native client; with both clients, which must report the same, the test is slow."""
    CLIENTS[:] = (NATIVE, PYTHON)[: request.param]


def filled_scenario(kafka: str, rows: int = ROWS) -> FaultScenario:
    """A scenario with a few malformed events, the last one included."""
    scenario = FaultScenario(kafka, PARTITIONS, rows)
    for partition in scenario.events:
        for at, value in BAD.items():
            if at < rows:
                scenario.events[partition][at] = value  # type: ignore[call-overload]
    return scenario


def audit(scenario: FaultScenario, *more: str, learner: str = LEARNER) -> Finished:
    options = scenario.options
    return driftway("audit", *options, "--learner", learner, *more)


def finding(scenario: FaultScenario, *more: str, learner: str = LEARNER) -> str:
    """Return the message about the first difference; all clients must report the same."""
    done, *others = (audit(scenario, *more, "--client", client, learner=learner) for client in CLIENTS)
    assert all(other == done for other in others)
    assert done.code == 1, done
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    return line.removeprefix("driftway: ").replace(scenario.topic, "EVENTS").replace(scenario.group, "GROUP")


def require_passed(scenario: FaultScenario, *more: str, learner: str = LEARNER) -> list[dict[str, Any]]:
    done = audit(scenario, "--json", *more, learner=learner)
    assert done.code == 0, done
    report = json.loads(done.stdout)
    assert report["holds"]
    assert report["difference"] is None
    return list(report["partitions"])


def run_worker(scenario: FaultScenario, *more: str, learner: str = LEARNER) -> None:
    done = driftway(*(learner if word == LEARNER else word for word in scenario.worker("--stop-at-end", *more)))
    assert done.code == 0, done.stderr


def processed_scenario(kafka: str, *more: str, rows: int = ROWS) -> FaultScenario:
    scenario = filled_scenario(kafka, rows)
    scenario.fill()
    run_worker(scenario, *more)
    return scenario


def commit_by_hand(scenario: FaultScenario, offset: int, metadata: str, partition: int = 0) -> None:
    consumer = Consumer(quiet({"bootstrap.servers": scenario.bootstrap, "group.id": scenario.group}))
    topic_partition = TopicPartition(scenario.topic, partition, offset, metadata)
    consumer.commit(offsets=[topic_partition], asynchronous=False)
    consumer.close()


def pointer_of(scenario: FaultScenario, partition: int = 0) -> tuple[int, Pointer]:
    offset, metadata = committed_offset(scenario.bootstrap, scenario.group, scenario.topic, partition)
    pointer = Pointer.parse(metadata)
    assert pointer is not None
    return offset, pointer


def snapshot_chunks(scenario: FaultScenario, partition: int = 0) -> list[Any]:
    records = read_all(scenario.bootstrap, f"{scenario.prefix}.snapshots")
    return [r for r in records if r.partition == partition and re.fullmatch(rb"\d+\.\d+", r.key or b"")]


def repeat(scenario: FaultScenario, name: str, record: Any, value: bytes | None = None) -> None:
    """Produce a record again, with another value if given."""
    values: Sequence[bytes | None] = [record.value if value is None else value]
    produce(scenario.bootstrap, name, values, record.partition, keys=[record.key])


def test_an_audit_of_a_clean_run_passes_and_counts_its_rows(kafka: str) -> None:
    scenario = filled_scenario(kafka)
    scenario.fill(0, 900)
    run_worker(scenario, *CHALLENGER)
    scenario.fill(900)
    run_worker(scenario, *CHALLENGER, "--output-format", "packed")  # a group may change its output format
    accounts = require_passed(scenario, *CHALLENGER)
    assert [account["partition"] for account in accounts] == [0, 1]
    for account in accounts:
        bad = len(BAD) - 1
        assert (account["begin"], account["end"], account["records"]) == (0, ROWS, ROWS)
        assert (account["predictions"], account["rejections"]) == (ROWS - bad, bad)
        assert account["set_aside"] == 1, "the label 7"
        assert account["points"] == 2 * ((ROWS - bad) // 500)
        assert account["snapshots"] == len(snapshot_chunks(scenario, account["partition"])) >= 2
        assert account["orphans"] == account["unchecked"] == []
    shown = audit(scenario, *CHALLENGER)
    assert shown.code == 0
    assert f"{PARTITIONS * ROWS:,} events have exactly one prediction or rejection each" in shown.stdout
    assert "Rejected: " in shown.stdout


def rewrite(scenario: FaultScenario, name: str, partition: int, place: int) -> None:
    """Recreate a predictions topic with the same records, except one that is altered."""
    records = read_all(scenario.bootstrap, name)
    empty(scenario.bootstrap, name, PARTITIONS)
    for p in range(PARTITIONS):
        mine = [record for record in records if record.partition == p]
        values = [record.value or b"" for record in mine]
        values[place] = tampered(values[place]) if p == partition else values[place]
        produce(scenario.bootstrap, name, values, p, keys=[record.key for record in mine])


@pytest.mark.parametrize(
    ("task", "form", "output_form"),
    [
        pytest.param("regression", "json", "json", marks=pytest.mark.slow),
        ("regression", "packed", "packed"),
        pytest.param("classification", "packed", "json", marks=pytest.mark.slow),
        pytest.param("classification", "json", "packed", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_every_format_passes_and_one_changed_bit_fails(kafka: str, task: str, form: str, output_form: str) -> None:
    scenario, rng = FaultScenario(kafka, PARTITIONS, 600), np.random.default_rng(5)
    for partition in scenario.events:
        X = rng.normal(size=(600, 4))
        y = X[:, 0] - 2.5 * X[:, 1] + rng.normal(0, 0.3, 600)
        y = np.where(rng.random(600) < 0.1, np.nan, y if task == "regression" else (y > 0).astype(float))
        values: list[Any] = packed.encode_events(X, y) if form == "packed" else codec.encode_events(X, y, 0)
        scenario.events[partition] = [*values[:100], None, *values[101:]]
    learner = "rls" if task == "regression" else LEARNER
    options = ("--task", task, "--format", form)
    for first in (0, 400):
        scenario.fill(first, first + 400)
        run_worker(scenario, *options, "--output-format", output_form, learner=learner)
    for account in require_passed(scenario, *options, learner=learner):
        assert (account["records"], account["predictions"], account["rejections"]) == (600, 599, 1)
        assert (account["points"], account["unchecked"]) == (1, [])
    rewrite(scenario, f"{scenario.prefix}.predictions", 1, 300)
    found = finding(scenario, *options, learner=learner)
    assert found.startswith("EVENTS.GROUP.predictions/1@300: the prediction of EVENTS/1@301 differs: expected score"), (
        found
    )


def test_an_audit_with_another_learner_fails_at_the_first_score(kafka: str) -> None:
    scenario = processed_scenario(kafka, rows=600)
    found = finding(scenario, learner="dfop:mu=0.02")
    assert found.startswith("EVENTS.GROUP.snapshots/0@1: expected a snapshot of this model, found: ")
    empty(kafka, f"{scenario.prefix}.snapshots", PARTITIONS)
    assert finding(scenario, learner="dfop:mu=0.02").startswith(
        "EVENTS.GROUP.predictions/0@0: the prediction of EVENTS/0@0 differs: expected learner "
    )
    assert finding(scenario).endswith(", found no complete one there")


def test_an_audit_reports_a_duplicate_prediction(kafka: str) -> None:
    scenario = processed_scenario(kafka, rows=600)
    name = f"{scenario.prefix}.predictions"
    (twice,) = [r for r in read_all(kafka, name) if r.partition == 1 and b'"offset":77,' in (r.value or b"")]
    end = max(r.offset for r in read_all(kafka, name) if r.partition == 1)
    repeat(scenario, name, twice)
    found = finding(scenario)
    place = int(found.split("@")[1].split()[0])
    assert place > end
    assert found == (
        f"EVENTS.GROUP.predictions/1@{place} is a surplus prediction of EVENTS/1@77: all offsets up to 600 have theirs"
    )


def test_an_audit_reports_a_changed_score(kafka: str) -> None:
    """The group resumes at its committed offset, but one output before that was altered."""
    scenario = filled_scenario(kafka, 600)
    scenario.fill(0, 300)
    run_worker(scenario)
    scenario.fill(300)
    name = f"{scenario.prefix}.predictions"
    last = max(r for r in read_all(kafka, name) if r.partition == 0)
    value = (last.value or b"").replace(b'"offset":299,', b'"offset":300,')
    repeat(scenario, name, last, value)
    run_worker(scenario)
    assert finding(scenario).startswith(
        f"EVENTS.GROUP.predictions/0@{last.offset + 2}: the prediction of EVENTS/0@300 differs: expected id 300, found "
        "299"
    )


@pytest.mark.slow
def test_an_audit_reports_a_changed_rejection(kafka: str) -> None:
    scenario = processed_scenario(kafka, rows=600)
    commit_at, pointer = pointer_of(scenario)
    produce(kafka, scenario.topic, [b"broken"])
    headers = [("reason", b"other"), ("topic", scenario.topic.encode()), ("partition", b"0"), ("offset", b"600")]
    produce(kafka, f"{scenario.prefix}.rejected", [b"broken"], headers=[headers])
    commit_by_hand(scenario, commit_at + 1, pointer.text())
    found = finding(scenario)
    assert "the rejection of EVENTS/0@600 differs: expected the header ('reason', b'not JSON')" in found
    assert "found ('reason', b'other')" in found


def test_an_audit_reports_missing_predictions_at_the_end(kafka: str) -> None:
    scenario = filled_scenario(kafka, 600)
    scenario.fill(0, 400)
    run_worker(scenario)
    scenario.fill(400)
    _, pointer = pointer_of(scenario)
    commit_by_hand(scenario, 450, pointer.text())
    found = finding(scenario)
    assert found.startswith("EVENTS/0@400 has no prediction: the group has committed offset 450, ")


def test_an_audit_reports_a_committed_offset_without_a_pointer_or_with_a_wrong_one(kafka: str) -> None:
    scenario = processed_scenario(kafka, rows=400)
    commit_by_hand(scenario, 300, "")
    assert finding(scenario).startswith("EVENTS/0@300 is committed: expected a snapshot position in the commit")
    commit_by_hand(scenario, 400, Pointer(9999, 1, 400).text())
    assert finding(scenario) == (
        "EVENTS/0@400 is committed: expected its snapshot at EVENTS.GROUP.snapshots/0@9999, found no complete one there"
    )


def test_an_audit_reports_outputs_beyond_the_committed_offset(kafka: str) -> None:
    scenario = filled_scenario(kafka, 400)
    scenario.fill(0, 200)
    run_worker(scenario, "--snapshot-rows", "1")  # one per commit, however rows are batched, so also at the end
    _, early = pointer_of(scenario)
    scenario.fill(200)
    run_worker(scenario, "--snapshot-rows", "1")
    _, late = pointer_of(scenario)
    assert (early.state_offset, late.state_offset) == (200, 400)
    commit_by_hand(scenario, 399, early.text())
    assert finding(scenario) == (
        "EVENTS/0@399 has a prediction in EVENTS.GROUP.predictions/0: expected none, because the group has "
        "committed offset 399"
    )
    commit_by_hand(scenario, 399, late.text())
    assert finding(scenario) == "EVENTS/0@399 is committed: expected a snapshot at or before it, found one at 400"
    commit_by_hand(scenario, 399, Pointer(early.first, 1, 199).text())
    found = finding(scenario)
    assert "expected 1 chunks with state offset 199, as the pointer says, found 1 with 200" in found


def test_an_audit_reports_a_corrupt_snapshot_and_counts_orphan_chunks(kafka: str) -> None:
    scenario = processed_scenario(kafka, rows=600)
    name = f"{scenario.prefix}.snapshots"
    newest = snapshot_chunks(scenario)[-1]
    produce(kafka, name, [b"lost"], keys=[b"0.3"])
    account = require_passed(scenario)[0]
    (orphan,) = account["orphans"]
    assert orphan.startswith(f"{name}/0@")
    assert f"Chunk of an incomplete snapshot: {orphan}" in audit(scenario).stdout
    value = bytearray(newest.value or b"")
    value[-100] ^= 1
    repeat(scenario, name, newest, bytes(value))
    found = finding(scenario)
    assert found.startswith("EVENTS.GROUP.snapshots/0@")
    assert found.endswith(
        ": expected a snapshot of this model, found: the snapshot is damaged: its checksum does not match"
    )


def test_an_audit_reports_a_snapshot_of_a_different_state(kafka: str) -> None:
    """The snapshot is well-formed and its checksum matches; only recomputation detects it."""
    scenario = processed_scenario(kafka, rows=600)
    other = FaultScenario(kafka, PARTITIONS, 600, seed=8)
    other.fill()
    run_worker(other, "--snapshot-rows", "1")  # so that the last snapshot is at the end
    theirs = snapshot_chunks(other)[-1]
    scenario.fill(0, 10)
    produce(kafka, f"{scenario.prefix}.snapshots", [theirs.value], keys=[theirs.key])
    found = finding(scenario)
    assert ", the snapshot at EVENTS/0@600: expected " in found


@pytest.mark.slow
def test_an_audit_passes_for_a_group_that_started_late(kafka: str) -> None:
    scenario = filled_scenario(kafka, 1000)
    scenario.fill(0, 300)
    with Driftway(*scenario.worker("--start", "latest")) as worker:
        worker.await_text("running")
        scenario.fill(300)
        group, topic = scenario.group, scenario.topic
        await_until(
            lambda: {committed_offset(kafka, group, topic, p)[0] for p in range(PARTITIONS)} == {1000}, 30, "commits"
        )
        worker.terminate()
        assert worker.wait() == 0
    accounts = require_passed(scenario, "--start", "latest")
    assert [(account["begin"], account["orphans"]) for account in accounts] == [(300, []), (300, [])]
    assert finding(scenario).startswith("EVENTS/0@0 has no prediction: expected it at EVENTS.GROUP.predictions/0@0, ")


@pytest.mark.slow
def test_an_audit_of_a_truncated_input_begins_at_a_snapshot(kafka: str) -> None:
    scenario = filled_scenario(kafka, 900)
    scenario.fill(0, 500)
    run_worker(scenario, "--snapshot-rows", "1")  # on a slow machine there are several commits
    scenario.fill(500)
    run_worker(scenario)
    truncate(scenario.bootstrap, scenario.topic, PARTITIONS, 450)
    for account in require_passed(scenario):
        assert 450 <= account["begin"] <= 500
        assert account["predictions"] + account["rejections"] == 900 - account["begin"]
        (sentence,) = account["unchecked"]
        assert f"offsets before {account['begin']} cannot be checked" in sentence
    scenario.fill(0, 1)
    truncate(scenario.bootstrap, scenario.topic, PARTITIONS, 901)
    assert "nothing can be checked: the log begins at 901, and no complete snapshot is later" in finding(scenario)


def test_an_audit_reports_truncated_predictions(kafka: str) -> None:
    scenario = processed_scenario(kafka, rows=900)
    truncate(scenario.bootstrap, f"{scenario.prefix}.predictions", PARTITIONS, 40)
    account = require_passed(scenario)[0]
    assert 0 < 900 - account["predictions"] - account["rejections"] <= 40
    assert "predictions before offset" in account["unchecked"][0]
    assert "label" not in audit(scenario).stdout, "events whose predictions are gone are no labels"


@pytest.mark.slow
def test_an_audit_passes_while_a_worker_runs(kafka: str) -> None:
    scenario = FaultScenario(kafka, PARTITIONS, 20_000)
    with Driftway(*scenario.worker("--commit-interval", "0.05", *CHALLENGER)) as worker:
        worker.await_text("running")
        seen = 0
        for first in range(0, 20_000, 4000):
            scenario.fill(first, first + 4000)
            await_until(
                lambda at=first: committed_offset(kafka, scenario.group, scenario.topic)[0] > at, 30, "more committed"
            )
            accounts = require_passed(scenario, *CHALLENGER)
            assert sum(account["records"] for account in accounts) > seen
            seen = sum(account["records"] for account in accounts)
        assert worker.process.poll() is None


@pytest.mark.slow
def test_an_audit_ignores_the_open_transaction_of_a_killed_worker(kafka: str) -> None:
    scenario = FaultScenario(kafka, PARTITIONS, 3000)
    scenario.fill(0, 1000)
    with Driftway(*scenario.worker("--commit-interval", "10")) as worker:
        worker.await_text("running")
        await_until(lambda: committed_offset(kafka, scenario.group, scenario.topic)[0] == 1000, 30, "rows committed")
        scenario.fill(1000)
        name = f"{scenario.prefix}.predictions"
        await_until(lambda: len(read_all(kafka, name, committed=False)) > 2 * 1000, 30, "more in an open transaction")
        worker.kill()
    assert len(read_all(kafka, name)) < len(read_all(kafka, name, committed=False))
    for account in require_passed(scenario):
        committed = committed_offset(kafka, scenario.group, scenario.topic, account["partition"])[0]
        assert account["end"] == account["predictions"] == committed >= 1000


def test_an_audit_that_is_impossible_is_refused_with_the_reason(kafka: str) -> None:
    scenario = processed_scenario(kafka, rows=50)
    topic, group = scenario.topic, scenario.group
    scenario.group = unused = unique("group")
    done = audit(scenario)
    assert done.code == 2
    assert f"there is no topic {scenario.prefix}.predictions (no worker of group {unused} has run" in done.stderr
    for name in (*OUTPUTS, "snapshots"):
        create_topic(kafka, f"{topic}.{scenario.group}.{name}", PARTITIONS)
    done = audit(scenario)
    assert done.code == 1
    assert "has committed no offset of" in done.stderr
    scenario.topic, scenario.group = unique("absent"), group
    done = audit(scenario)
    assert (done.code, f"there is no topic {scenario.topic}, or this principal may" in done.stderr) == (2, True)
    scenario.bootstrap = "127.0.0.1:1"
    done = audit(scenario)
    assert done.code == 5
    assert "no Kafka broker answered at 127.0.0.1:1" in done.stderr

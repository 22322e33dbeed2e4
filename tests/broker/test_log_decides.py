"""The log decides: the group coordinator's offset is only a hint, and outputs invisible to readers are written again.

Rare faults of client and broker are reproduced by hand, with the transactional id of a worker that has exited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from driftway.learners import Spec
from driftway.worker.kafka.client_config import quiet
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.record_keys import chunk_key, commit_record_key
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.wire.columns import ListColumn
from tests.broker.test_policies import (
    EVERY_COMMIT,
    commit,
    delete_before,
    last_commit,
    learn,
    learned,
    predicted,
    refused,
    require_same,
)
from tests.broker.test_snapshot_damage import NEVER, snapshots
from tests.support.alarms import expected_alarms, seen_alarms
from tests.support.audit import placed_score
from tests.support.fault_scenario import DETECTORS, LEARNER, FaultScenario
from tests.support.kafka import committed_offset, create_topic, read_all
from tests.support.process import driftway
from tests.support.selection import slow_but
from tests.unit.worker.rows import records

MODEL = ModelSettings((Spec.parse(LEARNER),))
BAD = b"{not json"
SECONDS = 20.0


def settings_of(scenario: FaultScenario) -> WorkerSettings:
    return WorkerSettings(scenario.bootstrap, scenario.topic, scenario.group, MODEL)


class Forger:
    """A producer that poses as the worker of partition 0; one transaction per instance."""

    def __init__(self, scenario: FaultScenario, bootstrap: str | None = None) -> None:
        self.scenario, self.topics = scenario, settings_of(scenario).topics
        own = {
            "bootstrap.servers": bootstrap or scenario.bootstrap,
            "transactional.id": settings_of(scenario).transactional_id(0),
            "reconnect.backoff.max.ms": 300,
        }
        self.producer = Producer(quiet(own))
        self.producer.list_topics(self.topics.input, SECONDS)
        self.producer.init_transactions(SECONDS)
        self.producer.begin_transaction()
        self.offsets: dict[str, list[int]] = {}

    def write(self, topic: str, values: Sequence[bytes | None], keys: Sequence[bytes | None] | None = None) -> None:
        """Produce records; their offsets are known after `flush`."""

        def delivered(error: Any, message: Any) -> None:
            assert error is None, error
            self.offsets.setdefault(topic, []).append(message.offset())

        for i, value in enumerate(values):
            self.producer.produce(topic, value, keys[i] if keys else None, 0, on_delivery=delivered)

    def write_outputs(self, outputs: Outputs) -> None:
        """Produce outputs as a worker does; a model without detectors has no alarms."""
        self.write(self.topics.predictions, list(outputs.predictions), list(outputs.keys))
        self.write(self.topics.accuracy, [value for _, value in outputs.points], [key for key, _ in outputs.points])
        self.write(self.topics.alarms, [one.value for one in outputs.alarms], [one.key for one in outputs.alarms])
        for bad in outputs.rejected:
            origin = {"reason": bad.reason, "topic": self.topics.input, "partition": "0", "offset": str(bad.offset)}
            self.producer.produce(
                self.topics.rejected, bad.value, bad.key, 0, headers={**origin, "timestamp": str(bad.timestamp)},
                on_delivery=lambda _e, m: self.offsets.setdefault(self.topics.rejected, []).append(m.offset()),
            )  # fmt: skip

    def flush(self) -> dict[str, OffsetRange]:
        """Flush and return the offset range of each topic."""
        assert self.producer.flush(SECONDS) == 0
        return {topic: OffsetRange(min(at), max(at), len(at)) for topic, at in self.offsets.items()}

    def abort(self) -> None:
        self.producer.abort_transaction(SECONDS)

    def commit(self, position: CommitRecord) -> None:
        """Commit a position record, and the offset with its snapshot pointer."""
        self.write(self.topics.snapshots, [position.write()], [commit_record_key(0)])
        assert position.pointer is not None
        place = TopicPartition(self.topics.input, 0, position.offset, position.pointer.text())
        member = Consumer(quiet({"bootstrap.servers": self.scenario.bootstrap, "group.id": self.scenario.group}))
        self.producer.send_offsets_to_transaction([place], member.consumer_group_metadata(), SECONDS)
        self.producer.commit_transaction(SECONDS)
        member.close()


def outputs_of(scenario: FaultScenario, first: int, last: int) -> Outputs:
    """Compute a worker's outputs for input offsets `first` to `last`."""
    settings = replace(MODEL, detectors=tuple(map(Spec.parse, scenario.detectors)))
    model, written = Model(settings, 0, scenario.group), [r.value for r in read_all(scenario.bootstrap, scenario.topic)]
    model.advance(records(written[:first], partition=0), emit=False)
    batch = records(written[first:last], first, partition=0)
    assert len(batch) == last - first
    return model.advance(replace(batch, keys=ListColumn([None] * len(batch))))


def cut_out(scenario: FaultScenario, first: int, last: int, kept: Outputs | None = None) -> CommitRecord:
    """Commit offset `last` but abort its outputs, as a transaction coordinator with partly loaded state does.

    The outputs in `kept` are committed. A topic must not be split between kept and aborted outputs.
    """
    outputs, spans = outputs_of(scenario, first, last), dict[str, OffsetRange]()
    if kept is not None:
        seen = Forger(scenario)
        seen.write_outputs(kept)
        spans = seen.flush()
        seen.producer.commit_transaction(SECONDS)
        outputs = without(outputs, kept)
    aborted = Forger(scenario)
    aborted.write_outputs(outputs)
    spans |= aborted.flush()
    aborted.abort()
    position = CommitRecord(last, first, last_commit(scenario)[1], spans)
    Forger(scenario).commit(position)
    return position


def without(outputs: Outputs, kept: Outputs) -> Outputs:
    """Return the outputs without the topics that have outputs in `kept`."""
    left = Outputs(outputs.next_offset)
    if not kept.rows:
        left.offsets, left.predictions, left.keys = outputs.offsets, outputs.predictions, outputs.keys
    left.alarms = [] if kept.alarms else outputs.alarms
    left.points = [] if kept.points else outputs.points
    return left


def require_in_order(scenario: FaultScenario) -> None:
    """Check that predictions are in the order of their events."""
    places = [placed_score(r.value or b"")[0] for r in read_all(scenario.bootstrap, f"{scenario.prefix}.predictions")]
    assert places == sorted(places)


def require_audited(scenario: FaultScenario, *more: str) -> None:
    done = driftway(
        "audit", "--bootstrap", scenario.bootstrap, "--input", scenario.topic, "--group", scenario.group,
        "--learner", LEARNER, *scenario.watched, *more,
    )  # fmt: skip
    assert done.code == 0, done


@pytest.mark.parametrize("by", slow_but([-100], [-100, 100]))
def test_an_offset_moved_by_hand_with_its_old_pointer_is_ignored(kafka: str, by: int) -> None:
    scenario = learned(kafka)
    scenario.fill(500, 800)
    commit(scenario, 500 + by, committed_offset(kafka, scenario.group, scenario.topic)[1])
    log = learn(scenario, 800, 1000)
    assert f"the broker says offset {500 + by}, the log of the last commit 500, which is used" in log
    require_same(scenario, once=range(1000))


def test_the_offset_of_an_aborted_transaction_is_ignored(kafka: str) -> None:
    """Its pointer names an aborted snapshot, and an aborted position record agrees with it."""
    scenario = learned(kafka)
    scenario.fill(500, 800)
    forger = Forger(scenario)
    forger.write_outputs(outputs_of(scenario, 500, 600))
    forger.write(snapshots(scenario), [b"a state"], [chunk_key(0, 0)])
    pointer = Pointer(forger.flush()[snapshots(scenario)].first, 1, 600)
    forger.write(snapshots(scenario), [CommitRecord(600, 500, pointer).write()], [commit_record_key(0)])
    forger.flush()
    forger.abort()
    commit(scenario, 600, pointer.text())
    learn(scenario, 800, 1000)
    require_same(scenario, once=range(1000))
    require_in_order(scenario)


@pytest.mark.parametrize(
    "commits", slow_but([[(500, 600), (600, 700)]], [[(500, 600)], [(500, 600), (600, 700)]]), ids=["one", "two"]
)
def test_outputs_whose_transaction_was_aborted_are_written_again(kafka: str, commits: list[tuple[int, int]]) -> None:
    """They are written to every topic, in order, with the same bits, before any new output."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    learn(scenario, 0, 500, *EVERY_COMMIT)
    scenario.write(BAD)
    scenario.fill(500, 800)
    for first, last in commits:
        cut_out(scenario, first, last)
    before = len(read_all(kafka, f"{scenario.prefix}.predictions"))
    log = learn(scenario, 800, 1000)
    assert "writing the missing outputs again" in log
    assert before == 500
    found = read_all(kafka, f"{scenario.prefix}.predictions")
    assert sorted(placed_score(r.value or b"")[0][1] for r in found) == [o for o in range(1001) if o != 500]
    assert [r.headers for r in read_all(kafka, f"{scenario.prefix}.rejected")]
    require_in_order(scenario)
    require_audited(scenario)


def test_only_missing_outputs_are_written_again(kafka: str) -> None:
    """Half of a commit's predictions are visible: a premature transaction marker has split them."""
    scenario = learned(kafka)
    scenario.fill(500, 800)
    seen = Forger(scenario)
    seen.write_outputs(outputs_of(scenario, 500, 550))
    spans = seen.flush()
    seen.producer.commit_transaction(SECONDS)
    unseen = Forger(scenario)
    unseen.write_outputs(outputs_of(scenario, 550, 600))
    first, last = spans[f"{scenario.prefix}.predictions"], unseen.flush()[f"{scenario.prefix}.predictions"]
    unseen.abort()
    outputs = {f"{scenario.prefix}.predictions": OffsetRange(first.first, last.last, 100)}
    Forger(scenario).commit(CommitRecord(600, 500, last_commit(scenario)[1], outputs))
    learn(scenario, 800, 1000)
    require_same(scenario, once=range(1000))
    require_in_order(scenario)


def test_outputs_missing_from_one_commit_but_not_the_next_are_written_once(kafka: str) -> None:
    """The first commit lacks its alarms, the second its predictions; neither topic may be rewritten in full."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000, detectors=DETECTORS)
    learn(scenario, 0, 500, *EVERY_COMMIT)
    scenario.fill(500, 800)
    first, second = outputs_of(scenario, 500, 600), outputs_of(scenario, 600, 700)
    assert first.alarms and second.alarms  # noqa: PT018
    cut_out(scenario, 500, 600, kept=without(first, Outputs(0, alarms=first.alarms)))
    cut_out(scenario, 600, 700, kept=Outputs(700, alarms=second.alarms, points=second.points))
    log = learn(scenario, 800, 1000)
    assert "writing the missing outputs again" in log
    require_same(scenario, once=range(1000))
    found = Counter(seen_alarms(scenario)[0])
    assert found == Counter(expected_alarms(scenario)[0])


def test_missing_outputs_that_cannot_be_recomputed_are_refused_without_the_option(kafka: str) -> None:
    scenario = learned(kafka)
    scenario.fill(500, 800)
    cut_out(scenario, 500, 600)
    delete_before(scenario, scenario.topic, 520)
    sentence = refused(scenario)
    assert f"from offset 500 to 600 wrote to {scenario.prefix}.predictions is missing" in sentence
    assert "no snapshot or log reaches back far enough to recompute it" in sentence
    learn(scenario, 800, 1000, "--on-restore-failure", "reset")
    assert sorted(offset for _, offset in predicted(scenario)) == [*range(500), *range(600, 1000)]


def test_a_snapshot_pointer_without_a_position_record_is_refused(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    create_topic(kafka, snapshots(scenario), 1, cleanup_policy="compact,delete")
    learn(scenario, 0, 500)
    end = 1 + max(r.offset for r in read_all(kafka, snapshots(scenario)))
    delete_before(scenario, snapshots(scenario), end)
    deleted = f"{scenario.prefix}.snapshots has no record of it (its first records were deleted: set cleanup.policy="
    assert f"offset 500 was committed by a worker, but {deleted}compact)" in refused(scenario)
    other = f"{scenario.prefix}.other"
    unknown = f"offset 500 was committed by a worker, but {other}.snapshots has no record of it (another"
    assert f"{unknown} --output-prefix?)" in refused(scenario, "--output-prefix", other)
    learn(scenario, 500, 1000, "--on-restore-failure", "replay")
    require_same(scenario, once=range(1000))


def test_a_position_record_of_an_earlier_version_is_read(kafka: str) -> None:
    scenario = learned(kafka)
    forger = Forger(scenario)
    forger.write(snapshots(scenario), [b"500"], [commit_record_key(0)])
    forger.flush()
    forger.producer.commit_transaction(SECONDS)
    learn(scenario, 500, 1000)
    require_same(scenario, once=range(1000))


def test_a_group_may_change_its_guarantee_and_change_back(kafka: str) -> None:
    """At-least-once writes no position records, so the newest one in the log is outdated."""
    scenario = learned(kafka)
    learn(scenario, 500, 600, "--guarantee", "at-least-once")
    learn(scenario, 600, 700, "--guarantee", "at-least-once", *NEVER)
    log = learn(scenario, 700, 1000)
    assert "which is used" not in log
    require_same(scenario, once=range(1000))

"""Challengers are relearned from events and a separate label topic, in the recorded order of the merge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from driftway.learners import Spec
from driftway.worker.admin.merged_input import MergedInput
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import read_snapshot_header
from driftway.worker.stream.relearning.relearner import owned
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.events import Records
from tests.broker.test_models_delayed_labels import EVERY, LEARNER, WAIT, LateScenario, untimed
from tests.broker.test_models_relearned import KEEPS_ALL
from tests.broker.test_policies import CANNOT_RESTORE, commit, delete_before
from tests.broker.test_snapshot_damage import flipped
from tests.support.crash import CrashingDriftway
from tests.support.delayed_labels import Outputs
from tests.support.kafka import admin, await_until, committed_offset, create_topic, empty, produce, read_all
from tests.support.process import Driftway, Finished, driftway
from tests.support.selection import slow_but

NEW = "arow"
ADD = "add", NEW, "--relearned"
TESTED = ("better_log_e", "better_p", "better_since", "worse_log_e", "worse_p", "worse_since", "plan")
OF_THE_GROUP = (
    "rows", "waiting", "never_labelled", "delay_rows", "kappa_temporal", "no_change_accuracy", "majority_accuracy",
)  # fmt: skip


class RelearningScenario(LateScenario):
    """Events with a label topic, and a challenger that is relearned."""

    kept: tuple[Records, ...] = ()
    """The first records that the workers used, if the topics may have lost them since."""

    @property
    def bootstrap(self) -> str:
        return self.kafka

    @property
    def prefix(self) -> str:
        return f"{self.topic}.{self.group}"

    @property
    def work(self) -> tuple[str, ...]:
        return "worker", *self.options, "--commit-interval", "0.05", "--snapshot-rows", "100", "--client"

    def learn(self, client: str = PYTHON, *more: str) -> str:
        """Let a worker read to the end; return its log."""
        done = driftway(*self.work, client, "--stop-at-end", *more)
        assert done.code == 0, done
        return done.stderr

    def join(self) -> None:
        """Let a worker run until all partitions have applied the newest plan."""
        with Driftway(*self.work, NATIVE) as worker:
            await_until(self.all_taken, 60, "all partitions have applied it")
            worker.terminate()
            assert worker.wait(30) == 0, worker.summary()

    def taken(self, partition: int, end: int) -> Iterator[Records]:
        if not self.kept:
            yield from super().taken(partition, end)
            return
        yield from self.kept
        model = ModelSettings((Spec.parse(LEARNER),), wait=LabelWait.parse(WAIT))
        settings = WorkerSettings(self.kafka, self.topic, self.group, model, label_topic=self.labels)
        base = int(self.kept[-1].offsets[-1]) + 1
        with MergedInput(settings, self.labels, partition, base, end) as both:
            yield from iter(both.take, None)

    def all_taken(self) -> bool:
        return len(self.history()[1]["adopted_at"]) == self.partitions

    def require_points(self, first: int = 0) -> None:
        """The challenger's points after its offset equal those of one that was there from `first` on, bit for bit."""
        adopted_at, outputs = self.history()[1]["adopted_at"], Outputs(self.kafka, self.prefix)
        assert len(adopted_at) == self.partitions
        for partition in range(self.partitions):
            end, _ = committed_offset(self.kafka, self.group, self.topic, partition)
            wanted = list(self.whole(partition, end, first))
            found = [untimed(one.value) for one in outputs.records("accuracy") if one.partition == partition]
            late = [one for one in wanted if one["offset"] >= adopted_at[str(partition)]]
            assert [plain(one, first) for one in found if one["learner"] == NEW] == late
            assert late, "there are points after the offset"

    def whole(self, partition: int, end: int, first: int) -> Iterator[dict[str, object]]:
        settings = ModelSettings(
            (Spec.parse(LEARNER), Spec.parse(NEW)), wait=LabelWait.parse(WAIT), accuracy_every=int(EVERY)
        )
        model = Model(settings, partition, self.group)
        model.rows = first  # this decides where accuracy points fall; all events are good
        for part in self.taken(partition, end):
            rows = part.after(int(part.offsets.searchsorted(first)))
            for _, value in model.advance(rows).points if len(rows) else ():
                if read_json(value)["learner"] == NEW:
                    yield plain(untimed(value), first)

    def audit(self) -> Finished:
        done = driftway("audit", *self.options)
        assert done.code == 0, done
        return done

    def require_repeated(self, folder: Path) -> None:
        """`evaluate --plan` gives the bytes of the topics."""
        (folder / "plans.json").write_text(self.models("history", "--json").stdout)
        files = "--plan", str(folder / "plans.json"), "--points", str(folder / "points")
        place = "--topic", self.topic, "--group", self.group, "--bootstrap", self.kafka
        done = driftway("evaluate", *place, *files)
        assert done.code == 0, done
        written = [one.value or b"" for one in read_all(self.kafka, f"{self.prefix}.accuracy")]
        assert sorted((folder / "points").read_bytes().splitlines()) == sorted(written)


def plain(point: dict[str, object], first: int) -> dict[str, object]:
    """A point without its plan, and without the test, which begins where a challenger joins.

    If it learned from an offset on, also without the figures on delays and the baselines' guesses, which are the
    group's where rows wait for their labels.
    """
    left_out = (*TESTED, *OF_THE_GROUP) if first else TESTED
    return {key: value for key, value in point.items() if key not in left_out}


@pytest.mark.slow
def test_a_relearned_challenger_joins_two_partitions_with_a_label_topic_under_traffic(
    kafka: str, tmp_path: Path
) -> None:
    scenario = RelearningScenario(kafka, label_topic=True)
    for _ in scenario.feed(0, 450):
        pass
    scenario.learn()
    scenario.models(*ADD)
    with Driftway(*scenario.work, NATIVE) as worker:
        feed = scenario.feed(450)
        await_until(
            lambda: next(feed, 0) is not None and worker.stderr.count("plan adopted") == 2, 60, "both have applied it"
        )
        for _ in feed:
            pass
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
        assert worker.stderr.count("relearned partition=") == 2, worker.summary()
    scenario.learn()
    scenario.require_points()
    assert "trusted" not in scenario.audit().stdout
    scenario.require_repeated(tmp_path)


@pytest.mark.parametrize("step", slow_but([Step.OFFSETS_SENT], Step), ids=lambda step: step.value)
@pytest.mark.slow
def test_outputs_are_exact_if_a_worker_is_killed_where_a_challenger_joins(kafka: str, step: Step) -> None:
    scenario = RelearningScenario(kafka, label_topic=True)
    for _ in scenario.feed(0, 450):
        pass
    scenario.learn()
    scenario.models(*ADD)
    with CrashingDriftway(step, 1, *scenario.work, PYTHON) as victim:  # an idle group commits only the plan
        assert victim.wait(60) == -9
    for _ in scenario.feed(450, 600):
        pass
    scenario.join()
    for _ in scenario.feed(600):
        pass
    scenario.learn()
    scenario.require_points()
    scenario.audit()


def joined(kafka: str, *more: str) -> RelearningScenario:
    """A group of one partition whose challenger has joined, with all snapshots so far, and more rows."""
    scenario = RelearningScenario(kafka, label_topic=True, partitions=1)
    create_topic(kafka, f"{scenario.prefix}.snapshots", 1, **KEEPS_ALL)
    for first, last in ((0, 300), (300, 450)):
        for _ in scenario.feed(first, last):
            pass
        scenario.learn()
    scenario.models(*ADD, *more)
    scenario.join()
    for _ in scenario.feed(450, 750):
        pass
    scenario.learn(NATIVE, "--snapshot-rows", "1000000", "--snapshot-interval", "1000")
    return scenario


def damage(scenario: RelearningScenario, first: int) -> None:
    """Damage all snapshots from input offset `first` on, as if the topic's disk had lost these blocks."""
    topic, committed = (
        f"{scenario.prefix}.snapshots",
        committed_offset(scenario.kafka, scenario.group, scenario.topic)[0],
    )
    written, state_offsets = read_all(scenario.kafka, topic), list[int]()
    empty(scenario.kafka, topic, 1)
    keys, values = list[bytes | None](), list[bytes | None]()
    for record in written:
        header = read_snapshot_header(record.value or b"") if record.key == b"0.0" else None
        broken = header is not None and header.state_offset >= first
        keys.append(record.key)
        values.append(flipped(record.value or b"", -300) if broken else record.value)
        state_offsets += [header.state_offset] if header is not None else []
    produce(scenario.kafka, topic, values, keys=keys)
    last = next(CommitRecord.parse(one.value) for one in written[::-1] if one.key == b"0.position")
    newest = [record.offset for record in read_all(scenario.kafka, topic) if record.key == b"0.0"][-1]
    pointer = Pointer(newest, 1, state_offsets[-1])
    produce(scenario.kafka, topic, [replace(last, pointer=pointer).write()], keys=[b"0.position"])
    commit(scenario, committed, pointer.text())


def test_past_states_and_older_snapshots_relearn_the_challenger(kafka: str, tmp_path: Path) -> None:
    scenario = joined(kafka)
    adopted_at = scenario.history()[1]["adopted_at"]["0"]
    damage(scenario, adopted_at)
    one = *scenario.place, "--partition", "0"
    for offset, learners in (
        (adopted_at - 1, [LEARNER]),
        (adopted_at, [LEARNER, NEW]),
        (adopted_at + 90, [LEARNER, NEW]),
    ):
        done = driftway("snapshot", "show", *one, "--at", str(offset), "--json")
        assert done.code == 0, done
        assert [found["learner"] for found in json.loads(done.stdout)["learners"]] == learners
    done = driftway("explain", *one, "--offset", str(adopted_at + 90), "--json")
    assert done.code == 0, done
    assert json.loads(done.stdout)["emitted"]["verdict"] == "same"
    for _ in scenario.feed(750):
        pass
    assert "relearning from the older snapshot at offset" in scenario.learn()
    scenario.require_points()
    scenario.require_repeated(tmp_path)


@pytest.mark.slow
def test_relearning_begins_where_both_topics_still_have_the_merged_records(kafka: str) -> None:
    scenario = RelearningScenario(kafka, label_topic=True, partitions=1)
    create_topic(kafka, f"{scenario.prefix}.snapshots", 1, **KEEPS_ALL)
    for first in (0, 150, 300, 450):  # by then, all labels of rows that the topics have lost have arrived
        for _ in scenario.feed(first, first + 150):
            pass
        scenario.learn()
    scenario.kept = tuple(map(owned, scenario.taken(0, committed_offset(kafka, scenario.group, scenario.topic)[0])))
    delete_before(scenario, scenario.topic, 95)
    delete_before(scenario, scenario.labels, 5)
    scenario.models(*ADD)
    scenario.join()
    for _ in scenario.feed(600):
        pass
    scenario.learn()
    (source,) = scenario.history()[1]["relearned"].values()
    assert source["relearned_from"] > 95
    assert source["relearned_label"] >= 5
    scenario.require_points(source["relearned_from"])
    scenario.audit()


@pytest.mark.slow
def test_relearning_may_begin_between_two_records_of_the_merge_order(kafka: str) -> None:
    scenario = joined(kafka, "--from-offset", "0:137")
    (source,) = scenario.history()[1]["relearned"].values()
    assert (source["relearned_from"], source["relearned_label"] > 0) == (137, True)
    scenario.require_points(137)
    scenario.audit()


@pytest.mark.slow
def test_no_older_snapshot_is_used_without_the_labels_that_the_challenger_learned(kafka: str) -> None:
    scenario = joined(kafka, "--from-offset", "0:50")  # before the first labels
    plan = scenario.history()[1]
    adopted_at, label = plan["adopted_at"]["0"], plan["relearned"]["0"]["relearned_label"]
    delete_before(scenario, scenario.topic, 45)
    delete_before(scenario, scenario.labels, label + 1)
    found = scenario.audit()
    assert f"adopted at offset {adopted_at}, learned the labels from offset {label} on" in found.stdout + found.stderr
    assert "was trusted" in found.stdout + found.stderr
    damage(scenario, adopted_at)
    done = driftway(*scenario.work, PYTHON, "--stop-at-end")
    assert (done.code, f"the log of the label topic begins at {label + 1}" in done.stderr) == (CANNOT_RESTORE, True), (
        done
    )
    shown = driftway("snapshot", "show", *scenario.place, "--partition", "0", "--at", str(adopted_at + 90))
    assert shown.code == CANNOT_RESTORE, shown


@pytest.mark.slow
def test_nothing_is_relearned_from_a_recreated_label_topic(kafka: str) -> None:
    scenario = joined(kafka)
    damage(scenario, scenario.history()[1]["adopted_at"]["0"])
    client = admin(kafka)  # keep a reference: a collected client never answers
    client.delete_topics([scenario.labels])[scenario.labels].result(timeout=30)
    await_until(lambda: scenario.labels not in client.list_topics(timeout=10).topics, 30, "the topic is gone")
    create_topic(kafka, scenario.labels, 1)
    for _ in scenario.feed(750):
        pass
    for policy in ((), ("--on-offset-out-of-range", "earliest")):
        done = driftway(*scenario.work, PYTHON, "--stop-at-end", *policy)
        assert done.code == CANNOT_RESTORE, done
        assert "cannot be relearned: " in done.stderr

"""The models and features of a group with late labels change while workers run and are killed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from driftway.learners import Spec
from driftway.worker.admin.merged_input import MergedInput
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.events import Records
from driftway.worker.wire.schema.schema import EventSchema
from tests.broker.test_models import adoptions
from tests.support.delayed_labels import Outputs, kill_and_replace, late_stream
from tests.support.kafka import create_topic, produce, unique
from tests.support.process import Driftway, Finished, driftway
from tests.support.selection import slow_but
from tests.unit.worker.rows import records

LEARNER, WAIT, EVERY, PIECE, BEFORE = "dfop:mu=0.01", "200", "50", 150, 300
CHANGES = (("add", "arow"), ("promote", "arow"), ("set", "arow", "r=2"), ("rollback",), ("drop", LEARNER))
OTHER_FEATURES = (
    ("configure", "--add-feature", "c", "--drop-feature", "b"),
    ("add", "arow"),
    ("configure", "--add-feature", "b"),
    ("promote", "arow"),
    ("rollback", "--to", "1"),
)


@dataclass
class LateScenario:
    """Partitions of events whose labels come late, in the input or in their own topic."""

    kafka: str
    label_topic: bool
    named: bool = False
    """Whether the features of an event are separate fields, of which the workers use some."""
    partitions: int = 2
    topic: str = field(default_factory=lambda: unique("events"))
    labels: str = field(default_factory=lambda: unique("labels"))
    group: str = field(default_factory=lambda: unique("group"))

    def __post_init__(self) -> None:
        for name in (self.topic, self.labels):
            create_topic(self.kafka, name, self.partitions)
        self.streams = {partition: late_stream(900, seed=partition) for partition in range(self.partitions)}
        if self.named:
            self.streams = {partition: list(map(with_names, values)) for partition, values in self.streams.items()}

    @property
    def place(self) -> tuple[str, ...]:
        return "--input", self.topic, "--group", self.group, "--bootstrap", self.kafka

    @property
    def fields(self) -> tuple[str, ...]:
        return ("a", "b") if self.named else ()

    @property
    def schema(self) -> EventSchema | None:
        return EventSchema.parse(self.fields) if self.named else None

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the worker and of the audit."""
        named = (word for name in self.fields for word in ("--feature", name))
        own = "--learner", LEARNER, "--label-wait", WAIT, "--accuracy-every", EVERY, *named
        return (*self.place, *own, *(("--label-topic", self.labels) if self.label_topic else ()))

    def feed(self, first: int = 0, last: int = 10**6) -> Iterator[int]:
        """Produce the records `first` to `last` of each stream; yield the number of events so far."""
        last = min(last, max(map(len, self.streams.values())))
        for start in range(first, last, PIECE):
            end = min(start + PIECE, last)
            for partition, values in self.streams.items():
                piece = values[start:end]
                if not self.label_topic:
                    produce(self.kafka, self.topic, piece, partition)
                    continue
                for name, wanted in ((self.topic, True), (self.labels, False)):
                    produce(self.kafka, name, [value for value in piece if is_event(value) is wanted], partition)
            yield sum(is_event(value) for values in self.streams.values() for value in values[:end])

    def models(self, *arguments: str) -> Finished:
        done = driftway("models", *arguments, *self.place)
        assert done.code == 0, done
        return done

    def history(self) -> list[dict[str, Any]]:
        plans: list[dict[str, Any]] = json.loads(self.models("history", "--json").stdout)
        return plans

    def taken(self, partition: int, end: int) -> Iterator[Records]:
        """The records of a partition, in the order in which the workers used them."""
        if not self.label_topic:
            yield records(self.streams[partition], partition=partition)
            return
        model = ModelSettings((Spec.parse(LEARNER),), wait=LabelWait.parse(WAIT), events=self.schema)
        settings = WorkerSettings(self.kafka, self.topic, self.group, model, label_topic=self.labels)
        with MergedInput(settings, self.labels, partition, 0, end) as both:
            yield from iter(both.take, None)

    def expected(self, partition: int, end: int) -> tuple[list[Any], list[Any]]:
        """Predictions, without their times, and accuracy points of one undisturbed run."""
        wait = LabelWait.parse(WAIT)
        settings = ModelSettings((Spec.parse(LEARNER),), wait=wait, accuracy_every=int(EVERY), events=self.schema)
        model, outputs = Model(settings, partition, self.group), []
        ahead = adoptions(self.history(), partition)
        for part in self.taken(partition, end):
            left = part
            while len(left):
                at, plan = ahead[0] if ahead else (10**9, None)
                n = int(left.offsets.searchsorted(at))
                if n:
                    outputs.append(model.advance(left.before(n)))
                    left = left.after(n)
                if len(left) and plan is not None:
                    model = model.followed_by(plan)
                    ahead.pop(0)
        predictions = [untimed(value) for one in outputs for value in one.predictions.to_list()]
        return predictions, [untimed(value) for one in outputs for _, value in one.points]

    def require_expected(self, end: int) -> None:
        """Compare all outputs with those of an undisturbed run, and audit them."""
        outputs = Outputs(self.kafka, f"{self.topic}.{self.group}")
        for partition in self.streams:
            predictions, points = self.expected(partition, end)
            for kind, want in (("predictions", predictions), ("accuracy", points)):
                found = [untimed(one.value) for one in outputs.records(kind) if one.partition == partition]
                assert found == want, (kind, partition)
        done = driftway("audit", *self.options)
        assert done.code == 0, done


def with_names(value: bytes) -> bytes:
    """Return an event with fields a, b, c; a label as it is."""
    found = json.loads(value)
    return json.dumps(found | dict(zip("abc", found.pop("x", ()), strict=False))).encode()


def is_event(value: bytes) -> bool:
    return b'"x"' in value or b'"a"' in value


def untimed(value: bytes) -> dict[str, Any]:
    """A record without the fields that depend on the input records' timestamps, which the broker set."""
    found: dict[str, Any] = json.loads(value)
    return {key: one for key, one in found.items() if key not in ("t", "delay_ms", "key")}


@pytest.mark.parametrize("label_topic", slow_but([True], [False, True]), ids=["in the input", "topic"])
@pytest.mark.parametrize("step", slow_but([Step.OFFSETS_SENT], Step), ids=lambda step: step.value)
def test_models_change_with_late_labels_although_workers_are_killed(kafka: str, label_topic: bool, step: Step) -> None:
    require_changes(LateScenario(kafka, label_topic), CHANGES, step)


@pytest.mark.slow
@pytest.mark.parametrize("label_topic", [False, True], ids=["in the input", "topic"])
@pytest.mark.parametrize("step", Step, ids=lambda step: step.value)
def test_features_change_with_late_labels_although_workers_are_killed(
    kafka: str, label_topic: bool, step: Step
) -> None:
    require_changes(LateScenario(kafka, label_topic, named=True), OTHER_FEATURES, step)


def require_changes(scenario: LateScenario, changes: Sequence[tuple[str, ...]], step: Step) -> None:
    """Let workers apply plans at fixed offsets while they are killed; compare with undisturbed runs."""
    work = "worker", *scenario.options, "--commit-interval", "0.05", "--snapshot-rows", "100", "--client"
    for _ in scenario.feed(0, BEFORE):
        pass
    with Driftway(*work, PYTHON, "--stop-at-end") as worker:
        assert worker.wait(60) == 0, worker.summary()
    for number, words in enumerate(changes):
        at = (f"{partition}:{BEFORE + 100 * number + 7 * partition}" for partition in range(2))
        scenario.models(*words, *(word for one in at for word in ("--at", one)))
    outputs = Outputs(scenario.kafka, f"{scenario.topic}.{scenario.group}")
    kill_and_replace(step, work, (NATIVE, PYTHON), scenario.feed(BEFORE), outputs, commits=9)
    end = 900 if scenario.label_topic else min(map(len, scenario.streams.values()))
    wanted = [[BEFORE + 100 * number, BEFORE + 100 * number + 7] for number in range(len(changes))]
    assert [list(plan["adopted_at"].values()) for plan in scenario.history()[1:]] == wanted
    scenario.require_expected(end)

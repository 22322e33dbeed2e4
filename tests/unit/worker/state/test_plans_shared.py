"""Plans of models that partitions share: each partition adopts them at its own offset, and replays them to the bit."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from driftway.learners import Spec
from driftway.worker.admin.audit.model_sharing import ExchangeVerifier
from driftway.worker.admin.audit.report import AuditTarget
from driftway.worker.settings import WorkerSettings
from driftway.worker.settings.option_values import SharingOption
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.model_sharing.exchange_record import read_record_header
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.wire.events import Records
from tests.support.selection import slow_but
from tests.unit.worker.rows import events, model_settings, pieces, records

PARTITIONS, ROWS = 3, 400
SETTINGS = model_settings("dfop:mu=0.01", "pa1", share=SharingOption("average", 15))
SECOND = ModelPlan(2, (PlannedModel(Spec.parse("pa1")), PlannedModel(Spec.parse("arow"))))
THIRD = ModelPlan(
    3, (PlannedModel(Spec.parse("dfop")), PlannedModel(Spec.parse("pa1:C=1"), "pa1"), PlannedModel(Spec.parse("arow")))
)
ADOPTIONS = [((130, SECOND), (260, THIRD)), ((100, SECOND), (300, THIRD)), ((180, SECOND), (200, THIRD))]
"""Where each partition adopts the plans."""


class Sharing:
    """Partitions that learn, each at its own pace, and a topic of the updates they send."""

    def __init__(self, share: SharingOption, seed: int) -> None:
        self.settings, self.chance = replace(SETTINGS, share=share), random.Random(seed)
        self.models = [Model(self.settings, p) for p in range(PARTITIONS)]
        self.topic: list[list[bytes]] = [[] for _ in self.models]
        self.streams = [records(events(ROWS, seed=seed + p), partition=p) for p in range(PARTITIONS)]
        self.blobs: list[list[tuple[int, bytes]]] = [[] for _ in self.models]
        for model in self.models:
            exchange(model).replay([], 0)
            exchange(model).start(PARTITIONS, {})

    def run(self) -> Sharing:
        left = [
            pieces(stream, [*(at for at, _ in adoptions), *(self.chance.randrange(1, ROWS) for _ in range(40))])
            for stream, adoptions in zip(self.streams, ADOPTIONS, strict=True)
        ]
        while any(left):
            p = self.chance.choice([p for p, parts in enumerate(left) if parts])
            part = left[p].pop(0)
            self.models[p] = with_plan(self.models[p], p, int(part.offsets[0]))
            out = self.models[p].advance(part)
            self.topic[p] += [record.value for record in out.shares]
            self.blobs[p].append((out.next_offset, snapshot.write(self.models[p], self.models[p].save(), 0)))
            if self.chance.random() < 0.7:
                self.deliver(self.chance.randrange(PARTITIONS))
        return self

    def deliver(self, p: int) -> None:
        """Let partition `p` receive every record of the topic."""
        to = exchange(self.models[p])
        for q, log in enumerate(self.topic):
            for offset, value in enumerate(log):
                to.receive(q, offset, to.read(value), 1000 + offset)


def exchange(model: Model) -> Any:
    assert model.exchange is not None
    return model.exchange


def with_plan(model: Model, p: int, offset: int) -> Model:
    for at, plan in ADOPTIONS[p]:
        if at <= offset and plan.number > model.plan.number:
            model = model.followed_by(plan)
    return model


def repeated(model: Model, p: int, rest: Records, cuts: list[int]) -> tuple[Model, list[bytes]]:
    """The model after the rest of the rows, and the updates that it sends again."""
    sent = list[bytes]()
    adoptions = [at - int(rest.offsets[0]) for at, _ in ADOPTIONS[p] if at > int(rest.offsets[0])] if len(rest) else []
    for part in pieces(rest, [*adoptions, *cuts]) if len(rest) else []:
        model = with_plan(model, p, int(part.offsets[0]))
        sent += [record.value for record in model.advance(part, emit=False).shares]
    return model, sent


@pytest.mark.parametrize("share", ["average:rows=15", "gossip:rows=15", "average:rows=1"])
@pytest.mark.parametrize("seed", slow_but([3], [3, 4]))
def test_a_recovered_partition_repeats_its_rounds_under_every_plan(share: str, seed: int) -> None:
    group = Sharing(SharingOption.parse(share), seed).run()
    for p, log in enumerate(group.topic):
        want = [part.tobytes() for part in group.models[p].save().parts]
        starts: list[tuple[int, bytes | None]] = [(0, None), *group.chance.sample(group.blobs[p], 4)]
        for begin, blob in starts:
            header = None if blob is None else snapshot.read_snapshot_header(blob)
            model = Model(group.settings, p, plan=None if header is None else header.plan)
            if blob is not None:
                snapshot.read(blob, model)
            exchange(model).replay(log, begin)
            rest = group.streams[p].after(begin)
            model, sent = repeated(model, p, rest, [group.chance.randrange(1, ROWS) for _ in range(6)])
            assert [part.tobytes() for part in model.save().parts] == want
            assert sent == [value for value in log if header_of(value).offset >= begin]


def header_of(value: bytes) -> Any:
    header = read_record_header(value)
    assert header is not None
    return header


@pytest.mark.parametrize("share", ["average:rows=15", "gossip:rows=15"])
def test_partitions_exchange_updates_only_within_a_plan_and_rounds_can_be_checked(
    share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round merges the others' updates of its own plan, also those that came before the partition took it."""
    group = Sharing(SharingOption.parse(share), 5).run()
    logs = {p: list(enumerate(log)) for p, log in enumerate(group.topic)}
    monkeypatch.setattr("driftway.worker.admin.audit.model_sharing.shares_of", lambda _settings: logs)
    settings = WorkerSettings("h:1", "E", "g", group.settings)
    for p, stream in enumerate(group.streams):
        verifier, model = ExchangeVerifier(settings, AuditTarget(p, None)), Model(group.settings, p)
        verifier.verify(model, 0)
        model, _ = repeated(model, p, stream, [])
        assert verifier.unknown == 0
        assert exchange(model).round_number == len(group.topic[p])
    digests = [{header_of(value).model_digest for value in log} for log in group.topic]
    assert len(digests[0] | digests[1] | digests[2]) == 3
    merged = [value for log in group.topic for value in log if b'"received":[null' not in value]
    assert {header_of(value).model_digest for value in merged} == digests[0]


def test_the_first_update_of_a_new_model_covers_only_its_own_rows() -> None:
    """The first update of a model that began with a plan is over the rows since, not over all since the last round."""
    model = Model(SETTINGS, 0)
    exchange(model).replay([], 0)
    exchange(model).start(2, {})
    whole = records(events(45), partition=0)
    (first,) = model.advance(whole.before(25)).shares
    exchange(model).receive(0, 0, exchange(model).read(first.value), 0)
    began = model.latest_points()["pa1"]["labels"]
    model = model.followed_by(SECOND)
    (second,) = model.advance(whole.after(25)).shares
    assert second.round_number == 2
    assert [one.rows for one in second.sent] == [second.rows - first.rows, second.rows - began]

"""Model exchange between partitions: a replay of the rows with the recorded exchanges gives the same bits."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from driftway.worker.errors import CannotRestore, UsageFailure
from driftway.worker.settings import WorkerSettings
from driftway.worker.settings.option_values import SharingOption
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.model_sharing.exchange_record import (
    KEY_SLOTS,
    ExchangeRecord,
    latest_history,
    read_record_header,
)
from driftway.worker.state.model_sharing.model_exchange import neighbour_weight, neighbours
from tests.unit.worker.rows import events, model_settings, pieces, records

PARTITIONS, ROWS = 3, 300
AVERAGE, GOSSIP = SharingOption("average", 20), SharingOption("gossip", 20)
SETTINGS = model_settings("dfop:mu=0.01", "pa1", "majority_class", share=AVERAGE)


class Group:
    """Partitions that learn, each at its own pace, and a topic of the updates they send."""

    def __init__(self, settings, seed, waits=None):
        self.settings, self.chance = settings, random.Random(seed)
        self.models = [Model(settings, p) for p in range(PARTITIONS)]
        self.topic = [[] for _ in self.models]
        self.saved = [[] for _ in self.models]
        streams = [
            pieces(
                records(events(ROWS, seed=seed + p), partition=p), [self.chance.randrange(1, ROWS) for _ in range(30)]
            )
            for p in range(PARTITIONS)
        ]
        for model in self.models:
            model.exchange.replay([], 0)
            model.exchange.start(PARTITIONS, {})
        self.left = streams
        self.streams = [records(events(ROWS, seed=seed + p), partition=p) for p in range(PARTITIONS)]

    def run(self):
        while any(self.left):
            p = self.chance.choice([p for p, parts in enumerate(self.left) if parts])
            out = self.models[p].advance(self.left[p].pop(0))
            self.topic[p] += [record.value for record in out.shares]
            self.saved[p].append((out.next_offset, self.models[p].save()))
            if self.chance.random() < 0.7:
                self.deliver(self.chance.randrange(PARTITIONS))
        return self

    def deliver(self, p):
        """Let partition `p` receive every record of the topic."""
        for q, log in enumerate(self.topic):
            for offset, value in enumerate(log):
                exchange = self.models[p].exchange
                exchange.receive(q, offset, exchange.read(value), 1000 + offset)


def repeated(settings, p, stream, log, begin, saved, cuts):
    """Return the final state and the updates of a model that replays from a saved state, with other batches."""
    model = Model(settings, p)
    if saved is not None:
        model.load(saved)
    model.exchange.replay(log, begin)
    updates = []
    rest = stream.after(int(stream.offsets.searchsorted(begin)))
    for part in pieces(rest, cuts) if len(rest) else []:
        updates += [record.value for record in model.advance(part, emit=False).shares]
    return model.save(), updates


@pytest.mark.parametrize("share", [AVERAGE, GOSSIP, SharingOption("average", 1)])
def test_a_recovered_partition_repeats_received_updates_bit_for_bit(share):
    group = Group(replace(SETTINGS, share=share), 11).run()
    for p, log in enumerate(group.topic):
        rounds = [ExchangeRecord.read(value, [x.template for x in group.models[p].exchange.averagers]) for value in log]
        assert sum(any(one.received) for one in rounds) > 2
        end = group.models[p].save()
        for begin, saved in [(0, None), *group.chance.sample(group.saved[p], 3)]:
            cuts = [group.chance.randrange(1, ROWS) for _ in range(5)]
            again, updates = repeated(group.settings, p, group.streams[p], log, begin, saved, cuts)
            assert all(ours.tobytes() == theirs.tobytes() for ours, theirs in zip(again.parts, end.parts, strict=True))
            assert updates == [value for value in log if read_record_header(value).offset >= begin]


def test_received_updates_change_the_model():
    group = Group(SETTINGS, 11).run()
    alone = Model(replace(SETTINGS, share=None), 0)
    alone.advance(group.streams[0])
    assert group.models[0].learners[0].state.memory.tobytes() != alone.learners[0].state.memory.tobytes()
    assert group.models[0].learners[2].state.memory.tobytes() == alone.learners[2].state.memory.tobytes()


def test_no_second_round_begins_before_the_updates_of_the_first_were_received():
    model = Model(SETTINGS, 0)
    model.exchange.replay([], 0)
    model.exchange.start(2, {})
    parts = pieces(records(events(ROWS), partition=0), [100, 200])
    (first,) = model.advance(parts[0]).shares
    assert (first.round_number, first.rows, first.consumed) == (1, 20, {})
    assert not model.advance(parts[1]).shares
    model.exchange.receive(0, 0, model.exchange.read(first.value), 7)
    (second,) = model.advance(parts[2]).shares
    assert second.round_number == 2
    assert second.rows % 20 == 0
    assert second.received == (None, None)
    assert model.exchange.figures() == {"rounds": 2, "refused": 0, "incompatible": 0}


@pytest.mark.parametrize("is_known", [True, False])
def test_updates_of_a_partition_that_joins_later_are_received(is_known):
    """Also the first one, which the worker may read for another of its partitions before it knows of the new one."""
    ours, new = (Model(SETTINGS, p) for p in (0, 2))
    for model in (ours, new):
        model.exchange.replay([], 0)
        model.exchange.start(2 if model is ours else 3, {})
    (update,) = new.advance(records(events(30), partition=2)).shares
    ours.advance(records(events(10), partition=0))
    if is_known:
        ours.exchange.set_partition_count(3)
        ours.exchange.set_partition_count(0)
        assert list(ours.exchange.all_partitions) == [0, 1, 2]
    ours.exchange.receive(2, 0, ours.exchange.read(update.value), 0)
    (record,) = ours.advance(records(events(30, seed=6), 10, partition=0)).shares
    assert (record.partitions, record.consumed) == (3, {2: 1})
    assert any(record.received)


def test_unlabelled_rows_do_not_count_and_relearned_rows_exchange_nothing():
    model = Model(SETTINGS, 0)
    model.exchange.replay([], 0)
    model.exchange.start(2, {})
    unlabelled = [value.split(b',"y"')[0] + b"}" for value in events(50)]
    assert not model.advance(records(unlabelled, partition=0)).shares
    assert not model.advance(records(events(50), 50, partition=0), emit=False).shares


def test_updates_of_other_learners_are_counted_and_ignored():
    ours, others = Model(SETTINGS, 0), Model(model_settings("dfop:mu=0.02", "pa1", "majority_class", share=AVERAGE), 1)
    for model in (ours, others):
        model.exchange.replay([], 0)
        model.exchange.start(2, {})
    (theirs,) = others.advance(records(events(30), partition=1)).shares
    (mine,) = ours.advance(records(events(30), partition=0)).shares
    ours.exchange.receive(1, 0, ours.exchange.read(theirs.value), 0)
    ours.exchange.receive(1, 1, ours.exchange.read(b"no json"), 0)
    ours.exchange.receive(0, 0, ours.exchange.read(mine.value), 0)
    (second,) = ours.advance(records(events(30, seed=6), 30, partition=0)).shares
    assert second.received == (None, None)
    assert ours.exchange.figures()["incompatible"] == 2
    assert second.consumed == {1: 2}


def test_a_deleted_round_is_not_skipped():
    group = Group(SETTINGS, 5).run()
    with pytest.raises(CannotRestore, match="the updates combined in round 1 are no longer known"):
        repeated(group.settings, 0, group.streams[0], group.topic[0][1:], 0, None, [150])


def test_rounds_of_an_older_history_are_not_repeated():
    group = Group(SETTINGS, 5).run()
    log, begin = group.topic[0], ROWS
    model = Model(SETTINGS, 0)
    model.exchange.replay(log, begin)
    model.exchange.start(PARTITIONS, {})
    (record,) = model.advance(records(events(30), ROWS, partition=0)).shares
    assert record.round_number == 1
    assert [header.round_number for header, _ in latest_history([*log, record.value])] == [1]


def test_a_snapshot_has_the_settings_of_the_exchange():
    model = Model(SETTINGS, 3)
    model.exchange.replay([], 0)
    model.exchange.start(2, {})
    assert model.advance(records(events(50))).shares
    blob = snapshot.write(model, model.save(), 50)
    same = Model(SETTINGS, 3)
    snapshot.read(blob, same)
    assert same.exchange.round_number == 1
    other = Model(replace(SETTINGS, share=GOSSIP), 3)
    with pytest.raises(snapshot.ForeignSnapshot, match="made with share average:rows=20, this worker has gossip"):
        snapshot.read(blob, other)


def test_an_exchange_record_is_read_as_written_and_keys_are_reused():
    group = Group(SETTINGS, 5).run()
    likes = [exchange.template for exchange in group.models[1].exchange.averagers]
    for value in group.topic[1]:
        read = ExchangeRecord.read(value, likes)
        assert read.value == value
        assert replace(read, round_number=read.round_number + KEY_SLOTS).key == read.key == b"1/%d" % read.round_number
    assert ExchangeRecord.read(group.topic[1][0], likes[:1]) is None
    assert ExchangeRecord.read(None, likes) is None
    assert read_record_header(b"[]") is None


def test_gossip_partners_form_a_ring():
    assert [neighbours(0, n, GOSSIP) for n in (1, 2, 3, 8)] == [set(), {1}, {1, 2}, {1, 7}]
    assert [neighbour_weight(0, n, GOSSIP) for n in (2, 8)] == [1 / 2, 1 / 3]
    assert neighbours(2, 4, AVERAGE) == {0, 1, 3}
    assert neighbour_weight(2, 4, AVERAGE) == 0.0


@pytest.mark.parametrize("text", ["", "mean:rows=5", "average:rows=0", "average:rows=x", "gossip:every=3", "average:"])
def test_an_invalid_share_option_is_refused(text):
    with pytest.raises(UsageFailure, match="write average:rows=N or gossip:rows=N, N >= 1"):
        SharingOption.parse(text)


def test_sharing_models_needs_transactions():
    assert SharingOption.parse("gossip") == SharingOption("gossip", 100)
    assert str(SharingOption.parse(" average:rows=7")) == "average:rows=7"
    with pytest.raises(UsageFailure, match="--share-models needs --guarantee exactly-once"):
        WorkerSettings("h:1", "E", "g", SETTINGS, guarantee="at-least-once")
    assert "E.g.shares" in WorkerSettings("h:1", "E", "g", SETTINGS).topics.outputs()


def test_frozen_champions_and_mixtures_cannot_be_shared():
    model = Model(model_settings("auto", "pa1", share=AVERAGE), 0)
    model.exchange.replay([], 0)
    model.exchange.start(2, {})
    (record,) = model.advance(records(events(40), partition=0)).shares
    assert len(record.sent) == 1
    assert np.isfinite(record.sent[0].model.weight).all()

"""Two topics are merged while some timestamps are wrong: nothing waits for those, and a replay gives the same."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import numpy as np
import pytest

from driftway.worker.state.delayed_labels import label_merger
from driftway.worker.state.delayed_labels.interleaving import position_after
from driftway.worker.state.delayed_labels.label_merger import MAX_IDLE_SECONDS, LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition, concatenated, leading_to
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import NO_LABEL_OFFSET, Records
from tests.support.selection import slow_but

HOUR, SECOND, APART, DELAY = 3_600_000, 1000, 100, 50
BEGIN = MergePosition(3, 7)
SEEDS = slow_but([0], range(12))


def records(stamps: list[int], first: int) -> Records:
    n = len(stamps)
    return Records(0, np.arange(first, first + n), ListColumn([b"v"] * n), ListColumn([None] * n), stamps)


def taken_of(taken: Records | None) -> list[tuple[int, int]]:
    """(input offset, label offset) of each record."""
    if taken is None or taken.label_offsets is None:
        return []
    return list(zip(taken.offsets.tolist(), taken.label_offsets.tolist(), strict=True))


@dataclass
class Topics:
    """n events, `apart` ms apart, and the label of each, `delay` ms behind it; a share of all stamps is wrong."""

    n: int
    seed: int
    share: float = 0.05
    delay: int = DELAY
    furthest: int = HOUR
    began: int = 1_700_000_000_000
    apart: int = APART

    def __post_init__(self) -> None:
        draw = random.Random(self.seed)

        def wrong(stamp: int) -> int:
            off = draw.randint(2000, self.furthest) * draw.choice([-1, 1])
            return stamp + (off if draw.random() < self.share else 0)

        times = [self.began + i * self.apart for i in range(self.n)]
        self.events = records([wrong(one) for one in times], BEGIN.offset)
        self.labels = records([wrong(one + self.delay) for one in times], BEGIN.label)

    def rows_late(self, taken: list[tuple[int, int]]) -> list[int]:
        """Events between each label's own and the one before which it was taken; below 0: before its own."""
        return [offset - BEGIN.offset - (own - BEGIN.label) - 1 for offset, own in taken if own != NO_LABEL_OFFSET]


class Run:
    """A worker that gets both topics in pieces, takes snapshots now and then, and is replayed."""

    def __init__(self, topics: Topics, draw: random.Random, ahead: int, piece: int = 400) -> None:
        """Labels are read up to `ahead` records in front of the events."""
        self.topics, self.parts = topics, list[MergeOrder]()
        self.merger, self.taken = LabelMerger(MergeOrder(BEGIN)), list[tuple[int, int]]()
        events = labels = 0
        now = 0.0
        while events < topics.n or self.merger.waiting_events:
            now += draw.choice([0.0, 0.01, 0.1])
            if labels < topics.n and labels < events + ahead:
                end = min(topics.n, labels + draw.randint(1, piece))
                self.merger.add_labels(topics.labels.before(end).after(labels))
                labels = end
            if labels == topics.n or labels >= events + ahead or (labels >= events + piece and draw.random() < 0.5):
                self.merger.end_labels()
            last = labels < topics.n and events + piece >= topics.n
            size = 0 if last or draw.random() < 0.1 else draw.randint(1, piece)
            batch = topics.events.before(events + size).after(events) if size and events < topics.n else None
            events = min(topics.n, events + size)
            now += MAX_IDLE_SECONDS if events == labels == topics.n else 0.0
            self.taken += taken_of(self.merger.take(batch, now, self._count_awaited))
            if draw.random() < 0.1:
                self.parts.append(self.merger.order)
                self.merger.snapshot_taken(self.merger.order.end)
        self.parts.append(self.merger.order)

    def _count_awaited(self, labels: Records) -> int:
        rows = {own - BEGIN.offset for own, label in self.taken if label == NO_LABEL_OFFSET}
        awaited = [own - BEGIN.label in rows for own in labels.offsets.tolist()]
        return [*awaited, False].index(False)

    def replayed(self, draw: random.Random) -> list[tuple[int, int]]:
        """The same from what is committed and both logs, in other pieces."""
        begin = draw.choice(self.parts).begin
        order = concatenated([one for part in self.parts if (one := MergeOrder.read(part.write()))], begin.offset)
        assert order is not None
        again, taken = LabelMerger(MergeOrder(order.begin), order), list[tuple[int, int]]()
        events = begin.offset - BEGIN.offset
        while again.order.end != order.end:
            if again.needs_labels:
                first = again.next_label - BEGIN.label
                again.add_labels(self.topics.labels.after(first).before(draw.randint(1, 300)))
                taken += taken_of(again.take(None, 0.0))
            else:
                size = draw.randint(1, 300)
                taken += taken_of(again.take(self.topics.events.after(events).before(size), 0.0))
                events += size
        assert again.order.events == tuple(one for one in order.events)
        assert again.order.labels == order.labels
        assert taken == [one for one in self.taken if one[0] >= begin.offset]
        return taken

    def resumed(self, draw: random.Random) -> None:
        """Follow the order from behind any record, also from behind a label."""
        cut = draw.randrange(1, len(self.taken))
        offsets, own = (np.array([one[i] for one in self.taken[:cut]]) for i in (0, 1))
        nothing = ListColumn([None] * cut)
        position = position_after(Records(0, offsets, nothing, nothing, [0] * cut, label_offsets=own), BEGIN)
        rest = leading_to(self.parts[:-1], self.parts[-1]).since(position)
        again, first = LabelMerger(MergeOrder(position), rest), position.label - BEGIN.label
        again.add_labels(self.topics.labels.after(first).before(rest.end.label - position.label))
        assert taken_of(again.take(self.topics.events.after(position.offset - BEGIN.offset), 0.0)) == self.taken[cut:]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("ahead", "delay"), [(100_000, DELAY), (100_000, 20_000), (1000, DELAY), (5, DELAY)])
def test_no_label_is_lost_or_delayed_if_one_timestamp_in_twenty_is_wrong(seed: int, ahead: int, delay: int) -> None:
    draw, topics = random.Random(seed), Topics(3000, seed, delay=delay)
    run = Run(topics, draw, ahead, 400 if ahead > 5 else 3)
    late = topics.rows_late(run.taken)
    assert len(late) == len({own for _, own in run.taken}) - 1, "each label once"
    assert len(late) >= topics.n - delay // APART - 5, "all but the last"
    assert min(late) >= 0, "no label comes before its event, where no row would wait for it"
    assert max(late) <= delay // APART + 30
    assert sorted(own for own, label in run.taken if label == NO_LABEL_OFFSET) == topics.events.offsets.tolist()
    run.replayed(draw)
    run.resumed(draw)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_label_is_lost_if_timestamps_are_a_few_seconds_off(seed: int) -> None:
    """Long after such an event most records agree with it; those right behind it do not."""
    draw, topics = random.Random(seed), Topics(3000, seed, furthest=5000)
    run = Run(topics, draw, 100_000)
    late = topics.rows_late(run.taken)
    assert len(late) >= topics.n - 5
    assert min(late) >= 0
    run.replayed(draw)


@pytest.mark.parametrize("seed", range(4))
def test_without_wrong_timestamps_the_result_is_the_plain_merge(seed: int) -> None:
    draw, topics = random.Random(seed), Topics(2000, seed, 0.0)
    run = Run(topics, draw, 100_000)
    assert {*topics.rows_late(run.taken)} == {0}
    assert not any(part.events or part.labels for part in run.parts), "nothing to record"
    assert all(len(part.steps) <= 1 for part in run.parts)
    run.replayed(draw)


@pytest.mark.parametrize("kind", ["labels", "events"])
@pytest.mark.parametrize("by", [1_800_000, 24 * HOUR, -HOUR])
def test_a_batch_from_a_producer_with_a_wrong_clock_is_merged_with_its_neighbours(kind: str, by: int) -> None:
    topics = Topics(3000, 0, 0.0)
    stamps = getattr(topics, kind).timestamps
    stamps[500:620] = [stamp + by for stamp in stamps[500:620]]
    run = Run(topics, random.Random(1), 100_000, 1000)
    late = topics.rows_late(run.taken)
    assert len(late) >= topics.n - 2
    assert (min(late), max(late)) >= (0, 0)
    assert max(late) <= 1000, "a piece: until records behind it are read, such a batch is a jump in time"
    run.replayed(random.Random(2))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("share", [0.0, 0.03])
@pytest.mark.parametrize("back", [20 * SECOND, HOUR])
@pytest.mark.parametrize(("ahead", "delay", "piece"), [(100_000, DELAY, 400), (1000, 20_000, 400), (5, DELAY, 1)])
def test_no_label_waits_until_clocks_that_were_set_back_have_the_old_time_again(
    seed: int, share: float, back: int, ahead: int, delay: int, piece: int
) -> None:
    draw, topics = random.Random(seed), Topics(1200, seed, share, delay=delay)
    moment = topics.began + 600 * APART - 20
    for one in (topics.events, topics.labels):
        one.timestamps[:] = [stamp if stamp < moment else stamp - back for stamp in one.timestamps]  # type: ignore[index]
    run = Run(topics, draw, ahead, piece)
    late = topics.rows_late(run.taken)
    assert len(late) >= topics.n - delay // APART - 5
    assert min(late) >= 0
    assert max(late) <= delay // APART + 30
    run.replayed(draw)
    run.resumed(draw)


@pytest.mark.parametrize("share", [3, 2])
def test_no_label_is_lost_if_one_of_several_producers_always_has_a_wrong_clock(share: int) -> None:
    topics = Topics(3000, 0, 0.0)
    topics.labels.timestamps[::share] = [stamp + HOUR // 2 for stamp in topics.labels.timestamps[::share]]  # type: ignore[index]
    run = Run(topics, random.Random(1), 100_000, 1000)
    late = topics.rows_late(run.taken)
    assert len(late) >= topics.n - 5
    assert min(late) >= 0
    assert max(late) <= 30
    run.replayed(random.Random(2))


@pytest.mark.parametrize("apart", [1500, 2 * SECOND, 60 * SECOND])
@pytest.mark.parametrize("every", [3, 10])
def test_a_label_that_is_behind_does_not_make_those_before_it_wrong(apart: int, every: int) -> None:
    """If labels are seconds apart, each is a jump in time, and one that is behind is earlier than several."""
    topics = Topics(300, 0, 0.0, delay=3 * SECOND, apart=apart)
    behind = slice(9, None, every)
    topics.labels.timestamps[behind] = [one - 4 * apart for one in topics.labels.timestamps[behind]]  # type: ignore[index]
    run = Run(topics, random.Random(1), 100_000)
    late = topics.rows_late(run.taken)
    assert len(late) >= topics.n - 10, "all but the last"
    assert min(late) >= 0
    assert max(late) <= 4
    run.replayed(random.Random(2))


def test_a_label_from_the_future_waits_alone_until_another_comes() -> None:
    topics = Topics(40, 0, 0.0)
    topics.labels.timestamps[10] += HOUR  # type: ignore[index]
    merger, taken = LabelMerger(MergeOrder(BEGIN)), list[tuple[int, int]]()
    for i in range(40):
        taken += taken_of(merger.take(topics.events.after(i).before(1), float(i)))
        merger.add_labels(topics.labels.after(i).before(1))
        merger.end_labels()
        if i in (10, 11):
            assert merger.waiting_labels == 1 + (i == 11)
    assert {*topics.rows_late(taken)} <= {0, 1, 2}
    clocks = merger.clocks()
    assert (clocks["wrong_timestamps"], clocks["labels_waiting"]) == (1, 1)
    assert HOUR - 1000 <= clocks["furthest_ms"] <= HOUR + 1000


def test_a_jump_in_time_is_accepted_at_once_if_live_and_otherwise_once_confirmed() -> None:
    now = round(1000 * time.time())
    for began, waits in ((now - APART * 3, False), (now - 24 * HOUR, True)):
        merger = LabelMerger(MergeOrder(BEGIN))
        merger.add_labels(records([began - HOUR + 10, began - 10], BEGIN.label))
        merger.end_labels()
        merger.take(records([began - HOUR + i for i in range(5)], BEGIN.offset), 0.0)
        merger.take(None, 0.0)
        leap = merger.take(records([began], BEGIN.offset + 5), 0.1)
        assert (leap is None) is waits
        if waits:
            leap = merger.take(records([began + 1, began + 2, began + 3, began + 4], BEGIN.offset + 6), 0.2)
        assert {own for _, own in taken_of(leap)} >= {7, 8}


def test_beyond_the_bound_timestamps_are_used_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_merger, "MAX_CORRECTIONS", 20)
    topics = Topics(3000, 3)
    run = Run(topics, random.Random(3), 100_000)
    longest = max(len(part.events) + len(part.labels) for part in run.parts)
    assert 20 <= longest < 100
    run.replayed(random.Random(4))


@pytest.mark.parametrize("by", [-HOUR, HOUR])
def test_the_last_label_follows_its_event_however_far_the_events_are_read(by: int) -> None:
    topics, taken, asked = Topics(40, 0, 0.0), list[tuple[int, int]](), list[int]()
    topics.labels.timestamps[20] += by  # type: ignore[index]
    merger = LabelMerger(MergeOrder(BEGIN))
    merger.add_labels(topics.labels.before(21))
    merger.end_labels()

    def count_awaited(labels: Records) -> int:
        asked.extend(labels.offsets.tolist())
        return int((BEGIN.offset + 20, NO_LABEL_OFFSET) in taken)

    for first in range(0, 40, 5):
        taken += taken_of(merger.take(topics.events.after(first).before(5), first / 100, count_awaited))
    assert [offset - BEGIN.offset for offset, own in taken if own == BEGIN.label + 20] == [24]
    assert {*topics.rows_late(taken)} == {0, 3}
    assert {*asked} == {BEGIN.label + 20}


@pytest.mark.parametrize("by", [-HOUR, HOUR])
def test_the_last_label_follows_its_event_although_one_batch_has_all_events(by: int) -> None:
    """Its row waits for it once the model has seen the batch: one event is held back for that, once."""
    topics = Topics(40, 0, 0.0)
    topics.labels.timestamps[20] += by  # type: ignore[index]
    merger = LabelMerger(MergeOrder(BEGIN))
    merger.add_labels(topics.labels.before(21))
    merger.end_labels()
    first = taken_of(merger.take(topics.events, 0.0))
    assert merger.waiting_events == 1
    assert sum(own == NO_LABEL_OFFSET for _, own in first) == 39
    second = taken_of(merger.take(None, 0.1, len))
    assert second == [(BEGIN.offset + 39, BEGIN.label + 20), (BEGIN.offset + 39, NO_LABEL_OFFSET)]
    merger = LabelMerger(MergeOrder(BEGIN))
    merger.add_labels(topics.labels.before(21))
    merger.end_labels()
    merger.take(topics.events.before(20), 0.0)
    assert merger.waiting_events == 1
    merger.take(topics.events.after(20), 0.1)
    assert (merger.waiting_events, merger.waiting_labels) == (1, 1)
    merger.take(None, 0.2)
    assert (merger.waiting_events, merger.waiting_labels) == (0, 1)


def test_correct_timestamps_do_not_count_as_wrong_however_far_apart() -> None:
    times = [1_700_000_000_000 + i * 5 * SECOND for i in range(40)]
    merger = LabelMerger(MergeOrder(BEGIN))
    merger.add_labels(records([one + HOUR for one in times], BEGIN.label))
    merger.end_labels()
    merger.take(records([one + 2 * HOUR for one in times], BEGIN.offset), 0.0)
    assert merger.waiting_labels == 0
    assert (merger.clocks()["wrong_timestamps"], merger.clocks()["furthest_ms"]) == (0, 0)

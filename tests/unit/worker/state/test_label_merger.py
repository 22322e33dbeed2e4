"""Two topics merged into one stream: whatever the arrival times, a replay of the order gives the same records."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from driftway.worker.state.delayed_labels.interleaving import position_after
from driftway.worker.state.delayed_labels.label_merger import FIRST_MAX_IDLE_SECONDS, MAX_IDLE_SECONDS, LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition, concatenated, leading_to
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import NO_LABEL_OFFSET, Records

Taken = list[tuple[int, int, bytes | None]]
"""Input offset, label offset, value."""
BEGIN = MergePosition(3, 7)


def records(kind: str, first: int, times: list[int]) -> Records:
    offsets = np.arange(first, first + len(times))
    values = [f"{kind}{offset}".encode() for offset in offsets.tolist()]
    return Records(0, offsets, ListColumn(values), ListColumn([None] * len(times)), times)


def rows_of(taken: Records | None) -> Taken:
    if taken is None:
        return []
    assert taken.label_offsets is not None
    return list(zip(taken.offsets.tolist(), taken.label_offsets.tolist(), taken.values.to_list(), strict=True))


def pieces(chance: random.Random, whole: Records) -> Iterator[Records]:
    start = 0
    while start < len(whole):
        end = start + chance.randint(1, 9)
        yield whole.after(start).before(end - start)
        start = end


class LiveWorker:
    """A worker that merges both topics as they happen to arrive and takes a snapshot now and then."""

    def __init__(self, chance: random.Random, events: Records, labels: Records) -> None:
        self.flow = LabelMerger(MergeOrder(BEGIN))
        self.taken: Taken = []
        self.parts: list[MergeOrder] = []
        events_due, labels_due, now = list(pieces(chance, events)), list(pieces(chance, labels)), 0.0
        while events_due or self.flow.waiting_events:
            now += chance.choice([0.0, 0.1, MAX_IDLE_SECONDS])
            if labels_due and chance.random() < 0.6:
                self.flow.add_labels(labels_due.pop(0))
            if chance.random() < 0.3:
                self.flow.end_labels()
            batch = events_due.pop(0) if events_due and chance.random() < 0.7 else None
            max_events = chance.choice([None, 1, 3, 20])
            self.taken += rows_of(self.flow.take(batch, now, max_events=max_events))
            if chance.random() < 0.2:
                self.parts.append(self.flow.order)
                self.flow.snapshot_taken(self.flow.order.end)

    def orders(self) -> list[MergeOrder]:
        return [*self.parts, self.flow.order]


@pytest.fixture(params=range(30))
def chance(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def topics(chance: random.Random) -> tuple[Records, Records]:
    """Return both topics; their times mostly rise, sometimes jump back, and often repeat."""

    def times(n: int, late: int) -> list[int]:
        return [i // 2 + chance.choice([0, 0, 0, 1, -5, 3]) + late for i in range(n)]

    return records("e", BEGIN.offset, times(120, 0)), records("l", BEGIN.label, times(100, chance.choice([0, 8, -20])))


def test_a_replay_gives_the_same_records(chance: random.Random) -> None:
    events, labels = topics(chance)
    live = LiveWorker(chance, events, labels)
    begin = chance.choice([part.begin for part in live.orders()])
    order = concatenated(live.orders(), begin.offset)
    assert order is not None
    again, taken = LabelMerger(MergeOrder(order.begin), order), Taken()
    coming = pieces(chance, events)
    while again.order.end != order.end:
        if again.needs_labels:
            again.add_labels(labels.after(again.next_label - BEGIN.label).before(chance.randint(1, 5)))
            taken += rows_of(again.take(None, 0.0))
        else:
            taken += rows_of(again.take(next(coming, None), 0.0, max_events=chance.choice([None, 1, 4])))
    assert taken == [one for one in live.taken if one[0] >= begin.offset]


def test_a_replay_from_any_record_on_gives_the_same_records(chance: random.Random) -> None:
    """Also from between a label and the event before which it was taken, as where a relearning was interrupted."""
    events, labels = topics(chance)
    live = LiveWorker(chance, events, labels)
    order = leading_to(chance.sample(live.parts, len(live.parts)), live.flow.order)
    assert order == concatenated(live.orders(), BEGIN.offset)
    for cut in chance.sample(range(1, len(live.taken)), 20):
        done = live.taken[:cut]
        columns = (np.array([one[i] for one in done]) for i in (0, 1))
        offsets, own = columns
        nothing = ListColumn([None] * cut)
        position = position_after(Records(0, offsets, nothing, nothing, [0] * cut, label_offsets=own), BEGIN)
        rest = order.since(position)
        again = LabelMerger(MergeOrder(position), rest)
        again.add_labels(labels.after(position.label - BEGIN.label).before(rest.end.label - position.label))
        assert rows_of(again.take(events.after(position.offset - BEGIN.offset), 0.0)) == live.taken[cut:]


def test_every_event_comes_once_and_labels_in_their_order(chance: random.Random) -> None:
    events, labels = topics(chance)
    taken = LiveWorker(chance, events, labels).taken
    assert [value for _, own, value in taken if own == NO_LABEL_OFFSET] == list(events.values)
    merged = [(own, value) for _, own, value in taken if own != NO_LABEL_OFFSET]
    assert merged == list(zip(labels.offsets.tolist(), labels.values, strict=True))[: len(merged)]
    offsets = [offset for offset, _, _ in taken]
    assert offsets == sorted(offsets)


def test_timestamps_decide_the_position_of_a_label() -> None:
    flow = LabelMerger(MergeOrder(BEGIN))
    flow.add_labels(records("l", BEGIN.label, [5, 10, 20, 30]))
    flow.end_labels()
    taken = rows_of(flow.take(records("e", BEGIN.offset, [1, 10, 11, 25]), 0.0))
    assert [value for _, _, value in taken] == [b"e3", b"l7", b"e4", b"l8", b"e5", b"l9", b"e6"]
    assert flow.waiting_labels == 1
    assert flow.order == MergeOrder(BEGIN, (MergePosition(7, 10),)), "what times say needs no word"


def test_events_wait_for_labels_that_exist_but_not_forever() -> None:
    flow = LabelMerger(MergeOrder(BEGIN))
    events = records("e", BEGIN.offset, [1, 2, 9])
    assert flow.take(events, 100.0) is None
    flow.add_labels(records("l", BEGIN.label, [1, 5]))
    assert [value for _, _, value in rows_of(flow.take(None, 100.1))] == [b"e3", b"l7", b"e4"]
    assert flow.waiting_events == 1
    assert flow.take(None, 100.2) is None
    assert [value for _, _, value in rows_of(flow.take(None, 100.1 + MAX_IDLE_SECONDS))] == [b"l8", b"e5"]


def test_events_that_have_waited_are_released_in_batches_and_later_ones_wait_as_long() -> None:
    flow, end = LabelMerger(MergeOrder(BEGIN)), 100.0 + FIRST_MAX_IDLE_SECONDS
    assert flow.take(records("e", 3, [1, 2, 3, 4]), 100.0) is None
    assert [value for _, _, value in rows_of(flow.take(None, end, max_events=2))] == [b"e3", b"e4"]
    flow.add_labels(records("l", 7, [4]))
    came = records("e", 7, [5, 6])
    assert [value for _, _, value in rows_of(flow.take(came, end, max_events=3))] == [b"e5", b"e6"]
    assert flow.take(None, end + MAX_IDLE_SECONDS / 2, max_events=3) is None
    flow.add_labels(records("l", 8, [5]))
    assert [value for _, _, value in rows_of(flow.take(None, end + 0.6, max_events=3))] == [b"l7", b"e7"]


def test_a_reader_of_labels_that_still_connects_is_given_more_time() -> None:
    flow = LabelMerger(MergeOrder(BEGIN))
    assert flow.take(records("e", BEGIN.offset, [1]), 100.0) is None
    assert flow.take(None, 100.0 + 2 * MAX_IDLE_SECONDS) is None
    assert flow.take(None, 100.0 + FIRST_MAX_IDLE_SECONDS) is not None


def test_the_wait_for_labels_begins_when_their_reader_is_connected() -> None:
    flow, connected = LabelMerger(MergeOrder(BEGIN)), 100.0 + 2 * MAX_IDLE_SECONDS
    assert flow.take(records("e", 3, [1, 2, 3]), 100.0) is None
    flow.add_labels(records("l", 7, [1]))
    assert [value for _, _, value in rows_of(flow.take(None, connected))] == [b"e3"]
    assert flow.take(None, connected + 0.9 * MAX_IDLE_SECONDS) is None
    assert [value for _, _, value in rows_of(flow.take(None, connected + MAX_IDLE_SECONDS))] == [b"l7", b"e4", b"e5"]


def test_labels_older_than_all_events_do_not_block_the_labels_of_the_events() -> None:
    """Else all events would be taken before their labels, once they have waited long enough."""
    flow = LabelMerger(MergeOrder(BEGIN))
    flow.add_labels(records("l", 7, [1, 2]))
    assert flow.take(records("e", 3, [5, 6, 7]), 100.0) is None
    flow.reading = False
    assert [value for _, _, value in rows_of(flow.take(None, 100.0))] == [b"l7", b"l8", b"e3"]
    flow.reading = True
    assert flow.take(None, 100.0) is None
    flow.add_labels(records("l", 9, [5, 6]))
    assert [value for _, _, value in rows_of(flow.take(None, 100.1))] == [b"l9", b"e4"]


def test_a_label_that_came_too_late_is_recorded() -> None:
    flow = LabelMerger(MergeOrder(BEGIN))
    flow.end_labels()
    flow.take(records("e", 3, [1, 2, 30]), 0.0)
    flow.add_labels(records("l", 7, [2]))
    flow.end_labels()
    flow.take(records("e", 6, [31]), 0.0)
    assert flow.order == MergeOrder(BEGIN, (MergePosition(6, 7), MergePosition(7, 8)))
    flow.take(records("e", 7, [32]), 0.0)
    assert flow.order == MergeOrder(BEGIN, (MergePosition(6, 7), MergePosition(8, 8)))


def test_held_records_do_not_depend_on_buffers_of_the_client() -> None:
    flow = LabelMerger(MergeOrder(MergePosition(0, 0)))
    buffer = [b"one", b"two"]
    flow.take(Records(0, np.arange(2), ListColumn(buffer), ListColumn([None, b"k"]), [1, 2]), 0.0)
    buffer[:] = [b"xxx", b"yyy"]
    flow.end_labels()
    taken = flow.take(None, 0.0)
    assert taken is not None
    assert (list(taken.values), list(taken.keys)) == ([b"one", b"two"], [None, b"k"])


@pytest.mark.parametrize("value", [b"", b"x", b"[]", b"[[1],[]]", b"[[1,2],[3]]", b"[[1,2],[[3,null]]]", None])
def test_an_unreadable_order_is_refused(value: bytes | None) -> None:
    assert MergeOrder.read(value) is None


def test_an_order_is_read_as_it_was_written() -> None:
    order = MergeOrder(BEGIN, (MergePosition(5, 7), MergePosition(9, 12)))
    assert MergeOrder.read(order.write()) == order


def test_a_chain_uses_the_last_records_and_ends_where_a_part_is_missing() -> None:
    a, b, c = MergePosition(0, 0), MergePosition(10, 4), MergePosition(20, 9)
    first, second = MergeOrder(a, (b,)), MergeOrder(b, (MergePosition(15, 4), c))
    assert concatenated([first, second], 0) == MergeOrder(a, (b, MergePosition(15, 4), c))
    assert concatenated([first, second], 10) == second
    assert concatenated([second, MergeOrder(b, (MergePosition(12, 5),))], 10) == MergeOrder(b, (MergePosition(12, 5),))
    assert concatenated([first], 10) == MergeOrder(b)
    assert concatenated([first, MergeOrder(MergePosition(11, 4), (c,))], 0) == first
    assert concatenated([first, second], 5) is None


def test_orders_are_followed_back_as_far_as_they_are_known() -> None:
    a, b, c, d = MergePosition(0, 0), MergePosition(10, 4), MergePosition(20, 9), MergePosition(30, 9)
    first, second, last = MergeOrder(a, (b,)), MergeOrder(b, (c,)), MergeOrder(c, (d,))
    whole = MergeOrder(a, (b, c, d))
    assert leading_to([second, MergeOrder(b), first, MergeOrder(c, (MergePosition(25, 9),))], last) == whole
    assert leading_to([first], last) == last
    assert leading_to([MergeOrder(a, (MergePosition(20, 8),))], last) == last, "of another label topic"
    assert leading_to([first, second], MergeOrder(c)) == MergeOrder(a, (b, c))


def test_an_order_is_known_from_the_first_position_that_the_topics_still_have() -> None:
    a, b, c = MergePosition(5, 2), MergePosition(10, 4), MergePosition(20, 9)
    order, all_there = MergeOrder(a, (b, c)), MergePosition(0, 0)
    assert [order.known_from(all_there, first) for first in (None, 3, 5, 9, 10, 25)] == [a, a, a, a, b, c]
    assert order.known_from(MergePosition(6, 0)) == b
    assert order.known_from(MergePosition(6, 0), 7) == b
    assert order.known_from(MergePosition(0, 5)) == c
    assert order.known_from(MergePosition(0, 99)) == c

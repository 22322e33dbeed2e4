"""Events of the input and labels from a separate topic, merged into one stream.

The record with the earlier time comes first, events before labels of the same millisecond; but the order within each
topic is kept. A label is delivered just before the first event with a later time; until that arrives, the label waits.

A record whose timestamp is contradicted by those around it (`driftway.worker.state.delayed_labels.stamps`) delays no
other: an event that is ahead gets the time of those before it, and a label that is ahead or behind is merged with the
next label in order. At the end of its topic, where none may follow, it is merged once its row waits for it. This is
known only after the model has processed the events, so the last of several waits until the next call.

If all timestamps are earlier from one record on, the clocks were set back. Events behind such a moment are merged by
themselves, and the labels before it that still wait are merged with the first label behind it.

Which labels have arrived by then depends on timing, and so do conclusions about timestamps. So the order is recorded
(`driftway.worker.state.delayed_labels.merge_order`) and committed; a replay follows it and produces the same stream.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace

import numpy as np

from driftway.worker.state.delayed_labels.interleaving import concatenated, find_indices, interleaved, times_of
from driftway.worker.state.delayed_labels.merge_order import Corrections, MergeOrder, MergePosition
from driftway.worker.state.delayed_labels.stamps import NO_TIME
from driftway.worker.state.delayed_labels.usable_times import (
    CountAwaited,
    UsableTimes,
    corrections_of,
    event_times,
    label_times,
    newest_in_line,
    replayed_times,
)
from driftway.worker.wire.columns import Integers
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import read_headers

MAX_IDLE_SECONDS, FIRST_MAX_IDLE_SECONDS = 1.0, 10.0
"""How long events wait for labels that the broker may have: a prediction is worth more than their order. The second
limit is for the first wait, when the label topic's reader may still be connecting."""
MAX_CORRECTIONS = 10_000
"""Wrong stamps since the last snapshot that are recorded, in each commit; beyond that, stamps are used as they are."""


class _Buffer:
    """Records of one topic that are not merged yet.

    Parameters
    ----------
    offset : int
        Offset of the next record to accept.
    """

    def __init__(self, offset: int) -> None:
        self.next = offset
        """Offset of the next record to accept."""
        self._parts: list[Records] = []
        self._owned_parts = 0
        """Number of leading parts that own their memory."""
        self.nbytes = 0
        """Bytes of the records' values and keys."""

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def add(self, records: Records) -> None:
        """Append records; those below `self.next` were already seen and are skipped."""
        records = records.after(int(records.offsets.searchsorted(self.next)))
        if len(records):
            self.next = int(records.offsets[-1]) + 1
            self._parts.append(records)
            self.nbytes += _nbytes(records)

    def before(self, offset: int | None) -> Records | None:
        """Return the records below `offset` (all if None), or None if there are none."""
        if len(self._parts) > 1:
            self._join()
        if not self._parts:
            return None
        held = self._parts[0]
        found = held if offset is None else held.before(int(held.offsets.searchsorted(offset)))
        return found if len(found) else None

    def drop(self, n: int) -> None:
        """Drop the first `n` records."""
        held = self.before(None)
        self.nbytes -= 0 if held is None else _nbytes(held.before(n))
        self._parts = [] if held is None or n == len(held) else [held.after(n)]
        self._owned_parts = min(self._owned_parts, len(self._parts))

    def own(self) -> None:
        """Copy the remaining records with their headers: they must outlast the client's buffers and messages."""
        if len(self._parts) > self._owned_parts or len(self._parts) > 1:
            self._join()
        self._parts = [replace(part, headers=read_headers(part.headers)) for part in self._parts]

    def _join(self) -> None:
        self._parts = [concatenated(self._parts)]
        self._owned_parts = len(self._parts)


def _nbytes(records: Records) -> int:
    return records.values.nbytes + records.keys.nbytes


class LabelMerger:
    """Merges a partition's events and labels into one stream.

    Parameters
    ----------
    order : MergeOrder
        The merge order since the last snapshot.
    replay : MergeOrder or None
        An order to follow first, from the end of `order` on; None: there is nothing to replay.
    lines : pair of int
        The latest stamps in line of the events and the labels that were merged before.
    """

    def __init__(
        self, order: MergeOrder, replay: MergeOrder | None = None, lines: tuple[int, int] = (NO_TIME, NO_TIME)
    ) -> None:
        self.order = order
        known = MergeOrder(order.end) if replay is None else replay
        self._replay = deque(known.steps)
        self._corrections = [np.array(one, np.int64).reshape(-1, 2) for one in (known.events, known.labels)]
        self._events, self._labels = _Buffer(order.end.offset), _Buffer(order.end.label)
        self._latest_event_time: int | None = None
        """Latest time of an event since the last label of the newest step; None: the next records begin a new step."""
        self.reading = True
        """Whether more labels are read now; if not, some of those that wait must be merged first."""
        self._at_end = self._label_topic_seen = False
        """Whether the label topic is read to its last known end, and whether the first wait for its reader is over."""
        self._waits_since: float | None = None
        self._ready_until = 0
        """Offset after the last event that need not wait any longer, whether or not it is merged yet."""
        self._event_line, self._label_line = lines
        self._newest_label = self._label_line
        """The latest stamp in line of all labels read."""
        self._doubted: list[int] = []
        """Stamps of the last merged events that would be a jump in time, ahead or back, if others confirmed it."""
        self._wrong = self._furthest = 0

    @property
    def waiting_events(self) -> int:
        """Number of events that wait for labels."""
        return len(self._events)

    @property
    def waiting_event_bytes(self) -> int:
        """Bytes of the events that wait for labels."""
        return self._events.nbytes

    @property
    def waiting_labels(self) -> int:
        """Number of labels that wait for events."""
        return len(self._labels)

    @property
    def waiting_label_bytes(self) -> int:
        """Bytes of the labels that wait for events."""
        return self._labels.nbytes

    @property
    def next_label(self) -> int:
        """Next offset to read in the label topic."""
        return self._labels.next

    @property
    def needs_labels(self) -> bool:
        """Whether the next step to replay still lacks labels."""
        return bool(self._replay) and self._labels.next < self._replay[0].label and not self._at_end

    def clocks(self) -> dict[str, int]:
        """How far stamps are apart, see `driftway.worker.stream.task.task.Task.clocks`."""
        known = NO_TIME not in (self._newest_label, self._event_line)
        return {
            "wrong_timestamps": self._wrong,
            "furthest_ms": self._furthest,
            "labels_waiting": self.waiting_labels,
            "labels_ahead_ms": self._newest_label - self._event_line if known else 0,
        }

    @property
    def lines(self) -> dict[str, int]:
        """The times, in ms, that the merged events and labels have reached: for the merger of a successor."""
        return {"event_time": self._event_line, "label_time": self._label_line}

    def add_labels(self, records: Records) -> None:
        """Append labels, in columns that the client will not overwrite."""
        if not self._label_topic_seen:
            self._waits_since = None  # the wait for more labels begins only now
        self._at_end, self._label_topic_seen = False, True
        self._labels.add(records)

    def end_labels(self, offset: int = 0) -> None:
        """Note that the label topic is read to its current end, at `offset`."""
        self._at_end = self._label_topic_seen = True
        self._labels.next = max(self._labels.next, offset)

    def snapshot_taken(self, position: MergePosition) -> None:
        """Drop the order before `position`, now that a snapshot taken there is committed."""
        self.order = self.order.since(position)
        if not self.order.steps:
            self._latest_event_time = None

    def take(
        self,
        events: Records | None,
        now: float,
        count_awaited: CountAwaited = lambda _labels: 0,
        max_events: int | None = None,
    ) -> Records | None:
        """Merge the records that need not wait; return None if there are none.

        Parameters
        ----------
        events : Records or None
            New events, in columns that the client may overwrite.
        now : float
            Seconds of a monotonic clock.
        count_awaited : callable
            Returns how many of the first of these labels are awaited by rows.
        max_events : int or None
            Number of events to take at most: all that have waited may become ready at once. None: all.
        """
        if events is not None:
            self._events.add(events)
        parts, left = list[Records](), max(1, len(self._events)) if max_events is None else max_events
        while left > 0 and self._replay and not self.needs_labels:
            end = self._replay[0]
            if (ready := self._events.before(end.offset)) is not None:
                ready = ready.before(left)
                left -= len(ready)
                labels, (of_events, of_labels) = self._labels.before(end.label), self._corrections
                label_due = None if labels is None else replayed_times(labels, of_labels)
                parts.append(self._merge(ready, labels, replayed_times(ready, of_events), label_due))
            if self._events.next < end.offset or self._events.before(end.offset) is not None:
                break
            self._replay.popleft()
        if left > 0 and not self._replay and (merged := self._merge_live(now, count_awaited, left)) is not None:
            parts.append(merged)
        self._events.own()
        self._labels.own()
        if len(parts) < 2:
            return parts[0] if parts else None
        return concatenated(parts)

    def _merge_live(self, now: float, count_awaited: CountAwaited, max_events: int) -> Records | None:
        """Merge up to `max_events` events that need not wait any longer for earlier labels; None if there are none."""
        events, labels = self._events.before(None), self._labels.before(None)
        if events is None:
            self._waits_since = None
            return None
        since = now if self._waits_since is None else self._waits_since
        of_events = event_times(events, self._event_line, self._doubted, round(1000 * time.time()))
        of_labels = None
        if labels is not None:
            of_labels = label_times(labels, self._label_line, count_awaited if self._at_end else None)
            # A label goes before a later event: if the labels are later than the last event, events were set back.
            events_too = of_events.set_back == 0 or self._event_line < self._label_line
            of_labels = of_labels.after_set_back(labels, events_too, count_awaited)
        n = len(events)
        if labels is not None and now - since < MAX_IDLE_SECONDS:
            n = of_events.decided
        patience = MAX_IDLE_SECONDS if self._label_topic_seen else FIRST_MAX_IDLE_SECONDS
        if not self._at_end and now - since < patience:
            # Labels come in order: an event up to the latest label's time has no earlier label left to wait for.
            newest = newest_in_line(of_labels)
            later = of_events.times[:n] > newest
            if of_labels is not None and of_labels.set_back == len(of_labels.times):
                later[of_events.set_back :] = True  # the labels behind the same moment are still to come
            if later.any():
                # Labels older than all events, as where only events are deleted, make room by going before the first.
                n = int(later.argmax()) or int(not self.reading and newest != NO_TIME)
        n = max(n, int(events.offsets.searchsorted(self._ready_until)))
        n = min(n, of_events.set_back or n)  # what follows is merged by itself
        self._label_topic_seen |= n > 0
        if n == len(events) > 1 and of_labels is not None and self._at_end:
            # The last label may have to wait for its row, which these events may bring.
            n -= int(of_labels.unconfirmed[-1] or of_labels.wrong[-1])
        if n == len(events):
            self._waits_since = None
        else:
            self._waits_since = since if n == 0 else now
        if n == 0:
            return None
        self._ready_until = int(events.offsets[n - 1]) + 1
        return self._merge_judged(events.before(min(n, max_events)), labels, of_events, of_labels)

    def _merge_judged(
        self, events: Records, labels: Records | None, of_events: UsableTimes, of_labels: UsableTimes | None
    ) -> Records:
        """Merge events and labels by usable times, and count the wrong stamps."""
        n, full = len(events), len(self.order.events) + len(self.order.labels) >= MAX_CORRECTIONS
        before = self.waiting_labels
        if labels is None or of_labels is None:
            merged = self._merge(events, None, times_of(events) if full else of_events.times[:n], None)
        elif full:
            merged = self._merge(events, labels, times_of(events), times_of(labels))
        else:
            labels = labels.before(of_labels.decided)
            merged = self._merge(events, labels, of_events.times[:n], of_labels.times[: of_labels.decided])
        self._event_line = int(of_events.line[n - 1])
        self._doubted = of_events.doubted(n, self._doubted)
        self._count(of_events, n)
        if of_labels is not None and (taken := before - self.waiting_labels):
            self._count(of_labels, taken)
        self._newest_label = self._label_line if of_labels is None else int(of_labels.line[-1])
        return merged

    def _count(self, found: UsableTimes, n: int) -> None:
        """Count the wrong stamps of the first `n` records."""
        wrong = found.wrong[:n]
        self._wrong += int(wrong.sum())
        self._furthest = max(self._furthest, int(found.off[:n].max(where=wrong, initial=0)))

    def _merge(
        self, events: Records, labels: Records | None, event_due: Integers, label_due: Integers | None
    ) -> Records:
        """Merge events with the labels due before them, by these times, and drop both from the buffers."""
        indices = np.empty(0, np.int64)
        if labels is not None and label_due is not None:
            indices = np.empty(len(labels), np.int64)
            indices = indices[: find_indices(event_due, label_due, indices)]
        end, taken, joins = self.order.end.label, len(indices), self._latest_event_time is not None
        self._events.drop(len(events))
        corrected: Corrections = ()
        if labels is not None and label_due is not None and taken:
            labels = labels.before(taken)
            self._labels.drop(taken)
            end = int(labels.offsets[-1]) + 1
            joins = self._latest_event_time is not None and int(label_due[0]) >= self._latest_event_time
            self._latest_event_time = int(event_due[indices[-1] :].max())
            corrected = corrections_of(labels, label_due[:taken])
            self._label_line = int(label_due[taken - 1])
        else:
            latest = int(event_due.max())
            if self._latest_event_time is not None:
                latest = max(self._latest_event_time, latest)
            self._latest_event_time = latest
        self._event_line = int(event_due.max())
        position = MergePosition(int(events.offsets[-1]) + 1, end)
        self.order = self.order.followed_by(position, joins, corrections_of(events, event_due), corrected)
        return interleaved(events, labels, indices)

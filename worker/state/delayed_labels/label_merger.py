"""Events of the input and labels from a separate topic, merged into one stream.

The record with the earlier time comes first, events before labels of the same millisecond; but the order within each
topic is kept. A label is delivered just before the first event with a later time; until that arrives, the label waits.

Which labels have arrived by then depends on timing, so the order is recorded
(`driftway.worker.state.delayed_labels.merge_order`) and committed; a replay follows it and produces the same stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from driftway.learners.engine.jit import kernel_without_refcounts
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition
from driftway.worker.wire.columns import SPARE, TAIL, BytesColumn, Integers, TerminatedColumn, Text, read_only
from driftway.worker.wire.events import NO_LABEL_OFFSET, Records
from driftway.worker.wire.headers import joined_headers, picked_headers

MAX_IDLE_SECONDS, FIRST_MAX_IDLE_SECONDS = 1.0, 10.0
"""How long events wait for labels that the broker may have: a prediction is worth more than their order. The second
limit is for the first wait, when the label topic's reader may still be connecting."""


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

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def add(self, records: Records) -> None:
        """Append records; those below `self.next` were already seen and are skipped."""
        records = records.after(int(records.offsets.searchsorted(self.next)))
        if len(records):
            self.next = int(records.offsets[-1]) + 1
            self._parts.append(records)

    def before(self, offset: int | None) -> Records | None:
        """Return the records below `offset` (all if None), or None if there are none."""
        if len(self._parts) > 1:
            self.own()
        if not self._parts:
            return None
        held = self._parts[0]
        found = held if offset is None else held.before(int(held.offsets.searchsorted(offset)))
        return found if len(found) else None

    def drop(self, n: int) -> None:
        """Drop the first `n` records."""
        held = self.before(None)
        self._parts = [] if held is None or n == len(held) else [held.after(n)]
        self._owned_parts = min(self._owned_parts, len(self._parts))

    def own(self) -> None:
        """Copy the remaining records, which must outlast the client's buffers."""
        if len(self._parts) > self._owned_parts or len(self._parts) > 1:
            self._parts = [_concatenated(self._parts)]
        self._owned_parts = len(self._parts)


class LabelMerger:
    """Merges a partition's events and labels into one stream.

    Parameters
    ----------
    order : MergeOrder
        The merge order since the last snapshot.
    replay : sequence of MergePosition
        Ends of the steps to replay first, from the end of `order` on.
    """

    def __init__(self, order: MergeOrder, replay: Sequence[MergePosition] = ()) -> None:
        self.order = order
        self._replay = deque(replay)
        self._events, self._labels = _Buffer(order.end.offset), _Buffer(order.end.label)
        self._latest_event_time: int | None = None
        """Latest time of an event since the last label of the newest step; None: the next records begin a new step."""
        self._at_end = self._label_topic_seen = False
        """Whether the label topic is read to its last known end, and whether the first wait for its reader is over."""
        self._waits_since: float | None = None

    @property
    def waiting_events(self) -> int:
        """Number of events that wait for labels."""
        return len(self._events)

    @property
    def waiting_labels(self) -> int:
        """Number of labels that wait for events."""
        return len(self._labels)

    @property
    def next_label(self) -> int:
        """Next offset to read in the label topic."""
        return self._labels.next

    @property
    def needs_labels(self) -> bool:
        """Whether the next step to replay still lacks labels."""
        return bool(self._replay) and self._labels.next < self._replay[0].label and not self._at_end

    def add_labels(self, records: Records) -> None:
        """Append labels, in columns that the client will not overwrite."""
        self._at_end, self._label_topic_seen = False, True
        self._labels.add(records)

    def end_labels(self, offset: int = 0) -> None:
        """Note that the label topic is read to its current end, at `offset`."""
        self._at_end = self._label_topic_seen = True
        self._labels.next = max(self._labels.next, offset)

    def snapshot_taken(self, place: MergePosition) -> None:
        """Drop the order before `place`, now that a snapshot taken there is committed."""
        rest = tuple(step for step in self.order.steps if step.offset > place.offset)
        self.order = MergeOrder(place, rest)
        if not rest:
            self._latest_event_time = None

    def take(self, events: Records | None, now: float) -> Records | None:
        """Merge the records that need not wait; return None if there are none.

        Parameters
        ----------
        events : Records or None
            New events, in columns that the client may overwrite.
        now : float
            Seconds of a monotonic clock.
        """
        if events is not None:
            self._events.add(events)
        parts = list[Records]()
        while self._replay and not self.needs_labels:
            end = self._replay[0]
            if (ready := self._events.before(end.offset)) is not None:
                parts.append(self._merge(ready, self._labels.before(end.label)))
            if self._events.next < end.offset:
                break
            self._replay.popleft()
        if not self._replay and (ready := self._releasable(now)) is not None:
            parts.append(self._merge(ready, self._labels.before(None)))
        self._events.own()
        if len(parts) < 2:
            return parts[0] if parts else None
        return _concatenated(parts)

    def _releasable(self, now: float) -> Records | None:
        """Events that need not wait any longer for earlier labels; None if there are none."""
        events, labels = self._events.before(None), self._labels.before(None)
        if events is None:
            self._waits_since = None
            return None
        since = now if self._waits_since is None else self._waits_since
        n = len(events)
        patience = MAX_IDLE_SECONDS if self._label_topic_seen else FIRST_MAX_IDLE_SECONDS
        if not self._at_end and now - since < patience:
            # Labels come in order: an event up to the latest label's time has no earlier label left to wait for.
            later = _times(events) > (-1 if labels is None else int(_times(labels).max()))
            n = int(later.argmax()) if later.any() else n
        self._label_topic_seen |= n > 0
        self._waits_since = None if n == len(events) else since if n == 0 else now
        return events.before(n) if n else None

    def _merge(self, events: Records, labels: Records | None) -> Records:
        """Merge events with the labels due before them, and drop both from the buffers."""
        times, places = _times(events), np.empty(0, np.int64)
        if labels is not None:
            places = np.empty(len(labels), np.int64)
            places = places[: find_places(times, _times(labels), places)]
        end, taken, joins = self.order.end.label, len(places), self._latest_event_time is not None
        self._events.drop(len(events))
        if labels is not None and taken:
            labels = labels.before(taken)
            self._labels.drop(taken)
            end = int(labels.offsets[-1]) + 1
            joins = self._latest_event_time is not None and int(_times(labels)[0]) >= self._latest_event_time
            self._latest_event_time = int(times[places[-1] :].max())
        else:
            latest = int(times.max())
            self._latest_event_time = (
                latest if self._latest_event_time is None else max(self._latest_event_time, latest)
            )
        self.order = self.order.followed_by(MergePosition(int(events.offsets[-1]) + 1, end), joins)
        return _interleave(events, labels, places)


def _times(records: Records) -> Integers:
    return np.asarray(records.timestamps, np.int64)


@kernel_without_refcounts
def find_places(events: Integers, labels: Integers, places: Integers) -> int:
    """Find the event before which each label goes; return how many labels have one. Shapes: i8[n], i8[m], i8[m]."""
    i = 0
    for j in range(labels.shape[0]):
        while i < events.shape[0] and events[i] <= labels[j]:
            i += 1
        if i == events.shape[0]:
            return j
        places[j] = i
    return int(labels.shape[0])


def _interleave(events: Records, labels: Records | None, places: Integers) -> Records:
    """Insert labels among events. Shapes: places i8[m], the event before which each label goes."""
    n, m = len(events), len(places)
    if labels is None or not m:
        return replace(events, label_offsets=np.full(n, NO_LABEL_OFFSET))
    pick = np.insert(np.arange(n), places, np.arange(n, n + m))
    headers = joined_headers([(events.headers, n), (labels.headers, m)])
    own = np.concatenate([np.full(n, NO_LABEL_OFFSET), labels.offsets])
    return Records(
        events.partition,
        np.concatenate([events.offsets, events.offsets[places]])[pick],
        _gather([events.values, labels.values], pick),
        _gather([events.keys, labels.keys], pick),
        np.concatenate([_times(events), _times(labels)])[pick],
        picked_headers(headers, pick),
        own[pick],
    )


def _concatenated(parts: Sequence[Records]) -> Records:
    """Concatenate records into new columns."""
    sizes = list(map(len, parts))
    pick = np.arange(sum(sizes))
    return Records(
        parts[0].partition,
        np.concatenate([part.offsets for part in parts]),
        _gather([part.values for part in parts], pick),
        _gather([part.keys for part in parts], pick),
        np.concatenate(list(map(_times, parts))),
        joined_headers([(part.headers, size) for part, size in zip(parts, sizes, strict=True)]),
        None
        if parts[0].label_offsets is None
        else np.concatenate([part.label_offsets for part in parts if part.label_offsets is not None]),
    )


def _gather(parts: Sequence[BytesColumn], pick: Integers) -> BytesColumn:
    """Copy strings of several columns into a new one, in the order of `pick`, i8[n]."""
    texts, starts, sizes, shift = list[Text](), list[Integers](), list[Integers](), 0
    for part in parts:
        text, begins, lengths = part.to_buffer()
        texts.append(text)
        starts.append(begins + shift)
        sizes.append(lengths)
        shift += len(text)
    text = texts[0] if len(texts) == 1 else np.concatenate(texts)
    begins, lengths = np.concatenate(starts)[pick], np.concatenate(sizes)[pick]
    widths = np.maximum(lengths, 0) + 1
    ends = np.cumsum(widths)
    buffer = np.zeros(int(ends[-1]) + SPARE if len(ends) else SPARE, np.uint8)
    places = ends - widths
    copy_strings(read_only(text), begins, lengths, places, buffer)
    buffer[len(buffer) - SPARE :] = np.frombuffer(TAIL, np.uint8)
    return TerminatedColumn(read_only(buffer), places, lengths)


@kernel_without_refcounts
def copy_strings(text: Text, starts: Integers, sizes: Integers, places: Integers, made: Text) -> None:
    """Copy strings to their places, leaving the bytes between them alone. Shapes: starts, sizes, places i8[n]."""
    for i in range(starts.shape[0]):
        for k in range(sizes[i]):
            made[places[i] + k] = text[starts[i] + k]

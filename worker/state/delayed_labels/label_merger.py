"""Events of the input and labels out of a topic of their own, taken as one stream.

The record with the earlier time goes first, events before labels of the same millisecond; but never is a record put in
front of one that went before. A label goes with the event that it is taken before: what has no later event yet waits.

Which labels have arrived by then is chance, so the order is noted (`driftway.worker.state.delayed_labels.merge_order`)
and committed; whoever goes through the same records again is given it, and gives the same stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from driftway.learners.engine.jit import bare_kernel
from driftway.worker.state.delayed_labels.merge_order import Order, Place
from driftway.worker.wire.columns import SPARE, TAIL, Integers, Strings, Terminated, Text, read_only
from driftway.worker.wire.events import APART, Records
from driftway.worker.wire.headers import joined_headers

PATIENCE_SECONDS, FIRST_PATIENCE_SECONDS = 1.0, 10.0
"""How long events wait for labels that the broker may have: a prediction is worth more than their order. While nothing
was heard of the topic of labels its reader may still be connecting."""


class _Side:
    """Records of one topic that have not gone yet.

    Parameters
    ----------
    offset : int
        Of the next record that has to come.
    """

    def __init__(self, offset: int) -> None:
        self.next = offset
        """The offset behind the last record that came."""
        self._held: list[Records] = []
        self._lasting = 0
        """Of those held, how many parts are in columns of their own."""

    def __len__(self) -> int:
        return sum(map(len, self._held))

    def add(self, records: Records) -> None:
        """Take the next ones; what has come before is ignored."""
        records = records.after(int(records.offsets.searchsorted(self.next)))
        if len(records):
            self.next = int(records.offsets[-1]) + 1
            self._held.append(records)

    def before(self, offset: int | None) -> Records | None:
        """Those before an offset, or all; None: there are none."""
        if len(self._held) > 1:
            self.keep()
        if not self._held:
            return None
        whole = self._held[0]
        found = whole if offset is None else whole.before(int(whole.offsets.searchsorted(offset)))
        return found if len(found) else None

    def drop(self, n: int) -> None:
        """The first `n` have gone."""
        whole = self.before(None)
        self._held = [] if whole is None or n == len(whole) else [whole.after(n)]
        self._lasting = min(self._lasting, len(self._held))

    def keep(self) -> None:
        """Whatever is left has to outlast the client's buffers."""
        if len(self._held) > self._lasting or len(self._held) > 1:
            self._held = [_joined(self._held)]
        self._lasting = len(self._held)


class Confluence:
    """Makes one stream of a partition's events and labels.

    Parameters
    ----------
    order : Order
        What has been taken since the last snapshot.
    plan : sequence of Place
        The ends of the steps that are to be taken once more first, from where `order` ends.
    """

    def __init__(self, order: Order, plan: Sequence[Place] = ()) -> None:
        self.order = order
        self._plan = deque(plan)
        self._events, self._labels = _Side(order.end.offset), _Side(order.end.label)
        self._high: int | None = None
        """Latest time of an event since the last label of the newest step; None: the next records begin another."""
        self._at_end = self._heard = False
        """Whether no label is known to be on its way, and whether anything was heard of labels at all."""
        self._waits_since: float | None = None

    @property
    def holding(self) -> int:
        """Events that wait for labels."""
        return len(self._events)

    @property
    def labels_held(self) -> int:
        """Labels that wait for events."""
        return len(self._labels)

    @property
    def next_label(self) -> int:
        """The next offset in the topic of labels that has to come."""
        return self._labels.next

    @property
    def needs_labels(self) -> bool:
        """Whether what is to be taken once more lacks labels."""
        return bool(self._plan) and self._labels.next < self._plan[0].label and not self._at_end

    def add_labels(self, records: Records) -> None:
        """Take labels, in columns that stay as they are."""
        self._at_end, self._heard = False, True
        self._labels.add(records)

    def end_labels(self, offset: int = 0) -> None:
        """The topic of labels ends here, for now."""
        self._at_end = self._heard = True
        self._labels.next = max(self._labels.next, offset)

    def snapshot_taken(self, place: Place) -> None:
        """A snapshot that stands here is committed: the order is told from there on."""
        rest = tuple(step for step in self.order.steps if step.offset > place.offset)
        self.order = Order(place, rest)
        if not rest:
            self._high = None

    def take(self, events: Records | None, now: float) -> Records | None:
        """What may go, labels among events; None: nothing.

        Parameters
        ----------
        events : Records or None
            The next ones, in columns that the client may write anew.
        now : float
            Seconds on a clock that only rises.
        """
        if events is not None:
            self._events.add(events)
        parts = list[Records]()
        while self._plan and not self.needs_labels:
            end = self._plan[0]
            if (there := self._events.before(end.offset)) is not None:
                parts.append(self._merge(there, self._labels.before(end.label)))
            if self._events.next < end.offset:
                break
            self._plan.popleft()
        if not self._plan and (there := self._released(now)) is not None:
            parts.append(self._merge(there, self._labels.before(None)))
        self._events.keep()
        if len(parts) < 2:
            return parts[0] if parts else None
        return _joined(parts)

    def _released(self, now: float) -> Records | None:
        """Events that need not wait any longer for labels that are older than they; None: there are none."""
        events, labels = self._events.before(None), self._labels.before(None)
        if events is None:
            self._waits_since = None
            return None
        since = now if self._waits_since is None else self._waits_since
        n = len(events)
        patience = PATIENCE_SECONDS if self._heard else FIRST_PATIENCE_SECONDS
        if not self._at_end and now - since < patience:
            # Once a later label has come all earlier ones have.
            later = _times(events) > (-1 if labels is None else int(_times(labels).max()))
            n = int(later.argmax()) if later.any() else n
        self._heard |= n > 0
        self._waits_since = None if n == len(events) else since if n == 0 else now
        return events.before(n) if n else None

    def _merge(self, events: Records, labels: Records | None) -> Records:
        """Let events go, and those of the labels that go with them."""
        times, places = _times(events), np.empty(0, np.int64)
        if labels is not None:
            places = np.empty(len(labels), np.int64)
            places = places[: find_places(times, _times(labels), places)]
        end, taken, joins = self.order.end.label, len(places), self._high is not None
        self._events.drop(len(events))
        if labels is not None and taken:
            labels = labels.before(taken)
            self._labels.drop(taken)
            end = int(labels.offsets[-1]) + 1
            joins = self._high is not None and int(_times(labels)[0]) >= self._high
            self._high = int(times[places[-1] :].max())
        else:
            latest = int(times.max())
            self._high = latest if self._high is None else max(self._high, latest)
        self.order = self.order.followed_by(Place(int(events.offsets[-1]) + 1, end), joins)
        return _woven(events, labels, places)


def _times(records: Records) -> Integers:
    return np.asarray(records.timestamps, np.int64)


@bare_kernel
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


def _woven(events: Records, labels: Records | None, places: Integers) -> Records:
    """Events with labels among them. Shapes: places i8[m], the event before which each label goes."""
    n, m = len(events), len(places)
    if labels is None or not m:
        return replace(events, own=np.full(n, APART))
    pick = np.insert(np.arange(n), places, np.arange(n, n + m))
    headers = joined_headers([(events.headers, n), (labels.headers, m)])
    own = np.concatenate([np.full(n, APART), labels.offsets])
    return Records(
        events.partition,
        np.concatenate([events.offsets, events.offsets[places]])[pick],
        _picked([events.values, labels.values], pick),
        _picked([events.keys, labels.keys], pick),
        np.concatenate([_times(events), _times(labels)])[pick],
        None if headers is None else [headers[i] for i in pick.tolist()],
        own[pick],
    )


def _joined(parts: Sequence[Records]) -> Records:
    """One after the other, in columns of their own."""
    sizes = list(map(len, parts))
    pick = np.arange(sum(sizes))
    return Records(
        parts[0].partition,
        np.concatenate([part.offsets for part in parts]),
        _picked([part.values for part in parts], pick),
        _picked([part.keys for part in parts], pick),
        np.concatenate(list(map(_times, parts))),
        joined_headers([(part.headers, size) for part, size in zip(parts, sizes, strict=True)]),
        None if parts[0].own is None else np.concatenate([part.own for part in parts if part.own is not None]),
    )


def _picked(parts: Sequence[Strings], pick: Integers) -> Strings:
    """Some strings of several columns, in the order of `pick`, i8[n], in a text of their own."""
    texts, starts, sizes, shift = list[Text](), list[Integers](), list[Integers](), 0
    for part in parts:
        text, begins, lengths = part.located()
        texts.append(text)
        starts.append(begins + shift)
        sizes.append(lengths)
        shift += len(text)
    text = texts[0] if len(texts) == 1 else np.concatenate(texts)
    begins, lengths = np.concatenate(starts)[pick], np.concatenate(sizes)[pick]
    room = np.maximum(lengths, 0) + 1
    ends = np.cumsum(room)
    made = np.zeros(int(ends[-1]) + SPARE if len(ends) else SPARE, np.uint8)
    places = ends - room
    copy_strings(read_only(text), begins, lengths, places, made)
    made[len(made) - SPARE :] = np.frombuffer(TAIL, np.uint8)
    return Terminated(read_only(made), places, lengths)


@bare_kernel
def copy_strings(text: Text, starts: Integers, sizes: Integers, places: Integers, made: Text) -> None:
    """Copy strings to their places; what lies between stays. Shapes: starts, sizes, places i8[n]."""
    for i in range(starts.shape[0]):
        for k in range(sizes[i]):
            made[places[i] + k] = text[starts[i] + k]

"""Times by which a worker merges the records that have arrived: their timestamps, except wrong ones.

A replay takes these times from the committed order instead, so whatever is concluded here may depend on timing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from driftway.worker.state.delayed_labels.interleaving import times_of
from driftway.worker.state.delayed_labels.merge_order import Corrections
from driftway.worker.state.delayed_labels.stamps import (
    AHEAD,
    BEHIND,
    FALL_BACK,
    IN_LINE,
    NO_TIME,
    OPEN,
    SLACK_MILLIS,
    CheckedStamps,
    judged,
)
from driftway.worker.wire.columns import Flags, Integers
from driftway.worker.wire.events import Records

LIVE_MILLIS = 5000
"""A stamp this close to the worker's clock is right, even if no other record has come since."""
MAX_UNCONFIRMED = 256
"""Labels at the end of their topic that are looked up at once."""

CountAwaited = Callable[[Records], int]
"""How many of the first of these labels are awaited by rows."""


class UsableTimes(NamedTuple):
    """What is known of the records of one topic that wait."""

    stamps: Integers
    """i8[n]: their timestamps, in ms."""
    times: Integers
    """i8[n]: the times to merge them by, in ms."""
    decided: int
    """Number of leading records that no later one is needed for."""
    line: Integers
    """i8[n]: the latest stamp in line, up to each record; NO_TIME: there is none."""
    wrong: Flags
    """bool[n]: whether a record's stamp is ahead or behind."""
    off: Integers
    """i8[n]: how far each stamp is from the latest in line, in ms."""
    unconfirmed: Flags
    """bool[n]: whether a stamp is later than those before it, and it is not known yet whether others follow."""
    set_back: int
    """Number of leading records before the clocks of their producers were set back; n if they were not."""

    def doubted(self, n: int, before: list[int]) -> list[int]:
        """Return the last stamps of the first n records that would be a jump in time, and of those before them."""
        in_line = np.flatnonzero(~(self.wrong | self.unconfirmed)[:n])
        first = int(in_line[-1]) + 1 if len(in_line) else 0
        stamps, line = self.stamps[first:n], self.line[first:n]
        jumps = stamps[self.unconfirmed[first:n] | (stamps < line)].tolist()
        return [*([] if first else before), *jumps][-FALL_BACK:]

    def after_set_back(self, labels: Records, events_too: bool, count_awaited: CountAwaited) -> UsableTimes:
        """Return the times of these labels, which wait while the clocks of their producers were set back.

        If those of the events were set back before (`events_too`), the labels before that are merged with the next
        one. Otherwise the labels behind it wait, as those of events may be set back, too; but not if their rows wait
        for them. If the row of the newest label does, only the clocks of labels were set back.
        """
        first, m = self.set_back, len(labels)
        if first == m:
            return self
        if events_too:
            now = self.line[first]
            times, line = (np.append(np.minimum(of[:first], now), of[first:]) for of in (self.times, self.line))
            return self._replace(times=times, line=line)
        if count_awaited(labels.after(m - 1)):
            return self
        awaited = count_awaited(labels.after(first).before(MAX_UNCONFIRMED))
        return self._replace(decided=min(self.decided, first + awaited))


def event_times(events: Records, line: int, doubted: Sequence[int], wall: int) -> UsableTimes:
    """Times of events; one that is ahead is no later than those before it.

    Parameters
    ----------
    events : Records
        The events that wait.
    line : int
        The latest stamp in line of those before them, or NO_TIME.
    doubted : sequence of int
        Stamps of the last events before them that are not in line and that none had confirmed yet; these may.
    wall : int
        The worker's clock in ms: it alone can tell a jump in time from a wrong stamp when no later event has come.
    """
    every = judged(np.concatenate([np.array(doubted, np.int64), times_of(events)]), line)
    found = CheckedStamps(*(column[len(doubted) :] for column in every))
    stamps, is_open = found.stamps, found.verdicts == OPEN
    live = is_open & (np.abs(stamps - wall) <= LIVE_MILLIS)
    in_line = np.where(live, np.maximum(found.line, stamps), found.line)
    undecided = is_open & (stamps < wall - LIVE_MILLIS)
    wrong = (found.verdicts == AHEAD) | (found.verdicts == BEHIND) | (is_open & (stamps > wall + LIVE_MILLIS))
    unconfirmed = is_open & ~live
    times = np.where((found.verdicts == AHEAD) | unconfirmed, in_line, stamps)
    decided = int(undecided.argmax()) if undecided.any() else len(events)
    set_back = max(0, every.set_back(line) - len(doubted))
    return UsableTimes(stamps, times, decided, in_line, wrong, _off(stamps, in_line), unconfirmed, set_back)


def label_times(labels: Records, line: int, count_awaited: CountAwaited | None) -> UsableTimes:
    """Times of labels; one that is ahead or behind goes with the next label whose stamp is in line.

    Parameters
    ----------
    labels : Records
        The labels that wait.
    line : int
        The latest stamp in line of those before them, or NO_TIME.
    count_awaited : callable or None
        At the end of the label topic: those that rows wait for go without a next label. None: more labels will come.
    """
    found = judged(times_of(labels), line)
    m, wrong = len(labels), (found.verdicts == AHEAD) | (found.verdicts == BEHIND)
    guided = wrong.copy()
    if line == NO_TIME and m > 1:  # nothing before the very first label could contradict it, but it may well be right
        guided[0] |= found.stamps[1] > found.stamps[0] + SLACK_MILLIS
    guides = np.where(guided, m, np.arange(m))
    guides = np.minimum.accumulate(guides[::-1])[::-1]
    last = int((guides < m).sum())
    unguided = np.minimum(found.stamps, found.line)
    times, awaited = np.concatenate([found.stamps[guides[:last]], unguided[last:]]), 0
    in_line = np.flatnonzero(found.verdicts == IN_LINE)
    first = int(in_line[-1]) + 1 if len(in_line) else 0
    if count_awaited is not None and first < m:
        awaited = first + count_awaited(labels.after(first).before(MAX_UNCONFIRMED))
        times[first:awaited] = unguided[first:awaited]
    decided = max(last, awaited)
    off, set_back = _off(found.stamps, found.line), found.set_back(line)
    return UsableTimes(found.stamps, times, decided, found.line, wrong, off, found.verdicts == OPEN, set_back)


def _off(stamps: Integers, line: Integers) -> Integers:
    """How far stamps are from those in line; 0 where there is none yet."""
    return np.where(line == NO_TIME, 0, np.abs(stamps - line))


def newest_in_line(found: UsableTimes | None) -> int:
    """The latest time, so far as it is certain, that labels have reached; NO_TIME: there are none."""
    return NO_TIME if found is None or not found.decided else int(found.line[: found.decided].max())


def replayed_times(records: Records, corrections: Integers) -> Integers:
    """Times of records as an order has them; corrections i8[k, 2]: offset and time."""
    times, known = times_of(records), corrections[:, 0]
    ours = corrections[known.searchsorted(records.offsets[0]) : known.searchsorted(records.offsets[-1], "right")]
    if len(ours):
        times = times.copy()
        times[records.offsets.searchsorted(ours[:, 0])] = ours[:, 1]
    return times


def corrections_of(records: Records, times: Integers) -> Corrections:
    """The records that were merged by other times than their stamps."""
    changed = np.flatnonzero(times != times_of(records))
    return tuple(zip(records.offsets[changed].tolist(), times[changed].tolist(), strict=True))

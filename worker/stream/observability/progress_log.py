"""What the log tells of the work itself: each new kind of rejection, a line every minute, a summary at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from driftway.worker.state.alarms import Alarm
from driftway.worker.stream.observability.event_log import Journal
from driftway.worker.stream.observability.metrics import lags
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Rejection
from driftway.worker.wire.rejections import kind_of, shown, tally

MINUTE_SECONDS = 60.0
REJECTED_SECONDS = 5.0
"""Between two lines about rejections of kinds that are known already."""
DRIFT_SECONDS = 1.0
"""Likewise about drifts."""
SHOWN_BYTES = 120
"""Of an event that is shown as an example."""
NOTHING_USABLE = 100
"""Rejections without a single usable event before, after which the log says what was expected."""


class Chronicle:
    """Counts what a worker does, and says it.

    Parameters
    ----------
    journal : Journal
        The log.
    input_topic : str
        What is read.
    expected : str
        What a usable event looks like, in words.
    clock : callable
        Seconds that never go back.
    """

    def __init__(
        self, journal: Journal, input_topic: str, expected: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.journal, self.input, self.expected = journal, input_topic, expected
        self._clock = clock
        self._began = self._minute = self._said = clock()
        self.rows = self._rows_before = 0
        """Input records that were predicted or rejected, since the start and until the last line."""
        self.kinds: Counter[str] = Counter()
        """Rejections by kind."""
        self._unsaid: Counter[str] = Counter()
        self._drifts_unsaid, self._drift_said = 0, float("-inf")

    def count(self, partition: int, records: int, rejected: Iterable[Rejection]) -> None:
        """Count a batch, and say at once of which new kind a rejection is."""
        self.rows += records
        for one in rejected:
            kind = kind_of(one.reason)
            if kind in self.kinds:
                self._unsaid[kind] += 1
            else:
                place = f"{self.input}/{partition}@{one.offset}" if one.own is None else f"label {partition}@{one.own}"
                self.journal.event(
                    "rejected", kind=kind, at=place, reason=shown(one.reason), example=example(one.value)
                )
            self.kinds[kind] += 1
        if sum(self.kinds.values()) == self.rows >= NOTHING_USABLE > self.rows - records:
            self.journal.event("nothing usable so far", rejected=self.rows, expected=self.expected)

    def alarmed(self, partition: int, alarms: Collection[Alarm]) -> None:
        """Say that a detector has called a drift; of many in a second only one, and how many there were besides."""
        for alarm in alarms:
            now = self._clock()
            if now - self._drift_said < DRIFT_SECONDS:
                self._drifts_unsaid += 1
                continue
            besides = {"besides": self._drifts_unsaid} if self._drifts_unsaid else {}
            self.journal.event("drift", partition=partition, detector=alarm.detector, offset=alarm.offset, **besides)
            self._drifts_unsaid, self._drift_said = 0, now

    def passed_over(self, partition: int, first: Mapping[str, int]) -> None:
        """Say of which fields nothing is read, each with the offset of the first event that has it."""
        for field, offset in first.items():
            self.journal.event("unknown field", field=field, at=f"{self.input}/{partition}@{offset}")

    def tick(self, tasks: Collection[Task], ends: Mapping[int, int]) -> None:
        """Say what is due, of tasks whose partitions' logs end at `ends`."""
        now = self._clock()
        if self._unsaid and now - self._said >= REJECTED_SECONDS:
            self._say_rejected(now)
        if now - self._minute >= MINUTE_SECONDS:
            rate = (self.rows - self._rows_before) / (now - self._minute)
            known = lags(tasks, ends)
            self.journal.event("working", **self._facts(rate, tasks), **({"lag": sum(known.values())} if known else {}))
            self._minute, self._rows_before = now, self.rows

    def end(self, tasks: Collection[Task]) -> None:
        """The summary."""
        now = self._clock()
        if self._unsaid:
            self._say_rejected(now)
        seconds = max(now - self._began, 1e-9)
        kinds = {"reasons": tally(self.kinds)} if self.kinds else {}
        self.journal.event("summary", seconds=f"{seconds:.0f}", **self._facts(self.rows / seconds, tasks), **kinds)
        if self.rows and sum(self.kinds.values()) == self.rows:
            self.journal.event("nothing usable", rejected=self.rows, expected=self.expected)

    def _say_rejected(self, now: float) -> None:
        self.journal.event("rejected more", reasons=tally(self._unsaid), total=sum(self.kinds.values()))
        self._unsaid.clear()
        self._said = now

    def _facts(self, rate: float, tasks: Collection[Task]) -> dict[str, object]:
        accuracy = windowed(tasks)
        facts = {"rows": self.rows, "rows_per_second": f"{rate:.0f}", "rejected": sum(self.kinds.values())}
        return facts if accuracy is None else {**facts, accuracy[0]: f"{accuracy[1]:.4f}"}


def example(value: bytes | None) -> str:
    """The beginning of an event, fit for a log."""
    if value is None:
        return "null"
    text = shown(value[:SHOWN_BYTES].decode(errors="replace"))
    return text if len(value) <= SHOWN_BYTES else f"{text}... ({len(value):,} bytes)"


def windowed(tasks: Collection[Task]) -> tuple[str, float] | None:
    """The champion's metric over its window and its mean over partitions; None while there is none."""
    for metric in ("window_accuracy", "window_mse"):
        points = (next(iter(task.model.latest_points().values()), {}) for task in tasks if task.running)
        found = [point[metric] for point in points if isinstance(point.get(metric), float)]
        if found:
            return metric, sum(found) / len(found)
    return None

"""Log the worker's progress: each new kind of rejection, a line every minute, a summary at the end."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from driftway.worker.errors import shown
from driftway.worker.state.monitoring.alarms import DriftAlarm
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import lags
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import RejectedEvent
from driftway.worker.wire.rejections import format_counts, kind_of

PROGRESS_SECONDS = 60.0
REJECTED_SECONDS = 5.0
"""Least interval between two lines about rejections of known kinds."""
DRIFT_SECONDS = 1.0
"""Least interval between two lines about drifts."""
SHOWN_BYTES = 120
"""Bytes that are shown of an example event."""
OTHER_NAMES = "x lacks", "x has unknown"
"""Beginning of the reasons of events whose features have other names."""
OF_NAMES = (
    "the names are those of the partition's first event, unless --features names them; `driftway models configure "
    "--add-feature` adds one, and with --missing events may lack some"
)
FORMATS = (
    ("not-json", re.compile(rb"\x01[\x04\x08]"), "packed"),
    ("packed", re.compile(rb"\s*[{\[]"), "json"),
    ("packed", re.compile(rb"\0"), "avro, protobuf or json-schema"),
    ("registry", re.compile(rb"\s*[{\[]"), "json"),
    ("registry", re.compile(rb"\x01[\x04\x08]"), "packed"),
)
"""Kind of rejection, how the value begins, and the --format that has such values."""
NOTHING_USABLE = 100
"""Rejections without any usable event after which the log says what was expected."""


class ProgressLog:
    """Counts and logs what a worker does.

    Parameters
    ----------
    event_log : EventLog
        The log.
    input_topic : str
        The input topic.
    expected : str
        What a usable event looks like, in words.
    clock : callable
        Monotonic time in seconds.
    """

    def __init__(
        self, event_log: EventLog, input_topic: str, expected: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.event_log, self.input, self.expected = event_log, input_topic, expected
        self._clock = clock
        self._began = self._progress_at = self._rejections_at = clock()
        self.rows = self._rows_before = 0
        """Input records that were predicted or rejected: since the start, and up to the last progress line."""
        self.kinds: Counter[str] = Counter()
        """Rejections by kind."""
        self.set_aside: Counter[str] = Counter()
        """Labels set aside, by kind."""
        self._unreported: Counter[str] = Counter()
        self._unreported_drifts, self._drift_at = 0, float("-inf")
        self._clocks: dict[int, dict[str, int]] = {}
        """Partition -> `Task.clocks` at its last commit."""
        self._wrong_stamps: dict[int, int] = {}
        """Partition -> wrong stamps that the log has."""

    def count(self, partition: int, records: int, rejected: Iterable[RejectedEvent]) -> None:
        """Count a batch, and log the first rejection and the first label set aside of each kind at once."""
        self.rows += records
        for one in rejected:
            kind, kinds = kind_of(one.reason, one.set_aside), self.set_aside if one.set_aside else self.kinds
            if kind in kinds:
                self._unreported[kind] += 1
            else:
                where = (
                    f"{self.input}/{partition}@{one.offset}"
                    if one.label_offset is None
                    else f"label {partition}@{one.label_offset}"
                )
                what = "label set aside" if one.set_aside else "rejected"
                words = OF_NAMES if one.reason.startswith(OTHER_NAMES) else other_format(kind, one.value)
                note = {"note": words} if words else {}
                self.event_log.warning(
                    what, kind=kind, at=where, reason=shown(one.reason), example=example(one.value), **note
                )
            kinds[kind] += 1
        if sum(self.kinds.values()) == self.rows >= NOTHING_USABLE > self.rows - records:
            self.event_log.warning("nothing usable so far", rejected=self.rows, expected=self.expected)

    def report_drifts(self, partition: int, alarms: Collection[DriftAlarm]) -> None:
        """Log a drift alarm; of many in a second only one, with the number of the others."""
        for alarm in alarms:
            now = self._clock()
            if now - self._drift_at < DRIFT_SECONDS:
                self._unreported_drifts += 1
                continue
            besides = {"besides": self._unreported_drifts} if self._unreported_drifts else {}
            self.event_log.event("drift", partition=partition, detector=alarm.detector, offset=alarm.offset, **besides)
            self._unreported_drifts, self._drift_at = 0, now

    def report_unknown_fields(self, partition: int, first: Mapping[str, int]) -> None:
        """Log unknown fields, which are not read, each with the offset of the first event that has it."""
        for field, offset in first.items():
            self.event_log.event("unknown field", field=field, at=f"{self.input}/{partition}@{offset}")

    def note_clocks(self, task: Task) -> None:
        """Note how far clocks are apart after a commit; the first stamp ahead or behind is logged at once."""
        self._clocks[task.partition] = task.clocks
        if not self._wrong_stamps.get(task.partition):
            self._report_clocks()

    def tick(self, tasks: Collection[Task], ends: Mapping[int, int]) -> None:
        """Log what is due; `ends` are the ends of the partitions' logs."""
        now = self._clock()
        if self._unreported and now - self._rejections_at >= REJECTED_SECONDS:
            self._report_rejected(now)
        if now - self._progress_at >= PROGRESS_SECONDS:
            own = {task.partition for task in tasks}
            self._clocks = {p: clocks for p, clocks in self._clocks.items() if p in own}  # not of what has moved away
            rate = (self.rows - self._rows_before) / (now - self._progress_at)
            known, idle = lags(tasks, ends), sorted(task.partition for task in tasks if not task.running)
            self.event_log.event(
                "working",
                **self._facts(rate, tasks),
                **({"not_running": idle} if idle else {}),
                **({"lag": sum(known.values())} if known else {}),
            )
            self._report_clocks()
            self._progress_at, self._rows_before = now, self.rows

    def end(self, tasks: Collection[Task], waiting: Mapping[str, object] | None = None) -> None:
        """Log the summary, with the facts about rows that wait behind open transactions."""
        now = self._clock()
        if self._unreported:
            self._report_rejected(now)
        self._report_clocks()
        seconds = max(now - self._began, 1e-9)
        kinds = {"reasons": format_counts(self.kinds + self.set_aside)} if self.kinds or self.set_aside else {}
        facts = {**self._facts(self.rows / seconds, tasks), **kinds, **(waiting or {})}
        self.event_log.event("summary", seconds=round(seconds), **facts)
        if self.rows and sum(self.kinds.values()) == self.rows:
            self.event_log.warning("nothing usable", rejected=self.rows, expected=self.expected)

    def _report_rejected(self, now: float) -> None:
        total = sum(self.kinds.values()) + sum(self.set_aside.values())
        self.event_log.warning("more rejected", reasons=format_counts(self._unreported), total=total)
        self._unreported.clear()
        self._rejections_at = now

    def _report_clocks(self) -> None:
        """Log the partitions where more stamps are contradicted by those around them."""
        for partition, clocks in self._clocks.items():
            wrong = clocks.get("wrong_timestamps", 0)
            if wrong > self._wrong_stamps.get(partition, 0):
                furthest = round(clocks["furthest_ms"] / 1000)
                self.event_log.warning(
                    "timestamps ahead or behind", partition=partition, records=wrong, furthest_seconds=furthest
                )
            self._wrong_stamps[partition] = wrong

    def _facts(self, rate: float, tasks: Collection[Task]) -> dict[str, object]:
        accuracy = windowed(tasks)
        facts: dict[str, object] = {
            "rows": self.rows,
            "rows_per_second": round(rate),
            "rejected": sum(self.kinds.values()),
        }
        if waiting := sum(clocks.get("labels_waiting", 0) for clocks in self._clocks.values()):
            ahead = max(clocks.get("labels_ahead_ms", 0) for clocks in self._clocks.values())
            facts |= {"labels_waiting": waiting, "labels_ahead_seconds": round(ahead / 1000)}
        if self.set_aside:
            facts["labels_set_aside"] = sum(self.set_aside.values())
        return facts if accuracy is None else {**facts, accuracy[0]: round(accuracy[1], 4)}


def other_format(kind: str, value: bytes | None) -> str:
    """Say which --format a rejected event seems to have, if that explains this kind of rejection; else nothing."""
    found = (name for one, begin, name in FORMATS if one == kind and begin.match(value or b""))
    return next((f"it looks like an event in another format: --format {name}" for name in found), "")


def example(value: bytes | None) -> str:
    """Return the beginning of an event, made printable for the log."""
    if value is None:
        return "null"
    text = shown(value[:SHOWN_BYTES].decode(errors="replace"))
    return text if len(value) <= SHOWN_BYTES else f"{text}... ({len(value):,} bytes)"


def windowed(tasks: Collection[Task]) -> tuple[str, float] | None:
    """Return the champion's windowed metric and its mean over partitions; None while there is none."""
    for metric in ("window_accuracy", "window_mse"):
        points = (next(iter(task.model.latest_points().values()), {}) for task in tasks if task.running)
        found = [point[metric] for point in points if isinstance(point.get(metric), float)]
        if found:
            return metric, sum(found) / len(found)
    return None

"""What the log reports about progress: rejections by kind, a line per minute, a summary."""

from __future__ import annotations

import io
import random
from types import SimpleNamespace
from typing import Any

import pytest

from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.progress_log import REJECTED_SECONDS, SHOWN_BYTES, ProgressLog, example
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import RejectedEvent
from driftway.worker.wire.rejections import BY_END, KINDS, OTHER, kind_of
from tests.broker.test_rejections import malformed, packed_malformed
from tests.unit.worker.rows import events, model_settings, records


class ProgressLogOutput:
    """A `ProgressLog`, its clock, and the lines written since they were last read."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.out = io.StringIO()
        self.progress_log = ProgressLog(EventLog(out=self.out), "EVENTS", "something usable", lambda: self.now)

    def lines(self) -> list[str]:
        found = [line.split(" ", 1)[1] for line in self.out.getvalue().splitlines()]
        self.out.seek(0)
        self.out.truncate()
        return found


def bad(reason: str, offset: int = 0, value: bytes | None = b"?") -> RejectedEvent:
    return RejectedEvent(reason, offset, value, None, 0)


def test_the_first_rejection_of_a_kind_is_shown_and_others_are_counted() -> None:
    log = ProgressLogOutput()
    log.progress_log.count(
        3, 10, [bad("not JSON", 7), bad("not JSON", 8), bad("label 7 is not one of 0, 1", 9, b'{"y":7}')]
    )
    assert log.lines() == [
        "rejected kind=not-json at=EVENTS/3@7 reason=not JSON example=?",
        'rejected kind=label at=EVENTS/3@9 reason=label 7 is not one of 0, 1 example={"y":7}',
    ]
    log.progress_log.count(3, 10, [bad("not JSON"), bad("label 8 is not one of 0, 1")])
    log.now += REJECTED_SECONDS / 2
    log.progress_log.tick([], None)
    assert log.lines() == []
    log.now += REJECTED_SECONDS
    log.progress_log.tick([], None)
    assert log.lines() == ["more rejected reasons=not-json 2, label 1 total=5"]
    log.now += REJECTED_SECONDS
    log.progress_log.tick([], None)
    assert log.lines() == [], "nothing new"


def test_a_rejection_of_other_names_says_what_to_do() -> None:
    log = ProgressLogOutput()
    log.progress_log.count(0, 10, [bad("x has unknown c", 7), bad("x lacks b", 8)])
    (line,) = log.lines()
    assert line.startswith("rejected kind=features at=EVENTS/0@7 reason=x has unknown c example=? note=the names are")
    assert "--add-feature" in line


def test_a_topic_without_usable_events_is_reported_once_and_again_at_the_end() -> None:
    log = ProgressLogOutput()
    for first in range(0, 300, 30):
        log.progress_log.count(0, 30, [bad("no x", first + i) for i in range(30)])
    found = [line for line in log.lines() if line.startswith("nothing")]
    assert found == ["nothing usable so far rejected=120 expected=something usable"]
    log.now += 10
    log.progress_log.end([])
    *_, summary, last = log.lines()
    assert summary == "summary seconds=10 rows=300 rows_per_second=30 rejected=300 reasons=no-x 300"
    assert last == "nothing usable rejected=300 expected=something usable"


def test_one_usable_event_prevents_that_report() -> None:
    log = ProgressLogOutput()
    log.progress_log.count(0, 300, [bad("no x", i) for i in range(299)])
    log.progress_log.end([])
    assert not any(line.startswith("nothing") for line in log.lines())


def test_every_minute_has_a_line_with_rows_lag_and_accuracy() -> None:
    log = ProgressLogOutput()
    task = Task(WorkerSettings("127.0.0.1:1", "EVENTS", "g", model_settings("pa1")), 0, None)  # type: ignore[arg-type]
    task.model.advance(records(events(200)))
    task.move(State.RESTORING)
    log.progress_log.count(0, 200, [])
    log.progress_log.tick([task], {0: 7, 1: 100})
    assert log.lines() == []
    log.now += 60
    log.progress_log.tick([task], {0: 7, 1: 100})
    (line,) = log.lines()
    assert line.startswith("working rows=200 rows_per_second=3 rejected=0 ")
    assert line.endswith(" lag=7")
    log.now += 60
    log.progress_log.tick([task], {})
    assert log.lines()[0].startswith("working rows=200 rows_per_second=0 rejected=0")


def test_partitions_that_are_not_running_are_named_because_their_lag_is_not_known() -> None:
    log = ProgressLogOutput()
    settings = WorkerSettings("127.0.0.1:1", "EVENTS", "g", model_settings("pa1"))
    tasks = [Task(settings, partition, None) for partition in range(3)]  # type: ignore[arg-type]
    tasks[0].move(State.RESTORING)
    tasks[0].move(State.RUNNING)
    tasks[1].move(State.RESTORING)
    log.now += 60
    log.progress_log.tick(tasks, {0: 0, 1: 7, 2: 100})
    assert log.lines() == ["working rows=0 rows_per_second=0 rejected=0 not_running=[1, 2] lag=7"]


@pytest.mark.parametrize("make", [malformed, packed_malformed])
def test_every_reason_has_a_kind_of_the_closed_list(make) -> None:  # type: ignore[no-untyped-def]
    generator = random.Random(5)
    kinds = {kind_of(reason): reason for _, reason in (make(generator) for _ in range(2000))}
    assert set(kinds) <= {*KINDS.values(), *BY_END.values()}
    assert OTHER not in kinds or kinds[OTHER].startswith("x ")


def test_examples_are_short_and_printable() -> None:
    assert example(None) == "null"
    assert example(b"a\nb\x1b") == "a?b?"
    assert example(b"z" * 1000) == "z" * SHOWN_BYTES + "... (1,000 bytes)"


def test_timestamps_in_the_future_are_reported_at_once_and_then_with_the_progress() -> None:
    log = ProgressLogOutput()
    task: Any = SimpleNamespace(
        partition=2, clocks={"wrong_timestamps": 1, "furthest_ms": 1_800_400, "labels_waiting": 0}
    )
    log.progress_log.note_clocks(task)
    assert log.lines() == ["timestamps ahead or behind partition=2 records=1 furthest_seconds=1800"]
    task.clocks = {"wrong_timestamps": 5, "furthest_ms": 3_000_000, "labels_waiting": 2, "labels_ahead_ms": 4000}
    log.progress_log.note_clocks(task)
    assert log.lines() == [], "one line at first, then with the progress"
    log.progress_log.end([])
    stamps, summary = log.lines()
    assert stamps == "timestamps ahead or behind partition=2 records=5 furthest_seconds=3000"
    assert "labels_waiting=2 labels_ahead_seconds=4" in summary


def test_waiting_labels_of_revoked_partitions_are_not_reported() -> None:
    log = ProgressLogOutput()
    task: Any = SimpleNamespace(partition=2, clocks={"labels_waiting": 2, "labels_ahead_ms": 4000})
    log.progress_log.note_clocks(task)
    log.now += 60
    log.progress_log.tick([], {})
    assert log.lines() == ["working rows=0 rows_per_second=0 rejected=0"]


@pytest.mark.parametrize(("reason", "value", "form"), [
    ("not JSON: its text is not UTF-8", b"\x01\x08" + bytes(24), "packed"),
    ("packed: version 123 is not 1", b'{"x": [1]}', "json"),
    ("packed: version 0 is not 1", b"\x00\x00\x00\x00\x07ab", "avro, protobuf or json-schema"),
    ("avro: not in the registry's format", b' {"x": [1]}', "json"),
    ("packed: version 9 is not 1", b"\x09", None),
    ("no x", b"{}", None),
    ("packed: null", None, None),
])  # fmt: skip
def test_a_rejection_of_an_event_in_another_format_names_that(reason: str, value: bytes | None, form: str | None):
    log = ProgressLogOutput()
    log.progress_log.count(0, 1, [bad(reason, 7, value)])
    (line,) = log.lines()
    assert line.rpartition(" note=")[2] == (f"it looks like an event in another format: --format {form}") or not form
    assert ("note=" in line) == (form is not None)

"""A new group whose first events are all rejected commits nothing, and reports what it has read."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from driftway.worker.errors import Failure
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.first_events import FIRST_EVENTS, HOLD_SECONDS, FirstEvents, NothingUsable
from driftway.worker.stream.startup import check_properties
from driftway.worker.stream.stop_at_end import LIVE_SECONDS, StopAtEnd
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import RejectedEvent
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.clock import Clock
from tests.unit.worker.rows import model_settings

SETTINGS = WorkerSettings("127.0.0.1:1", "EVENTS", "g", model_settings("pa1"))


def tasks(n: int = 2) -> dict[int, Task]:
    return {p: Task(SETTINGS, p, SimpleNamespace(open=False)) for p in range(n)}  # type: ignore[arg-type]


def rejected(first: int, n: int, reason: str = "no x", **more: Any) -> Outputs:
    bad = [RejectedEvent(reason, offset, b"{}", None, 0, **more) for offset in range(first, first + n)]
    return Outputs(first + n, rejected=bad)


def predicted(first: int, n: int) -> Outputs:
    return Outputs(first + n, np.arange(first, first + n))


def test_commits_wait_until_an_event_can_be_used() -> None:
    clock, mine = Clock(100.0), tasks()
    first = FirstEvents(SETTINGS, mine, clock)
    for p in (0, 1):
        first.count(mine[p], rejected(0, 400))
        assert mine[p].held_until == 100 + HOLD_SECONDS
    first.count(mine[1], predicted(400, 1))
    assert [task.held_until for task in mine.values()] == [0, 0]
    first.count(mine[0], rejected(400, 5000))


def test_a_thousand_rejections_over_all_partitions_stop_the_worker() -> None:
    mine = tasks()
    first = FirstEvents(SETTINGS, mine, Clock(100.0))
    first.count(mine[0], rejected(7, FIRST_EVENTS // 2))
    with pytest.raises(NothingUsable) as failure:
        first.count(mine[1], rejected(0, FIRST_EVENTS // 2, "not JSON"))
    assert str(failure.value).startswith(
        "the first 1,000 events of EVENTS were rejected (no-x 500, not-json 500), the first one EVENTS/0@7: no x: {}; "
    )
    assert "driftway schema infer EVENTS" in str(failure.value)


def test_rejections_are_counted_up_to_the_first_usable_event_of_a_batch() -> None:
    mine = tasks()
    first = FirstEvents(SETTINGS, mine, Clock(100.0))
    outputs = rejected(0, FIRST_EVENTS)
    outputs.offsets = np.array([FIRST_EVENTS])
    with pytest.raises(NothingUsable):
        first.count(mine[0], outputs)
    outputs = rejected(1, FIRST_EVENTS)
    outputs.offsets = np.array([0])
    FirstEvents(SETTINGS, mine, Clock(100.0)).count(mine[0], outputs)


def test_tombstones_and_deleted_rows_say_nothing_about_the_options() -> None:
    """As where a topic that Debezium or Kafka Streams writes begins with deletions."""
    mine = tasks()
    first = FirstEvents(SETTINGS, mine, Clock(100.0))
    first.count(mine[0], rejected(0, 5 * FIRST_EVENTS, "null value"))
    first.count(mine[1], rejected(0, 5 * FIRST_EVENTS, "debezium: the row was deleted"))
    assert mine[0].held_until == 100 + HOLD_SECONDS
    first.count(mine[0], rejected(5 * FIRST_EVENTS, FIRST_EVENTS - 1))
    with pytest.raises(NothingUsable, match=r"the first 11,000 events .*--start OFFSET begins behind events"):
        first.count(mine[0], rejected(6 * FIRST_EVENTS - 1, 1))


def test_events_repeated_after_a_failed_call_count_once() -> None:
    mine = tasks()
    first = FirstEvents(SETTINGS, mine, Clock(100.0))
    for _ in range(5):
        first.count(mine[0], rejected(0, FIRST_EVENTS - 1))


def test_a_label_that_was_set_aside_does_not_count_as_a_rejected_event() -> None:
    mine = tasks()
    first = FirstEvents(SETTINGS, mine, Clock(100.0))
    first.count(mine[0], rejected(0, 5 * FIRST_EVENTS, "late label: a repetition", set_aside=True))
    assert mine[0].held_until == 0


def test_rejections_of_a_slow_stream_are_committed_after_a_while() -> None:
    clock, mine = Clock(100.0), tasks()
    first = FirstEvents(SETTINGS, mine, clock)
    first.count(mine[0], rejected(0, 1))
    clock.now += HOLD_SECONDS
    first.count(mine[1], rejected(0, 5000))
    assert [task.held_until for task in mine.values()] == [0, 0]


def test_commits_of_a_partition_with_earlier_commits_do_not_wait() -> None:
    mine = tasks()
    first = FirstEvents(SETTINGS, mine, Clock(100.0))
    mine[0]._pointer = SimpleNamespace(state_offset=0)  # type: ignore[assignment]
    first.count(mine[0], rejected(0, 5000))
    assert mine[0].held_until == 0


def live(committed: int, position: int) -> dict[int, Task]:
    """Two running partitions that are never at their ends."""
    mine = tasks()
    for task in mine.values():
        task.state, task.committed, task.position = State.RUNNING, committed, position
    return mine


def test_a_worker_that_stops_at_the_end_does_so_where_producers_never_pause() -> None:
    clock, mine = Clock(100.0), live(50, 60)
    end = StopAtEnd(mine, FirstEvents(SETTINGS, mine, clock), clock)
    assert not end.has_come((), {0: 50})  # the end of partition 1 is not known yet
    clock.now += 2 * LIVE_SECONDS
    assert not end.has_come((), {0: 500, 1: 40})
    clock.now += LIVE_SECONDS
    assert not end.has_come((), {0: 600, 1: 600})
    clock.now += 1
    assert end.has_come((), {0: 600, 1: 600})


def test_a_worker_does_not_stop_before_what_it_has_read_is_committed() -> None:
    clock, mine = Clock(100.0), live(49, 60)
    end = StopAtEnd(mine, FirstEvents(SETTINGS, mine, clock), clock)
    for _ in range(3):
        assert not end.has_come((), {0: 50, 1: 50})
        clock.now += 2 * LIVE_SECONDS


@pytest.mark.parametrize("module", ["fastavro", "confluent_kafka.schema_registry"])
def test_a_missing_extra_is_reported_before_anything_is_created(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    registry = {"form": "avro", "registry": f"http://127.0.0.1:1/{module}"}
    model = model_settings("pa1", events=EventSchema.parse(["a"]), **registry)
    with pytest.raises(Failure, match=r"pip install 'driftway\[registry\]'"):
        check_properties(WorkerSettings("127.0.0.1:1", "EVENTS", "g", model))

"""The closed list of metrics: its names, what moves them, and when a worker is ready."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.worker.rows import events, model_settings, records
from worker.events import Rejection
from worker.mending import Mend
from worker.model import Model, Outputs
from worker.task import State
from worker.telemetry import STATES, Telemetry, readiness
from worker.verdicts import Verdict
from worker.ways import Restored

NAMES = {
    "driftway_records", "driftway_predictions", "driftway_rejections", "driftway_replayed", "driftway_lag",
    "driftway_batch_seconds", "driftway_commit_seconds", "driftway_commit_failures", "driftway_snapshot_bytes",
    "driftway_snapshot_age_seconds", "driftway_restore_left",
    "driftway_rebalances", "driftway_task_state", "driftway_rolling", "driftway_restores", "driftway_restore_failures",
    "driftway_mends", "driftway_strays", "driftway_offsets_passed",
}  # fmt: skip


def a_task(partition: int = 3, state: State = State.RUNNING, position: int = 40) -> Any:
    settings = SimpleNamespace(input="EVENTS")
    model = Model(model_settings("arow", "no_change"), partition)
    return SimpleNamespace(
        partition=partition, state=state, settings=settings, position=position, committed=50, state_bytes=123,
        snapshot_age=1.5, model=model,
    )  # fmt: skip


def shown(telemetry: Telemetry) -> dict[str, Any]:
    """Sample name -> {label values by label: value}, as Prometheus parses the page."""
    found: dict[str, Any] = {}
    for family in text_string_to_metric_families(generate_latest(telemetry.registry).decode()):
        assert family.documentation
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(value for _, value in sorted(sample.labels.items()))] = sample.value
    return found


def test_names_are_the_published_ones() -> None:
    telemetry = Telemetry()
    text = generate_latest(telemetry.registry).decode()
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {name for name in names if not name.endswith("_created")} == NAMES


def test_age_of_the_snapshot_and_what_a_restore_has_left_are_shown_when_somebody_looks() -> None:
    telemetry = Telemetry()
    telemetry.points([a_task(position=40)])
    assert shown(telemetry)["driftway_snapshot_age_seconds"] == {("3",): 1.5}
    assert shown(telemetry)["driftway_restore_left"] == {("3",): 10.0}


def test_two_workers_in_one_process_do_not_share_counts() -> None:
    one, two = Telemetry(), Telemetry()
    one.rebalances.inc()
    assert shown(two)["driftway_rebalances_total"] == {(): 0.0}


def test_batches_are_counted_by_what_became_of_their_records() -> None:
    telemetry, task = Telemetry(), a_task()
    bad = Rejection("not JSON", 5, b"?", None, 0)
    telemetry.advanced(task, 10, Outputs(10, np.arange(8), rejected=[bad, bad]), passed=3)
    telemetry.advanced(task, 7, None)
    found = shown(telemetry)
    assert found["driftway_records_total"] == {("3",): 17.0}
    assert found["driftway_predictions_total"] == {("3",): 8.0}
    assert found["driftway_rejections_total"] == {("3",): 2.0}
    assert found["driftway_replayed_total"] == {("3",): 7.0}
    assert found["driftway_offsets_passed_total"] == {("3",): 3.0}


@pytest.mark.parametrize(("watermarks", "lag"), [((0, 100), 60.0), ((0, 40), 0.0), ((0, 10), 0.0), (None, None)])
def test_commit_shows_its_time_the_states_size_and_the_lag(watermarks: Any, lag: float | None) -> None:
    telemetry, task = Telemetry(), a_task(position=40)
    consumer: Any = SimpleNamespace(get_watermark_offsets=lambda _place, cached: watermarks)
    telemetry.committed(task, 0.02, consumer)
    found = shown(telemetry)
    assert found.get("driftway_lag") == (None if lag is None else {("3",): lag})
    assert found["driftway_snapshot_bytes"] == {("3",): 123.0}
    assert found["driftway_commit_seconds_count"] == {("3",): 1.0}
    assert found["driftway_commit_seconds_sum"] == {("3",): 0.02}


def test_failures_are_counted_by_verdict() -> None:
    telemetry = Telemetry()
    for verdict in (Verdict.ABORT, Verdict.ABORT, Verdict.FENCED):
        telemetry.failed(a_task(), "commit failed", verdict)
    telemetry.failed(a_task(), "restore failed", Verdict.UNKNOWN)
    assert shown(telemetry)["driftway_commit_failures_total"] == {("3", "abort"): 2.0, ("3", "fenced"): 1.0}
    assert shown(telemetry)["driftway_restore_failures_total"] == {("3", "unknown"): 1.0}


def test_restores_are_counted_by_where_the_state_came_from() -> None:
    telemetry, model = Telemetry(), Model(model_settings("no_change"), 3)
    telemetry.restored(a_task(), Restored(model, 0, 0, None))
    telemetry.restored(a_task(), Restored(None, 7, 7, None))
    telemetry.restored(a_task(), Restored(model, 0, 7, None, mend=Mend(7, 9)))
    found = shown(telemetry)
    assert found["driftway_restores_total"] == {("3", "log"): 2.0, ("3", "memory"): 1.0}
    assert found["driftway_mends_total"] == {("3",): 1.0}


def test_a_task_is_in_exactly_one_state() -> None:
    assert set(STATES) == {state.value for state in State}
    telemetry = Telemetry()
    for state in State:
        telemetry.state(a_task(state=state))
        found = shown(telemetry)["driftway_task_state"]
        assert {labels: value for labels, value in found.items() if value} == {("3", state.value): 1.0}


def test_rolling_metrics_are_those_of_the_accuracy_points() -> None:
    telemetry, task = Telemetry(), a_task()
    telemetry.points([task])
    assert "driftway_rolling" not in shown(telemetry)
    task.model.advance(records(events(100)))
    telemetry.points([task])
    found = shown(telemetry)["driftway_rolling"]
    wanted = task.model.latest_points()
    assert set(wanted) == {"arow", "no_change"}
    for learner, point in wanted.items():
        for metric, value in point.items():
            assert found[learner, metric, "3"] == value


@pytest.mark.parametrize(
    ("states", "ready", "standby"),
    [
        ([], True, True),
        ([State.RUNNING], True, False),
        ([State.RUNNING, State.RUNNING], True, False),
        ([State.CREATED], False, False),
        ([State.RUNNING, State.RESTORING], False, False),
        ([State.RUNNING, State.CLOSED], False, False),
    ],
)
def test_ready_means_that_every_assigned_task_runs(states: list[State], ready: bool, standby: bool) -> None:
    found, facts = readiness([a_task(i, state) for i, state in enumerate(states)])
    assert found is ready
    assert facts == {"ready": ready, "standby": standby, "tasks": {str(i): s.value for i, s in enumerate(states)}}

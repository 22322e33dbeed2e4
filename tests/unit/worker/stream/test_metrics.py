"""The closed list of metrics: their names, what changes them, and when a worker is ready."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from driftway.worker.kafka.error_handling import ErrorAction
from driftway.worker.settings import WorkerSettings
from driftway.worker.settings.option_values import LabelWait, SharingOption
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.alarms import DriftAlarm
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import STATES, WorkerMetrics
from driftway.worker.stream.observability.reporter import Reporter
from driftway.worker.stream.observability.task_figures import FIGURES
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.wire.events import RejectedEvent
from tests.unit.worker.rows import events, model_settings, records

NAMES = {
    "driftway_batch_duration_seconds", "driftway_broker_round_trip_seconds", "driftway_build_info",
    "driftway_challenger_predictions", "driftway_client_errors", "driftway_cluster_reachable",
    "driftway_commit_duration_seconds", "driftway_commit_failures", "driftway_consumer_lag_offsets",
    "driftway_drift_alarms", "driftway_expert_weight", "driftway_fetch_queue_records", "driftway_label_delay_rows",
    "driftway_label_delay_seconds", "driftway_label_topic_ahead_seconds", "driftway_label_topic_waiting_records",
    "driftway_labels_set_aside", "driftway_learner_metric", "driftway_model_sharing_bytes",
    "driftway_model_sharing_incompatible_updates", "driftway_model_sharing_refused_updates",
    "driftway_model_sharing_rounds", "driftway_model_sharing_staleness_seconds",
    "driftway_open_transaction_age_seconds", "driftway_open_transaction_blocked_offsets", "driftway_output_repairs",
    "driftway_plan_number", "driftway_poll_loop_age_seconds", "driftway_prediction_latency_seconds",
    "driftway_predictions", "driftway_producer_fences", "driftway_promotions", "driftway_rebalances",
    "driftway_records", "driftway_rejections", "driftway_relearn_remaining_offsets", "driftway_replayed_records",
    "driftway_restore_duration_seconds", "driftway_restore_failures", "driftway_restore_remaining_offsets",
    "driftway_restores", "driftway_rows_awaiting_labels", "driftway_rows_never_labelled", "driftway_skipped_offsets",
    "driftway_snapshot_age_seconds", "driftway_snapshot_written_bytes", "driftway_state_bytes", "driftway_task_state",
    "driftway_throttled_requests", "driftway_transaction_aborts", "driftway_unexpected_offsets",
    "driftway_unknown_fields", "driftway_wrong_timestamp_max_seconds", "driftway_wrong_timestamps",
}  # fmt: skip
PROCESS = {
    "process_cpu_seconds", "process_resident_memory_bytes", "process_virtual_memory_bytes",
    "process_start_time_seconds", "process_open_fds", "process_max_fds",
}  # fmt: skip
HEALTH: Any = SimpleNamespace(
    reachable=True, idle_seconds=0.25, ends={3: 57, 4: 9}, open_transactions=SimpleNamespace(found={}), phase="running"
)


def a_task(partition: int = 3, state: State = State.RUNNING, position: int = 40) -> Any:
    settings = SimpleNamespace(input="EVENTS")
    model = Model(model_settings("arow", "no_change"), partition)
    return SimpleNamespace(
        partition=partition, state=state, settings=settings, position=position, committed=50, state_bytes=123,
        snapshot_age=1.5, snapshot_bytes=11, model=model, checkpoint=SimpleNamespace(open=True), clocks={},
        relearning=SimpleNamespace(left=7),
    )  # fmt: skip


def worker_metrics() -> WorkerMetrics:
    return WorkerMetrics("g", "EVENTS")


def shown(metrics: WorkerMetrics) -> dict[str, Any]:
    """Return sample name -> {label values in order of the labels' names: value}, as Prometheus parses the page."""
    found: dict[str, Any] = {}
    for family in text_string_to_metric_families(generate_latest(metrics.registry).decode()):
        assert family.documentation
        for sample in () if family.name in PROCESS else family.samples:
            more = tuple(v for label, v in sorted(sample.labels.items()) if label not in ("group", "topic"))
            assert (sample.labels["group"], sample.labels["topic"]) == ("g", "EVENTS")
            found.setdefault(sample.name, {})[more] = sample.value
    return found


def test_metrics_have_the_published_names() -> None:
    metrics = worker_metrics()
    text = generate_latest(metrics.registry).decode()
    names = {family.name for family in text_string_to_metric_families(text)}
    assert {name for name in names if not name.endswith("_created")} == NAMES | PROCESS


def test_the_process_is_shown_under_the_names_of_the_client_libraries() -> None:
    def read() -> dict[str, float]:
        return {s.name: s.value for f in metrics.registry.collect() for s in f.samples if f.name in PROCESS}

    metrics, before = worker_metrics(), time.process_time()
    first = read()
    assert first["process_cpu_seconds_total"] == pytest.approx(before, abs=1.0)
    assert first["process_max_fds"] == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert first["process_start_time_seconds"] <= time.time()
    with contextlib.ExitStack() as files:
        for _ in range(20):
            files.enter_context(open(os.devnull))
        held = b"x" * 50_000_000
        second = read()
    assert second["process_open_fds"] == first["process_open_fds"] + 20
    assert second["process_resident_memory_bytes"] > first["process_resident_memory_bytes"] + len(held) / 2


def test_snapshot_age_and_remaining_restore_are_computed_at_each_scrape() -> None:
    metrics = worker_metrics()
    metrics.refresh([a_task(position=40)], HEALTH)
    assert shown(metrics)["driftway_snapshot_age_seconds"] == {("3",): 1.5}
    assert shown(metrics)["driftway_restore_remaining_offsets"] == {("3",): 10.0}
    assert shown(metrics)["driftway_relearn_remaining_offsets"] == {("3",): 7.0}


def test_two_workers_in_one_process_do_not_share_counts() -> None:
    one, two = worker_metrics(), worker_metrics()
    one.worker_metric(one.rebalances).inc()
    assert shown(two)["driftway_rebalances_total"] == {(): 0.0}


def test_records_of_batches_are_counted_by_outcome() -> None:
    metrics, task = worker_metrics(), a_task()
    bad = RejectedEvent("not JSON", 5, b"?", None, 0)
    label = RejectedEvent("label is not a number", 6, b"{}", None, 0, set_aside=True)
    metrics.advanced(task, records(events(10)), Outputs(10, np.arange(8), rejected=[bad, bad, label]), skipped=3)
    metrics.advanced(a_task(state=State.RESTORING), records(events(7)), None)
    found = shown(metrics)
    assert found["driftway_records_total"] == {("3",): 17.0}
    assert found["driftway_predictions_total"] == {("3",): 8.0}
    assert found["driftway_rejections_total"] == {("3", "not-json"): 2.0}
    assert found["driftway_labels_set_aside_total"] == {("3", "label"): 1.0}
    assert found["driftway_replayed_records_total"] == {("3",): 7.0}
    assert found["driftway_skipped_offsets_total"] == {("3",): 3.0}


def test_a_commit_updates_its_duration_written_records_and_latency() -> None:
    metrics, task = worker_metrics(), a_task()
    old = replace(records(events(50)), timestamps=[int(1000 * (time.time() - 20))] * 50)
    metrics.advanced(task, old, Outputs(50, np.arange(50)))
    metrics.advanced(task, old, Outputs(90, np.arange(40)))
    metrics.committed(task, 0.02)
    found = shown(metrics)
    assert found["driftway_state_bytes"] == {("3",): 123.0}
    assert found["driftway_snapshot_written_bytes_total"] == {("3",): 11.0}
    assert found["driftway_commit_duration_seconds_count"] == {("3",): 1.0}
    assert found["driftway_commit_duration_seconds_sum"] == {("3",): 0.02}
    assert found["driftway_prediction_latency_seconds_count"] == {("3",): 1.0}, "the second batch is not committed yet"
    assert 20 <= found["driftway_prediction_latency_seconds_sum"]["3",] < 60


def test_lag_counts_from_the_committed_offset_to_the_log_end() -> None:
    metrics = worker_metrics()
    metrics.refresh([a_task(), a_task(partition=5)], HEALTH)
    found = shown(metrics)
    assert found["driftway_consumer_lag_offsets"] == {("3",): 7.0}, "where partition 5 ends has not been asked yet"
    assert found["driftway_cluster_reachable"] == {(): 1.0}
    assert found["driftway_poll_loop_age_seconds"] == {(): 0.25}


def test_lag_is_not_known_before_the_first_restore() -> None:
    metrics, created = worker_metrics(), a_task(state=State.CREATED)
    created.committed = 0
    metrics.refresh([created], HEALTH)
    assert "driftway_consumer_lag_offsets" not in shown(metrics)
    created.committed = 50  # a failed commit is to be restored
    metrics.refresh([created], HEALTH)
    assert shown(metrics)["driftway_consumer_lag_offsets"] == {("3",): 7}


def test_a_partition_revoked_during_a_scrape_is_no_longer_shown() -> None:
    settings = WorkerSettings("127.0.0.1:1", "EVENTS", "g", model_settings("arow"))
    metrics, task = worker_metrics(), a_task()
    tasks: dict[int, Any] = {3: task}
    reporter = Reporter(settings, EventLog("text"), metrics, tasks)

    def close() -> dict[str, Any]:
        task.state = State.CLOSED
        metrics.state(task)
        del tasks[3]
        return {"auto": {"arow": 1.0}}

    task.model.experts = close  # the loop's thread closes it while the endpoint's asks
    reporter.refresh()
    assert not any(("3" in labels) for series in shown(metrics).values() for labels in series)


def test_a_revoked_partition_is_no_longer_shown() -> None:
    metrics = worker_metrics()
    for partition in (3, 13):
        task = a_task(partition)
        metrics.state(task)
        metrics.failed(task, "commit failed", ErrorAction.ABORT)
        metrics.refresh([task], HEALTH)
    metrics.state(a_task(state=State.CLOSED))
    labels = {values for name, found in shown(metrics).items() for values in found if "learner_metric" not in name}
    assert not any("3" in values for values in labels)
    assert any("13" in values for values in labels)


def test_abandoned_transactions_and_fences_are_counted() -> None:
    metrics, task = worker_metrics(), a_task()
    metrics.aborted(task)
    task.checkpoint.open = False
    metrics.aborted(task)
    metrics.failed(task, "commit failed", ErrorAction.FENCED)
    assert shown(metrics)["driftway_transaction_aborts_total"] == {("3",): 1.0}
    assert shown(metrics)["driftway_producer_fences_total"] == {("3",): 1.0}


def test_statistics_of_the_client_become_metrics() -> None:
    metrics = worker_metrics()
    metrics.client_error("_TRANSPORT")
    metrics.request_throttled()
    broker = {"nodeid": 7, "state": "UP", "rtt": {"avg": 1500}}
    partitions = {"0": {"fetchq_cnt": 5}, "1": {"fetchq_cnt": 6}, "-1": {"fetchq_cnt": 0}}
    metrics.statistics(
        {"brokers": {"a": broker, "b": {"nodeid": -1}}, "topics": {"EVENTS": {"partitions": partitions}}}
    )
    found = shown(metrics)
    assert found["driftway_client_errors_total"] == {("_TRANSPORT",): 1.0}
    assert found["driftway_throttled_requests_total"] == {(): 1.0}
    assert found["driftway_broker_round_trip_seconds"] == {("7",): 0.0015}
    assert found["driftway_fetch_queue_records"] == {(): 11.0}
    for gone in ({"a": broker | {"state": "DOWN"}, "b": broker | {"nodeid": 8}}, {"b": broker | {"nodeid": 8}}):
        metrics.statistics({"brokers": {"a": broker}})
        metrics.statistics({"brokers": gone})
        assert shown(metrics)["driftway_broker_round_trip_seconds"] == {("8",): 0.0015}


def test_failures_are_counted_by_the_workers_reaction() -> None:
    metrics = worker_metrics()
    for action in (ErrorAction.ABORT, ErrorAction.ABORT, ErrorAction.FENCED):
        metrics.failed(a_task(), "commit failed", action)
    metrics.failed(a_task(), "restore failed", ErrorAction.UNKNOWN)
    assert shown(metrics)["driftway_commit_failures_total"] == {("abort", "3"): 2.0, ("fenced", "3"): 1.0}
    assert shown(metrics)["driftway_restore_failures_total"] == {("unknown", "3"): 1.0}


def test_restores_are_counted_by_the_source_of_the_state() -> None:
    metrics, model = worker_metrics(), Model(model_settings("no_change"), 3)
    metrics.restored(a_task(), RestoreResult(model, 0, 0, None), 0.5)
    metrics.restored(a_task(), RestoreResult(None, 7, 7, None), 0.25)
    metrics.restored(a_task(), RestoreResult(model, 0, 7, None, missing_outputs=MissingOutputs(7, 9)), 1.0)
    found = shown(metrics)
    assert found["driftway_restores_total"] == {("3", "log"): 2.0, ("3", "memory"): 1.0}
    assert found["driftway_output_repairs_total"] == {("3",): 1.0}
    assert found["driftway_restore_duration_seconds_sum"] == {("3",): 1.75}


def test_a_task_is_in_exactly_one_state() -> None:
    assert set(STATES) == {state.value for state in State}
    metrics = worker_metrics()
    for state in set(State) - {State.CLOSED}:
        metrics.state(a_task(state=state))
        found = shown(metrics)["driftway_task_state"]
        assert {labels: value for labels, value in found.items() if value} == {("3", state.value): 1.0}


def test_metrics_of_learners_are_those_of_the_accuracy_points() -> None:
    metrics, task = worker_metrics(), a_task()
    metrics.refresh([task], HEALTH)
    assert "driftway_learner_metric" not in shown(metrics)
    task.model.advance(records(events(100)))
    metrics.refresh([task], HEALTH)
    found = shown(metrics)["driftway_learner_metric"]
    expected = task.model.latest_points()
    assert set(expected) == {"arow", "no_change"}
    for learner, point in expected.items():
        for metric, value in point.items():
            assert found.get((learner, metric, "3")) == value
    assert 0.0 < found["no_change", "better_p", "3"] <= 1.0, "the test of a challenger"
    assert ("arow", "better_p", "3") not in found


def test_experts_are_shown_with_their_weights() -> None:
    metrics, task = worker_metrics(), a_task()
    task.model = Model(model_settings("arow", "auto"), 3)
    task.model.advance(records(events(100)))
    metrics.refresh([task], HEALTH)
    shares = task.model.learners[1].experts()
    assert shown(metrics)["driftway_expert_weight"] == {(name, "auto", "3"): share for name, share in shares.items()}


def test_figures_of_labels_and_sharing_are_gauges_in_base_units() -> None:
    metrics, task = worker_metrics(), a_task()
    task.model = Model(model_settings("arow", wait=LabelWait(50), share=SharingOption("average", 40)), 3)
    late = [*events(20), *(f'{{"id":{i},"y":1}}'.encode() for i in range(5))]
    task.model.advance(records(late))
    task.clocks = {"wrong_timestamps": 2, "furthest_ms": 4500, "labels_waiting": 7, "labels_ahead_ms": -1500}
    metrics.refresh([task], HEALTH)
    found, figures = shown(metrics), task.model.delay_metrics()
    assert found["driftway_rows_awaiting_labels"] == {("3",): figures["waiting"]}
    assert found["driftway_rows_never_labelled"] == {("3",): figures["never_labelled"]}
    assert found["driftway_wrong_timestamps"] == {("3",): 2.0}
    assert found["driftway_wrong_timestamp_max_seconds"] == {("3",): 4.5}
    assert found["driftway_label_topic_waiting_records"] == {("3",): 7.0}
    assert found["driftway_label_topic_ahead_seconds"] == {("3",): -1.5}
    assert found["driftway_model_sharing_rounds"] == {("3",): task.model.exchange.figures()["rounds"]}
    delays = {"delay_rows_median": 3, "delay_rows_p95": 9, "delay_ms_median": 250, "delay_ms_p95": 4000}
    task.model = SimpleNamespace(
        latest_points=dict, experts=dict, exchange=None, plan=task.model.plan, delay_metrics=lambda: delays
    )  # fmt: skip
    metrics.refresh([task], HEALTH)
    assert shown(metrics)["driftway_label_delay_rows"] == {("3", "0.5"): 3.0, ("3", "0.95"): 9.0}
    assert shown(metrics)["driftway_label_delay_seconds"] == {("3", "0.5"): 0.25, ("3", "0.95"): 4.0}


UNITS = ("seconds", "bytes", "records", "offsets", "rows", "updates", "rounds", "timestamps", "labels", "labelled")
WITHOUT_UNIT = {  # a state, a number, or the label `metric` says what it is
    "driftway_learner_metric", "driftway_plan_number", "driftway_expert_weight", "driftway_task_state",
    "driftway_cluster_reachable",
}  # fmt: skip


def test_names_follow_the_rules_of_prometheus() -> None:
    """Lower case, counters end in `_total`, other metrics in a base unit or in what they count."""
    families = [one for one in worker_metrics().registry.collect() if one.name.startswith("driftway_")]
    assert len(families) > 50
    for family in families:
        assert re.fullmatch("[a-z]+(_[a-z]+)+", family.name)
        assert not re.search("_(ms|millis|milliseconds|minutes|kb|mb|percent|total|count|sum|bucket)(_|$)", family.name)
        assert family.documentation
        if family.type in ("gauge", "histogram") and family.name not in WITHOUT_UNIT:
            assert family.name.rpartition("_")[2] in UNITS, family.name


def values_of(metrics: WorkerMetrics) -> dict[str, list[float]]:
    found = {family.name: [s.value for s in family.samples] for family in metrics.registry.collect()}
    return {name: values for name, values in found.items() if name not in PROCESS}


def test_every_metric_of_the_list_changes_with_its_cause() -> None:
    metrics, task = worker_metrics(), a_task(position=40)
    task.model = Model(model_settings("auto", "arow", wait=LabelWait(50), share=SharingOption("average", 40)), 3)
    task.model.exchange.replay([], 0)
    task.model.exchange.start(1, {})
    updates = task.model.advance(records([*events(100), b'{"id":"late","x":[1,2,3]}'])).shares
    task.model.exchange.oldest_sent_at = 1000
    before = values_of(metrics)
    bad = RejectedEvent("not JSON", 5, b"?", None, 0)
    label = RejectedEvent("label 7 is not one of 0, 1", 6, b"{}", None, 0, set_aside=True)
    metrics.advanced(task, records(events(10)), Outputs(10, np.arange(8), rejected=[bad, label]), skipped=3)
    metrics.advanced(task, records(events(7)), Outputs(7, alarms=[DriftAlarm("adwin", 5)], shares=updates))
    metrics.advanced(a_task(state=State.RESTORING), records(events(7)), None)
    metrics.committed(task, 0.02)
    metrics.failed(task, "commit failed", ErrorAction.FENCED)
    metrics.failed(task, "restore failed", ErrorAction.UNKNOWN)
    metrics.aborted(task)
    metrics.restored(task, RestoreResult(None, 0, 7, None, missing_outputs=MissingOutputs(7, 9)), 1.0)
    metrics.state(task)
    metrics.partition_metric(metrics.unexpected_offsets, task.partition).inc()
    metrics.worker_metric(metrics.rebalances).inc()
    metrics.worker_metric(metrics.batch_duration).observe(0.1)
    metrics.client_error("_TRANSPORT")
    metrics.request_throttled()
    metrics.promoted()
    metrics.unknown_fields_seen({"note": 2})
    statistics = {
        "brokers": {"a": {"nodeid": 7, "state": "UP", "rtt": {"avg": 1500}}},
        "topics": {"EVENTS": {"partitions": {"0": {"fetchq_cnt": 5}}}},
    }
    metrics.statistics(statistics)
    task.clocks = {"wrong_timestamps": 1, "furthest_ms": 4500, "labels_waiting": 2, "labels_ahead_ms": 3000}
    held = SimpleNamespace(found={task.partition: SimpleNamespace(waiting=4, seconds=20)})
    metrics.refresh([task], SimpleNamespace(**{**vars(HEALTH), "open_transactions": held}))
    after = values_of(metrics)
    assert {name for name in after if after[name] == before[name]} == {"driftway_build"}, "what does not move is a fact"
    kept = {f"driftway_{one.name}" for one in FIGURES.values()}  # which may be 0, and have a test of their own
    assert all(any(values) for name, values in after.items() if name not in kept)

"""/metrics, /healthz and /readyz of a real worker match what it did."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import resource
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka import libversion
from prometheus_client.parser import text_string_to_metric_families

from driftway.learners.engine.kernel_cache import FOLDER
from driftway.worker.kafka.client_config import NATIVE
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.record_keys import chunk_key, commit_record_key
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.snapshot import read_snapshot_header
from driftway.worker.stream.endpoint.server import MAX_CONNECTIONS, REQUEST_SECONDS
from driftway.worker.wire.codec import encode_events, read_json
from tests.support.kafka import await_until, create_topic, produce, read_all
from tests.support.process import Driftway, driftway


def get(port: int, path: str) -> tuple[int, str, str]:
    """Status, content type and body of a response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


def metrics(port: int) -> Callable[..., float]:
    """A function that returns the value of a sample by name and labels."""
    status, kind, text = get(port, "/metrics")
    assert status == 200
    assert kind.startswith("text/plain")
    samples = [s for family in text_string_to_metric_families(text) for s in family.samples]

    def value(name: str, **labels: str) -> float:
        (found,) = (s.value for s in samples if s.name == f"driftway_{name}" and labels.items() <= s.labels.items())
        return found

    return value


def log_of(worker: Driftway) -> list[dict[str, Any]]:
    return [json.loads(line) for line in worker.stderr.splitlines(keepends=True) if line.endswith("\n")]


def event(worker: Driftway, name: str) -> dict[str, Any]:
    """Wait for the first event of that name in the JSON log and return it."""

    def found() -> list[dict[str, Any]]:
        return [line for line in log_of(worker) if line["event"] == name]

    worker.await_condition(found, f"event {name!r}")
    return found()[0]


def arguments(kafka: str, topic: str, group: str, *more: str) -> tuple[str, ...]:
    return (
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "rls",
        "--learner", "no_change", "--http-port", "0", "--log-format", "json", *more,
    )  # fmt: skip


def rows(n: int, d: int = 3) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    X = np.random.default_rng(4).normal(size=(n, d))
    return X, (X[:, 0] > 0).astype(float)


def test_metrics_equal_the_work_done_and_the_log_is_json(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 2)
    events = encode_events(*rows(3000), 0)
    produce(kafka, topic, events[:2000], 0)
    produce(kafka, topic, [*events[2000:], b"?", None], 1)
    with Driftway(*arguments(kafka, topic, group)) as worker:
        port = event(worker, "listening")["port"]
        status, kind, body = get(port, "/healthz")
        assert (status, kind, json.loads(body)["alive"]) == (200, "application/json", True)
        assert json.loads(body)["seconds_since"]["turn"] < 10

        def all_done() -> bool:
            value = metrics(port)
            try:
                taken = [value("records_total", partition=p) for p in "01"]
                return (
                    taken == [2000, 1002]
                    and value("consumer_lag_offsets", partition="0")
                    == value("consumer_lag_offsets", partition="1")
                    == 0
                )
            except ValueError:  # no sample yet
                return False

        worker.await_condition(all_done, "everything predicted and committed")
        value = metrics(port)
        assert [value("predictions_total", partition=p) for p in "01"] == [2000, 1000]
        assert [value("records_total", partition=p) for p in "01"] == [2000, 1002]
        assert value("rejections_total", partition="1", reason="not-json") == 1
        assert value("rejections_total", partition="1", reason="null") == 1
        rejections = [line for line in log_of(worker) if line["event"] == "rejected"]
        assert [(line["kind"], line["example"]) for line in rejections] == [("not-json", "?"), ("null", "null")]
        assert value("rebalances_total") >= 1
        assert value("commit_duration_seconds_count", partition="0") >= 1
        assert value("state_bytes", partition="0") > 0
        assert value("snapshot_written_bytes_total", partition="0") > 0
        assert value("prediction_latency_seconds_count", partition="0") >= 1
        assert value("build_info", librdkafka=libversion()[0], client=os.environ.get("DRIFTWAY_CLIENT", NATIVE)) == 1
        assert value("cluster_reachable") == 1
        assert value("batch_duration_seconds_count") >= 1
        for state in ("created", "restoring", "running", "closed"):
            assert value("task_state", partition="0", state=state) == (state == "running")
        assert value("learner_metric", partition="0", learner="rls", metric="labels") == 2000
        assert 0.8 < value("learner_metric", partition="1", learner="rls", metric="accuracy") <= 1
        points = [read_json(record.value or b"") for record in read_all(kafka, f"{topic}.{group}.accuracy")]
        last = [p for p in points if (p["partition"], p["learner"]) == (0, "no_change")][-1]
        assert last["labels"] == 2000
        assert value("learner_metric", partition="0", learner="no_change", metric="accuracy") == last["accuracy"]
        status, _, body = get(port, "/readyz")
        tasks = {"0": "running", "1": "running"}
        expected = {"ready": True, "state": "running", "standby": False, "cluster": "answers", "tasks": tasks}
        assert (status, json.loads(body)) == (200, expected)
        assert get(port, "/nothing")[0] == 404
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        happened = [line["event"] for line in log_of(worker)]
        assert happened[:2] == ["starting", "listening"]
        assert happened[-1] == "left"
        assert {"kernels are compiled", "subscribed", "assigned", "restored", "running"} <= set(happened)
        logged = log_of(worker)
        assert all(line.keys() >= {"time", "level", "logger", "event"} for line in logged)
        assert sorted(line["time"] for line in logged) == [line["time"] for line in logged]
        assert logged[0]["settings"]["group"] == group
        summary = next(line for line in logged if line["event"] == "summary")
        assert (summary["rows"], summary["rejected"], type(summary["rows_per_second"])) == (3002, 2, int)


def test_a_cold_start_is_alive_and_becomes_ready_once_predictions_flow(
    kafka: str, topic: str, group: str, tmp_path: Path
) -> None:
    """Only the learner's kernels are not compiled yet."""
    driftway("warm", "--learner", "no_change")
    tmp_path.chmod(0o700)
    copied = tmp_path / FOLDER.name
    copied.mkdir(0o700)
    for kernel in FOLDER.glob("*.kernel"):
        if "learn" not in kernel.name:
            shutil.copy2(kernel, copied)
    create_topic(kafka, topic)
    produce(kafka, topic, encode_events(*rows(100), 0))
    seen: list[tuple[str, int, str]] = []
    with Driftway(*arguments(kafka, topic, group), env={"NUMBA_CACHE_DIR": str(tmp_path)}) as worker:
        port = event(worker, "listening")["port"]

        def ready() -> bool:
            for path in ("/healthz", "/readyz"):
                status, _, body = get(port, path)
                seen.append((path, status, json.loads(body)["state"]))
            return seen[-1][1] == 200

        await_until(ready, 120, "ready", poll=0.05)
        assert {(path, status) for path, status, _ in seen[:-1]} == {("/healthz", 200), ("/readyz", 503)}
        assert [*dict.fromkeys(state for *_, state in seen)][:1] == ["starting"]
        assert seen[-1] == ("/readyz", 200, "running")
        ready_at = time.monotonic()
        await_until(lambda: len(read_all(kafka, f"{topic}.{group}.predictions")) == 100, 30, "predictions", poll=0.05)
        assert time.monotonic() - ready_at < 10.0
        compiled = event(worker, "kernels are compiled")["compiled"]
        assert 0 < compiled <= len([one for one in copied.glob("*.kernel") if "learn" in one.name])
        assert event(worker, "compiling kernels")["about_seconds"] > 0
    warmed = driftway("warm", "--learner", "rls", env={"NUMBA_CACHE_DIR": str(tmp_path)})
    assert (warmed.code, warmed.stdout) == (0, "nothing to compile\n")


def test_a_restore_is_not_ready_and_relearned_rows_are_counted_separately(kafka: str, topic: str, group: str) -> None:
    """The successor gets a pointer to the first snapshot, so that it relearns many rows on any machine."""
    n, d = 30_000, 60
    create_topic(kafka, topic)
    for name in ("predictions", "accuracy", "rejected"):
        create_topic(kafka, f"{topic}.{group}.{name}")
    events = encode_events(*rows(n, d), 0)
    rare = ("--snapshot-interval", "1000", "--snapshot-rows", "1000000", "-X", "group.instance.id=one")
    produce(kafka, topic, events[:1000])
    with Driftway(*arguments(kafka, topic, group, *rare)) as victim:
        victim.await_condition(
            lambda: len(read_all(kafka, f"{topic}.{group}.predictions")) == 1000, "first rows predicted"
        )
        produce(kafka, topic, events[1000:])
        victim.await_condition(lambda: len(read_all(kafka, f"{topic}.{group}.predictions")) == n, "all rows predicted")
        victim.kill()
    log = read_all(kafka, f"{topic}.{group}.snapshots")
    first = next(record for record in log if record.key == chunk_key(0, 0))
    drawn = read_snapshot_header(first.value or b"")
    assert drawn is not None
    position = CommitRecord(n, n, Pointer(first.offset, 1, drawn.state_offset)).write()
    produce(kafka, f"{topic}.{group}.snapshots", [position], keys=[commit_record_key(0)])
    seen: list[tuple[int, str]] = []
    rejections: set[str] = set()
    with Driftway(*arguments(kafka, topic, group, *rare)) as successor:
        port = event(successor, "listening")["port"]

        def ready_again() -> bool:
            status, _, body = get(port, "/readyz")
            state = json.loads(body)["tasks"].get("0", "standby")
            if (status, state) not in seen:
                seen.append((status, state))
            if state != "standby":
                value = metrics(port)
                rejections.update(
                    s for s in ("restoring", "running") if value("task_state", partition="0", state=s) == 1
                )
            return state == "running"

        await_until(ready_again, 90, "the successor is running", poll=0.002)
        assert seen[-1] == (200, "running")
        assert {status for status, state in seen if state in {"created", "restoring"}} == {503}, seen
        assert (503, "restoring") in seen
        assert "restoring" in rejections
        restored = event(successor, "restored")
        assert (restored["position"], restored["committed"]) == (drawn.state_offset, n)
        assert drawn.state_offset <= 1000
        value = metrics(port)
        assert value("replayed_records_total", partition="0") == n - restored["position"]
        successor.terminate()
        assert successor.wait() == 0, successor.summary()
    assert len(read_all(kafka, f"{topic}.{group}.predictions")) == n


OTHERS = 30
"""Threads of the clients that a worker has started since it listens."""


def incomplete_requests(port: int, count: int) -> list[socket.socket]:
    """Open connections that never complete their request."""
    opened = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port), timeout=10)
        client.sendall(b"GET /metrics HTTP/1.1\r\n")
        opened.append(client)
    return opened


@pytest.mark.slow
def test_probes_are_answered_while_a_thousand_requests_hang(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    with Driftway(*arguments(kafka, topic, group)) as worker, contextlib.ExitStack() as opened:
        port = event(worker, "listening")["port"]
        await_until(lambda: get(port, "/readyz")[0] == 200, 60, "ready")
        threads = len(os.listdir(f"/proc/{worker.pid}/task"))
        for client in incomplete_requests(port, 1000):
            opened.enter_context(client)
        for path in ("/healthz", "/readyz", "/metrics") * 3:
            began = time.monotonic()
            assert get(port, path)[0] == 200
            assert time.monotonic() - began < 5.0
        assert len(os.listdir(f"/proc/{worker.pid}/task")) <= threads + MAX_CONNECTIONS + OTHERS
        produce(kafka, topic, encode_events(*rows(50), 0))
        await_until(
            lambda: len(read_all(kafka, f"{topic}.{group}.predictions")) == 50, 60, "rows predicted in the meantime"
        )
        await_until(
            lambda: len(os.listdir(f"/proc/{worker.pid}/task")) <= threads + OTHERS,
            REQUEST_SECONDS + 20,
            "all connections closed",
        )

"""A tiny `driftway bench` on a real Kafka ends with a plausible report and a picture. No timing is asserted."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from driftway.workbench.bench.python_copy import CopyJob
from tests.support.kafka import admin, await_until, committed_offset, create_topic, produce, read_all, unique
from tests.support.process import Finished, driftway
from tests.support.selection import slow_but

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("bench")]  # one test looks for remaining topics

TINY = ("--messages", "4000", "--repetitions", "1")


def bench(kafka: str, *arguments: str) -> Finished:
    return driftway("bench", *TINY, "--bootstrap", kafka, "--json", *arguments, seconds=240)


def result(done: Finished) -> dict[str, Any]:
    assert done.code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


THROUGHPUT = {"messages_per_second", "cpu_seconds", "peak_rss"}


def require_plausible(found: dict[str, Any], figures: set[str], limit: bool = False) -> None:
    sides = ["passthrough", "limit", "worker"] if limit else ["passthrough", "worker"]
    for side in sides:
        assert set(found["medians"][side]) == (THROUGHPUT if side == "limit" else figures)
        assert all(value >= 0 and math.isfinite(value) for value in found["medians"][side].values())
        assert found["medians"][side]["messages_per_second"] > 0
        assert 10e6 < found["medians"][side]["peak_rss"] < 4e9
    assert {run["side"] for run in found["runs"]} == set(sides)
    # With so few messages a side may have used no measurable CPU time, so its ratio may be missing.
    assert set(found["ratios_to_limit"]) | {"cpu_seconds"} == (THROUGHPUT if limit else {"cpu_seconds"})


@pytest.mark.parametrize("limit", slow_but([False], [False, True]), ids=["two", "all"])
@pytest.mark.slow
def test_a_tiny_bench_measures_its_programs_and_removes_its_topics(kafka: str, tmp_path: Path, limit: bool) -> None:
    picture = tmp_path / "bench.png"
    paced = ("--latency-repetitions", "1", "--latency-seconds", "1", "--rate", "1000")
    found = result(bench(kafka, *paced, "--out", str(picture), *([] if limit else ["--no-limit"])))
    require_plausible(found, {*THROUGHPUT, "p50", "p95", "p99", "p99_9"}, limit)
    assert {"messages_per_second", "cpu_seconds", "p99"} <= set(found["ratios"])
    for run in found["latency_runs"]:
        assert 0 < run["p50"] <= run["p95"] <= run["p99"] <= run["p99_9"] <= run["largest"]
    assert picture.read_bytes().startswith(b"\x89PNG")

    def left() -> list[str]:
        return [name for name in admin(kafka).list_topics(timeout=10).topics if name.startswith("driftway-bench-")]

    await_until(lambda: not left(), 20, "the bench's topics are gone")


@pytest.mark.slow
def test_a_sweep_measures_every_combination(kafka: str) -> None:
    forms = ("--format", "json,packed", "--output-format", "packed")
    done = bench(kafka, "--no-latency", "--no-limit", *forms, "--guarantee", "at-least-once")
    cases = result(done)["cases"]
    asked = [(case["settings"]["form"], case["settings"]["output_form"]) for case in cases]
    assert asked == [("json", "packed"), ("packed", "packed")]
    for case in cases:
        require_plausible(case, THROUGHPUT)
        assert case["ratios"]["p99"] is None
    assert "medians of the worker (ratio to the pass-through)" in done.stderr
    assert done.stderr.rstrip().splitlines()[-1].startswith("packed")


@pytest.mark.slow
def test_a_bench_may_use_several_processes(kafka: str) -> None:
    found = result(bench(kafka, "--no-latency", "--no-limit", "--workers", "2", "--partitions", "4"))
    require_plausible(found, THROUGHPUT)


@pytest.mark.parametrize(
    ("copier", "guarantee", "properties"),
    [
        ("python_copy", "exactly-once", {}),
        ("native_copy", "exactly-once", {}),
        pytest.param("native_copy", "at-least-once", {}, marks=pytest.mark.slow),
        pytest.param("native_copy", "exactly-once", {"group.protocol": "consumer"}, marks=pytest.mark.slow),
    ],
)
def test_programs_that_copy_messages_copy_every_one(
    kafka: str, copier: str, guarantee: str, properties: dict[str, str]
) -> None:
    source, copy = (create_topic(kafka, unique("copied"), 2) for _ in range(2))
    values = [bytes([i % 251]) * (i % 400) for i in range(3000)]
    for partition in (0, 1):
        produce(kafka, source, values[partition::2], partition=partition)
    call = CopyJob(kafka, source, copy, unique("copiers"), 0.1, guarantee, True, properties)
    argument = json.dumps(asdict(call))
    command = [sys.executable, "-P", "-m", f"driftway.workbench.bench.{copier}", argument]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = read_all(kafka, copy)
    for partition in (0, 1):
        assert [record.value for record in found if record.partition == partition] == values[partition::2]
        assert committed_offset(kafka, call.group, source, partition)[0] == 1500


@pytest.mark.parametrize(
    "arguments",
    [
        ("--workers", "3"),
        ("--learner", "no_such_learner"),
        ("--features", "2,x"),
        ("--repetitions", "0", "--no-latency"),
        ("--out", "no-such-directory/bench.png"),
    ],
)
def test_options_that_cannot_be_measured_are_refused_before_anything_starts(
    kafka: str, arguments: tuple[str, ...]
) -> None:
    done = bench(kafka, *arguments)
    assert done.code == 2, done.stderr
    assert "Traceback" not in done.stderr

"""`driftway bench` on a real Kafka, tiny: it ends, its object is sane, its picture is there. No timing is asserted."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.kafka import admin, await_until
from tests.support.process import Finished, driftway

pytestmark = pytest.mark.broker

TINY = ("--messages", "20000", "--repetitions", "1")


def bench(kafka: str, *arguments: str) -> Finished:
    return driftway("bench", *TINY, "--bootstrap", kafka, "--json", *arguments, seconds=240)


def result(done: Finished) -> dict[str, Any]:
    assert done.code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def require_sane(found: dict[str, Any], figures: set[str]) -> None:
    for side in ("passthrough", "worker"):
        assert set(found["medians"][side]) == figures
        assert all(value >= 0 and math.isfinite(value) for value in found["medians"][side].values())
        assert found["medians"][side]["messages_per_second"] > 0
        assert 10e6 < found["medians"][side]["peak_rss"] < 4e9
    assert {run["side"] for run in found["runs"]} == {"passthrough", "worker"}


def test_a_tiny_bench_measures_both_sides_and_leaves_no_topic(kafka: str, tmp_path: Path) -> None:
    picture = tmp_path / "bench.png"
    paced = ("--latency-repetitions", "1", "--latency-seconds", "2", "--rate", "1000")
    found = result(bench(kafka, *paced, "--out", str(picture)))
    require_sane(found, {"messages_per_second", "cpu_seconds", "peak_rss", "p50", "p95", "p99", "p99_9"})
    assert {"messages_per_second", "cpu_seconds", "p99"} <= set(found["ratios"])
    for run in found["latency_runs"]:
        assert 0 < run["p50"] <= run["p95"] <= run["p99"] <= run["p99_9"] <= run["largest"]
    assert picture.read_bytes().startswith(b"\x89PNG")

    def left() -> list[str]:
        return [name for name in admin(kafka).list_topics(timeout=10).topics if name.startswith("driftway-bench-")]

    await_until(lambda: not left(), 20, "the bench's topics are gone")


def test_a_sweep_measures_every_combination(kafka: str) -> None:
    forms = ("--format", "json,packed", "--output-format", "packed")
    done = bench(kafka, "--no-latency", *forms, "--guarantee", "at-least-once")
    cases = result(done)["cases"]
    asked = [(case["settings"]["form"], case["settings"]["output_form"]) for case in cases]
    assert asked == [("json", "packed"), ("packed", "packed")]
    for case in cases:
        require_sane(case, {"messages_per_second", "cpu_seconds", "peak_rss"})
        assert case["ratios"]["p99"] is None
    assert "medians of the worker (ratio to the pass-through)" in done.stderr
    assert done.stderr.rstrip().splitlines()[-1].startswith("packed")


def test_the_work_can_be_shared_by_processes(kafka: str) -> None:
    found = result(bench(kafka, "--no-latency", "--workers", "2", "--partitions", "4"))
    require_sane(found, {"messages_per_second", "cpu_seconds", "peak_rss"})


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
def test_what_cannot_be_measured_is_refused_before_anything_starts(kafka: str, arguments: tuple[str, ...]) -> None:
    done = bench(kafka, *arguments)
    assert done.code == 2, done.stderr
    assert "Traceback" not in done.stderr

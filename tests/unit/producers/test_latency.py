"""Percentiles against those of a sorted list."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway.producers.sinks import latency
from driftway.producers.sinks.latency import GROWTH, Latencies


@pytest.mark.parametrize("kind", ["lognormal", "constant", "two", "tiny", "huge"])
def test_percentiles_are_those_of_the_sorted_list_within_one_percent(kind: str) -> None:
    rng = np.random.default_rng(1)
    values = {
        "lognormal": rng.lognormal(-6, 2, 30_011),
        "constant": np.full(1000, 0.25),
        "two": np.array([0.001, 5.0]),
        "tiny": rng.uniform(0, 1e-7, 1000),
        "huge": rng.uniform(1e5, 9e5, 777),
    }[kind]
    kept = Latencies()
    for value in values.tolist():
        kept.note(value)
        kept.tidy()
    exact = np.sort(values)
    for part in (0.5, 0.95, 0.99, 0.999, 1.0):
        expected = exact[max(1, math.ceil(part * len(exact) - 1e-9)) - 1]
        found = kept.percentile(part)
        assert expected * (1 - 1e-9) <= max(found, 1e-6)
        assert found <= max(expected * GROWTH * (1 + 1e-9), 1e-6)
    report = kept.as_milliseconds()
    assert report["largest"] == 1e3 * values.max()
    assert report["messages"] == len(values)
    ordered = [report[name] for name in ("p50", "p95", "p99", "p99.9", "largest")]
    assert ordered == sorted(ordered)


def test_memory_of_latencies_is_bounded() -> None:
    kept = Latencies()
    for _ in range(50):
        for _ in range(1000):
            kept.note(0.01)
        kept.tidy()
        assert len(kept._pending) <= latency.PENDING
    assert kept.as_milliseconds()["messages"] == 50_000


def test_latency_without_acknowledged_messages_is_reported_as_none() -> None:
    assert set(Latencies().as_milliseconds().values()) == {None, 0}
    assert math.isnan(Latencies().percentile(0.5))

"""Brokers that a test may kill and restart, with the same port and data."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

import pytest

from driftway.workbench.broker import LocalKafka
from driftway.worker.errors import Failure


@contextlib.contextmanager
def own_broker(config: pytest.Config, properties: Mapping[str, str] | None = None) -> Iterator[LocalKafka]:
    """A local Kafka for one test, with its own properties; skips the test if none can be started."""
    if os.environ.get("DRIFTWAY_BOOTSTRAP"):
        pytest.skip("kills its broker, and DRIFTWAY_BOOTSTRAP's is not ours to kill")
    kafka = LocalKafka(heap="256m", properties=properties)
    try:
        kafka.start()
    except Failure as failure:
        if config.getoption("--require-broker"):
            pytest.fail(f"no broker: {failure}", pytrace=False)
        pytest.skip(f"no broker: {failure}")
    try:
        yield kafka
    finally:
        kafka.stop()

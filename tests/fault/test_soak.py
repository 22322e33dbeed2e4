"""One minute of the soak test, which `make soak` runs for an hour."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.soak.run import Settings, Soak
from tests.support.brokers import own_broker

SEED = 80
"""A seed whose first minute has every kind of fault."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_minute_of_the_soak_test_passes(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with own_broker(request.config) as kafka:
        for name in [name for name in os.environ if name.startswith("DRIFTWAY_")]:
            monkeypatch.delenv(name)  # they would change the workers' options
        soak = Soak(
            kafka, Settings(minutes=1.0, seed=SEED, broker_seconds=20.0), tell=lambda _line: None, logs=tmp_path
        )
        found = soak.run()
    assert found.holds, (found.complaints, found.audit, soak.members.unexpected)
    assert found.produced > 100_000
    assert found.rejected > 0
    assert sum(found.faults.values()) > 3
    assert found.faults["broker restart"] + found.faults["broker outage"] > 0

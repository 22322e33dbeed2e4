"""What a worker checks before it joins its group, and which kernels it prepares."""

from __future__ import annotations

import pytest

from driftway.worker.errors import UsageFailure
from driftway.worker.settings import AT_LEAST_ONCE, EXACTLY_ONCE, WorkerSettings
from driftway.worker.stream.startup import check_properties
from tests.unit.worker.rows import model_settings

MODEL = model_settings()


def settings(guarantee: str, **properties: str) -> WorkerSettings:
    return WorkerSettings("localhost:1", "EVENTS", "g", MODEL, guarantee=guarantee, passthrough=properties)


@pytest.mark.parametrize("name", ["message.timeout.ms", "delivery.timeout.ms"])
def test_at_least_once_accepts_what_its_producer_accepts(name: str) -> None:
    """Longer than a transaction's timeout, which such a producer does not have."""
    longer = {name: "120000"}
    check_properties(settings(AT_LEAST_ONCE, **longer))
    with pytest.raises(UsageFailure):
        check_properties(settings(EXACTLY_ONCE, **longer))


def test_settings_that_no_idempotent_producer_accepts_are_refused_at_least_once_too() -> None:
    with pytest.raises(UsageFailure):
        check_properties(settings(AT_LEAST_ONCE, acks="1"))

"""What a worker checks before it joins its group, and which kernels it prepares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import AT_LEAST_ONCE, EXACTLY_ONCE, WorkerSettings
from driftway.worker.stream.startup import check_properties
from driftway.worker.stream.warm_up import _kernels_needed
from driftway.worker.wire.schema.feature import MissingPolicy
from tests.unit.worker.rows import model_settings

MODEL = model_settings()


def settings(guarantee: str, **properties: str) -> WorkerSettings:
    return WorkerSettings("localhost:1", "EVENTS", "g", MODEL, guarantee=guarantee, passthrough=properties)


@pytest.mark.parametrize("name", ["message.timeout.ms", "delivery.timeout.ms"])
def test_at_least_once_takes_what_its_producer_takes(name: str) -> None:
    """Longer than a transaction's timeout, which such a producer does not have."""
    longer = {name: "120000"}
    check_properties(settings(AT_LEAST_ONCE, **longer))
    with pytest.raises(UsageFailure):
        check_properties(settings(EXACTLY_ONCE, **longer))


def test_what_no_idempotent_producer_takes_is_refused_at_least_once_too() -> None:
    with pytest.raises(UsageFailure):
        check_properties(settings(AT_LEAST_ONCE, acks="1"))


@pytest.mark.parametrize(
    "more",
    [
        {"detectors": (Spec.parse("adwin"),)},
        {"detectors": (Spec.parse("adwin"), Spec.parse("kswin"))},
        {"missing": MissingPolicy.parse("mean"), "indicators": True},
    ],
    ids=str,
)
def test_whatever_needs_other_kernels_has_another_mark(more: dict[str, object]) -> None:
    assert _kernels_needed(replace(MODEL, **more), "native") != _kernels_needed(MODEL, "native")

"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driftway.workbench.broker import LocalCluster
from tests.support.brokers import own_cluster


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """Three brokers that the tests of a module may kill."""
    with own_cluster(request.config) as made:
        yield made

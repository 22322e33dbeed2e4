"""Services that tests depend on: started, or else the tests fail (with --require-broker) or are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from driftway.worker.errors import Failure


def provided_or_skip(
    request: pytest.FixtureRequest, make: Callable[[], AbstractContextManager[str]], what: str
) -> Iterator[str]:
    """Start a service, yield its address and stop it: the body of a fixture."""
    try:
        given = make()
        address = given.__enter__()
    except Failure as failure:
        if request.config.getoption("--require-broker"):
            pytest.fail(f"no {what}: {failure}", pytrace=False)
        pytest.skip(f"no {what}: {failure}")
    yield address
    given.__exit__(None, None, None)

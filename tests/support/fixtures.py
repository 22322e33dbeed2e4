"""What tests cannot do without: it is started, or they fail where it is required and are skipped elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from driftway.worker.errors import Failure


def provided_or_skip(
    request: pytest.FixtureRequest, make: Callable[[], AbstractContextManager[str]], what: str
) -> Iterator[str]:
    """The address of what `make` starts, and its end: the body of a fixture."""
    try:
        given = make()
        address = given.__enter__()
    except Failure as failure:
        if request.config.getoption("--require-broker"):
            pytest.fail(f"no {what}: {failure}", pytrace=False)
        pytest.skip(f"no {what}: {failure}")
    yield address
    given.__exit__(None, None, None)

"""Several checks of one case as one test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.conformance.table import Case

Check = Callable[[Case], None]


def run_all(case: Case, checks: Sequence[Check]) -> None:
    """Run all checks, even if some fail; raise the failures, with the checks' names as notes."""
    failures: list[BaseException] = []
    for check in checks:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as failure:
            failure.add_note(f"{case.label}: {check.__name__}")
            failures.append(failure)
    if failures:
        raise failures[0] if len(failures) == 1 else BaseExceptionGroup(f"{case.label} fails some checks", failures)

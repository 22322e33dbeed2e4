"""Every learner x every promise; ids read `arow:split_invariant`."""

from __future__ import annotations

import pytest

from tests.conformance.checks import CHECKS
from tests.conformance.table import cases

PAIRS = [
    pytest.param(case, check, id=f"{case.label}:{check.__name__}")
    for case in cases()
    for check in CHECKS
    if check.__name__ not in case.row.opt_out
]


@pytest.mark.parametrize(("case", "check"), PAIRS)
def test_learner(case, check):
    check(case)

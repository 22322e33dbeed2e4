"""Every learner x every promise, with ids such as `arow:split_invariant`.

A kernel is checked in full with the first variant that runs it. Of the others the default tests check only what its
numbers may change, `OF_THE_NUMBERS`, and compare them with their oracle at one size; the rest is slow. So is the whole
comparison with an oracle that takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driftway.learners.engine.state_layout import field_specs
from driftway.learners.registry import LEARNERS, find
from tests.conformance.checks import (
    CHECKS,
    fixed_size,
    hostile_rows,
    inputs_untouched,
    moves_with_its_memory,
    oracle_equal,
    oracle_equal_once,
    snapshot_guard,
    split_invariant,
)
from tests.conformance.table import ROWS, Case, cases

OF_THE_BASE_CLASS = {fixed_size, inputs_untouched, moves_with_its_memory, snapshot_guard}
"""Checks of the base class `Learner`, independent of the parameters: run once per learner and task.

With `OnlineStandardizer`, which is independent of the learner it wraps, they run once per task.
"""
OF_THE_NUMBERS = {oracle_equal_once, hostile_rows, split_invariant}
"""Checks of every variant, even if another one runs the same kernel."""


def pairs() -> Iterator[object]:
    """Yield every case with its checks."""
    checked, kernels = set(), set()
    for case in cases():
        kind = case.kind, "" if case.standardize else case.row.name
        kernel = case.standardize, case.kernel
        known = kernel in kernels
        once = known or case.standardize or case.row.costly_oracle
        for check in (*CHECKS, oracle_equal_once) if once else CHECKS:
            if check.__name__ not in case.row.opt_out and not (kind in checked and check in OF_THE_BASE_CLASS):
                slow = case.slow or (known and check not in OF_THE_NUMBERS) or (once and check is oracle_equal)
                marks = [pytest.mark.slow] if slow else []
                yield pytest.param(case, check, id=f"{case.label}:{check.__name__}", marks=marks)
        checked.add(kind)
        kernels.add(kernel)


@pytest.mark.parametrize(("case", "check"), list(pairs()))
def test_learner(case: Case, check):
    check(case)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_documented_as_symmetric_is_checked(name: str) -> None:
    for kind in find(name).tasks:
        fields = field_specs(Case(ROWS[name], kind).make(5).rule().memory)
        documented = {field for field, one in fields.items() if "symmetric" in one.text}
        assert documented <= {*ROWS[name].symmetric, *ROWS[name].semidefinite}, "state that hostile_rows must look at"

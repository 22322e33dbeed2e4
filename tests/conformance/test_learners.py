"""Every learner x every promise, with ids such as `arow:split_invariant`.

A kernel is checked in full with the first variant that runs it. Of the others the default tests check only what its
numbers may change, and that shorter, `SHORTER`; the rest is slow. So is the whole comparison with an oracle, at four
sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from driftway.learners.engine.state_layout import field_specs
from driftway.learners.registry import LEARNERS, find
from tests.conformance.checks import (
    CHECKS,
    fixed_size,
    hostile_rows,
    hostile_rows_shorter,
    inputs_untouched,
    moves_with_its_memory,
    oracle_equal,
    oracle_equal_once,
    oracle_equal_shorter,
    snapshot_guard,
    snapshot_guard_shorter,
    split_at_every_row,
    split_invariant,
)
from tests.conformance.table import ROWS, Case, cases

Check = Callable[[Case], None]
OF_THE_BASE_CLASS = {fixed_size, inputs_untouched, moves_with_its_memory, snapshot_guard}
"""Checks of the base class `Learner`, independent of the parameters: run once per learner and task.

With `OnlineStandardizer`, which is independent of the learner it wraps, they run once per task.
"""
SHORTER: dict[Check, Check] = {
    oracle_equal: oracle_equal_once,
    hostile_rows: hostile_rows_shorter,
    split_invariant: split_at_every_row,
    snapshot_guard: snapshot_guard_shorter,
}
"""Checks, and how they are run by default with the standardiser, and of a variant whose kernel was checked before."""


def by_default(check: Check, known: bool, guarded: bool) -> Check | None:
    """Return which check stands for this one in the default tests, or None.

    `known`: an earlier variant runs the same kernel, or an earlier one of the task has the standardiser, too;
    `guarded`: so many bytes of an earlier snapshot were cut and flipped that a few of this one's will do.
    """
    if check is snapshot_guard:
        return snapshot_guard_shorter if guarded else check
    if known:
        return SHORTER.get(check)
    return oracle_equal_shorter if check is oracle_equal else check


def pairs() -> Iterator[object]:
    """Yield every case with its checks; a check that is shorter by default is a slow test as a whole."""
    checked, kernels, tasks = set(), set(), set()
    for case in cases():
        kind = case.kind, "" if case.standardize else case.row.name
        kernel = case.standardize, case.kernel
        known = kernel in kernels or (case.standardize and kind in checked)
        for check in CHECKS:
            if check.__name__ in case.row.opt_out or (kind in checked and check in OF_THE_BASE_CLASS):
                continue
            default = None if case.slow else by_default(check, known, (case.standardize, case.kind) in tasks)
            if default is not None:
                yield pytest.param(case, default, id=f"{case.label}:{default.__name__}")
            if default is not check:
                yield pytest.param(case, check, id=f"{case.label}:{check.__name__}", marks=pytest.mark.slow)
        checked.add(kind)
        kernels.add(kernel)
        tasks.add((case.standardize, case.kind))


@pytest.mark.parametrize(("case", "check"), list(pairs()))
def test_learner(case: Case, check):
    check(case)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_documented_as_symmetric_is_checked(name: str) -> None:
    for kind in find(name).tasks:
        fields = field_specs(Case(ROWS[name], kind).make(5).rule().memory)
        documented = {field for field, one in fields.items() if "symmetric" in one.text}
        assert documented <= {*ROWS[name].symmetric, *ROWS[name].semidefinite}, "state that hostile_rows must look at"

"""Every learner x every promise: one test per variant, which names each check that fails.

A kernel is checked in full with the first variant that runs it. Of the others the default tests check only what its
numbers may change, and that shorter, `SHORTER`; the rest is slow. So is the whole comparison with an oracle, at four
sizes. Slow tests have ids such as `arow:oracle_equal`. A test for each check would be 3,000 more: pytest takes longer
for one of them than most checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from tests.conformance.run_all import Check, run_all
from tests.conformance.table import ROWS, Case, cases

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


def chosen() -> Iterator[tuple[Case, list[Check], list[Check]]]:
    """Yield every case with its default checks, and with those that only the slow tests run."""
    checked, kernels, tasks = set(), set(), set()
    for case in cases():
        kind = case.kind, "" if case.standardize else case.row.name
        kernel = case.standardize, case.kernel
        known = kernel in kernels or (case.standardize and kind in checked)
        quick: list[Check] = []
        slow: list[Check] = []
        for check in CHECKS:
            if check.__name__ in case.row.opt_out or (kind in checked and check in OF_THE_BASE_CLASS):
                continue
            default = None if case.slow else by_default(check, known, (case.standardize, case.kind) in tasks)
            quick += filter(None, [default])
            slow += [check] if default is not check else []
        yield case, quick, slow
        checked.add(kind)
        kernels.add(kernel)
        tasks.add((case.standardize, case.kind))


CHOSEN = list(chosen())


@pytest.mark.parametrize(
    ("case", "checks"), [pytest.param(case, quick, id=case.label) for case, quick, _ in CHOSEN if quick]
)
def test_learner(case: Case, checks: Sequence[Check]) -> None:
    run_all(case, checks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "check"),
    [pytest.param(case, one, id=f"{case.label}:{one.__name__}") for case, _, slow in CHOSEN for one in slow],
)
def test_learner_in_full(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("name", LEARNERS)
def test_matrices_documented_as_symmetric_are_checked(name: str) -> None:
    for kind in find(name).tasks:
        fields = field_specs(Case(ROWS[name], kind).make(5).rule().memory)
        documented = {field for field, one in fields.items() if "symmetric" in one.text}
        assert documented <= {*ROWS[name].symmetric, *ROWS[name].semidefinite}, "state that hostile_rows must check"

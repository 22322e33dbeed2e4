"""Every learner x every promise; ids read `arow:split_invariant`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driftway.learners.engine.state_layout import field_specs
from driftway.learners.registry import LEARNERS, find
from tests.conformance.checks import CHECKS, fixed_size, inputs_untouched, moves_with_its_memory, snapshot_guard
from tests.conformance.table import ROWS, Case, cases

OF_THE_BASE_CLASS = {fixed_size, inputs_untouched, moves_with_its_memory, snapshot_guard}
"""What `Learner` does for all, whatever the parameters: once per learner and task is enough.

What `OnlineStandardizer` does for all, whatever it wraps: once per task.
"""


def pairs() -> Iterator[object]:
    """Every case with its checks."""
    met = set()
    for case in cases():
        kind = case.kind, "" if case.standardize else case.row.name
        for check in CHECKS:
            if check.__name__ not in case.row.opt_out and not (kind in met and check in OF_THE_BASE_CLASS):
                yield pytest.param(case, check, id=f"{case.label}:{check.__name__}")
        met.add(kind)


@pytest.mark.parametrize(("case", "check"), list(pairs()))
def test_learner(case: Case, check):
    check(case)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_documented_as_symmetric_is_checked(name: str) -> None:
    for kind in find(name).tasks:
        fields = field_specs(Case(ROWS[name], kind).make(5).rule().memory)
        said = {field for field, one in fields.items() if "symmetric" in one.text}
        assert said <= {*ROWS[name].symmetric, *ROWS[name].semidefinite}, "state that hostile_rows must look at"

"""The checks catch faulty learners: each mutant breaks one promise and must fail its check."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners.auto.auto import Auto
from driftway.learners.engine.state import State
from driftway.learners.least_squares.dfop import DFOP
from driftway.learners.linear.pa1 import PA1
from driftway.learners.linear.pa2 import PA2
from driftway.learners.linear.passive_aggressive import PassiveAggressiveNumbers
from tests.conformance import checks
from tests.conformance.run_all import run_all
from tests.conformance.table import ROWS, Case


class Peeks(PA1):
    """Learns a row before it predicts it."""

    def _run(self, rows, y, score):
        for i in range(len(rows)):
            for _ in range(2):
                super()._run(rows[i : i + 1], y[i : i + 1], score[i : i + 1])


class PredictsTheBatchFirst(PA1):
    """Scores a whole batch with the same weights, so that the batch size changes the result."""

    def _run(self, rows, y, score):
        super()._run(rows, y, score)
        fresh = self.state["weight"].copy()
        score[:, 0] = (rows * fresh).sum(axis=1)


class RemembersOutsideItsState(PA1):
    """Keeps a counter that is not in its snapshots."""

    seen = 0

    def _run(self, rows, y, score):
        super()._run(rows, y, score)
        score[:, 0] += self.seen + np.arange(len(rows))
        self.seen += len(rows)


class LearnsFromUnlabelled(PA1):
    """Counts rows without a label in its state."""

    def _run(self, rows, y, score):
        super()._run(rows, y, score)
        self.state["skipped"][0] += int(np.isnan(y).sum())


class WritesToItsInput(PA1):
    """Clips the caller's rows in place."""

    def _prepare(self, X):
        np.clip(X, -0.5, 0.5, out=X)
        return super()._prepare(X)


class Asymmetric(DFOP):
    """Changes one half of P by a rounding error, as an outer-product update may."""

    def _run(self, rows, y, score):
        super()._run(rows, y, score)
        self.state["P"][0, 1] *= 1.0 + 1e-15


class AsymmetricInTheSecond(Auto):
    """Does the same to one matrix of a stack."""

    def _run(self, rows, y, score):
        super()._run(rows, y, score)
        self.state["filters.P"][1, 0, 2] *= 1.0 + 1e-15


class SlightlyWrong(PA1):
    """Takes steps that are off by 1e-8."""

    def _run(self, rows, y, score):
        for i in range(len(rows)):
            super()._run(rows[i : i + 1], y[i : i + 1], score[i : i + 1])
            self.state["weight"][0] *= 1.0 + 1e-8


class AcceptsAnything(PA1):
    """Restores without validating."""

    def restore(self, blob):
        tail = blob[-self.state.nbytes - 16 : -16]
        if len(tail) == self.state.nbytes:
            self.state.memory[:] = np.frombuffer(tail, np.uint8)


class StaysBehind(PA1):
    """Keeps using its old memory after it was moved."""

    def _bind_kernels(self):
        if self._bound is None:
            super()._bind_kernels()
        self._bound = self.state


class DrawsFromNumpy(PA1):
    """Learns a random half of the rows, drawn from numpy's global generator."""

    def _run(self, rows, y, score):
        drawn = np.random.random(len(y)) < 0.5  # noqa: NPY002
        super()._run(rows, np.where(drawn, y, np.nan), score)


class HasAFavourite(PA1):
    """Always predicts class 1."""

    def _run(self, rows, y, score):
        super()._run(rows, y, score)
        np.abs(score, out=score)


class Grows(PA1):
    """Adds a number to its state after each batch."""

    def _run(self, rows, y, score):
        super()._run(rows, y, score)
        self._bound = self.state = State({**self.state.fields, f"more_{len(self.state.fields)}": ("f8", (1,))})


class SwapsItsArguments(PA2):
    """Passes its rule the ridge as the cap."""

    def rule(self):
        ridge = 0.5 / self.parameters.C
        return super().rule()._replace(parameters=PassiveAggressiveNumbers(cap=ridge, ridge=0.0))


class Cheat(Case):
    """A case whose learner is a mutant."""

    mutant: type

    def make(self, d, n_classes=4):
        return self.mutant(d)


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (Peeks, checks.no_label_leak),
        (PredictsTheBatchFirst, checks.no_label_leak),
        (PredictsTheBatchFirst, checks.split_invariant),
        (RemembersOutsideItsState, checks.resume_identical),
        (LearnsFromUnlabelled, checks.unlabelled_is_pure),
        (WritesToItsInput, checks.inputs_untouched),
        (Asymmetric, checks.hostile_rows),
        (AsymmetricInTheSecond, checks.hostile_rows),
        (SlightlyWrong, checks.oracle_equal),
        (AcceptsAnything, checks.snapshot_guard),
        (StaysBehind, checks.moves_with_its_memory),
        (DrawsFromNumpy, checks.seed_deterministic),
        (HasAFavourite, checks.one_class_only),
        (Grows, checks.fixed_size),
        (SwapsItsArguments, checks.oracle_equal),
    ],
)
def test_check_catches(mutant, check):
    case = Cheat(ROWS[mutant.__mro__[1].name], "binary")
    object.__setattr__(case, "mutant", mutant)
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError)):
        check(case)


def test_every_check_runs_and_those_that_fail_are_named():
    ran = []

    def fails(_case):
        raise AssertionError("one")

    def fails_otherwise(_case):
        pytest.fail("another")

    def passes(case):
        ran.append(case)

    case = Case(ROWS["pa1"], "binary")
    with pytest.RaisesGroup(pytest.RaisesExc(AssertionError), pytest.RaisesExc(pytest.fail.Exception)) as caught:
        run_all(case, [fails, fails_otherwise, passes])
    assert [one.__notes__ for one in caught.value.exceptions] == [["pa1: fails"], ["pa1: fails_otherwise"]]
    assert ran == [case]
    with pytest.raises(AssertionError, match="one"):
        run_all(case, [passes, fails])


def test_tests_of_one_kernel_stay_in_one_process(request):
    """With pytest 9.2, xdist 3.8 silently ignores its group marks, and every kernel is compiled twice."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("not run with --dist loadgroup")
    assert request.node.nodeid.endswith(f"@{request.node.get_closest_marker('xdist_group').args[0]}")

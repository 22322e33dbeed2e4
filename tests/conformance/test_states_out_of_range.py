"""A state with numbers out of range is refused, or learned from without a crash: kernels check no index."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from driftway.learners.learner import CLASSIFICATION, Learner
from driftway.learners.registry import LEARNERS, find
from driftway.learners.spec import Spec
from tests.conformance.checks import D, data, scores
from tests.conformance.table import ROWS, Case, cases
from tests.support.examples import repetitions
from tests.support.selection import slow_but

ENSEMBLES = (
    "dwm:base=knn_win,period=10", "weighted_majority:experts=knn_win+voted_perceptron",
    "oaue:base=voted_perceptron,window=50,n=3", "on_drift:knn_win:detector=adwin", "ova:knn_win",
)  # fmt: skip
KINDS, TRIALS, SECONDS = 6, 18, 60
HUGE = 2**40


def overwrite(learner: Learner, trial: int) -> None:
    """Write numbers of one kind over all whole numbers of a state, and in every third trial random bytes over all."""
    draw = np.random.default_rng(trial)
    for name in learner.state:
        values = learner.state[name].reshape(-1)
        if values.dtype.kind in "iu":
            n = values.size
            kinds = (
                draw.integers(-(2**62), 2**62, n), draw.integers(0, 50, n), np.full(n, HUGE), draw.integers(-999, 0, n),
                draw.integers(0, 10**5, n), draw.integers(0, 4, n),
            )  # fmt: skip
            values[:] = kinds[trial % len(kinds)].astype(values.dtype)
        elif trial % 3 == 0:
            values[:] = draw.integers(0, 256, values.nbytes, dtype=np.uint8).view(values.dtype)
        elif trial % 3 == 1 and values.size:
            values[draw.integers(0, values.size, 3)] = draw.choice([np.nan, np.inf, -1.0, HUGE, 7.0], 3)


def outcome(*learned: tuple[Callable[[], Learner], np.ndarray, np.ndarray]) -> tuple[int, int]:
    """Run all trials of (how to make a learner, X, y) in one forked process, which takes longer than they do.

    Return its exit code, or minus the signal that ended it, and how many of the learners ran without a crash.
    """
    trained = [make() for make, _, _ in learned]
    for learner, (_, X, y) in zip(trained, learned, strict=True):
        scores(learner, X, y)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            for learner, (make, X, y) in zip(trained, learned, strict=True):
                trials(learner, make, X, y)
                os.write(writing, b".")
        except BaseException:  # the parent reports it
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as reader:
        came = len(reader.read())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), came


def trials(trained: Learner, make: Callable[[], Learner], X: np.ndarray, y: np.ndarray) -> None:
    """Let learners continue from the overwritten state of a trained one, unless it is refused."""
    for trial in range(repetitions(TRIALS, KINDS)):
        learner = make()
        learner.restore(trained.snapshot())
        overwrite(learner, trial)
        try:
            learner.check_state(learner.state.memory)
        except ValueError:
            continue
        scores(learner, X[:60], y[:60])


def plain_and_standardized(name: str) -> list[Case]:
    """Return the cases of a learner: each task with the defaults, and of one learner those with the standardiser."""
    found = [Case(ROWS[name], kind) for kind in find(name).tasks]
    return [*found, *(case for case in cases() if case.standardize and case.row.name == name == "knn_win")]


@pytest.mark.random_cases
@pytest.mark.parametrize("name", LEARNERS)
def test_states_with_numbers_out_of_range_do_not_crash(name: str) -> None:
    tried = plain_and_standardized(name)
    code, came = outcome(*((partial(case.make, D), *data(case)) for case in tried))
    assert (code, came) == (0, len(tried)), f"crashed: {[case.label for case in tried][came:][:1]}"


@pytest.mark.random_cases
@pytest.mark.parametrize("text", slow_but(ENSEMBLES[:2], ENSEMBLES))
def test_ensemble_members_with_numbers_out_of_range_do_not_crash(text: str) -> None:
    rows = data(Case(ROWS["knn_win"], "binary"))
    assert outcome((lambda: Spec.parse(text).create(D, 2, CLASSIFICATION), *rows)) == (0, 1)


@pytest.mark.parametrize("which", [0, 1])
def test_a_crash_is_detected(which: int) -> None:
    rows, made = data(Case(ROWS["pa1"], "binary")), []

    def make(place: int) -> Learner:
        made.append(place)
        if len(made) > 2 and place == which:  # in the forked process
            os.kill(os.getpid(), signal.SIGKILL)
        return Case(ROWS["pa1"], "binary").make(D)

    assert outcome(*((partial(make, place), *rows) for place in (0, 1))) == (-signal.SIGKILL, which)


def test_a_count_beyond_its_slots_is_refused() -> None:
    case = Case(ROWS["voted_perceptron"], "binary")
    learner = case.make(D)
    learner.state["count"][0] = HUGE
    with pytest.raises(ValueError, match=r"count in the state is 1\.09951e\+12, not within 0\.\."):
        learner.check_state(learner.state.memory)

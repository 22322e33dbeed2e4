"""Mutated snapshots, model files and records are read, or refused in a sentence, within bounds of time and memory.

`python -m tests.soak.mutations` reads 10^5 of them; here are fewer of each kind, always the same.
"""

from __future__ import annotations

import pytest

from tests.soak.mutations import run, run_one
from tests.support.examples import repetitions
from tests.support.mutations import Subject, subjects

PER_SUBJECT = 40


@pytest.fixture(scope="module")
def mutation_subjects() -> dict[str, Subject]:
    return subjects()


@pytest.mark.random_cases
def test_no_mutated_value_ends_in_a_traceback_or_takes_long(mutation_subjects: dict[str, Subject]) -> None:
    wrong, figures = run(repetitions(PER_SUBJECT) * len(mutation_subjects), 7, mutation_subjects)
    assert wrong == [], figures


@pytest.mark.parametrize(
    ("seed", "number"),
    [(40, 25433), (40, 78937), (40, 4819), (141, 37681), (142, 7366), (142, 13892), (142, 14334), (142, 36798)],
)
def test_values_that_a_longer_run_found(mutation_subjects: dict[str, Subject], seed: int, number: int) -> None:
    """A wrapper twice in front of a learner, more features than fit into memory, 10 million rows that may wait."""
    wrong, _, _ = run_one(number, seed, mutation_subjects)
    assert wrong == []


def test_a_value_that_raises_an_undocumented_error_is_reported() -> None:
    def broken(_chance: object) -> None:
        raise TypeError("'<' not supported")

    wrong, _ = run(2, 7, {"a model file": broken})
    assert [line.split(" at ")[0] for line in wrong] == [
        f"a model file, number {k}: TypeError: '<' not supported" for k in range(2)
    ]

"""Mutated files are read, or refused in a sentence; `python -m tests.soak.mutations --files` reads many more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.mutations import run
from tests.support.examples import repetitions
from tests.support.mutated_files import file_subjects

PER_KIND = 40


@pytest.mark.random_cases
def test_no_mutated_file_ends_in_a_traceback_or_takes_long(tmp_path: Path) -> None:
    made = file_subjects(tmp_path)
    wrong, figures = run(repetitions(PER_KIND) * len(made), 41, made)
    assert wrong == [], figures

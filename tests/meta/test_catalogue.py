"""docs/learners.md is up to date with the docstrings."""

from __future__ import annotations

import pytest

from driftway.learners.registry import LEARNERS
from tests.regenerate.catalogue import COMMAND, PAGE, cost_and_memory, page


def test_the_page_equals_the_output_of_the_generator():
    assert PAGE.exists(), f"docs/learners.md is missing; make it with: {COMMAND}"
    if PAGE.read_text(encoding="utf-8") != page():
        pytest.fail(
            f"docs/learners.md differs from the learners' docstrings; make it anew with: {COMMAND}", pytrace=False
        )


def test_every_learner_has_a_row_with_every_cell_filled():
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert sorted(line.split("`")[1] for line in rows) == sorted(LEARNERS)
    empty = [line for line in rows if any(not cell.strip() for cell in line.replace("\\|", "").split("|")[1:-1])]
    assert empty == [], "a Cost section reads `TIME; BYTES.`, or `Form: TIME, BYTES.` for each form"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O(d) per row; 8 d + 8 bytes.", ("O(d)", "8 d + 8 bytes")),
        (
            "O(d) per row, with 2 d powers; 8 d bytes, 8 more at times.",
            ("O(d), with 2 d powers", "8 d bytes, 8 more at times"),
        ),
        (
            "Full: O(d^2) per labelled row, 8 d^2 bytes. Diagonal: O(d) per row, 16 d bytes.",
            ("full: O(d^2) per labelled row; diagonal: O(d)", "full: 8 d^2 bytes; diagonal: 16 d bytes"),
        ),
        ("As its members.", ("As its members", "")),
    ],
)
def test_costs_are_split_into_time_and_bytes(text, expected):
    assert cost_and_memory(text) == expected

"""What `make test-quick` selects for a change."""

from __future__ import annotations

import pytest

from tests.quick import dependents_of, learners_of


@pytest.mark.parametrize(
    ("changed", "selected"),
    [
        ("worker/wire/scanner.py", "tests/unit/worker/wire/test_scanner.py"),
        ("worker/admin/cli/schema.py", "tests/unit/worker/admin/test_schema_command.py"),
        ("learners/engine/dependencies.py", "tests/unit/learners/test_dependencies.py"),
        ("tests/unit/test_quick.py", "tests/unit/test_quick.py"),
    ],
)
def test_of_a_changed_file(changed: str, selected: str) -> None:
    found = dependents_of([changed])
    assert selected in found
    assert len(found) < 60


def test_learners_that_are_made_of_a_changed_file() -> None:
    assert learners_of(["learners/linear/gradient_descent.py"])[0].startswith("ogd")
    assert "pa1" in learners_of(["learners/linear/passive_aggressive.py"])
    assert learners_of(["learners/auto/mixing.py"]) == ["auto"]
    assert learners_of(["worker/wire/scanner.py"]) == []

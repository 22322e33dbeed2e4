"""Nothing tells a reader a former name of an option: no message, help, document or configuration."""

from __future__ import annotations

import re

from driftway.renamed import RENAMED
from tests.meta.test_citations import texts

NAMING_THEM = (
    *("driftway/renamed.py", "docs/decisions/0066", "CHANGELOG.md", "tests/unit/test_renamed.py"),
    "tests/broker/test_rolling_upgrade.py",
)
"""Where former names are listed, and tests that type them, also for an earlier version."""
ALSO_PRESENT = "--bootstrap-server"
"""A second name that stays."""
FORMER = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, RENAMED.keys() - {ALSO_PRESENT}))})(?![\w-])")


def test_no_text_has_a_former_name_of_an_option() -> None:
    named = [
        f"{path}: {found[0]}"
        for path, text in texts().items()
        if not path.startswith(NAMING_THEM)
        for found in FORMER.finditer(text)
    ]
    assert named == []

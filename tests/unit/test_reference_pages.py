"""Pages of docs/reference that are made of the code are what their generators make, and short enough to read."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from driftway.worker import errors
from driftway.worker.admin.check.finding import WARNED
from tests.regenerate import findings, log_events, messages, metrics

PAGES = (metrics, log_events, messages)


@pytest.mark.parametrize("of", PAGES, ids=lambda of: of.PAGE.name)
def test_a_page_is_what_its_generator_makes(of: ModuleType) -> None:
    if of.PAGE.read_text(encoding="utf-8") != (generated := of.page()):
        pytest.fail(f"{of.PAGE.name} differs from the code; make it anew: {of.COMMAND}", pytrace=False)
    assert generated.count("\n") <= 200
    assert [line for line in generated.splitlines() if len(line) > 160 and not line.startswith("|")] == []


def test_the_page_of_the_command_line_has_every_exit_code() -> None:
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.Failure)]
    text = (metrics.PAGE.parent / "command-line.md").read_text(encoding="utf-8")
    documented = {int(code) for row in re.findall(r"(?m)^\| ([\d, ]+) \|", text) for code in row.split(",")}
    assert {0, WARNED, *(kind.exit_code for kind in kinds)} == {code for code in documented if code < 100}


def test_every_page_of_results_begins_with_what_was_found() -> None:
    pages = {str(page.relative_to(findings.PAGES)): page.read_text() for page in findings.PAGES.rglob("*.md")}
    assert sorted(pages) == sorted(findings.FOUND)
    old = [name for name, text in pages.items() if text != findings.with_finding(name, text)]
    assert old == [], f"make them anew: {findings.COMMAND}"

"""docs/reference/commands is what the commands' help says, and docs/reference/command-line.md leads to each page."""

from __future__ import annotations

import pytest

from driftway.commands import COMMANDS
from tests.regenerate.command_line import COMMAND, FOLDER, pages


def test_the_pages_are_what_the_generator_makes() -> None:
    made = pages()
    kept = {page.name: page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md")}
    if (wrong := sorted(name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name))) != []:
        pytest.fail(f"docs/reference/commands differs in {', '.join(wrong)}; make it anew: {COMMAND}", pytrace=False)


def test_the_page_of_all_commands_leads_to_each() -> None:
    text = (FOLDER.parent / "command-line.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"(commands/{name}.md)" not in text] == []


def test_a_page_is_short_enough_to_read() -> None:
    long = {name: text.count("\n") for name, text in pages().items() if text.count("\n") > 240}
    wide = [line for text in pages().values() for line in text.splitlines() if len(line) > 160]
    assert (long, wide) == ({}, [])

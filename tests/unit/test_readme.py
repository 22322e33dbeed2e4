"""What README and pages tell readers to type exists: commands, options, streams, learners.

The links are checked in tests/meta/test_citations.py.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from driftway.commands import COMMANDS, leaves, load
from driftway.learners.spec import Spec
from driftway.producers.streams.catalogue import CATALOGUE
from driftway.producers.streams.files import suffix_of
from driftway.producers.streams.options import parse_spec
from driftway.producers.streams.registry import GENERATORS, find_recipe
from driftway.worker.evaluation.river.spec import spec_of
from tests.support.typed import FENCED

ROOT = Path(__file__).parents[2]
KINDS_OF_PAGES = "tutorial", "how-to", "reference", "reference/commands", "explanation"
README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "learners" / "README.md",
    ROOT / "docs" / "architecture.md",
    *(page for kind in KINDS_OF_PAGES for page in sorted((ROOT / "docs" / kind).glob("*.md"))),
]
MAX_LINES, LONGEST_LINE = 200, 160
COLUMNS = 12
"""Number of features if the line names none; enough for pairs and triplets of items."""


def typed(page: Path) -> list[str]:
    """Return what a page has readers type, without comments and redirections; lines that end in \\ are joined."""
    blocks = [text for language, text in FENCED.findall(page.read_text(encoding="utf-8")) if not language]
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    words = [line.partition(" #")[0].partition(" > ")[0].strip() for line in lines]
    return [re.sub(r"^driftway --config \S+ ", "driftway ", line) for line in words]


LINES = sorted({line for page in PAGES for line in typed(page) if re.match(r"driftway \w", line)})


def parsed(line: str) -> tuple[str, dict]:
    """Return command and parameters of a line to type."""
    _, name, *words = shlex.split(line)
    assert name in COMMANDS, name
    commands = leaves(load(name))
    command = commands[""] if "" in commands else commands[words.pop(0)]
    with click.Context(command, help_option_names=["-h", "--help"]) as ctx:
        command.parse_args(ctx, words)
        return name, ctx.params


@pytest.mark.parametrize("line", LINES)
def test_a_command_names_options_streams_and_learners_that_exist(line: str) -> None:
    name, given = parsed(line)
    one = given.get("stream") if name == "replay" else given.get("source")
    streams = given.get("streams") or ((one,) if one else ())
    for stream in streams:
        base, options = parse_spec(stream)
        assert base in GENERATORS or base in CATALOGUE or suffix_of(base), stream
        if base in GENERATORS:
            assert set(options) <= {option.name for option in find_recipe(base).options} | {"rows", "seed"}
    learners = given.get("learner") or ()
    parse = spec_of if line.split()[1] == "evaluate" else Spec.parse
    for text in (learners,) if isinstance(learners, str) else learners:
        columns = len(given.get("feature") or ()) or COLUMNS
        parse(text).create(columns, 2, given.get("task") or "classification")


def test_there_are_commands_for_streams_evaluation_and_load() -> None:
    assert len(LINES) > 25
    assert {line.split()[1] for line in LINES} >= {
        "broker",
        "replay",
        "worker",
        "watch",
        "evaluate",
        "streams",
        "learners",
    }


def test_the_readme_is_short() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


def test_the_readme_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([^)#\s]+)", README.read_text(encoding="utf-8")))
    pages = {str(page.relative_to(ROOT)) for page in PAGES if page != README and page.parent.name != "commands"}
    assert pages <= linked


def test_the_site_names_every_page() -> None:
    """What `make docs` refuses, without its packages."""
    named = re.findall(r"[\w/-]+\.md|[\w/-]+/\*", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    folders = tuple(name.removesuffix("*") for name in named if name.endswith("/*"))
    assert {page for page in pages - set(named) if not page.startswith(folders)} == set()
    made = {"index.md", "results/index.md", "decisions/index.md"}
    assert {name for name in named if name.endswith(".md")} - made <= pages


def test_the_table_of_streams_names_every_generator_and_injection() -> None:
    from driftway.producers.streams.injection.registry import KINDS

    text = (ROOT / "docs" / "reference" / "streams.md").read_text(encoding="utf-8")
    table = text.partition("## What there is")[2].partition("```")[0]
    words = set(re.findall(r"`([\w:-]+)`", table))
    assert {name for name in GENERATORS if not name.startswith("archive:")} <= words
    assert set(KINDS) <= words

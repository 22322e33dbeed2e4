"""What the README tells readers to type exists: commands, options, streams, learners, files behind links."""

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

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
TYPED = [line.partition(" #")[0].strip() for block in BLOCKS for line in block.splitlines()]
LINES = [line for line in TYPED if re.match(r"driftway \w", line)]


def parsed(line: str) -> tuple[str, dict]:
    """Command and parameters of a line that may be typed."""
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
    for text in (learners,) if isinstance(learners, str) else learners:
        Spec.parse(text).create(3, 2, "classification")


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


def test_links_lead_to_files_and_headings() -> None:
    headings = {
        re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        if target.startswith("#"):
            assert target[1:] in headings, target
        elif "://" not in target:
            assert (ROOT / target).exists(), target


def test_the_table_of_streams_names_every_generator_and_injection() -> None:
    from driftway.producers.streams.injection.registry import KINDS

    table = TEXT.partition("## Streams and evaluation")[2].partition("```")[0]
    words = set(re.findall(r"`([\w:-]+)`", table))
    assert {name for name in GENERATORS if not name.startswith("archive:")} <= words
    assert set(KINDS) <= words

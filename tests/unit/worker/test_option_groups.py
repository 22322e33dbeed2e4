"""Options of a worker's help stand in groups, each once; so they do in the commands that share them."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.commands import COMMANDS, leaves, load, options_of
from driftway.worker.cli.option_groups import GROUPS, OWN, GroupedCommand, grouped, long_name

WITH_GROUPS = [name for name in COMMANDS if isinstance(leaves(load(name)).get(""), GroupedCommand)]


@pytest.mark.parametrize("name", WITH_GROUPS)
def test_every_option_stands_once_in_help(name: str) -> None:
    shown = CliRunner().invoke(main, [name, "--help"]).stdout
    options = re.split(rf"^(?:{'|'.join([OWN, *GROUPS])}):$", shown, maxsplit=1, flags=re.MULTILINE)[1]
    listed = re.findall(r"^  (?:-h, )?(-X|--[a-z-]+)", options, re.MULTILINE)
    assert sorted(listed) == sorted(["--help", *map(long_name, options_of(load(name)).values())])


def test_the_workers_options_are_all_in_a_group_and_ten_matter_first() -> None:
    command = load("worker")
    found = grouped(command, click.Context(command, help_option_names=["-h", "--help"]))
    assert OWN not in found
    first = next(iter(GROUPS))
    assert [long_name(option) for option in found[first]] == list(GROUPS[first])
    assert len(GROUPS[first]) == 10


def test_no_group_names_an_option_twice_or_one_that_no_command_has() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert len(set(named)) == len(named)
    every = {long_name(option) for name in WITH_GROUPS for option in options_of(load(name)).values()}
    assert set(named) - every == {"--help"}


def test_commands_with_the_workers_options_have_groups() -> None:
    assert {"worker", "check", "warm", "audit", "evaluate", "train"} <= set(WITH_GROUPS)

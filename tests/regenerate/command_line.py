"""`python -m tests.regenerate.command_line`: docs/reference/commands, a page per command, made of its help."""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from driftway.commands import COMMANDS, leaves, load, options_of
from driftway.worker.cli.option_groups import OWN, GroupedCommand, grouped

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "commands"
COMMAND = "python -m tests.regenerate.command_line"
WIDTH = 150
AS_WRITTEN = "\b"
"""What click has in front of a paragraph whose lines stay as they are."""


def pages() -> dict[str, str]:
    """Return name of a file -> its text."""
    return {f"{name}.md": "\n".join(page(name)) + "\n" for name in COMMANDS}


def page(name: str) -> Iterator[str]:
    """Yield the lines of a command's page."""
    command = load(name)
    yield from (f"# driftway {name}", "", COMMANDS[name][1], "")
    yield f"This page is generated from the command's help by `{COMMAND}`. [All commands]({os.pardir}/command-line.md)."
    for sub, one in leaves(command).items():
        if sub:
            yield from ("", f"## driftway {name} {sub}")
        yield from described(one)
        keys = {id(option): key for key, option in options_of(one).items()}
        context = click.Context(one, help_option_names=[])
        groups = grouped(one, context) if isinstance(one, GroupedCommand) else {OWN: list(options_of(one).values())}
        for title, options in groups.items():
            yield from ("", f"### {title} of {sub}" if sub else f"## {title}", "")
            for option in options:
                yield from entry(option, keys[id(option)])


def described(command: click.Command) -> Iterator[str]:
    """Yield usage and description."""
    arguments = [argument_name(one) for one in command.params if isinstance(one, click.Argument)]
    if arguments:
        yield from ("", f"Arguments: `{' '.join(arguments)}`.")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        lines = paragraph.split("\n")
        if lines[0] == AS_WRITTEN:
            yield from ("", lines[1], "", "```", *(line.strip() for line in lines[2:]), "```")
        else:
            yield from ("", *textwrap.wrap(escaped(" ".join(lines)), WIDTH, break_on_hyphens=False))


def argument_name(argument: click.Argument) -> str:
    """Return an argument as usage has it."""
    return argument.metavar or (argument.name or "").upper() + "..." * (argument.nargs == -1)


def entry(option: click.Option, key: str) -> Iterator[str]:
    """Yield the lines of an option."""
    names = [*option.opts, *option.secondary_opts]
    value = value_of(option)
    signature = " / ".join(names) + (f" {value}" if value else "")
    facts = [fact for fact in (default_of(option), "required" if option.required else "", bounds_of(option)) if fact]
    if option.envvar not in (None, f"DRIFTWAY_{key.upper()}"):
        facts.append(f"environment: {option.envvar}")
    text = escaped((option.help or "") + (f" [{'; '.join(facts)}]" if facts else ""))
    yield from textwrap.wrap(
        f"- `{signature}`: {text}", WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def value_of(option: click.Option) -> str:
    """Return what follows an option's name; empty for a flag."""
    if option.is_flag or option.count:
        return ""
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    names = {click.types.IntParamType: "N", click.types.FloatParamType: "NUMBER", click.types.DateTime: "TIME"}
    return next((name for kind, name in names.items() if isinstance(option.type, kind)), option.type.name.upper())


def default_of(option: click.Option) -> str:
    """Return an option's default in words, if help shows it."""
    if not option.show_default or option.default is None:
        return ""
    if option.secondary_opts:
        return f"default: {option.opts[0] if option.default else option.secondary_opts[0]}"
    given = option.default if isinstance(option.default, tuple | list) else (option.default,)
    return f"default: {', '.join(map(str, given))}" if given else ""


def bounds_of(option: click.Option) -> str:
    """Return the range of a number."""
    if not isinstance(option.type, click.IntRange | click.FloatRange):
        return ""
    low, high = option.type.min, option.type.max
    parts = [f"{'>' if option.type.min_open else 'at least'} {low:g}"] if low is not None else []
    return ", ".join(parts + ([f"{'<' if option.type.max_open else 'at most'} {high:g}"] if high is not None else []))


def escaped(text: str) -> str:
    """Return text of help as Markdown."""
    for mark in ("*", "<"):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, encoding="utf-8")

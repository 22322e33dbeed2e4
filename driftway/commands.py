"""The commands by name, each imported only when it is called, with shell completion and environment variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from driftway.worker.cli.console import NO_TEXTS

LONGEST_TEXT = 10_000
"""Characters of an option's text; a list of features or a schema stays far below."""
TOO_MANY_DIGITS = re.compile(r"\d{1001}")
"""Python reads no whole number of more than 4300."""
LARGEST_NUMBER = 1e9
"""Of seconds, rates and shares."""
NUMBERS = {click.IntRange: ("integer", "N"), click.FloatRange: ("number", "NUMBER")}
"""Type of a parameter -> its name in a refusal, and what stands for a value in the help."""
PROPERTY = "KEY=VALUE"
"""Stands in the help for a value that may be a certificate, which ends with a line break."""

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "driftway.workbench.cli.demo:demo",
        "Run the whole pipeline on one machine: Kafka, replay, workers, live table, plot.",
    ),
    "broker": ("driftway.workbench.cli.broker:broker", "Run a real Apache Kafka on loopback, without Docker."),
    "topics": ("driftway.worker.cli.topics:topics", "Create or check the topics of an input."),
    "replay": ("driftway.producers.cli.replay:replay", "Send the rows of a stream to a topic."),
    "worker": ("driftway.worker.cli.worker:worker", "Run a worker: predict, learn, and commit exactly once."),
    "check": (
        "driftway.worker.admin.cli.check:check",
        "Check, before a worker starts, whether anything would stop it.",
    ),
    "warm": ("driftway.worker.cli.warm:warm", "Compile a worker's kernels before its first start."),
    "watch": ("driftway.worker.admin.cli.watch:watch", "Show a live table of rolling accuracy, throughput and lag."),
    "plot": ("driftway.worker.admin.cli.plot:plot", "Plot rolling accuracy as PNG, SVG or HTML."),
    "rejected": (
        "driftway.worker.admin.cli.rejected:rejected",
        "Show why events were rejected, with examples; send them again.",
    ),
    "audit": (
        "driftway.worker.admin.cli.audit:audit",
        "Verify from the topics alone that outputs are exactly-once and bit-identical.",
    ),
    "snapshot": (
        "driftway.worker.admin.cli.snapshot:snapshot",
        "List, show, export and import learner states, at any offset.",
    ),
    "models": (
        "driftway.worker.admin.cli.models:models",
        "Change a group's models while its workers run: add, drop, promote, roll back.",
    ),
    "schema": (
        "driftway.worker.admin.cli.schema:schema",
        "Propose a schema of events from a topic's or a file's first rows.",
    ),
    "explain": (
        "driftway.worker.admin.cli.explain:explain",
        "Explain a prediction: what each feature contributed to its score.",
    ),
    "evaluate": (
        "driftway.worker.evaluation.cli.evaluate:evaluate",
        "Evaluate learners on streams without Kafka, with the same kernels.",
    ),
    "train": (
        "driftway.worker.evaluation.cli.train:train",
        "Train a model on a bounded set of rows, for a worker to start from.",
    ),
    "bench": (
        "driftway.workbench.cli.bench:bench",
        "Compare throughput and latency with those of the bare Kafka client.",
    ),
    "learners": ("driftway.worker.cli.learners:learners", "List and describe the learners."),
    "streams": ("driftway.producers.cli.streams:streams", "List and describe the streams."),
}
"""name -> (module:attribute, one line of help)."""


def load(name: str) -> click.Command:
    """Import a command; every option gets its environment variable: DRIFTWAY_ followed by its long name.

    Numbers get the names that the documentation has, where click would say "integer range".
    """
    module, attribute = COMMANDS[name][0].split(":")
    command: click.Command = getattr(import_module(module), attribute)
    for key, option in (pair for one in leaves(command).values() for pair in options_of(one).items()):
        if option.envvar is None:
            option.envvar = f"DRIFTWAY_{key.upper()}"
    command.help = command.help or f"{COMMANDS[name][1]}\n\n{NO_TEXTS}"
    for one in leaves(command).values():
        one.help = one.help or NO_TEXTS
    for parameter in (parameter for one in leaves(command).values() for parameter in one.params):
        if not isinstance(parameter.callback, GuardedCallback):  # loaded before, in this process
            parameter.callback = GuardedCallback(parameter.callback)
        if type(parameter.type) in NUMBERS:
            parameter.type.name, metavar = NUMBERS[type(parameter.type)]
            parameter.metavar = parameter.metavar or metavar
        names = COMPLETED.get((name, parameter.name or "")) or COMPLETED.get(("", parameter.name or ""))
        if names is not None:
            parameter.type = CompletedText(names)
    return command


class GuardedCallback:
    """A parameter's callback that first refuses values which no option and no argument can use.

    They come from unset variables of a compose file, an environment file with Windows line ends, a wrong encoding, or a
    slip. Later they would end in a library's traceback, abort the process, or name another group or class.

    Parameters
    ----------
    callback : callable or None
        The parameter's own callback.
    """

    def __init__(self, callback: Callable[..., Any] | None) -> None:
        self._callback = callback

    def __call__(self, context: click.Context, option: click.Parameter, given: Any) -> Any:
        if option.name is not None and context.get_parameter_source(option.name) is not ParameterSource.DEFAULT:
            for value in given if isinstance(given, tuple | list) else (given,):
                own_type = type(option.type) not in (click.types.StringParamType, CompletedText)
                why = _unusable(value, option.required, own_type)
                if why is None and option.metavar != PROPERTY and isinstance(value, str) and value[-1:] in ("\r", "\n"):
                    why = "it ends with a line break, as in a file with Windows line ends; leave the line break out."
                if why is not None:
                    raise click.BadParameter(why, context, option)
        return given if self._callback is None else self._callback(context, option, given)


def _unusable(value: object, required: bool, own_type: bool) -> str | None:
    """Why no option can use a value, or None; an option with its own type says itself what an empty text is not."""
    if isinstance(value, str):
        if not value.strip() and not own_type:
            return "it is empty." if required else "it is empty; leave the option out."
        if len(value) > LONGEST_TEXT:
            return f"it has {len(value):,} characters, more than {LONGEST_TEXT:,}."
        if TOO_MANY_DIGITS.search(value):
            return "a number in it has more than 1,000 digits."
        if "\0" in value:
            return "it holds a null byte."
        try:
            value.encode()
        except UnicodeEncodeError:
            return "it is not valid UTF-8."
    elif isinstance(value, float) and not abs(value) <= LARGEST_NUMBER:
        return f"{value:g} is not a finite number up to {LARGEST_NUMBER:g}."
    elif isinstance(value, int) and abs(value) >= 2**63:
        return "it does not fit into 64 bits."
    return None


class CompletedText(click.types.StringParamType):
    """A text parameter with shell completion.

    Parameters
    ----------
    names : callable
        Returns all candidates.
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def learner_names() -> Iterable[str]:
    """Return the name of every learner."""
    from driftway.learners import LEARNERS

    return LEARNERS


def stream_names() -> Iterable[str]:
    """Return the name of every generator and of every stream of the catalogue; the shell completes files."""
    from driftway.producers.streams import GENERATORS
    from driftway.producers.streams.catalogue import CATALOGUE

    return [*GENERATORS, *CATALOGUE]


COMPLETED = {
    ("", "learner"): learner_names, ("learners", "names"): learner_names, ("evaluate", "streams"): stream_names,
    ("replay", "stream"): stream_names, ("train", "source"): stream_names, ("streams", "name"): stream_names,
}  # fmt: skip
"""Command (empty: any) and parameter -> function that returns its completions."""


def leaves(command: click.Command) -> dict[str, click.Command]:
    """Return the commands of a group by name; a command that is no group has the empty name."""
    return dict(command.commands) if isinstance(command, click.Group) else {"": command}


def options_of(command: click.Command) -> dict[str, click.Option]:
    """Return a command's options by long name, with _ for -, as variables and the config file call them."""
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    return {plain(max(option.opts, key=len)): option for option in options}


def plain(key: str) -> str:
    """Return an option's name as variables and config keys contain it."""
    return key.lstrip("-").replace("-", "_")

"""The command `driftway`: joins producers, worker and learners, and does nothing else.

Commands are loaded when they are called, so that `driftway --help` is instant.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from worker.errors import Failure, UsageFailure

VERSION = "0.1.0"

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "worker.cli.demo:demo",
        "The whole way on one machine: Kafka, replay, workers, live table, plot.",
    ),
    "broker": ("worker.cli.broker:broker", "A real single-node Apache Kafka on loopback, without Docker."),
    "topics": ("worker.cli.topics:topics", "Create or check the topics of an input."),
    "replay": ("producers.cli.replay:replay", "Replay a stream's rows onto a topic."),
    "worker": ("worker.cli.worker:worker", "The daemon: predict, learn, commit exactly once."),
    "watch": ("worker.cli.watch:watch", "Live table of rolling accuracy, throughput and lag."),
    "plot": ("worker.cli.plot:plot", "Rolling accuracy as a picture: PNG or SVG."),
    "evaluate": ("worker.cli.evaluate:evaluate", "The same kernels on streams, without Kafka."),
    "learners": ("worker.cli.learners:learners", "List and describe the learners."),
    "streams": ("producers.cli.streams:streams", "List and describe the streams."),
}
"""name -> (module:attribute, one line of help)."""


def name_variables(command: click.Command) -> None:
    """Give every option its environment variable: DRIFTWAY_ followed by its long name."""
    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    for option in (p for c in commands for p in c.params if isinstance(p, click.Option)):
        if option.envvar is None and option.name is not None:
            option.envvar = f"DRIFTWAY_{option.name.upper()}"


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        name_variables(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Failure as failure:
            click.echo(f"driftway: {failure}", err=True)
            ctx.exit(failure.exit_code)


def open_stream(name: str, **options: Any) -> Any:
    """Open a stream for a command of the worker: the joint between `worker.cli` and `producers`."""
    from producers.streams import open_stream as opened

    return opened(name, **options)


def read_config(path: str | None) -> dict[str, dict[str, Any]]:
    """Defaults per command from a TOML file: top-level keys for all, a table per command for one.

    Raises
    ------
    UsageFailure
        The file cannot be read or names a command or option that does not exist.
    """
    if path is None:
        return {}
    import tomllib

    try:
        with open(path, "rb") as file:
            given = tomllib.load(file)
    except OSError as error:
        raise UsageFailure(f"cannot read config {path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageFailure(f"config {path} is not TOML: {error}") from None
    common = {_option(key): value for key, value in given.items() if not isinstance(value, dict)}
    tables = {name: table for name, table in given.items() if isinstance(table, dict)}
    for name in tables:
        if name not in COMMANDS:
            raise UsageFailure(f"config {path}: no command {name!r}; tables are named after commands")
    defaults = {}
    for name in COMMANDS:
        own = {_option(key): value for key, value in tables.get(name, {}).items()}
        defaults[name] = {**common, **own}
    return defaults


def _option(key: str) -> str:
    return key.replace("-", "_")


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", envvar="DRIFTWAY_CONFIG", metavar="FILE", help="TOML file with defaults for options.")
@click.version_option(VERSION, prog_name="driftway")
@click.pass_context
def main(ctx: click.Context, config: str | None) -> None:
    """Learn from Kafka topics while the world changes: predict, then update, exactly once.

    Every option of every command is also an environment variable, DRIFTWAY_ followed by its name
    (DRIFTWAY_BOOTSTRAP, DRIFTWAY_LEARNER, ...), and a key of the TOML file given with --config.
    A flag wins over the environment, the environment over the file.

    \b
    Examples:
      driftway demo
      driftway broker
      driftway replay sea --to EVENTS --partitions 2 --rate 5000
      driftway worker --input EVENTS --group sea --learner dfop:mu=0.001
      driftway evaluate sea --learner dfop --learner arow
    """
    ctx.default_map = read_config(config)
    ctx.obj = ctx.obj or {}
    ctx.obj.setdefault("open_stream", open_stream)


if __name__ == "__main__":
    sys.exit(main())

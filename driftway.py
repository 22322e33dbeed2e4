"""The command `driftway`: joins producers, worker and learners, and does nothing else.

Commands are loaded when they are called, so that `driftway --help` is instant.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any

import click
from click.shell_completion import CompletionItem

from worker.errors import Failure, UsageFailure

VERSION = "0.1.0"

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "worker.tools.cli.demo:demo",
        "The whole way on one machine: Kafka, replay, workers, live table, plot.",
    ),
    "broker": ("worker.tools.cli.broker:broker", "A real single-node Apache Kafka on loopback, without Docker."),
    "topics": ("worker.cli.topics:topics", "Create or check the topics of an input."),
    "replay": ("producers.cli.replay:replay", "Replay a stream's rows onto a topic."),
    "worker": ("worker.cli.worker:worker", "The daemon: predict, learn, commit exactly once."),
    "watch": ("worker.tools.cli.watch:watch", "Live table of rolling accuracy, throughput and lag."),
    "plot": ("worker.tools.cli.plot:plot", "Rolling accuracy as a picture: PNG, SVG or HTML."),
    "rejected": ("worker.tools.cli.rejected:rejected", "Why events were rejected, with samples; send them again."),
    "audit": ("worker.tools.cli.audit:audit", "Prove exactly once and same bits from the topics alone."),
    "snapshot": ("worker.tools.cli.snapshot:snapshot", "States: list, show, at any offset, to a file and back."),
    "schema": (
        "worker.tools.cli.schema:schema",
        "A schema of events: propose one from a topic's or a file's first rows.",
    ),
    "explain": ("worker.tools.cli.explain:explain", "Why this prediction: what each feature added to its score."),
    "evaluate": ("worker.lab.cli.evaluate:evaluate", "The same kernels on streams, without Kafka."),
    "train": ("worker.lab.cli.train:train", "A final model from a bounded set of rows, for a worker to begin with."),
    "bench": ("worker.tools.cli.bench:bench", "Throughput and latency beside the bare client, in one run."),
    "learners": ("worker.cli.learners:learners", "List and describe the learners."),
    "streams": ("producers.cli.streams:streams", "List and describe the streams."),
}
"""name -> (module:attribute, one line of help)."""
INTERRUPTED = 130
"""Exit code of what Ctrl-C has ended, as shells have it."""
AGAIN_SECONDS = 0.1
"""After which a Ctrl-C that was lost is raised once more: by then the callback is over."""
EVENT = "event"
EVENT_KEYS = ("feature", "label", "id", "time", "envelope", "missing", "missing_indicators")
"""Of the table `event` in a config file: how events are read, for every command that has all of these options."""
EVENT_KEYS_OF_SOME = ("unknown_fields",)
"""Of the same table, for those of these commands that have the option."""
PREFIX = "DRIFTWAY_"
OTHER_VARIABLES = ("DRIFTWAY_CONFIG", "DRIFTWAY_BENCH", "DRIFTWAY_FAULT_SEED", "DRIFTWAY_GOLDEN", "DRIFTWAY_DATA")
"""Variables that are no option's: of this file, and of the tests."""


def load(name: str) -> click.Command:
    """Import a command; every option gets its environment variable: DRIFTWAY_ followed by its long name."""
    module, attribute = COMMANDS[name][0].split(":")
    command: click.Command = getattr(import_module(module), attribute)
    for key, option in (pair for one in leaves(command).values() for pair in options_of(one).items()):
        if option.envvar is None:
            option.envvar = f"DRIFTWAY_{key.upper()}"
    for parameter in (parameter for one in leaves(command).values() for parameter in one.params):
        names = COMPLETED.get((name, parameter.name or "")) or COMPLETED.get(("", parameter.name or ""))
        if names is not None:
            parameter.type = Completed(names)
    return command


class Completed(click.types.StringParamType):
    """Text that a shell completes.

    Parameters
    ----------
    names : callable
        Whole words.
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def learner_names() -> Iterable[str]:
    """Every learner."""
    from learners import LEARNERS

    return LEARNERS


def stream_names() -> Iterable[str]:
    """Every generator, and every stream of the catalogue; files are completed by the shell."""
    from producers.streams import GENERATORS
    from producers.streams.catalogue import CATALOGUE

    return [*GENERATORS, *CATALOGUE]


COMPLETED = {
    ("", "learner"): learner_names, ("learners", "names"): learner_names, ("evaluate", "streams"): stream_names,
    ("replay", "stream"): stream_names, ("train", "source"): stream_names, ("streams", "name"): stream_names,
}  # fmt: skip
"""Command (empty: any) and parameter -> what a shell completes it with."""


def leaves(command: click.Command) -> dict[str, click.Command]:
    """The commands of a group by name; a command that is no group stands alone, under no name."""
    return dict(command.commands) if isinstance(command, click.Group) else {"": command}


def options_of(command: click.Command) -> dict[str, click.Option]:
    """A command's options by their long name, with _ for -: what variables and the config file call them."""
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    return {_plain(max(option.opts, key=len)): option for option in options}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return load(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from difflib import get_close_matches

        if args and args[0] not in COMMANDS and (near := get_close_matches(args[0], COMMANDS, n=1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with no_interrupt_lost():
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.option_name == "--config":
                error.message += " It stands before the command: driftway --config FILE COMMAND ..."
            raise
        except Failure as failure:
            _say(str(failure))
            ctx.exit(failure.exit_code)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending: one more would change the exit code
            _say("interrupted")
            ctx.exit(INTERRUPTED)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            _say(f"cannot write{f' {error.filename}' if error.filename else ''}: {error.strerror}")
            ctx.exit(1)


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Let Ctrl-C have its way where it came inside a library that loses it or makes another exception of it.

    A callback of compiled code lets none through: it is raised once more. The Kafka client's constructors make a
    TypeError of it. From the first one on, nothing is told of exceptions that nobody can catch: half-made objects
    cannot be cleared up.
    """
    told, pressed = sys.unraisablehook, False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    def tell(lost: sys.UnraisableHookArgs) -> None:
        if not pressed:
            told(lost)
        elif issubclass(lost.exc_type, KeyboardInterrupt):
            main_thread = threading.main_thread().ident
            again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main_thread, signal.SIGINT))
            again.daemon = True
            again.start()

    default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    sys.unraisablehook = tell
    if default:
        signal.signal(signal.SIGINT, press)
    try:
        yield
    except (Failure, click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if pressed:
            raise KeyboardInterrupt from error
        raise
    finally:
        if not pressed:
            sys.unraisablehook = told
        if default:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _say(sentence: str) -> None:
    try:
        click.echo(f"driftway: {sentence}", err=True)
    except OSError:
        sys.stderr = None  # type: ignore[assignment] # else Python tries once more at exit, and makes 120 of the code


def open_stream(name: str, **options: Any) -> Any:
    """Open a stream for a command of the worker: the joint between `worker.cli` and `producers`.

    With `raw` its rows are events as they stand in the file, JSON texts.
    """
    from producers.streams import open_events
    from producers.streams import open_stream as opened

    return open_events(name, **options) if options.pop("raw", False) else opened(name, **options)


def open_rows(name: str) -> Any:
    """Open a file's rows as JSON text, for a command of the worker; None where the name is no file's."""
    from producers.streams import means_file, open_events

    if not means_file(name):
        return None
    return (row for block in open_events(name).blocks() for row in block.listed() if row is not None)


def read_config(path: str | None) -> dict[str, Any]:
    """Defaults per command from a TOML file: top-level keys for all that have them, a table for one command.

    The commands of a group (`topics`) take their group's table, and may have one each inside it. The table `event`
    says how events are read, to every command that reads them.

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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageFailure(f"config {path} is not TOML: {error}") from None
    event, inside = _parted(given.pop(EVENT, {})) if isinstance(given.get(EVENT, {}), dict) else ({}, {})
    if inside:
        raise UsageFailure(f"config {path}: [{EVENT}] holds keys, no tables such as {min(inside)!r}")
    _require_known(path, f"[{EVENT}]", event, EVENT_KEYS + EVENT_KEYS_OF_SOME)
    common, tables = _parted(given)
    for name in tables:
        if name not in COMMANDS:
            raise UsageFailure(f"config {path}: no command {name!r}; tables are named after commands")
    commands = {name: leaves(load(name)) for name in COMMANDS}
    _require(path, "any command", common, [c for group in commands.values() for c in group.values()])
    defaults: dict[str, Any] = {}
    for name, group in commands.items():
        own, inner = _parted(tables.get(name, {}))
        _require(path, name, own, list(group.values()))
        for sub in inner:
            if sub not in group:
                raise UsageFailure(f"config {path}: {name} has no command {sub!r}")
            _require(path, f"{name} {sub}", inner[sub], [group[sub]])
        filled = {
            sub: _filled(path, one, {**common, **_of_events(one, event), **own, **inner.get(sub, {})})
            for sub, one in group.items()
        }
        defaults[name] = filled.get("", filled)
    return defaults


def require_known_variables(environ: Mapping[str, str]) -> None:
    """Fail on a variable DRIFTWAY_... that no command looks at: what it was meant to say would be left out in silence.

    Raises
    ------
    UsageFailure
        There is one; the sentence has the nearest name.
    """
    given = [name for name in environ if name.startswith(PREFIX) and name not in OTHER_VARIABLES]
    if not given:
        return
    from difflib import get_close_matches

    options = (options_of(one).values() for name in COMMANDS for one in leaves(load(name)).values())
    known = {str(option.envvar) for some in options for option in some}
    for name in given:
        if name not in known:
            near = get_close_matches(name.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in known], n=1)
            hint = (
                f"did you mean {PREFIX}{near[0]}?" if near else "variables are DRIFTWAY_ followed by an option's name"
            )
            raise UsageFailure(f"environment variable {name} is not known; {hint}")


def _parted(table: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """A TOML table's options, and the tables inside it."""
    options = {_plain(key): value for key, value in table.items() if not isinstance(value, dict)}
    inside = {key: value for key, value in table.items() if isinstance(value, dict)}
    return options, {key: {_plain(k): v for k, v in value.items()} for key, value in inside.items()}


def _require(path: str, whose: str, given: dict[str, Any], commands: list[click.Command]) -> None:
    """Fail on the first key that is an option of none of the commands."""
    _require_known(path, whose, given, {key for command in commands for key in options_of(command)})


def _of_events(command: click.Command, event: dict[str, Any]) -> dict[str, Any]:
    """What the table `event` says to a command: nothing to one whose --label, say, means something else."""
    return event if options_of(command).keys() >= set(EVENT_KEYS) else {}


def _require_known(path: str, whose: str, given: dict[str, Any], known: Collection[str]) -> None:
    """Fail on the first key that is not known."""
    from difflib import get_close_matches

    for key in given:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageFailure(f"config {path}: no option {key!r} of {whose}{hint}")


def _filled(path: str, command: click.Command, given: dict[str, Any]) -> dict[str, Any]:
    """What click takes as a command's defaults; a repeatable option may be given as one value."""
    defaults: dict[str, Any] = {}
    for key, option in options_of(command).items():
        if key not in given or option.name is None:
            continue
        value = given[key]
        if isinstance(value, list) and not option.multiple:
            raise UsageFailure(f"config {path}: {key!r} takes one value, not a list")
        defaults[option.name] = [value] if option.multiple and not isinstance(value, list) else value
    return defaults


def _plain(key: str) -> str:
    return key.lstrip("-").replace("-", "_")


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
      driftway worker --input EVENTS --group sea
      driftway evaluate sea --learner auto --learner arow
    """
    require_known_variables(os.environ)
    ctx.default_map = read_config(config)
    ctx.obj = ctx.obj or {}
    ctx.obj.setdefault("open_stream", open_stream)
    ctx.obj.setdefault("open_rows", open_rows)


if __name__ == "__main__":
    sys.exit(main())

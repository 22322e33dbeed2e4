"""The command `driftway`: joins producers, worker, learners and workbench, and does nothing else.

Commands are loaded when they are called, so that `driftway --help` is instant.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import click

from driftway import __version__
from driftway.commands import COMMANDS, load
from driftway.config import read_config, require_compiler, require_known_variables
from driftway.renamed import present_words
from driftway.worker.cli.console import NO_TEXTS, compiling_shown
from driftway.worker.errors import (
    DISK_FULL,
    NO_MORE_THREADS,
    TOO_MANY_FILES,
    Failure,
    UsageFailure,
    is_thread_shortage,
    shown,
)

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""
NOT_ALLOWED = errno.EACCES, errno.EPERM, errno.EROFS
"""The user, or the file system, does not allow what is done with a file."""
READER_GONE = 141
"""Exit code if nobody reads the output any more, as with `| head`: that of other programs, which SIGPIPE ends."""
BAD_NAME = errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR
"""What is wrong with a name that was given, wherever it is used."""
MAX_SHOWN = 200
"""Characters of a file's name in a message."""
RENAMED = "driftway.renamed"
"""Where a context keeps the sentences about options with former names."""
LOGS_COMPILING = "worker", "warm"
"""Commands that report on their compilations by themselves."""
BLAS_THREADS = "OPENBLAS_NUM_THREADS"
"""How many threads numpy's library of linear algebra starts, which no command uses: if it is not set, one for each
processor, and each is busy for a while. On two processors that is a tenth of a second of every command."""
LAST_STANDARD_STREAM = 2
"""File descriptor of standard error."""
AGAIN_SECONDS = 0.1
"""Delay before a lost Ctrl-C is raised again: by then the callback has returned."""


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
        from driftway.learners.engine.suggestion import did_you_mean

        if args and args[0] not in COMMANDS and (hint := did_you_mean(args[0], COMMANDS, "")):
            ctx.fail(f"No such command {args[0]!r}. {hint.capitalize()}")
        warnings = ctx.meta.setdefault(RENAMED, [])
        return super().resolve_command(ctx, [*args[:1], *present_words(args[1:], warnings)])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        os.environ.setdefault(BLAS_THREADS, "1")
        open_standard_streams()
        try:
            return super().make_context(*given, **more)
        except BrokenPipeError:
            _discard_output(sys.stdout, sys.stderr)
            raise click.exceptions.Exit(READER_GONE) from None
        except OSError as error:  # of what --help and --version print
            if error.errno not in (*DISK_FULL, errno.EBADF):
                raise
            _discard_output(sys.stdout)
            _say(f"cannot write: {_why_unwritable(error)}", 1)
            raise click.exceptions.Exit(1) from None

    def invoke(self, ctx: click.Context) -> Any:
        def say(sentence: str, code: int) -> None:
            """Tell the user why the command ends: in its log, if it has one that says so."""
            (ctx.obj or {}).get("say_end", _say)(sentence, code)

        try:
            with no_interrupt_lost():
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.option_name != "--config":
                raise
            advice = "It goes before the command: driftway --config FILE COMMAND ..."
            raise click.UsageError(f"{error.format_message()} {advice}", error.ctx) from None
        except click.ClickException as error:
            if "say_end" not in (ctx.obj or {}):
                for sentence in (ctx.obj or {}).pop("renamed", ()):  # the worker's log has not begun
                    _say(sentence, error.exit_code)
                raise  # click shows the usage, too
            say(error.format_message(), error.exit_code)
            ctx.exit(error.exit_code)
        except Failure as failure:
            say(str(failure), failure.exit_code)
            ctx.exit(failure.exit_code)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # already exiting: another one would change the exit code
            say("interrupted", INTERRUPTED)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _discard_output(sys.stdout, sys.stderr)
            ctx.exit(READER_GONE)
        except (MemoryError, RuntimeError, OSError) as error:
            if (ended := _ended_by(error)) is None:
                raise
            say(*ended)
            ctx.exit(ended[1])


def _ended_by(error: Exception) -> tuple[str, int] | None:
    """Return what to say of an error of the system, and the exit code; None: it is a defect of a command."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}", 1
    if is_thread_shortage(error):
        return NO_MORE_THREADS, 1
    if not isinstance(error, OSError):
        return None
    what = f" {str(error.filename)[:MAX_SHOWN]}" if error.filename else ""
    if error.errno in DISK_FULL or (error.errno == errno.EBADF and not what):
        if not what:
            _discard_output(sys.stdout)
        return f"cannot write{what}: {_why_unwritable(error)}", 1
    if error.errno in TOO_MANY_FILES:
        return f"cannot open{what}: this process cannot open more files: raise its limit (ulimit -n)", 1
    if error.errno in NOT_ALLOWED and what:
        return f"cannot use{what}: {error.strerror}", 1
    return (f"cannot open{what}: {error.strerror}", UsageFailure.exit_code) if error.errno in BAD_NAME else None


def _why_unwritable(error: OSError) -> str | None:
    """Why nothing can be written: `open_standard_streams` explains the one error that the system names badly."""
    return "standard output is closed" if error.errno == errno.EBADF else error.strerror


def _discard_output(*streams: Any) -> None:
    """Discard what cannot be written: Python would try again at its end, and exit with another code."""
    for stream in streams:
        with suppress(OSError, ValueError):  # not a file, or closed
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Make Ctrl-C effective even inside a library that loses it or turns it into another exception.

    It cannot pass through a callback of compiled code: there it is raised again later. The Kafka client's constructors
    turn it into a TypeError. After the first Ctrl-C, unraisable exceptions are not reported: half-made objects cannot
    be cleaned up.
    """
    previous, pressed = sys.unraisablehook, False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    def hook(lost: sys.UnraisableHookArgs) -> None:
        if not pressed:
            previous(lost)
        elif issubclass(lost.exc_type, KeyboardInterrupt):
            main_thread = threading.main_thread().ident
            again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main_thread, signal.SIGINT))
            again.daemon = True
            again.start()

    default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    sys.unraisablehook = hook
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
            sys.unraisablehook = previous
        if default:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def open_standard_streams() -> None:
    """Give a process that was started without standard streams some that lead nowhere.

    Otherwise a socket to a broker could become the stream that libraries write their errors to. What is written to the
    standard output fails, since a command whose output is lost must not end as if all were well.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= LAST_STANDARD_STREAM:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdout is None:
        unwritable = os.open(os.devnull, os.O_RDONLY)
        os.dup2(unwritable, 1)
        os.close(unwritable)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def write_completely() -> None:
    """Wait for a slow reader of the output, even if another program has made the shared pipe or terminal non-blocking.

    Node and ssh do so. What does not fit at once would be lost, without an error if PYTHONUNBUFFERED is set.
    """
    for descriptor in range(1, LAST_STANDARD_STREAM + 1):
        os.set_blocking(descriptor, True)


def require_folder() -> None:
    """Fail if the working folder has been deleted: the compiler needs one.

    Raises
    ------
    UsageFailure
        It has.
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UsageFailure(
            "the folder in which this process was started does not exist any more: cd to another one"
        ) from None


def _say(sentence: str, _code: int) -> None:
    try:
        # It may quote a file or a record, whose control characters must not reach a terminal.
        click.echo("\n".join(shown(line) for line in f"driftway: {sentence}".splitlines()), err=True)
    except OSError:
        sys.stderr = None  # else Python retries at exit, and exits with 120


def open_stream(name: str, **options: Any) -> Any:
    """Open a stream for a command of the worker, which does not import `producers` itself.

    With `raw`, its rows are the file's events as JSON text.
    """
    from driftway.producers.streams import open_events
    from driftway.producers.streams import open_stream as opened

    return open_events(name, **options) if options.pop("raw", False) else opened(name, **options)


def open_rows(name: str, **options: Any) -> Any:
    """Open a file's rows as JSON text, for `driftway schema infer`; None if the name does not mean a file."""
    from driftway.producers.streams import means_file, open_events

    return open_events(name, lenient=True, **options) if means_file(name) else None


def write_table(name: str, **request: Any) -> Any:
    """Measure a table for `driftway evaluate --table`; `worker.evaluation` does not import `workbench` itself."""
    from driftway.workbench.paper_tables import write_table as write
    from driftway.workbench.paper_tables.request import TableRequest

    return write(name, TableRequest(**request))


def evaluate_topic(given: dict[str, Any]) -> Any:
    """Evaluate on what a group's workers saw; `worker.evaluation` does not import `worker.admin` itself."""
    from driftway.worker.admin.cli.evaluate_topic import evaluate_topic as evaluated

    return evaluated(given)


def page_routes(worker: Any) -> Any:
    """Return the routes of a worker's page; the worker's commands do not import `worker.admin` themselves."""
    from driftway.worker.admin.page.routes import page_routes as routes

    return routes(worker)


def show_version(ctx: click.Context, _option: click.Parameter, given: bool) -> None:
    """Print version and commit."""
    if given and not ctx.resilient_parsing:
        from driftway.version import commit, described

        click.echo(f"driftway, version {described(__version__, commit())}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", envvar="DRIFTWAY_CONFIG", metavar="FILE", help="TOML file with default values of options.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version and exit.",
)
@click.pass_context
def main(ctx: click.Context, config: str | None) -> None:
    """Online learning on Kafka topics: predict each event, then learn from its label, exactly once.

    Every option of every command is also an environment variable, DRIFTWAY_ followed by its name (DRIFTWAY_BOOTSTRAP,
    DRIFTWAY_LEARNER, ...), and a key of the TOML file given with --config. Options on the command line override the
    environment, and the environment overrides the file.

    \b
    Examples:
      driftway demo
      driftway broker
      driftway replay sea --to EVENTS --partitions 2 --rate 5000
      driftway worker --input EVENTS --group sea
      driftway evaluate sea --learner auto --learner arow
    """
    require_folder()
    require_compiler(os.environ)
    require_known_variables(os.environ)
    warnings = ctx.meta.setdefault(RENAMED, [])
    ctx.default_map = read_config(config, os.environ, warnings, ctx.invoked_subcommand)
    ctx.obj = ctx.obj or {}
    if ctx.invoked_subcommand not in LOGS_COMPILING:
        ctx.with_resource(compiling_shown())
    if ctx.invoked_subcommand == "worker":
        ctx.obj["renamed"] = warnings  # it has a log, whose lines may be JSON
    else:
        write_completely()
        for sentence in warnings:
            _say(sentence, 0)
    ctx.obj.setdefault("open_stream", open_stream)
    ctx.obj.setdefault("open_rows", open_rows)
    ctx.obj.setdefault("write_table", write_table)
    ctx.obj.setdefault("evaluate_topic", evaluate_topic)
    ctx.obj.setdefault("page_routes", page_routes)


main.help = main.help or NO_TEXTS

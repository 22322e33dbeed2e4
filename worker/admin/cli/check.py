"""`driftway check`: look for what would stop a worker, before it starts."""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from driftway.worker.cli.option_groups import GroupedCommand
from driftway.worker.cli.options import was_typed
from driftway.worker.cli.serve_options import checked_token
from driftway.worker.cli.worker import given_settings, worker
from driftway.worker.kafka.client_config import redact, without_userinfo

if TYPE_CHECKING:
    from driftway.worker.admin.check.finding import Finding

ROWS = 1000
OWN = {"input_", "group", "bootstrap", "properties", "client_properties", "rows", "as_json", "ignore_warnings"}
"""Options that are not among the worker's others in a command that is suggested."""
REGISTRY_PROPERTIES = "registry_properties"
COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command(cls=GroupedCommand)
@click.option(
    "--rows", type=click.IntRange(2), default=ROWS, show_default=True, metavar="N", help="Number of events to read."
)
@click.option("--json", "as_json", is_flag=True, help="Print an object on standard output.")
@click.option("--ignore-warnings", is_flag=True, help="Exit with code 0 if there are warnings but no errors.")
@click.pass_context
def check(context: click.Context, /, input_: str, group: str, **given: Any) -> None:
    """Find everything that would stop a worker with these options, or make it lose data.

    The command takes all options of `driftway worker`. It checks the brokers, the topics, the permissions of the
    principal, the group, some events, and this machine. Each check prints one line: ok, warning, error, or skipped if
    the cluster does not give the information. Below a warning or an error is the command that fixes it; replace NAME
    and .. with your values.

    It changes nothing: it creates no topics, joins no group, commits nothing, and begins no transaction. It only
    initialises the transactional id GROUP/INPUT/check, which expires by itself. Events are read by a read_committed
    consumer outside the group: half of the N events are those that the worker would read first, the other half are the
    newest.

    \b
    Exit codes:
      0  a worker can start, and nothing is wrong
      1  a worker would stop, or could not write; 2, 4 or 5 if it would stop with that code
      6  a worker can start, but there are warnings

    \b
    Examples:
      driftway check --input EVENTS --group sea
      driftway check --input EVENTS --group sea --learner dfop --label-topic LABELS --label-wait 7d/50000
      driftway check --input EVENTS --group sea --client-properties worker.properties --json
      driftway check --input EVENTS --group sea --ignore-warnings
    """
    from driftway.worker.admin.check.commands import UNKNOWN_USER, Commands
    from driftway.worker.admin.check.finding import WARNED, as_object, exit_code, in_words
    from driftway.worker.admin.check.run import run_checks
    from driftway.worker.wire.codec import write_json

    rows, as_json, ignored = given.pop("rows"), given.pop("as_json"), given.pop("ignore_warnings")
    settings, _ = given_settings({"input": input_, "group": group, **given})
    checked_token(given)
    port = None if given["http_port"] is None else (given["http_host"], given["http_port"])
    user = str(settings.passthrough.get("sasl.username", UNKNOWN_USER))
    commands = Commands(settings.bootstrap, input_, group, user, _repeated(context), _client(given), _config(context))
    found: list[Finding] = []
    with _progress() as tell:
        for one in run_checks(settings, commands, rows, tell, port):
            if not as_json:
                _show(one, heading=not found or found[-1].group != one.group)
            found.append(one)
    if as_json:
        click.echo(write_json(as_object(found)).decode())
    code = exit_code(found)
    if code:
        click.echo(f"driftway: {in_words(found)}", err=True)
    context.exit(0 if ignored and code == WARNED else code)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being checked; yields a function that is told."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console

    with Console(stderr=True).status("checking") as status:
        yield lambda what: status.update(f"checking: {what}")


def _show(found: Finding, heading: bool) -> None:
    """Print a finding: status, check and sentence in one line, and the command below it."""
    if heading:
        click.secho(found.group, bold=True)
    status = click.style(f"{found.status:<7}", fg=COLOURS.get(found.status))
    click.echo(f"  {status}  {found.check}: {found.sentence}")
    if found.command:
        click.echo(f"           {found.command}")


def _repeated(context: click.Context) -> tuple[str, ...]:
    """The worker's options on this command line, as they were typed, but those of OWN, and without secrets."""
    words: list[str] = []
    for option in context.command.params:
        name = option.name or ""
        if name in OWN or not isinstance(option, click.Option) or not was_typed(name):
            continue
        value = context.params[name]
        flag = max(option.opts, key=len)
        if option.is_flag:
            words.append(flag if value else max(option.secondary_opts, key=len, default=flag))
            continue
        for one in value if option.multiple else (value,):
            text = ",".join(one) if isinstance(one, tuple) else str(one)
            words += [flag, redact(text) if name == REGISTRY_PROPERTIES else without_userinfo(text)]
    return tuple(words)


def _client(given: dict[str, Any]) -> tuple[str, ...]:
    """The options about the client, with *** for secrets."""
    pairs = [word for pair in given["properties"] for word in ("-X", redact(pair))]
    file = given["client_properties"]
    return (*pairs, *(() if file is None else ("--client-properties", file)))


def _config(context: click.Context) -> tuple[str, ...]:
    """The option in front of the command that names a file of options, if it was typed."""
    root = context.find_root()
    typed = root.get_parameter_source("config") is ParameterSource.COMMANDLINE
    return ("--config", str(root.params["config"])) if typed else ()


check.params = [*(copy.copy(one) for one in worker.params), *check.params]

"""`driftway snapshot`: list, show, export and import states by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from driftway.worker.cli.event_options import registry_options
from driftway.worker.cli.options import client_options, outputs_option, was_typed
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import parse_properties
from driftway.worker.kafka.registry.event_format import JSON_FORMAT, EventFormat
from driftway.worker.kafka.registry.parser import FORMS as REGISTERED
from driftway.worker.wire.codec import FORMATS, JSON

if TYPE_CHECKING:
    from driftway.worker.admin.state_admin.source import GroupPartition

F = TypeVar("F", bound=Callable[..., Any])


def group_options(required: bool = True) -> Callable[[F], F]:
    """--input, --group and --outputs, beside --bootstrap, -X and --client-properties."""

    def add(command: F) -> F:
        command = outputs_option(client_options(command))
        command = click.option("--group", required=required, help="The workers' consumer group.")(command)
        return click.option(
            "--input", "input_", required=required, metavar="EVENTS", help="Topic of events that the workers read."
        )(command)

    return add


def partition_option(required: bool) -> Callable[[F], F]:
    """--partition."""
    kind = click.IntRange(0)
    return click.option("--partition", type=kind, required=required, metavar="P", help="Partition of the input.")


def replay_options(command: F) -> F:
    """--format, --registry, --registry-property and --warm-start, as the workers have them."""
    command = click.option(
        "--warm-start", metavar="FILE", help="Model file that the workers began with: for states before any snapshot."
    )(command)
    return click.option(
        "--format",
        "form",
        type=click.Choice((*FORMATS, *REGISTERED)),
        default=JSON,
        show_default=True,
        help="Event format; the last three with --registry.",
    )(registry_options(command))


def given_form(given: dict[str, Any]) -> EventFormat:
    """How events are written, as the options of `replay_options` say.

    Raises
    ------
    UsageFailure
        They do not fit together, or the registry's address or a property is none.
    Failure
        What reads such events is not installed.
    """
    if "form" not in given:
        return JSON_FORMAT
    form = EventFormat(given["form"], given["registry"], tuple(parse_properties(given["registry_properties"]).items()))
    form.loads()  # what is wrong with it is told before anything is asked for
    return form


def at_options(command: F) -> F:
    """--at, beside `replay_options`."""
    return click.option(
        "--at",
        type=click.IntRange(0),
        metavar="OFFSET",
        help="The state that the rows before this input offset left.  [default: the newest committed snapshot]",
    )(replay_options(command))


def asked(given: dict[str, Any], partition: int | None = None, new: bool = False) -> list[GroupPartition]:
    """Ask the broker for what the options name; one partition, or all."""
    from driftway.worker.admin.state_admin.source import find_partitions, settings_for
    from driftway.worker.state.model_file import load

    form = given_form(given)
    passthrough = parse_properties(given["properties"], given["client_properties"])
    warm = None if given.get("warm_start") is None else load(given["warm_start"]).warm_start()
    place = given["bootstrap"], given["input_"], given["group"], passthrough
    return find_partitions(settings_for(*place, warm, given["outputs"]), partition, new, form)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def snapshot() -> None:
    """What a group's learners have learned: list it, look inside, keep it in a file, put it back.

    Any state since the present history began can be had, not only those that were written down: with --at, the
    nearest older snapshot relearns the rows up to that offset, bit for bit as the workers learned them.

    \b
    Examples:
      driftway snapshot list --input EVENTS --group sea
      driftway snapshot show --input EVENTS --group sea --partition 0 --at 120000
      driftway snapshot export --input EVENTS --group sea --partition 0 --at 120000 --out before.driftway
      driftway snapshot show before.driftway
      driftway snapshot import before.driftway --input EVENTS --group trial --partition 0 --at 120000
    """


@snapshot.command("list")
@group_options()
@partition_option(required=False)
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def list_(partition: int | None, as_json: bool, **given: Any) -> None:
    """List the complete snapshots in the log, oldest first.

    Per partition: the input offset that a state stands at (rows before it have been learned), how many rows those
    were, its learners, bytes, when it was written, and which one the committed offset points to. A line between two
    says that a new history began there: what stands before is not used any more. Compaction leaves the newest ones.

    \b
    Examples:
      driftway snapshot list --input EVENTS --group sea
      driftway snapshot list --input EVENTS --group sea --partition 2 --json
    """
    from driftway.worker.admin.cli.snapshot_tables import bars, listed, print_list
    from driftway.worker.admin.state_admin.listing import list_snapshots
    from driftway.worker.wire.codec import write_json

    sources = asked(given, partition)
    with bars() as shown:
        listings = [
            list_snapshots(one.settings, one.partition, one.end, shown("snapshots", one.end)) for one in sources
        ]
    if as_json:
        told = [listed(source, listing) for source, listing in zip(sources, listings, strict=True)]
        click.echo(write_json({"input": given["input_"], "group": given["group"], "partitions": told}).decode())
    else:
        for source, listing in zip(sources, listings, strict=True):
            print_list(source, listing)


@snapshot.command()
@click.argument("file", required=False)
@group_options(required=False)
@partition_option(required=False)
@at_options
@click.option("--json", "as_json", is_flag=True, help="Print an object with every number.")
def show(file: str | None, partition: int | None, at: int | None, as_json: bool, **given: Any) -> None:
    """Show what is in a state: of FILE, or of a partition.

    Learners with parameters, counters, weights by feature name, rolling metrics; of a file also where it comes from
    and its digest. Arrays that hold one number per feature (and one for the intercept) are tables, others are
    summed up; --json has them whole. A state that --at asks for is rebuilt: give the workers' --format and --registry.

    \b
    Examples:
      driftway snapshot show model.driftway
      driftway snapshot show --input EVENTS --group sea --partition 0
      driftway snapshot show --input EVENTS --group sea --partition 0 --at 120000 --json
      driftway snapshot show --input T --group t --partition 0 --at 7 --format avro --registry http://localhost:8081
    """
    from driftway.worker.admin.cli.snapshot_tables import bars, print_state
    from driftway.worker.admin.state_admin.description import describe
    from driftway.worker.wire.codec import write_json

    topic = {"--input": given["input_"], "--group": given["group"], "--partition": partition}
    if file is not None:
        words = {"--input": "input_", "--group": "group", "--partition": "partition", "--at": "at"}
        extra = [word for word, name in words.items() if was_typed(name)]
        if extra:
            raise UsageFailure(f"{extra[0]} does not go with a file: name FILE, or --input, --group and --partition")
        from driftway.worker.state.model_file import load

        read = load(file)
        model, offset = read.model(), read.offset
        about: dict[str, Any] = {"file": file, "digest": read.digest, "bytes": read.nbytes, "origin": read.origin}
    else:
        missing = [name for name, value in topic.items() if value is None]
        if missing:
            raise UsageFailure(f"{missing[0]} is missing: name FILE, or --input, --group and --partition")
        from driftway.worker.admin.state_admin.state_at_offset import state_at

        (source,) = asked(given, partition)
        with bars() as shown:
            arrival = state_at(source, at, shown)
        model, offset = arrival.model, arrival.offset
        about = {"input": given["input_"], "group": given["group"], "rebuilt_from": arrival.way, "notes": arrival.notes}
    told = {**about, **describe(model, offset)}
    if as_json:
        click.echo(write_json(told).decode())
    else:
        print_state(told)


@snapshot.command()
@group_options()
@partition_option(required=True)
@at_options
@click.option("--out", required=True, metavar="FILE", help="Where to, usually NAME.driftway; replaced if it is there.")
def export(partition: int, at: int | None, out: str, **given: Any) -> None:
    """Write a state into a model file, with checksum and version, that opens without Kafka.

    A worker can begin in it (--warm-start FILE), a group can go on from it (driftway snapshot import).

    \b
    Examples:
      driftway snapshot export --input EVENTS --group sea --partition 0 --out newest.driftway
      driftway snapshot export --input EVENTS --group sea --partition 0 --at 120000 --out before.driftway
    """
    from driftway.worker.admin.cli.snapshot_tables import bars
    from driftway.worker.admin.state_admin.state_at_offset import state_at
    from driftway.worker.cli.console import check_file
    from driftway.worker.state import model_file

    check_file(out)
    (source,) = asked(given, partition)
    with bars() as shown:
        arrival = state_at(source, at, shown)
    model = arrival.model
    origin = {
        "made_by": "driftway snapshot export",
        "input": given["input_"],
        "group": given["group"],
        "partition": partition,
        "offset": arrival.offset,
        "rebuilt_from": arrival.way,
    }
    blob = model_file.pack(model, model.save(), arrival.offset, origin)
    model_file.save(out, blob)
    for note in arrival.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{out}: {source} at offset {arrival.offset}, {len(blob):,} bytes, from {arrival.way}", err=True)


@snapshot.command("import")
@click.argument("file")
@group_options()
@partition_option(required=True)
@click.option(
    "--at", type=click.IntRange(0), required=True, metavar="OFFSET", help="First input offset that is predicted next."
)
@click.option("--force", is_flag=True, help="Also where the group has learned something else until now.")
def import_(file: str, partition: int, at: int, force: bool, **given: Any) -> None:
    """Make a file's state the committed state of a partition: the group's next worker goes on from there.

    Give that worker the options that the file was made with (driftway snapshot show FILE). The state, the offset and
    a mark that a new history begins are one transaction, which fences whoever still writes for the group. Refused
    while the group has running workers, and where the file has learned something else than the group. What the group
    had predicted from the offset on stays in the log, and is predicted again.

    \b
    Examples:
      driftway snapshot import before.driftway --input EVENTS --group sea --partition 0 --at 120000
      driftway snapshot import before.driftway --input EVENTS --group trial --partition 3 --at 0 --force
    """
    from driftway.worker.admin.state_admin.import_state import import_state
    from driftway.worker.state.model_file import load

    read = load(file)
    (source,) = asked(given, partition, new=True)
    import_state(source, read, at, force)
    click.echo(f"group {given['group']} goes on at offset {at} of {source} with the state of {file}", err=True)

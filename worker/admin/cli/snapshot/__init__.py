"""`driftway snapshot`: list, show, export and import states."""

from __future__ import annotations

from typing import Any

import click

from driftway.worker.admin.cli.group_options import asked_partitions, at_options, group_options, partition_option
from driftway.worker.cli.options import was_typed
from driftway.worker.errors import UsageFailure


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def snapshot() -> None:
    """The states of a group's learners: list them, look inside, export one to a file, import it again.

    Every state since the current history began is available, not only those with a snapshot: with --at, the rows from
    the nearest older snapshot to that offset are relearned, bit for bit as the workers learned them.

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

    For each partition the list shows the input offset of each state (the rows before it have been learned), the number
    of rows learned, the learners, the size in bytes, the time when it was written, and which snapshot the committed
    offset points to. A line between two snapshots says that a new history began there: older snapshots are no longer
    used. Compaction keeps the newest snapshots.

    \b
    Examples:
      driftway snapshot list --input EVENTS --group sea
      driftway snapshot list --input EVENTS --group sea --partition 2 --json
    """
    from driftway.worker.admin.cli.snapshot.tables import bars, listed, print_list
    from driftway.worker.admin.state_admin.listing import list_snapshots
    from driftway.worker.wire.codec import write_json

    sources = asked_partitions(given, partition)
    with bars() as shown:
        listings = [
            list_snapshots(one.settings, one.partition, one.end, shown("snapshots", one.end)) for one in sources
        ]
    if as_json:
        partitions = [listed(source, listing) for source, listing in zip(sources, listings, strict=True)]
        click.echo(write_json({"input": given["input_"], "group": given["group"], "partitions": partitions}).decode())
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
    """Show the contents of a state: of FILE, or of a partition.

    The command shows the learners with their parameters, counters, weights by feature name and rolling metrics; for a
    file also its origin and digest. Arrays with one number per feature (and one for the intercept) are shown as tables.
    Other arrays are summarised; --json prints them in full. With --at the state is rebuilt, which needs the workers'
    --format and --registry.

    \b
    Examples:
      driftway snapshot show model.driftway
      driftway snapshot show --input EVENTS --group sea --partition 0
      driftway snapshot show --input EVENTS --group sea --partition 0 --at 120000 --json
      driftway snapshot show --input T --group t --partition 0 --at 7 --format avro --registry http://localhost:8081
    """
    from driftway.worker.admin.cli.snapshot.tables import bars, print_state
    from driftway.worker.admin.state_admin.description import describe
    from driftway.worker.wire.codec import write_json

    topic = {"--input": given["input_"], "--partition": partition}
    if file is not None:
        words = {"--input": "input_", "--group": "group", "--partition": "partition", "--at": "at"}
        extra = [word for word, name in words.items() if was_typed(name)]
        if extra:
            raise UsageFailure(f"{extra[0]} does not go with a file: name FILE, or --input and --partition")
        from driftway.worker.state.model_file import load

        read = load(file)
        model, offset = read.model(), read.offset
        about: dict[str, Any] = {"file": file, "digest": read.digest, "bytes": read.nbytes, "origin": read.origin}
    else:
        missing = [name for name, value in topic.items() if value is None]
        if missing:
            raise UsageFailure(f"{missing[0]} is missing: name FILE, or --input and --partition")
        from driftway.worker.admin.state_admin.state_at_offset import state_at

        (source,) = asked_partitions(given, partition)
        with bars() as shown:
            rebuilt = state_at(source, at, shown)
        model, offset = rebuilt.model, rebuilt.offset
        about = {
            "input": given["input_"],
            "group": given["group"],
            "rebuilt_from": rebuilt.origin,
            "notes": rebuilt.notes,
        }
    state = {**about, **describe(model, offset)}
    if as_json:
        click.echo(write_json(state).decode())
    else:
        print_state(state)


@snapshot.command()
@group_options()
@partition_option(required=True)
@at_options
@click.option(
    "--out", required=True, metavar="FILE", help="File to write, usually NAME.driftway; overwritten if it exists."
)
def export(partition: int, at: int | None, out: str, **given: Any) -> None:
    """Write a state to a model file, which can be opened without Kafka and has a checksum and a version.

    A worker can start from the file (--warm-start FILE), and a group can continue from it (driftway snapshot import).

    \b
    Examples:
      driftway snapshot export --input EVENTS --group sea --partition 0 --out newest.driftway
      driftway snapshot export --input EVENTS --group sea --partition 0 --at 120000 --out before.driftway
    """
    from driftway.worker.admin.cli.snapshot.tables import bars
    from driftway.worker.admin.state_admin.state_at_offset import state_at
    from driftway.worker.cli.console import check_file
    from driftway.worker.cli.file_options import require_other_file
    from driftway.worker.state import model_file

    check_file(out)
    require_other_file(out, [given["warm_start"], given["client_properties"]], rows=False)
    (source,) = asked_partitions(given, partition)
    with bars() as shown:
        rebuilt = state_at(source, at, shown)
    model = rebuilt.model
    origin = {
        "made_by": "driftway snapshot export",
        "input": given["input_"],
        "group": given["group"],
        "partition": partition,
        "offset": rebuilt.offset,
        "rebuilt_from": rebuilt.origin,
    }
    blob = model_file.pack(model, model.save(), rebuilt.offset, origin)
    model_file.save(out, blob)
    for note in rebuilt.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{out}: {source} at offset {rebuilt.offset}, {len(blob):,} bytes, from {rebuilt.origin}", err=True)


@snapshot.command("import")
@click.argument("file")
@group_options(new=True)
@partition_option(required=True)
@click.option(
    "--at", type=click.IntRange(0), required=True, metavar="OFFSET", help="Input offset of the next event to predict."
)
@click.option("--force", is_flag=True, help="Import even if the group has learned something else until now.")
def import_(file: str, partition: int, at: int, force: bool, **given: Any) -> None:
    """Make a file's state the committed state of a partition: the group's next worker continues from it.

    Give that worker the options that the file was made with (driftway snapshot show FILE). The state, the offset and a
    record that marks a new history are written in one transaction, which fences any remaining producer of the group.
    The command refuses to import while the group has running workers, or if the model of the file was trained for
    something else than the group's. Predictions that the group has written from the offset on stay in the log, and
    their events are predicted again.

    \b
    Examples:
      driftway snapshot import before.driftway --input EVENTS --group sea --partition 0 --at 120000
      driftway snapshot import before.driftway --input EVENTS --group trial --partition 3 --at 0 --force
    """
    from driftway.worker.admin.state_admin.import_state import import_state
    from driftway.worker.state.model_file import load

    read = load(file)
    (source,) = asked_partitions(given, partition, new=True)
    import_state(source, read, at, force)
    click.echo(f"group {given['group']} continues at offset {at} of {source} with the state of {file}", err=True)

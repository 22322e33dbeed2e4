"""`driftway schema`: propose a schema for events of any shape, and print that of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.file_options import file_options, given_file_options, print_notes
from driftway.worker.cli.options import client_options, reading_option
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.client_config import parse_properties
from driftway.worker.wire.events import CLASSIFICATION, REGRESSION
from driftway.worker.wire.registered.framing import REGISTERED_OUTPUTS
from driftway.worker.wire.schema.schema import ENVELOPES

if TYPE_CHECKING:
    from driftway.worker.admin.schema.scan import EventStats
    from driftway.worker.admin.schema.topic import Sample
    from driftway.worker.wire.schema.paths import Path

ROWS = 1000
MOST_ASKED = 3
"""Maximum number of fields that are offered in place of one that no event has."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def schema() -> None:
    """Propose a schema of events: the paths of features, label, id and time in an event, and the kind of each.

    Or print the schema that workers register for their predictions.

    \b
    Examples:
      driftway schema infer SHOP
      driftway schema infer orders.jsonl --label fraud
      driftway schema predictions --output-format avro --task regression
    """


@schema.command()
@click.option(
    "--output-format",
    "form",
    type=click.Choice(REGISTERED_OUTPUTS),
    default=REGISTERED_OUTPUTS[0],
    show_default=True,
    help="Format of the predictions.",
)
@click.option(
    "--task",
    type=click.Choice((CLASSIFICATION, REGRESSION)),
    default=CLASSIFICATION,
    show_default=True,
    help="Task: what is predicted.",
)
@click.option("--classes", type=click.IntRange(2), default=None, help="Number of classes.  [default: 2]")
@click.option(
    "--labels", metavar="A,B,..", help="Names of the classes, in class order, as the labels are written in the data."
)
def predictions(form: str, task: str, classes: int | None, labels: str | None) -> None:
    """Print the schema that workers with these options register for their predictions.

    Use this if workers may not register schemas in the registry. Register the schema under the subject TOPIC-value for
    the topic of predictions and, with --emit all, also for the topic of challengers. A worker that finds the schema
    there registers nothing.

    \b
    Examples:
      driftway schema predictions > prediction.avsc
      driftway schema predictions --output-format json-schema --labels DOWN,UP
    """
    from driftway.worker.cli.model_options import make_target
    from driftway.worker.kafka.registry.outputs import OutputSchema

    click.echo(OutputSchema.of(form, make_target(task, classes, labels)).text)


@schema.command()
@click.argument("name", metavar="TOPIC|FILE")
@click.option(
    "--rows", type=click.IntRange(1), default=ROWS, show_default=True, metavar="N", help="Number of rows to read."
)
@click.option("--label", metavar="PATH", help="Path of the label.")
@click.option("--id", "id_", metavar="PATH", help="Path of the event's id.")
@click.option("--time", metavar="PATH", help="Path of the event's time.")
@click.option("--envelope", type=click.Choice(ENVELOPES), help="Envelope around the row of each event.")
@file_options
@client_options
@reading_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with everything that was seen at each path.")
@click.pass_obj
def infer(obj: dict[str, Any], /, name: str, rows: int, as_json: bool, **given: Any) -> None:
    """Propose a schema from the first rows of a topic or file. It is printed as a table [event] for a TOML file.

    From a topic the command reads the first records that a read_committed consumer sees, the same number from each
    partition. FILE is any file that `driftway evaluate` reads, or a file with one event per line (.jsonl, .ndjson,
    .json). A PATH is written as a.b."with.dot", @envelope.a, @key.a, @header.NAME or @timestamp.

    Comments in the output say which values each field had, why other fields were left out, and which options fit the
    label. The command then reads the rows again as a worker with that schema would, and reports which of them the
    worker would reject. CloudEvents attributes in the headers of a topic's records (ce_type, ce_time, ..) count as
    fields. The command recognises labels that arrive later, in separate messages with the id of their event, and
    proposes how long events should wait for them.

    \b
    Examples:
      driftway schema infer SHOP
      driftway schema infer SHOP --label fraud --rows 10000
      driftway schema infer db.public.orders --envelope debezium --id @key.id
      driftway schema infer orders.csv.gz --json
    """
    from driftway.worker.admin.schema import render
    from driftway.worker.admin.schema.dry_run import rejections
    from driftway.worker.admin.schema.feature_kinds import LIST_OF_NUMBERS
    from driftway.worker.admin.schema.label_leaks import leaking_fields
    from driftway.worker.admin.schema.later_labels import later_labels
    from driftway.worker.admin.schema.proposal import propose, propose_with_later
    from driftway.worker.admin.schema.scan import scan_events
    from driftway.worker.wire.codec import write_json
    from driftway.worker.wire.events import PLAIN_FIELDS
    from driftway.worker.wire.schema.paths import Path

    known: dict[str, Path | None] = {
        key: None if given[option] is None else Path.parse(given[option])
        for key, option in (("label", "label"), ("id", "id_"), ("time", "time"))
    }
    file = obj["open_rows"](name, **given_file_options(given))
    print_notes(file)
    values, headers, partitions = _sample(file, name, rows, given)
    asked = [path for path in known.values() if path is not None]
    found = scan_events(values, given["envelope"], asked, headers, partitions)
    _require_rows(found, name, values)
    as_plain = all(path is None or str(path) == PLAIN_FIELDS[key] for key, path in known.items())
    if 2 * found.plain > found.events and given["envelope"] is None and as_plain:
        click.echo(f"{name}: {render.no_schema(found)}", err=True)
        plain = {"plain": True, "event": {}, "events": render.counts(found)}
        click.echo(write_json(plain).decode() if as_json else f"# {render.no_schema(found)}")
        return
    for path in asked:
        _require_field(found, path, name, may_be_apart=file is None and path == known["label"])
    later = None if found.envelope else later_labels(values, known["label"], known["id"])
    if later is None:
        proposal = propose(found, **known)
    else:
        own = None if headers is None else [headers[i] for i in later.events]
        of = None if partitions is None else [partitions[i] for i in later.events]
        found = scan_events([values[i] for i in later.events], "", asked, own, of)
        proposal = propose_with_later(found, later, known["time"])
    if not proposal.features:
        reasons = ", ".join(f"{path} ({why})" for path, why in list(proposal.left_out.items())[:5])
        lists = [path for path, why in proposal.left_out.items() if why == LIST_OF_NUMBERS]
        advice = f"; name its values by their places, as --feature '{lists[0]}.0'" if lists else ""
        raise Failure(f"no field of {name} can be a feature: {reasons or 'there are no fields'}{advice}")
    rejected = rejections(proposal, values, headers)
    for line in render.in_words(proposal, rejected, name, leaking_fields(proposal, values)):
        click.echo(line, err=True)
    if as_json:
        click.echo(write_json(render.as_object(proposal, rejected)).decode())
    else:
        click.echo(render.as_toml(proposal, rejected, given_file_options(given).get("reading", {})), nl=False)


def _sample(file: Any, name: str, rows: int, given: dict[str, Any]) -> Sample:
    """The first rows of a file, or of a topic."""
    from driftway.worker.admin.schema.topic import Sample, first_records
    from driftway.worker.kafka.client_factory import choose_client

    if file is not None:
        return Sample(list(islice((row for block in file.blocks() for row in block.to_list()), rows)))
    passthrough = parse_properties(given["properties"], given["client_properties"])
    return first_records(given["bootstrap"], passthrough, choose_client(given["client"])[0], name, rows)


def _require_field(found: EventStats, path: Path, name: str, may_be_apart: bool) -> None:
    """Refuse a path at which no event has a value, if a field elsewhere has its last name; else only print a note.

    `may_be_apart` says that it is a label, which may have a topic of its own.
    """
    from driftway.worker.wire.schema.paths import ENVELOPE, ROW

    if path.source not in (ROW, ENVELOPE) or found.absent(found.at(path)) < found.rows:
        return
    text = f"none of the {found.rows:,} events that were read from {name} has the field {path}"
    others = [str(other) for other, seen in found.paths.items() if other.steps[-1] == path.steps[-1] and seen.scalars]
    if others:
        within = f" (fields of the row in the envelope {found.envelope} are named without it)" if found.envelope else ""
        raise UsageFailure(f"{text}{within}: did you mean {' or '.join(others[:MOST_ASKED])}?")
    apart = "; if labels have a topic of their own, give workers --label-topic and --labels" if may_be_apart else ""
    click.echo(f"driftway: {text}; --rows N reads more{apart}", err=True)


def _require_rows(found: EventStats, name: str, values: Sequence[bytes | None]) -> None:
    if not found.events:
        raise Failure(f"there is nothing in {name} yet")
    if found.no_json == found.events:
        present = next((value for value in values if value is not None), None)
        if present is None:
            none = f"none of the {found.events:,} records that were read from {name} has a value"
            raise Failure(f"{none}: all are tombstones; --rows N reads more")
        first = present.decode(errors="replace")
        raise Failure(f"none of the {found.events:,} values in {name} is a JSON object; the first is {first[:60]!r}")
    if not found.rows:
        raise Failure(f"none of the {found.events:,} events in {name} has a row in its envelope {found.envelope}")

"""`driftway replay`: from options to a replay, and from its report to an exit code."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from driftway.producers.cli.replay_options import FOREVER, HOW, TOLD, WHEN, WHERE, WHICH, flag, options
from driftway.producers.cli.replay_report import as_object, closing, progress
from driftway.worker.cli.file_options import given_file_options, print_notes, require_other_file
from driftway.worker.errors import UsageFailure, plural
from driftway.worker.kafka.client_config import parse_properties

if TYPE_CHECKING:
    from driftway.producers.load_profiles import Schedule
    from driftway.producers.replay import Delivery, Replay, Report
    from driftway.producers.sinks.sink import StopRequest
    from driftway.producers.streams import EventFile, Stream

SAME_REPLAY = (
    "stream", "to", "seed", "label", "labels", "limit", "skip", "loop", "shuffle", "partition", "key", "format",
    "named", "poison", "missing_labels", "time_column", "transactional", "inject", "truth", "raw", "drop",
    "label_delay", "label_topic",
)  # fmt: skip
"""Options that must not change when a replay is resumed: they decide which rows arrive where, and as what."""


@click.command()
@click.argument("stream")
@options(WHERE, WHICH, WHEN, HOW, TOLD)
@click.pass_context
def replay(ctx: click.Context, /, stream: str, **given: Any) -> None:
    """Send the rows of a stream to a topic.

    STREAM is a generator (sea, or with options sea:noise=0,rows=1000), a file (CSV with a header, ARFF or Parquet, each
    also gzipped), or the name of a file in the data folder or of a fetched stream of the catalogue. `driftway streams`
    lists them all.

    With --raw the rows of a file are sent as they are, each as a JSON object of its columns, for workers whose
    --feature options name the features. Files of JSON lines (.jsonl, .ndjson, .json) are always sent this way. With
    --labels, labels are written with the class names given there, even if the file spells them differently.

    Row i, counted from 0, gets the id i and goes to partition i mod N, so the same command always produces the same
    partitions. With --key the partition is determined by the murmur2 hash of the key, as in Kafka's Java client.
    Without --rate, --load-profile or --time-column, rows are sent as fast as the client accepts them. The producer is
    idempotent. The exit code is 0 if every row was delivered, 1 if not, and 130 or 143 if the command was interrupted
    (rows that were queued are still delivered).

    \b
    Examples:
      driftway replay sea --to EVENTS --partitions 2 --rate 5000
      driftway replay electricity.csv.gz --rate 1000 --loop
      driftway replay weather.arff --label play --named
      driftway replay shop.csv --label bought --labels no,yes --key customer
      driftway replay shop.csv --raw --key customer
      driftway replay events.jsonl --rate 1000
      driftway replay sea:noise=0,rows=1000000 --format packed --json
      driftway replay sea --load-profile ramp:from=100,to=50000,seconds=60 --latency
      driftway replay trips.csv --time-column start --time-unit s --speed 60
      driftway replay sea --poison 0.01 --missing-labels 0.5 --shuffle --seed 7
      driftway replay electricity --label-delay 48
      driftway replay sea --partitions 2 --label-delay 1000 --label-topic LABELS
      driftway replay loans.csv --label repaid --label-delay column:rows_until_known
      driftway replay sea --transactional-id loader:5000 --resume position.json
      driftway replay sea --dry-run rows.jsonl
      driftway replay sea --inject sudden:at=20000,to=sea:thresholds=5 --inject label_noise:share=0.1 --concept-headers
    """
    from driftway.producers.delayed_labels import DelayColumn, DelayedLabels
    from driftway.producers.event_time import UNITS
    from driftway.producers.messages import Encoding
    from driftway.producers.poison import Poison
    from driftway.producers.replay import Replay
    from driftway.producers.row_random import LabelDropper, Shuffled
    from driftway.producers.selection import Selection
    from driftway.producers.sinks.sink import StopRequest
    from driftway.producers.streams import holds_events, open_events, open_stream
    from driftway.producers.streams.ground_truth import WithGroundTruth

    lines = holds_events(stream, given["data_dir"])
    given["raw"] = given["raw"] or lines
    _check(given)
    _check_delayed(given)
    if given["raw"]:
        _check_raw(ctx, given, lines)
    labels = None if given["labels"] is None else tuple(given["labels"].split(","))
    properties = parse_properties(given["properties"], given["client_properties"])
    late = None
    if given["label_delay"] is not None:
        late = DelayedLabels(given["label_delay"], given["seed"], labels)
    common = {"data_dir": given["data_dir"], "drop": given["drop"], **given_file_options(given)}
    opened: Stream | EventFile
    if given["raw"]:
        opened = open_events(stream, label=given["label"] or "y", labels=labels, **common)
    else:
        asked = {name: given[name] for name in ("seed", "label", "inject")}
        times = {} if given["time_column"] is None else {given["time_column"]: UNITS[given["time_unit"]]}
        opened = open_stream(stream, labels=labels, times=times, **asked, **common)
        opened = WithGroundTruth(opened) if given["truth"] else opened
        opened = DelayColumn(opened, late.column) if late is not None and late.column is not None else opened
        opened = Shuffled(opened, given["seed"]) if given["shuffle"] else opened
    require_other_file(given["dry_run"], [opened.name])
    if not given["quiet"]:
        print_notes(opened)
    encoding = Encoding(given["format"], given["named"], given["key"], labels)
    work = Replay(
        opened,
        given["to"],
        _schedule(given),
        Selection(given["skip"], given["limit"], _laps(given["loop"])),
        encoding,
        _delivery(stream, given),
        LabelDropper(given["missing_labels"], given["seed"]) if given["missing_labels"] else None,
        Poison(given["poison"], given["seed"], opened, encoding) if given["poison"] else None,
        given["truth"],
        StopRequest(),
        late,
    )
    work.on_warning = lambda sentence: click.echo(f"driftway: {sentence}", err=True)
    with _signals(work.stop), progress(work, given["quiet"]) as work.on_progress:
        report = work.run(given["bootstrap"], properties, given["partitions"])
    if not given["quiet"]:
        click.echo(closing(work, report, given["rate"]), err=True)
    elif report.errors:
        click.echo(
            f"driftway: {plural(report.errors, 'delivery failed', 'deliveries failed')}: {report.first_error}", err=True
        )
    if given["json"]:
        click.echo(json.dumps(as_object(work, report, given["rate"])))
    ctx.exit(_exit_code(work, report))


def _check(given: Mapping[str, Any]) -> None:
    """Refuse options that cannot be combined.

    Raises
    ------
    UsageFailure
        Names the options and the reason.
    """
    timing = [flag(name) for name in ("rate", "profile", "time_column") if given[name] is not None]
    if len(timing) > 1:
        raise UsageFailure(f"{timing[0]} and {timing[1]} both set when rows are sent; give one of them")
    if given["speed"] is not None and given["time_column"] is None:
        raise UsageFailure("--speed needs --time-column; without it, use --rate")
    if given["time_column"] is not None:
        if given["loop"] != "1":
            raise UsageFailure("--time-column does not go with --loop: in the second pass all times have passed")
        if given["shuffle"]:
            raise UsageFailure("--time-column does not go with --shuffle: shuffled rows are not in time order")
    if given["latency"] and not timing:
        raise UsageFailure(
            "--latency is measured from when a row was due: give --rate, --load-profile or --time-column"
        )
    if given["dry_run"] is not None:
        for name in ("latency", "transactional", "resume", "partition", "partitions"):
            if given[name] is not None and given[name] is not False:
                raise UsageFailure(f"--dry-run uses no broker: remove {flag(name)}")
        if given["dry_run"] == "-" and given["json"]:
            raise UsageFailure("--dry-run - and --json both write to stdout; give --dry-run a file")


def _check_delayed(given: Mapping[str, Any]) -> None:
    """Refuse options that cannot be combined with delayed labels.

    Raises
    ------
    UsageFailure
        Names the option.
    """
    if given["label_delay"] is None:
        if given["label_topic"] is not None:
            raise UsageFailure("--label-topic needs --label-delay: labels without a delay are sent with their rows")
        return
    if given["label_topic"] == given["to"]:
        raise UsageFailure(
            f"--label-topic {given['to']} is the topic of the rows, where labels go without it: remove it"
        )
    if given["format"] != "json":
        raise UsageFailure("--label-delay needs --format json: packed messages have no ids")
    for name in ("poison", "truth", "time_column", "raw"):
        if given[name]:
            raise UsageFailure(f"--label-delay does not go with {flag(name)}")
    if given["label_delay"].startswith("column:") and given["inject"]:
        raise UsageFailure("--label-delay column:NAME does not go with --inject, which would change that column, too")


def _check_raw(ctx: click.Context, given: Mapping[str, Any], lines: bool) -> None:
    """Refuse options that would change events sent with --raw; `lines`: they are JSON lines, sent unchanged.

    Raises
    ------
    UsageFailure
        Names the option.
    """
    if given["format"] != "json":
        raise UsageFailure("--format packed is for rows of numbers; --raw sends rows as JSON")
    for name in ("inject", "truth", "shuffle", "named", "missing_labels", "time_column"):
        if given[name]:
            how = "JSON lines are sent" if lines else "--raw sends them"
            raise UsageFailure(f"{flag(name)} changes rows, but {how} as they are: remove it")
    for name in ("label", "labels") if lines else ():
        # A file of defaults may say it for the worker.
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UsageFailure(
                f"--{name} is for files with columns; JSON lines are sent as they are: give it to the worker"
            )


def _schedule(given: Mapping[str, Any]) -> Schedule | None:
    from driftway.producers.event_time import EventTime
    from driftway.producers.load_profiles import Constant, parse_profile

    if given["rate"] is not None:
        return Constant(given["rate"])
    if given["profile"] is not None:
        return parse_profile(given["profile"])
    if given["time_column"] is None:
        return None
    return EventTime(given["time_column"], given["speed"] or 1.0, given["time_unit"])


def _delivery(stream: str, given: Mapping[str, Any]) -> Delivery:
    from driftway.producers.replay import Delivery
    from driftway.producers.replay_position import ReplayPosition
    from driftway.producers.sinks.latency import Latencies
    from driftway.producers.sinks.transactions import TransactionOption
    from driftway.worker.kafka.client_factory import choose_client

    everything = {"stream": stream, **given}
    facts = {name: everything[name] for name in SAME_REPLAY}
    facts |= {name: facts[name] or None for name in ("raw", "drop")}  # position files of older versions lack them
    facts |= {"label": facts["label"] or "y", **given_file_options(given)}
    return Delivery(
        given["partition"],
        None if given["transactional"] is None else TransactionOption.parse(given["transactional"]),
        None if given["resume"] is None else ReplayPosition(given["resume"], facts),
        Latencies() if given["latency"] else None,
        given["dry_run"],
        choose_client(given["client"])[0],
        given["label_topic"],
    )


def _laps(text: str) -> int | None:
    if text == FOREVER:
        return None
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise UsageFailure(f"--loop takes a whole number of at least 1 or nothing, got {text!r}")


def _exit_code(work: Replay, report: Report) -> int:
    if work.stop.signal is not None:
        return 128 + work.stop.signal
    return 1 if report.errors else 0


@contextlib.contextmanager
def _signals(stop: StopRequest) -> Iterator[None]:
    """Let SIGINT and SIGTERM request a stop instead of killing the producer with rows in its queue."""
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

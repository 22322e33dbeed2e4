"""`driftway worker`: run a worker."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from driftway import __version__
from driftway.worker.cli.event_options import schema_options
from driftway.worker.cli.model_options import event_options, given_model, target_options
from driftway.worker.cli.option_groups import GroupedCommand
from driftway.worker.cli.options import client_options, late_label_options, outputs_option
from driftway.worker.cli.serve_options import open_endpoint, serve_options
from driftway.worker.cli.start_options import START_OFFSETS, start_offset, warm_options
from driftway.worker.kafka.client_config import AUTO, CLIENTS, PYTHON, parse_properties
from driftway.worker.settings import (
    AT_LEAST_ONCE,
    EARLIEST,
    EXACTLY_ONCE,
    FAIL,
    GUARANTEES,
    NEWEST,
    OFFSET_POLICIES,
    PLANS,
    RELEARN_SHARE,
    RESTORE_FAILURE_POLICIES,
    WorkerSettings,
)
from driftway.worker.settings.option_values import NEVER, WHEN_BETTER, PromoteOption
from driftway.worker.wire.rejections import PLAIN, REJECTED_HEADERS, RejectionLimit
from driftway.worker.wire.schema.unknown_fields import IGNORE, UNKNOWN_FIELDS

if TYPE_CHECKING:
    from driftway.worker.stream.observability.event_log import EventLog
    from driftway.worker.stream.worker import Worker


@click.command(cls=GroupedCommand)
@click.option("--input", "input_", required=True, metavar="TOPIC", help="Topic of events.")
@click.option("--group", required=True, help="Consumer group. The state of the learners belongs to it.")
@target_options
@event_options
@schema_options()
@late_label_options
@warm_options
@outputs_option
@client_options
@click.option(
    "--commit-interval",
    type=click.FloatRange(0, min_open=True),
    default=0.1,
    show_default=True,
    metavar="SECONDS",
    help="Time between two commits. A read_committed consumer sees predictions with this delay. While a backlog of "
    "more than a second is read, commits wait for more rows, for a second at most.",
)
@click.option(
    "--snapshot-interval",
    type=click.FloatRange(0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two snapshots of the state on a slow stream; up to ten times as long if the state is larger "
    "than 2 MB. A clean shutdown also writes a snapshot.",
)
@click.option(
    "--snapshot-rows",
    type=click.IntRange(1),
    default=50_000,
    show_default=True,
    help="Take a snapshot after this many rows, even if the interval is not over; or after the rows that took 0.25 s "
    "to learn, if these are fewer. This limits the number of rows that a restore relearns. For states larger than "
    "2 MB, both limits grow in proportion.",
)
@click.option(
    "--guarantee",
    type=click.Choice(GUARANTEES),
    default=EXACTLY_ONCE,
    show_default=True,
    help=f"{AT_LEAST_ONCE} is for brokers without transactions.",
)
@click.option(
    "--start",
    metavar=START_OFFSETS,
    callback=start_offset,
    default=EARLIEST,
    show_default=True,
    help="Where a new group begins. OFFSET: at this offset in every partition, for example after the rows that a model "
    "was trained on.",
)
@click.option(
    "--on-restore-failure",
    type=click.Choice(RESTORE_FAILURE_POLICIES),
    default=FAIL,
    show_default=True,
    help="What to do if the state cannot be restored bit for bit. Causes: the snapshot belongs to another learner; it "
    "is damaged and no older one can be used; the log no longer has the same records (compaction); or the offset was "
    "reset by hand. replay relearns the log without writing outputs; reset starts with an empty learner.",
)
@click.option(
    "--on-offset-out-of-range",
    type=click.Choice(OFFSET_POLICIES),
    default=FAIL,
    show_default=True,
    help="What to do if a needed offset is not in the log: retention has deleted it, or it is beyond the end of the "
    "log. With earliest or latest the learner keeps what it has learned and continues there. If the topic was deleted "
    "and recreated, only earliest continues; it predicts the whole new topic.",
)
@click.option(
    "--plan",
    type=click.Choice(PLANS),
    default=NEWEST,
    show_default=True,
    help="Which one applies if --learner, --detector, --metric-window, --accuracy-every or --coverage differ from the "
    "group's newest plan of models (`driftway models`). newest: the plan. from-options: the options; they become the "
    "next plan.",
)
@click.option(
    "--max-rejected",
    metavar="SHARE[/WINDOW]",
    help="Commit and exit with code 1 if more than SHARE of the last WINDOW events (default 1000) of a partition were "
    "rejected, counted since this start. 0.1: more than 100 of 1000.  [default: never]",
)
@click.option(
    "--rejected-headers",
    type=click.Choice(REJECTED_HEADERS),
    default=PLAIN,
    show_default=True,
    help="Headers of rejections. kafka-streams: also add the headers of the Kafka Streams dead letter queue, "
    "__streams.errors.*.",
)
@click.option(
    "--unknown-fields",
    type=click.Choice(UNKNOWN_FIELDS),
    default=IGNORE,
    show_default=True,
    help="count: report in the log and in /metrics which fields are not read, and how many events contain each of "
    "them. Every event is then parsed a second time, by orjson, which takes 2 to 5 us.",
)
@click.option(
    "--relearn-cpu-share",
    "relearn_share",
    type=click.FloatRange(0, 1, min_open=True),
    default=RELEARN_SHARE,
    show_default=True,
    metavar="SHARE",
    help="Share of a processor that challengers added with `driftway models add --relearned` may use while they learn "
    "the log.",
)
@click.option(
    "--promote",
    default=NEVER,
    show_default=True,
    metavar=f"{NEVER}|{WHEN_BETTER}[=ALPHA,MIN-ROWS,COOL-DOWN]",
    help=f"{WHEN_BETTER}: make a challenger the champion as soon as the statistical test says that it is better than "
    f"the champion. With probability 1 - ALPHA ({1 - PromoteOption.alpha}) or more, no such decision is ever wrong. A "
    f"promotion needs at least MIN-ROWS ({PromoteOption.min_rows}) rows under the current plan of models, and "
    f"COOL-DOWN ({PromoteOption.cool_down}) rows since the champion last changed. Give this option to all workers of "
    "the group: the owner of partition 0 decides, and writes the next plan as `driftway models promote` does.",
)
@click.option(
    "--unavailable-timeout",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the worker goes on if Kafka does not answer, or if the commits and restores of a partition keep "
    "failing. Then it exits: with code 5 if no broker answers, with code 1 if the broker refuses. At startup it waits "
    "7 s.",
)
@click.option(
    "--transactional-id-prefix",
    default="",
    metavar="PREFIX",
    help="Prefix of the transactional ids, which are PREFIX followed by GROUP/TOPIC/PARTITION. Give the same prefix at "
    "every start.",
)
@click.option(
    "--client",
    type=click.Choice(CLIENTS),
    default=AUTO,
    show_default=True,
    help="Kafka client. native calls the C library (librdkafka) directly instead of the Python client: nearly twice "
    "the throughput at half the CPU time, with identical outputs. auto uses native where possible.",
)
@click.option(
    "--stop-at-end",
    is_flag=True,
    help="Exit with code 0 when all records have been read. If producers write without a pause: soon after all records "
    "that were there at the start.",
)
@serve_options
@click.option(
    "--log-format", type=click.Choice(("text", "json")), default="text", show_default=True, help="Format of the log."
)
@click.pass_obj
def worker(obj: dict[str, Any], /, input_: str, group: str, **given: Any) -> None:
    """Predict every event of a topic before its label is used, learn from it, and commit exactly once.

    Each partition has its own learner. Predictions go to TOPIC.GROUP.predictions, rolling accuracy to
    TOPIC.GROUP.accuracy, events and labels that cannot be used to TOPIC.GROUP.rejected, with the reason, and state to
    TOPIC.GROUP.snapshots. With --detector, drift alarms go to TOPIC.GROUP.alarms; with --emit all, the challengers'
    predictions go to TOPIC.GROUP.challengers. These topics belong to the group and are created if they are missing.
    With --warm-start the champion starts from the state of a trained model; give the file at every start of the group.
    If all of the first events of a new group are rejected, the worker exits with code 1 and commits nothing. On
    SIGTERM, or when its terminal closes (SIGHUP), the worker finishes its work, commits, leaves the group and exits
    with code 0. On a second signal it exits at once with code 143 (130 after Ctrl-C); records that were not committed
    are processed again.

    \b
    Examples:
      driftway worker --input EVENTS --group sea
      driftway worker --input EVENTS --group sea --learner dfop:mu=0.001 --learner arow
      driftway worker --input EVENTS --group sea --learner dfop:mu=0.0005 --share-models average:rows=100
      driftway worker --input TRADES --group t --labels DOWN,UP --http-port 8000
      driftway worker --input LOADS --group l --task regression -X group.protocol=consumer
      driftway worker --input EVENTS --group sea --learner pa1 --learner arow --promote when-better=0.05,500,5000
      driftway worker --input EVENTS --group sea --max-rejected 0.1/1000
      driftway worker --input EVENTS --group sea --learner arow --learner dfop --plan from-options
      driftway worker --input EVENTS --group sea --learner arow --learner dfop --emit all
      driftway worker --input LOADS --group l --task regression --coverage 0.9
      driftway worker --input EVENTS --group e --warm-start electricity.driftway --start 20000
      driftway worker --input EVENTS --group e --warm-start electricity.driftway --frozen --learner dfop
    """
    import faulthandler

    stop = StopSignals()  # before what takes long to import

    from driftway.worker.stream.observability.event_log import JSON, EventLog
    from driftway.worker.stream.observability.uncaught import logged_as_events

    with contextlib.suppress(ValueError, OSError, AttributeError):  # standard error may be closed, or not a file
        faulthandler.enable()  # all threads' stacks on SIGABRT, which ends a stuck service
    event_log = EventLog(given["log_format"])
    if event_log.form == JSON:
        obj["say_end"] = lambda sentence, code: event_log.error("failed", error=sentence, exit_code=code)
    for sentence in obj.pop("renamed", ()):
        event_log.warning("renamed option", note=sentence)
    with logged_as_events(event_log):  # before kernels are loaded, which may log warnings
        _work(obj, {"input": input_, "group": group, **given}, event_log, stop)


def _work(obj: dict[str, Any], given: dict[str, Any], event_log: EventLog, stop: StopSignals) -> None:
    from driftway.worker.stream.observability.event_log import JSON
    from driftway.worker.stream.observability.metrics import WorkerMetrics
    from driftway.worker.stream.observability.settings_in_force import settings_in_force
    from driftway.worker.stream.startup import with_output_schema
    from driftway.worker.stream.warm_up import KernelPreparation
    from driftway.worker.stream.worker import Worker as Loop

    settings, why = given_settings(given)
    model, given["client"] = settings.model, settings.client
    if event_log.form == JSON:  # a line of text has no room for them
        _log_start(event_log, settings_in_force(given, settings.passthrough))
    if why is not None:
        event_log.event("python client", note=why)
    if model.warm is not None:
        event_log.event("warm start", file=model.warm.name, digest=model.warm.digest, frozen=model.frozen)
    settings = with_output_schema(settings, event_log)
    metrics = WorkerMetrics(settings.group, settings.input, settings.client)
    # Before the endpoint's thread: kernels are compiled in forks of this process, if it has no other thread.
    kernels = KernelPreparation(settings.model, settings.client, event_log)
    running = stop.running = Loop(settings, event_log, metrics, obj.get("probe"))
    endpoint = open_endpoint(given, running, obj["page_routes"])
    if endpoint is not None:
        endpoint.start()
        event_log.event("listening", host=given["http_host"], port=endpoint.port)
    try:
        running.run(kernels)
    finally:
        running.reporter.tracing.end()
        if endpoint is not None:
            endpoint.stop()


def _log_start(event_log: EventLog, in_force: dict[str, Any]) -> None:
    """Log the settings under their options' names."""
    parameters = click.get_current_context().command.params
    options = {str(one.name): max(one.opts, key=len).lstrip("-") for one in parameters} | {"input": "input"}
    event_log.event("starting", version=__version__, settings={options[name]: in_force[name] for name in in_force})


def given_settings(given: dict[str, Any]) -> tuple[WorkerSettings, str | None]:
    """Return the settings that a worker's options give, and why the Python client is used, if it was not asked for.

    Raises
    ------
    UsageFailure, Failure
        As `given_model`; or an option is not valid, or does not go with another.
    """
    from driftway.worker.kafka.client_factory import choose_client, require_printable
    from driftway.worker.state.factory import allocating

    limit = given["max_rejected"]
    with allocating(", ".join(given["learner"]), given["features"] or 1):
        model = given_model(given, max_rejected=None if limit is None else RejectionLimit.parse(limit))
    names = (
        "guarantee", "commit_interval", "snapshot_interval", "snapshot_rows", "start", "on_restore_failure",
        "on_offset_out_of_range", "stop_at_end", "unavailable_timeout", "transactional_id_prefix", "outputs",
        "label_topic", "rejected_headers", "unknown_fields", "relearn_share", "plan",
    )  # fmt: skip
    client, why = choose_client(given["client"])
    if client == PYTHON and given["guarantee"] == EXACTLY_ONCE:
        require_printable(given["group"], "give --client native, or another group")
    passthrough = parse_properties(given["properties"], given["client_properties"])
    settings = WorkerSettings(
        given["bootstrap"], given["input"], given["group"], model, **{name: given[name] for name in names},
        client=client, passthrough=passthrough, promote=PromoteOption.parse(given["promote"]),
    )  # fmt: skip
    return settings, why


class StopSignals:
    """First signal: finish, commit, leave, or end a start. Second: leave at once; the next owner aborts the rest."""

    def __init__(self) -> None:
        self.running: Worker | None = None
        """The loop; None before there is one."""
        self._received = False
        hangup = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)  # as under nohup
        for name in (signal.SIGTERM, signal.SIGINT, *hangup):
            signal.signal(name, self._receive)

    def _receive(self, number: int, _frame: object) -> None:
        if self._received:
            os._exit(128 + number)
        self._received = True
        if self.running is None:
            sys.exit(0)
        self.running.stop()

"""`driftway bench`: throughput and latency of the worker and of copiers, in one run."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from driftway.workbench.bench.cases import MAPPED, NAMED
from driftway.worker.cli.console import wide_console
from driftway.worker.cli.model_options import make_model_settings, make_target
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import AUTO, CLIENTS, parse_properties
from driftway.worker.settings import GUARANTEES
from driftway.worker.wire.codec import FORMATS
from driftway.worker.wire.events import CLASSIFICATION

REBALANCE_DELAY = {"group.initial.rebalance.delay.ms": "3000"}
"""As on a production broker: with several processes, all must have joined before partitions are assigned."""


def _several(kind: click.ParamType[Any]) -> Callable[[click.Context, click.Parameter, str], tuple[Any, ...]]:
    """Return a callback that reads a comma-separated list, each piece as `kind`."""

    def read(ctx: click.Context, param: click.Parameter, text: str) -> tuple[Any, ...]:
        return tuple(kind.convert(piece.strip(), param, ctx) for piece in str(text).split(","))

    return read


def _learners(_ctx: click.Context, _param: click.Parameter, text: str) -> tuple[str, ...]:
    """Read a comma-separated list of learners; a piece that begins with ``name=`` belongs to the one before it."""
    found: list[str] = []
    for piece in text.split(","):
        if found and re.match(r"\w+=", piece):
            found[-1] += f",{piece}"
        else:
            found.append(piece.strip())
    return tuple(found)


@click.command()
@click.option(
    "--learner",
    default="dfop",
    show_default=True,
    metavar="LEARNER[,..]",
    callback=_learners,
    help="Learner of the worker.",
)
@click.option("--features", default="8", show_default=True, metavar="D[,..]", callback=_several(click.IntRange(1)),
              help="Features per event.")  # fmt: skip
@click.option("--partitions", default="2", show_default=True, metavar="N[,..]", callback=_several(click.IntRange(1)),
              help="Partitions of the input.")  # fmt: skip
@click.option("--workers", default="1", show_default=True, metavar="N[,..]", callback=_several(click.IntRange(1)),
              help="Number of processes of each program.")  # fmt: skip
@click.option("--format", "form", default="json", show_default=True, metavar="FORMAT[,..]",
              callback=_several(click.Choice((*FORMATS, NAMED, MAPPED))),
              help="Format of the input: json, packed, named (json with feature names), or mapped (features are "
              "fields, read with a schema).")  # fmt: skip
@click.option("--output-format", "output_form", default="json", show_default=True, metavar="FORMAT[,..]",
              callback=_several(click.Choice(FORMATS)), help="Format of the predictions.")  # fmt: skip
@click.option("--digits", default="6", show_default=True, metavar="N[,..]", callback=_several(click.IntRange(1, 17)),
              help="Decimals of the features. 17: doubles that are not rounded, of 16 or 17 digits each.")  # fmt: skip
@click.option("--commit-interval", default="0.1", show_default=True, metavar="SECONDS[,..]",
              callback=_several(click.FloatRange(0, min_open=True)),
              help="Commit interval of each program.")  # fmt: skip
@click.option("--guarantee", default=GUARANTEES[0], show_default=True, metavar="GUARANTEE[,..]",
              callback=_several(click.Choice(GUARANTEES)), help=" or ".join(GUARANTEES) + ".")  # fmt: skip
@click.option("--messages", default="1000000", show_default=True, metavar="N[,..]",
              callback=_several(click.IntRange(1000)), help="Messages in the input.")  # fmt: skip
@click.option("--metric-window", "window", default="1000", show_default=True, metavar="N[,..]",
              callback=_several(click.IntRange(1)),
              help="Size of the worker's rolling window, in rows; each row takes one bit of state.")  # fmt: skip
@click.option("--client", default=AUTO, show_default=True, metavar="CLIENT[,..]",
              callback=_several(click.Choice(CLIENTS)),
              help="Client of the worker: " + ", ".join(CLIENTS) + ".")  # fmt: skip
@click.option(
    "--repetitions",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Number of rounds of throughput runs. 0: none.",
)
@click.option(
    "--latency-repetitions", type=click.IntRange(1), default=3, show_default=True, help="Number of latency runs."
)
@click.option(
    "--latency-seconds", type=click.FloatRange(0.1), default=20.0, show_default=True, help="Length of a latency run."
)
@click.option(
    "--rate",
    type=click.FloatRange(1),
    default=5000.0,
    show_default=True,
    help="Messages per second of the load in latency runs.",
)
@click.option("--no-latency", is_flag=True, help="Measure throughput only.")
@click.option("--no-limit", is_flag=True, help="Do not measure the limit (copying with the C library).")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with settings, runs, medians and ratios.")
@click.option("--out", metavar="FILE", help="File for the picture: .png or .svg.")
@click.option(
    "--bootstrap",
    metavar="HOST:PORT[,..]",
    help="Bootstrap address of the Kafka cluster.  [default: a local Kafka is started]",
)
@click.option("--broker", type=click.Choice(("local", "docker")), default="local", show_default=True,
              help="How to start Kafka if there is no --bootstrap.")  # fmt: skip
@click.option("-X", "properties", multiple=True, metavar="KEY=VALUE", envvar="DRIFTWAY_X",
              help="Any client property, for all programs; repeatable.")  # fmt: skip
@click.option("--client-properties", metavar="FILE", help="File with client properties, one key=value per line.")
def bench(**given: Any) -> None:
    """Compare the worker with programs that only copy messages, in alternating order, on a real Kafka.

    The pass-through is the bare Python client: it consumes in batches and produces the same bytes in batches, with the
    worker's client settings, guarantee and commit interval. The limit does the same with the C library under that
    client, without any Python code per message; nothing is faster. Both keep to the interval; with many partitions the
    worker's commits wait for more rows, for a second at most. For all of them the report has medians, spread and ratios
    of throughput (messages/s from the first output to the last, by the broker's clock), of CPU seconds of the process
    per million messages, without its startup, and of peak RSS. For the worker and the pass-through it also has
    the latency under a constant load: from the intended send time of a message until a read_committed consumer has its
    output. Options with [,..] take a list; every combination is measured.

    \b
    Examples:
      driftway bench
      driftway bench --features 2,8,100 --no-latency --out features.png
      driftway bench --format json,packed --output-format json,packed --messages 5000000 --json > bench.json
      driftway bench --guarantee exactly-once,at-least-once --no-latency
      driftway bench --client python,native --format json,named --no-latency
    """
    from driftway.workbench.bench.benchmark import Benchmark
    from driftway.workbench.bench.cases import LATENCY_SIDES, Repetitions, expand
    from driftway.workbench.broker import provide
    from driftway.worker.plots.plotting import check_output

    effort = Repetitions(
        given["repetitions"],
        0 if given["no_latency"] else given["latency_repetitions"],
        given["latency_seconds"],
        given["rate"],
        parse_properties(given["properties"], given["client_properties"]),
    )
    if not effort.repetitions and not effort.latency_repetitions:
        raise UsageFailure("--repetitions 0 with --no-latency leaves nothing to measure")
    fields = ("learner", "features", "partitions", "workers", "form", "output_form", "commit_interval", "guarantee",
              "messages", "digits", "window", "client")  # fmt: skip
    cases = list(expand({name: given[name] for name in fields}))
    for case in cases:
        make_model_settings((case.learner,), make_target(CLASSIFICATION, None, None), n_features=case.features)
    if given["out"] is not None:
        check_output(given["out"])
    if given["no_limit"] or not effort.repetitions or not _limit_can_be_measured():
        effort = replace(effort, sides=LATENCY_SIDES)
    signal.signal(signal.SIGTERM, _leave)
    results: list[Any] = []
    try:
        with (
            _kafka(given, provide, any(case.workers > 1 for case in cases)) as bootstrap,
            Benchmark(bootstrap, effort, _say) as benchmark,
        ):
            for number, case in enumerate(cases, 1):
                _say((f"case {number}/{len(cases)}: " if len(cases) > 1 else "") + case.named())
                results.append(benchmark.run(case))
    finally:  # a sweep that fails or is interrupted still shows the completed cases
        if results:
            _conclude(results, given["as_json"], given["out"])


def _limit_can_be_measured() -> bool:
    """Whether the C library can be used here; if not, print why."""
    from driftway.worker.kafka.librdkafka.abi_check import checked_library
    from driftway.worker.kafka.librdkafka.library import Unsupported

    try:
        checked_library()
    except Unsupported as why:
        _say(f"the limit is not measured: {why}")
        return False
    return True


def _kafka(given: dict[str, Any], provide: Any, several: bool) -> Any:
    """Return the cluster to use, as a context manager."""
    from contextlib import nullcontext

    from driftway.worker.kafka.client_config import require_broker

    if given["bootstrap"]:
        require_broker(given["bootstrap"], parse_properties(given["properties"], given["client_properties"]))
        return nullcontext(given["bootstrap"])
    _say("starting a local Kafka")
    return provide(given["broker"], properties=REBALANCE_DELAY if several else None, steady=True)


def _conclude(results: list[Any], as_json: bool, out: str | None) -> None:
    """Print the tables and the JSON object, and draw the picture."""
    from driftway.workbench.bench.picture import draw_bench
    from driftway.workbench.bench.report import closing, summary, table
    from driftway.worker.wire.codec import write_json

    console = wide_console(stderr=as_json)
    for result in results:
        console.print(table(result))
        console.print(closing(result), soft_wrap=True)
    if len(results) > 1:
        console.print(summary(results))
    if out is not None:
        draw_bench(results, out)
        console.print(f"Picture: {out}", soft_wrap=True)
    if as_json:
        objects = [result.as_object() for result in results]
        click.echo(write_json(objects[0] if len(objects) == 1 else {"cases": objects}).decode())


def _say(text: str) -> None:
    click.echo(text, err=True)


def _leave(number: int, _frame: object) -> None:
    """Unwind on SIGTERM as on Ctrl-C: processes ended, topics removed, Kafka stopped."""
    raise SystemExit(128 + number)

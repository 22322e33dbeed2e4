"""`driftway demo`: from Kafka to a picture, on one machine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.console import wide_console
from driftway.worker.cli.model_options import make_model_settings, make_target
from driftway.worker.cli.options import was_given
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.wire.events import CLASSIFICATION, REGRESSION

if TYPE_CHECKING:
    from driftway.workbench.demo.demo import DemoPlan, DemoResult

LEARNERS = ("auto", "dfop:mu=0.001")
SHOWN_SECONDS = 20
"""Default length of the replay: long enough to watch, short enough to wait for."""
RATES = (200, 20_000)
UNKNOWN_RATE = 2_500
"""Rows per second for a file of unknown length."""


@click.command()
@click.option("--stream", default="sea", show_default=True, help="Generator or file to replay.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of a generator.")
@click.option(
    "--rows", type=click.IntRange(1), help="Number of rows of a generator. Its concepts are stretched to fit."
)
@click.option("--limit", type=click.IntRange(1), help="Replay at most this many rows.")
@click.option(
    "--label", metavar="NAME", help="Label column of a file.  [y; of an ARFF file the last one, if it is nominal]"
)
@click.option("--labels", metavar="A,B,..", help="Class names in index order, for a label column with text.")
@click.option("--classes", type=click.IntRange(2), help="Number of classes.  [default: 2]")
@click.option(
    "--task", type=click.Choice((CLASSIFICATION, REGRESSION)), help="Task of the learners.  [default: the stream's]"
)
@click.option(
    "--learner",
    multiple=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Learner and its parameters; repeatable (the first is the champion).  "
    f"[default: {' and '.join(LEARNERS)}; auto and rls in regression]",
)
@click.option("--partitions", type=click.IntRange(1), default=2, show_default=True, help="Partitions of the input.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Number of workers in the group.")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    help=f"Rows per second.  [default: all within {SHOWN_SECONDS} s]",
)
@click.option(
    "--out",
    default="./driftway-demo.png",
    show_default=True,
    metavar="FILE",
    help="File for the picture: .png or .svg.",
)
@click.option(
    "--broker",
    type=click.Choice(("local", "docker")),
    default="local",
    show_default=True,
    help="How to start Kafka. Set DRIFTWAY_BOOTSTRAP to use a running Kafka instead.",
)
@click.pass_context
def demo(ctx: click.Context, /, **given: Any) -> None:
    """Run the whole pipeline on one machine: Kafka, topics, replay, workers, live table, summary, a picture.

    The command starts a real local Kafka (the first start downloads 45 MB), replays a stream with concept drift, and
    predicts every row before it learns from it. Watch how the accuracy in the window falls at each drift and recovers.
    At the end the command counts the predictions; the exit code is 0 only if every row was predicted exactly once.
    Everything that it started is stopped, however it ends.

    \b
    Examples:
      driftway demo
      driftway demo --workers 2 --partitions 4
      driftway demo --stream electricity.csv.gz --learner dfop:mu=0.01
      driftway demo --learner pa1 --learner arow --out sea.svg
    """
    plan = _make_plan(ctx.obj["open_stream"], given)
    drawable = _check_picture(given["out"])
    with _signals() as ended:
        result = _run(plan, given["broker"])
        _conclude(plan, result, given["out"] if drawable else None)
        if not result.exact:
            raise Failure("not every row was predicted exactly once")
    if ended:
        click.echo("driftway: interrupted; everything is stopped", err=True)
        ctx.exit(128 + ended[0])


def _make_plan(open_stream: Callable[..., Any], given: dict[str, Any]) -> DemoPlan:
    """Check the options before anything is started."""
    from driftway.workbench.demo.demo import DemoPlan

    names = tuple(given["labels"].split(",")) if given["labels"] else None
    asked = {"seed": given["seed"], "label": given["label"], "labels": names}
    spec, limit = given["stream"], given["limit"]
    stream = open_stream(spec, **asked)
    if given["rows"] is not None:
        spec, limit = _with_rows(open_stream, spec, given, asked)
        stream = open_stream(spec, **asked)
    task = given["task"] or stream.task or CLASSIFICATION
    classes = given["classes"] if stream.labels is None or task == REGRESSION else len(stream.labels)
    learners = given["learner"] or (LEARNERS if task == CLASSIFICATION else ("auto", "rls"))
    make_model_settings(tuple(learners), make_target(task, classes, None))
    known = [n for n in (stream.rows, limit) if n is not None]
    total = min(known, default=None)  # a file may be shorter than its limit: the replay finds out
    rate = given["rate"] or (UNKNOWN_RATE if not known else min(max(min(known) / SHOWN_SECONDS, RATES[0]), RATES[1]))
    replay: tuple[Any, ...] = (
        spec,
        "--seed",
        given["seed"],
        "--partitions",
        given["partitions"],
    )
    replay += ("--label", given["label"]) if given["label"] else ()
    replay += ("--rate", rate, "--format", "json")
    replay += ("--labels", given["labels"]) if names else ()
    replay += ("--limit", limit) if limit is not None else ()
    worker: tuple[Any, ...] = ("--task", task, *(word for learner in learners for word in ("--learner", learner)))
    worker += ("--classes", classes) if classes is not None else ()
    return DemoPlan(
        os.path.basename(stream.name),
        total,
        tuple(drift for drift in stream.drift_points if limit is None or drift < limit),
        given["partitions"],
        given["workers"],
        tuple(map(str, replay)),
        tuple(map(str, worker)),
    )


def _with_rows(
    open_stream: Callable[..., Any], spec: str, given: dict[str, Any], asked: dict[str, Any]
) -> tuple[str, int | None]:
    """Return how to pass --rows to replay: as an option of a generator, or as a limit on a file."""
    longer = f"{spec}{',' if ':' in spec else ':'}rows={given['rows']}"
    try:
        open_stream(longer, **asked)
    except UsageFailure:
        return spec, min(given["rows"], given["limit"] or given["rows"])
    return longer, given["limit"]


def _check_picture(path: str) -> bool:
    """Whether a picture can be drawn; without matplotlib it is an error only if --out was given."""
    from driftway.worker.plots.plotting import check_output

    try:
        check_output(path)
    except UsageFailure:
        raise
    except Failure as failure:
        if was_given("out"):
            raise
        click.echo(f"no picture: {failure}", err=True)
        return False
    return True


def _run(plan: DemoPlan, broker: Any) -> DemoResult:
    from driftway.workbench.broker import provide
    from driftway.workbench.demo.demo import Demo
    from driftway.workbench.demo.view import live_view

    def say(text: str) -> None:
        click.echo(text, err=True)

    existing = os.environ.get("DRIFTWAY_BOOTSTRAP")
    say(f"using Kafka at {existing}" if existing else "starting a local Kafka")
    with (
        provide(broker) as bootstrap,
        live_view(plan, say) as show,
        Demo(bootstrap, plan, say, show) as demonstration,
    ):
        try:
            return demonstration.run()
        finally:
            if existing:
                with contextlib.suppress(Failure, TimeoutError):
                    demonstration.clear_up()


def _conclude(plan: DemoPlan, result: DemoResult, out: str | None) -> None:
    """Print the summary and draw the picture."""
    from driftway.workbench.demo.view import summary
    from driftway.worker.plots.plotting import Picture, draw

    console = wide_console()
    for part in summary(result):
        console.print(part, soft_wrap=isinstance(part, str))
    if out is not None and result.curves.learners:
        draw(result.curves, Picture(plan.name, None, plan.drifts, float(plan.partitions)), out)
        console.print(f"Rolling window over rows, drifts marked: {out}", soft_wrap=True)


class _DemoInterrupted(BaseException):
    """Raised by a signal handler; a BaseException, so that error handlers do not catch it."""


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """Interrupt the block on the first SIGINT or SIGTERM, but not its clean-up. Yields the list of caught signals."""
    caught: list[int] = []

    def end(number: int, _frame: object) -> None:
        if not caught:
            caught.append(number)
            raise _DemoInterrupted

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with contextlib.suppress(_DemoInterrupted):
            yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""`driftway evaluate`: learners on streams, without Kafka."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any

import click

from worker.cli.learning import make_model_settings, make_target, target_options
from worker.errors import UsageFailure

COLUMNS = {
    "accuracy": "accuracy",
    "window_accuracy": "window",
    "kappa": "kappa",
    "kappa_temporal": "kappa-temporal",
    "no_change_accuracy": "no-change",
    "majority_accuracy": "majority",
    "mse": "mse",
    "mae": "mae",
    "r2": "r2",
    "regret": "regret",
    "regret_per_row": "a row",
    "switching_regret": "switching",
}
"""Metric -> heading of the table."""


@click.command()
@click.argument("streams", nargs=-1, required=True, metavar="STREAM...")
@target_options
@click.option("--protocol", type=click.Choice(("prequential",)), default="prequential", show_default=True, help="How.")
@click.option("--label", default="y", show_default=True, help="Label column of a file.")
@click.option("--limit", type=click.IntRange(1), help="Take the first rows only.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of a generator.")
@click.option("--partitions", type=click.IntRange(1), default=1, show_default=True, help="Learn as that many would.")
@click.option("--data-dir", envvar="DRIFTWAY_DATA", metavar="DIR", help="Where streams are looked up by name.")
@click.option(
    "--regret",
    is_flag=False,
    flag_value="auto",
    metavar="[LOSS:k=..,window=..,ball=..]",
    help="Loss above that of the best linear model in hindsight, and of the best that switches at most k times.",
)
@click.option("--scores", metavar="FILE", help="Write every row's score as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="A list of objects on standard output.")
@click.pass_obj
def evaluate(obj: dict[str, Any], /, streams: tuple[str, ...], **given: Any) -> None:
    """Predict each row of each STREAM, then learn from it, with the worker's own kernels.

    STREAM is a generator (see `driftway streams`) or a file: CSV, ARFF or Parquet, also gzipped.
    With --partitions N row i belongs to partition i mod N, as `driftway replay` deals them, and every
    partition has a learner of its own.

    --regret adds what the scores lost (hinge, logistic or square) above linear models fitted to all rows afterwards:
    one model, and the best sequence of models that switches at most k times (3), every `window` rows (a twentieth) or
    at known drift points; `ball` bounds their weights. They see the learner's rows and a constant.

    \b
    Examples:
      driftway evaluate sea --learner dfop:mu=0.001 --learner arow
      driftway evaluate sea --learner ogd_logistic --regret logistic:k=3,ball=20
      driftway evaluate electricity.csv.gz --learner dfop:mu=0.01 --scores scores.jsonl
      driftway evaluate sea --map polynomial:degree=2 --learner arow
      driftway evaluate a.csv b.parquet --task regression --learner rls --json
    """
    from worker.codec import write_json

    results: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(_open_scores(given["scores"])) if given["scores"] else None
        for name in streams:
            results += _evaluate_one(obj, name, out, len(streams) > 1, given)
    if given["as_json"]:
        click.echo(write_json(results))
    else:
        _show(results)


def _open_scores(path: str) -> IO[bytes]:
    try:
        return open(path, "wb")
    except OSError as error:
        raise UsageFailure(f"cannot write {path}: {error.strerror}") from None


def _evaluate_one(
    obj: dict[str, Any], name: str, out: IO[bytes] | None, tagged: bool, given: dict[str, Any]
) -> list[dict[str, Any]]:
    from worker.evaluation import Evaluation, evaluate

    target = make_target(given["task"], given["classes"], given["labels"])
    stream = obj["open_stream"](
        name,
        seed=given["seed"],
        label=given["label"],
        labels=target.labels or None,
        data_dir=given["data_dir"],
    )
    if stream.labels and given["task"] == "classification" and given["classes"] is None:
        target = make_target(given["task"], len(stream.labels), None)
    elif target.labels:
        target = make_target(given["task"], target.n_classes, None)  # the stream has mapped them already
    settings = make_model_settings(given["learner"], target, given["maps"], n_features=stream.n_features)
    runs = [
        Evaluation(
            spec, target, stream.n_features, given["standardize"], given["partitions"], given["window"], settings.maps
        )
        for spec in settings.specs
    ]
    tag = {"stream": stream.name} if tagged else None
    regret = _make_regret(target, stream.drift_points, settings.maps, given) if given["regret"] is not None else None
    with _bar(stream.name, stream.rows, given["limit"]) as advance:
        evaluate(runs, _first(stream.blocks(), given["limit"]), out, tag, advance, regret)
    results = [result for run in runs for result in run.results(stream.name)]
    if regret is not None:
        for result in results:
            result.update(regret.result(result["learner"], result.get("partition", 0)))
    return results


def _make_regret(target: Any, drift_points: tuple[int, ...], maps: Any, given: dict[str, Any]) -> Any:
    from worker.regret import Regret, parse_hindsight

    asked = parse_hindsight(given["regret"], target)
    return Regret(asked, target, given["standardize"], given["partitions"], drift_points, maps)


def _first(blocks: Iterable[Any], limit: int | None) -> Iterator[tuple[Any, Any]]:
    """The first `limit` rows; a generator asked for fewer rows would squeeze its concepts into them."""
    left = sys.maxsize if limit is None else limit
    for block in blocks:
        yield block.X[:left], block.y[:left]
        left -= len(block.y)
        if left <= 0:
            return


@contextlib.contextmanager
def _bar(name: str, rows: int | None, limit: int | None) -> Any:
    """A progress bar on a terminal; yields what to call with the rows of each block."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    total = min(rows, limit) if rows is not None and limit is not None else rows or limit
    with Progress(console=Console(stderr=True), transient=True) as progress:
        job = progress.add_task(name, total=total)
        yield lambda n: progress.advance(job, n)


def _show(results: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    partitioned = any("partition" in result for result in results)
    shown = [metric for metric in COLUMNS if any(metric in result for result in results)]
    for heading in ("stream", "learner", *(["partition"] * partitioned)):
        table.add_column(heading)
    for heading in ("rows", *(COLUMNS[metric] for metric in shown), "seconds"):
        table.add_column(heading, justify="right")
    for result in results:
        place = [str(result["partition"])] if partitioned else []
        values = [_cell(metric, result.get(metric)) for metric in shown]
        table.add_row(
            result["stream"], result["learner"], *place, f"{result['rows']:,}", *values, f"{result['seconds']:.2f}"
        )
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)  # nothing is cut when a file or a pipe reads it
    console.print(table)


def _cell(metric: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.2f} %" if "accuracy" in metric else f"{value:.4g}"

"""`driftway evaluate`: learners on streams, without Kafka."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from driftway.worker.cli.console import bar
from driftway.worker.cli.event_options import schema_options
from driftway.worker.cli.model_options import SHARING, target_options
from driftway.worker.cli.warm_start_options import warm_options
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.cli.plan_options import (
    PREQUENTIAL,
    PROTOCOLS,
    EvaluationPlan,
    check_options,
    leave_to_the_stream,
    plan,
    run_plans,
)
from driftway.worker.evaluation.cli.table_options import (
    check_table_options,
    run_the_grids,
    table_options,
    write_a_table,
)

if TYPE_CHECKING:
    from driftway.worker.evaluation.cli.evaluation_curves import StreamCurves
    from driftway.worker.evaluation.detection import Detection
    from driftway.worker.evaluation.regret import Regret


@click.command()
@click.argument("streams", nargs=-1, metavar="STREAM...")
@target_options
@warm_options
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default=PREQUENTIAL,
    show_default=True,
    help="Whole stream once; ten pieces of it from scratch; or tests on fresh rows of the present concept.",
)
@schema_options("Label column of a file; with --feature where it stands in an event.  [default: y]")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column of a file out; repeatable.")
@click.option("--skip", type=click.IntRange(1), help="Leave out the first rows.")
@click.option("--limit", type=click.IntRange(1), help="Take the first rows only, behind those of --skip.")
@click.option(
    "--label-delay",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="ROWS",
    help="A row's label comes behind so many later rows, as to a worker with --label-wait; what was predicted counts.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of a generator.")
@click.option("--partitions", type=click.IntRange(1), default=1, show_default=True, help="Learn as that many would.")
@click.option("--share", metavar="METHOD[:rows=N]", help=f"{SHARING} With --partitions.")
@click.option("--data-dir", envvar="DRIFTWAY_DATA", metavar="DIR", help="Where streams are looked up by name.")
@click.option(
    "--inject",
    multiple=True,
    metavar="KIND:OPTION=VALUE,..",
    help="Drift or dirt to put into each stream; repeatable, in order. `driftway streams KIND` describes a kind.",
)
@click.option(
    "--holdout-every", type=click.IntRange(1), default=1000, show_default=True, help="Rows between two holdout tests."
)
@click.option(
    "--holdout-rows", type=click.IntRange(1), default=1000, show_default=True, help="Fresh rows per holdout test."
)
@click.option("--holdout-noisy", is_flag=True, help="Holdout labels have the stream's noise.")
@click.option(
    "--regret",
    is_flag=False,
    flag_value="auto",
    metavar="[LOSS:k=..,window=..,ball=..]",
    help="Loss above that of the best linear model in hindsight, and of the best that switches at most k times.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes; each runs one learner on one stream at a time.",
)
@click.option(
    "--detector",
    "detectors",
    multiple=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Drift detector that watches every learner's errors, as a worker's does its champion's; repeatable.",
)
@click.option("--scores", metavar="FILE", help="Write every row's score as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="A list of objects on standard output.")
@click.option("--csv", metavar="FILE", help="Write the results as CSV, values of segments or tests joined by ';'.")
@click.option("--parquet", metavar="FILE", help="Write the results as Parquet.")
@click.option("--curves", metavar="FILE", help="Draw a metric over rows, with drift marks: .png, .svg or .html.")
@click.option(
    "--curve-metric",
    metavar="NAME",
    help="What --curves draws: accuracy, kappa_m, log_loss, ...  [default: the windowed one, or the holdout tests']",
)
@table_options
@click.pass_obj
def evaluate(obj: dict[str, Any], /, streams: tuple[str, ...], **given: Any) -> None:
    """Predict each row of each STREAM, then learn from it, with the worker's own kernels.

    STREAM is a generator (see `driftway streams`) or a file: CSV, ARFF or Parquet, also gzipped. With --feature a
    file's rows are events, as `driftway replay --raw` sends them, and read as by a worker with the same options; then
    it may also hold a JSON text per line (.jsonl, .ndjson).
    Unless --task, --classes or --labels say otherwise, a stream that knows its task and classes decides: generators,
    streams that `driftway streams fetch` brought, nominal labels of ARFF.

    With --partitions N row i belongs to partition i mod N, as `driftway replay` deals them, and every partition has a
    learner of its own. With --share they share what they believe, as a worker's do where all is committed before N
    more rows have come: what one has told, the others take in when they meet next.

    --protocol segments learns ten times from scratch, from rows T/50, T/25, ..., T/5 on, 4T/5 rows each, and shows
    mean ± standard deviation; a learner that draws at random has another seed in each. --protocol holdout stops every
    --holdout-every rows to predict --holdout-rows fresh ones, drawn from the concept in force, and learns nothing
    from them; generators only.

    JSON, CSV and Parquet have more than the table: kappa, kappa_temporal and kappa_m also as window_.. and fading_..,
    the confusion matrix (a row per true class) with precision, recall, specificity, f1, g_mean, balanced_accuracy,
    hinge_loss and window_auc of two classes, log_loss and brier where scores are probabilities; rmse, nmse and r2, also
    windowed and fading, r2_overall (against the mean of all targets, while r2 is against the running mean); the values
    of every segment or test, and with several learners robustness_ratio: accuracy in units of the worst one's. Several
    learners are ranked; over several streams that is tested (Friedman, Nemenyi), and over segments or tests the first
    learner is compared with each other one (paired t): rank, mean_rank, friedman_p, critical_difference, first_p, ...

    With --warm-start the first learner begins in a trained model's state, as a worker's champion does; --skip leaves
    out the rows that it was trained on. What is printed is a worker's that has the same file and --start.

    --regret adds what the scores lost (hinge, logistic or square) above linear models fitted to all rows afterwards:
    one model, and the best sequence of models that switches at most k times (3), every `window` rows (a twentieth) or
    at known drift points; `ball` bounds their weights. They see the learner's rows and a constant.

    --detector tells how soon an alarm follows each change that the stream knows of (within 1,000 rows, else it is
    missed), and how many alarms belong to none, per 100,000 rows.

    --grid tries every combination of parameter values, under --protocol, and --table measures a table of the papers
    anew on the streams and learners that are there, or with the name auto the default learner beside the papers'
    figures, the best of the others and the peers; with --out both leave Markdown and PNG.

    \b
    Examples:
      driftway evaluate sea --learner dfop:mu=0.001 --learner arow
      driftway evaluate sea electricity --protocol segments --learner dfop:mu=0.001 --learner rls --jobs 4
      driftway evaluate sea --protocol holdout --holdout-every 500 --learner d_odm --curves holdout.svg
      driftway evaluate sea --learner dfop --learner arow --curves accuracy.html --curve-metric accuracy
      driftway evaluate sea --learner ogd_logistic --regret logistic:k=3,ball=20
      driftway evaluate sea --learner dfop --detector adwin --detector hddm_w --detector ddm:drift=4
      driftway evaluate sea --partitions 8 --share average:rows=10 --learner dfop:mu=0.0005
      driftway evaluate electricity --warm-start electricity.driftway --skip 20000 --learner dfop
      driftway evaluate electricity --label-delay 48 --learner auto --learner dfop
      driftway evaluate electricity.csv.gz --learner dfop:mu=0.01 --scores scores.jsonl
      driftway evaluate shop.csv --feature amount --feature "country:one-of=de|fr|*" --missing mean --label bought
      driftway evaluate sea --map polynomial:degree=2 --learner arow --csv results.csv --parquet results.parquet
      driftway evaluate sea --learner arow --inject gradual:at=5000,width=1000,to=sea:thresholds=5
      driftway evaluate sea --protocol segments --grid dfop:mu=0.0001/0.001/0.01/0.1 --jobs 2 --out grid
      driftway evaluate --table dfop --data-dir data --jobs 2 --out results
      driftway evaluate a.csv b.parquet --task regression --learner rls --json
    """
    check_options(given)
    check_table_options(streams, given)
    leave_to_the_stream(given)
    if given["table"]:
        return write_a_table(obj, given)
    if given["grids"]:
        return run_the_grids(obj["open_stream"], streams, given)
    _check_files(given)
    from driftway.worker.evaluation.comparison import add_comparison
    from driftway.worker.evaluation.results import add_robustness
    from driftway.worker.wire.codec import write_json

    results, drawings = _run(obj["open_stream"], streams, given)
    add_robustness(results)
    add_comparison(results)
    _write_files(results, drawings, given)
    if given["as_json"]:
        click.echo(write_json(results))
    else:
        from driftway.worker.evaluation.cli.evaluation_table import show

        show(results)


def _check_files(given: dict[str, Any]) -> None:
    """Whatever cannot be written is said before hours of learning."""
    if given["csv"] or given["parquet"]:
        from driftway.worker.cli.console import check_file

        if given["csv"]:
            check_file(given["csv"])
        if given["parquet"]:
            check_file(given["parquet"], needs="pyarrow", extra="files")
    if given["curves"]:
        from driftway.worker.plots.web_page import check_picture

        check_picture(given["curves"])


def _run(
    open_stream: Any, streams: tuple[str, ...], given: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[StreamCurves]]:
    """Results and curves of all streams; learners that share a process read a stream together where they can."""
    from driftway.worker.evaluation.cli.evaluation_curves import StreamCurves
    from driftway.worker.evaluation.results import rows_of

    results: list[dict[str, Any]] = []
    drawings: list[StreamCurves] = []
    if given["protocol"] == PREQUENTIAL and given["jobs"] == 1:
        with _writing(given["scores"]) as out:
            for name in streams:
                one = plan(open_stream, name, given)
                found, points = _together(one, out, len(streams) > 1, given)
                results += found
                drawings.append(StreamCurves(one.stream.name, points, one.stream.drift_points, given["partitions"]))
        return results, drawings
    plans = [plan(open_stream, name, given) for name in streams]
    for one, outcomes in zip(plans, run_plans(open_stream, plans, given["jobs"]), strict=True):
        results += [row for outcome in outcomes for row in rows_of(outcome)]
        points = [point for outcome in outcomes for point in outcome.points]
        drawings.append(StreamCurves(one.stream.name, points, one.stream.drift_points, given["partitions"]))
    return results, drawings


@contextlib.contextmanager
def _writing(path: str | None) -> Iterator[IO[bytes] | None]:
    """A new file, if one is wanted."""
    if path is None:
        yield None
        return
    try:
        with _opened(path) as file:
            yield file
    except OSError as error:
        error.filename = error.filename or path  # a full disk does not say whose write it was
        raise


def _opened(path: str) -> IO[bytes]:
    try:
        return open(path, "wb")
    except OSError as error:
        raise UsageFailure(f"cannot write {path}: {error.strerror}") from None


def _together(
    one: EvaluationPlan, out: IO[bytes] | None, tagged: bool, given: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Results and points of all learners of a stream, which is read once."""
    from driftway.worker.evaluation.prequential import evaluate as run_evaluations
    from driftway.worker.evaluation.protocols import evaluation_of, rows_for

    stream = one.stream
    runs = [evaluation_of(stream, job) for job in one.jobs]
    tag = {"stream": stream.name} if tagged else None
    regret = _make_regret(one, given) if given["regret"] is not None else None
    detection = _make_detection(one, given) if given["detectors"] else None
    with bar(stream.name, one.rows) as advance:
        run_evaluations(runs, rows_for(stream, one.jobs[0]), out, tag, advance, regret, detection)
    if getattr(stream, "first_rejected", None) is not None:
        click.echo(
            f"driftway: some events of {stream.name} were rejected, the first in {stream.first_rejected}", err=True
        )
    results = [{"protocol": PREQUENTIAL, **result} for run in runs for result in run.results(stream.name)]
    if regret is not None:
        for result in results:
            result.update(regret.result(result["learner"], result.get("partition", 0)))
    if detection is not None:
        for result in results:
            result.update(detection.result(result["learner"]))
    return results, [point for run in runs for point in run.points]


def _make_detection(one: EvaluationPlan, given: dict[str, Any]) -> Detection:
    from driftway.worker.cli.model_options import make_detector_specs
    from driftway.worker.evaluation.detection import Detection

    target = one.jobs[0].target
    return Detection(make_detector_specs(given["detectors"], target.task), target, one.stream.drift_points)


def _make_regret(one: EvaluationPlan, given: dict[str, Any]) -> Regret:
    from driftway.worker.evaluation.regret import Regret, parse_hindsight

    job = one.jobs[0]
    asked = parse_hindsight(given["regret"], job.target)
    return Regret(asked, job.target, job.standardize, job.partitions, one.stream.drift_points, job.maps)


def _write_files(results: list[dict[str, Any]], drawings: list[StreamCurves], given: dict[str, Any]) -> None:
    if given["csv"] or given["parquet"]:
        from driftway.worker.evaluation.detection import in_columns
        from driftway.worker.evaluation.results import write_csv, write_parquet

        results = [in_columns(result) for result in results]
        if given["csv"]:
            write_csv(results, given["csv"])
        if given["parquet"]:
            write_parquet(results, given["parquet"])
    if given["curves"]:
        from driftway.worker.evaluation.cli.evaluation_curves import draw_curves

        for path in draw_curves(drawings, given["curves"], given["curve_metric"]):
            click.echo(f"wrote {path}", err=True)

"""`driftway evaluate`: learners on streams, without Kafka."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from driftway.worker.cli.console import bar
from driftway.worker.cli.event_options import schema_options
from driftway.worker.cli.file_options import file_options
from driftway.worker.cli.model_options import COVERING, SHARING, target_options
from driftway.worker.cli.option_groups import GroupedCommand
from driftway.worker.cli.start_options import warm_options
from driftway.worker.errors import Failure
from driftway.worker.evaluation.cli.evaluation_files import check_files, write_files, writing
from driftway.worker.evaluation.cli.plan_options import (
    EvaluationPlan,
    check_options,
    failed,
    leave_to_the_stream,
    plan_all,
    print_river_cost,
    run_plans,
)
from driftway.worker.evaluation.cli.replay_options import check_replay_options, replay_options
from driftway.worker.evaluation.cli.table_options import (
    check_table_options,
    run_the_grids,
    table_options,
    write_a_table,
)
from driftway.worker.evaluation.cli.unused_rows import print_losses, require_used, unused
from driftway.worker.settings.option_values import MAX_COVERAGE, PREQUENTIAL, PROTOCOLS

if TYPE_CHECKING:
    from driftway.worker.evaluation.cli.evaluation_curves import StreamCurves
    from driftway.worker.evaluation.detection import Detection
    from driftway.worker.evaluation.protocols import Outcome
    from driftway.worker.evaluation.regret import Regret
    from driftway.worker.evaluation.rows import RowCounts


@click.command(cls=GroupedCommand)
@click.argument("streams", nargs=-1, metavar="STREAM...")
@target_options
@warm_options
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default=PREQUENTIAL,
    show_default=True,
    help="prequential: one pass over the whole stream. segments: ten parts of the stream, each learned from scratch. "
    "holdout: tests on fresh rows of the current concept.",
)
@schema_options("Label column of a file. With --feature: path of the label in an event.  [default: y]")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Column of a file to leave out. Repeatable.")
@file_options
@click.option("--skip", type=click.IntRange(1), help="Skip this many rows at the beginning.")
@click.option("--limit", type=click.IntRange(1), help="Take at most this many rows, after those of --skip.")
@click.option(
    "--label-delay",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="ROWS",
    help="The label of a row arrives this many rows later, as for a worker with --label-wait. The prediction made "
    "before the label arrived is evaluated.",
)
@click.option(
    "--coverage",
    type=click.FloatRange(0, MAX_COVERAGE, min_open=True),
    metavar="SHARE",
    help=f"{COVERING} `low` and `high`, or `set`, in --scores. The results have the actual coverage and the sizes.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of a generator.")
@click.option(
    "--partitions",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Learn as with this many partitions, each with its own learner.",
)
@click.option("--share-models", "share", metavar="METHOD[:rows=N]", help=f"{SHARING} With --partitions.")
@click.option("--data-dir", envvar="DRIFTWAY_DATA", metavar="DIR", help="Folder where streams are looked up by name.")
@click.option(
    "--inject",
    multiple=True,
    metavar="KIND:OPTION=VALUE,..",
    help="Drift, noise or missing values to inject into each stream. Repeatable; injections are applied in order. "
    "`driftway streams KIND` describes a kind.",
)
@click.option(
    "--holdout-every", type=click.IntRange(1), default=1000, show_default=True, help="Rows between two holdout tests."
)
@click.option(
    "--holdout-rows", type=click.IntRange(1), default=1000, show_default=True, help="Fresh rows per holdout test."
)
@click.option("--holdout-noisy", is_flag=True, help="Give the labels of holdout rows the noise of the stream.")
@click.option(
    "--regret",
    is_flag=False,
    flag_value="auto",
    metavar="[LOSS:k=..,window=..,ball=..]",
    help="Report the regret: the loss minus that of the best linear model in hindsight, and minus that of the best "
    "sequence of models that switches at most k times.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of processes. Each runs one learner on one stream at a time.",
)
@click.option(
    "--detector",
    "detectors",
    multiple=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Drift detector to run on every learner's errors, as a worker does on its champion's; repeatable.",
)
@click.option("--scores", metavar="FILE", help="Write the score of every row to FILE, as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects on standard output.")
@click.option(
    "--csv",
    metavar="FILE",
    help="Write the results to FILE as CSV. The values of segments or tests are joined with ';'.",
)
@click.option("--parquet", metavar="FILE", help="Write the results to FILE as Parquet.")
@click.option(
    "--curves", metavar="FILE", help="Plot a metric over the rows, with the drifts marked: .png, .svg or .html."
)
@click.option(
    "--curve-metric",
    metavar="NAME",
    help="Metric of --curves: accuracy, kappa_m, log_loss, ...  [default: the windowed one, or that of the holdout "
    "tests]",
)
@replay_options
@table_options
@click.pass_obj
def evaluate(obj: dict[str, Any], /, streams: tuple[str, ...], **given: Any) -> None:
    """Predict each row of each STREAM, then learn from it, with the worker's own kernels.

    STREAM is a generator (see `driftway streams`) or a file: CSV, ARFF, Parquet, Arrow, LIBSVM, or JSON lines with
    events in the plain form. The format of a CSV file is detected, and reported if it differs from RFC 4180. With
    --feature the rows of a file are events, as `driftway replay --raw` sends them, and they are read as a worker with
    the same options reads them. Generators, streams from `driftway streams fetch` and ARFF files with nominal labels
    determine task and classes, unless --task, --classes or --labels say otherwise.

    With --partitions N, row i belongs to partition i mod N, as in `driftway replay`, and every partition has its own
    learner. With --share-models the partitions share their models as in a worker that commits every update before the
    next N rows: each update of a partition reaches the others at their next exchange.

    --protocol segments learns ten times from scratch, on 4T/5 rows starting at row T/50, T/25, ..., T/5, and shows
    mean ± standard deviation; a randomised learner has a different seed in each. --protocol holdout stops every
    --holdout-every rows to predict --holdout-rows fresh ones, drawn from the current concept, and learns nothing
    from them; generators only.

    The output counts rows as follows. rows: rows that were predicted. labelled: rows with a label, from which the
    metrics are computed. rejected: rows that a worker would reject. missing: rows with a missing feature, whether it
    was replaced or the row was rejected. If rows are rejected, or more than a fifth of them cannot be used, the command
    says so. If no row can be used, the exit code is 1.

    JSON, CSV and Parquet contain more than the table: kappa, kappa_temporal and kappa_m also as window_.. and
    fading_.., null where their reference makes no error, as in a window of one class; the confusion matrix (a row per
    true class) with precision, recall, specificity, f1, g_mean, balanced_accuracy, hinge_loss and window_auc for two
    classes; log_loss and brier if scores are probabilities; rmse, nmse and r2, also windowed and fading, r2_overall
    (against the mean of all targets, while r2 is against the running mean); the values of every segment or test; with
    several learners robustness_ratio, the accuracy relative to the worst one's. Several learners are ranked; over
    several streams the ranks are tested (Friedman, Nemenyi), and over segments or tests the first learner is compared
    with each of the others (paired t): rank, mean_rank, friedman_p, critical_difference, first_p, ...

    With --warm-start the first learner starts from the state of a trained model, as a worker's champion does. Use
    --skip to leave out the rows that the model was trained on. The output is that of a worker with the same file and
    --start.

    --regret adds the regret: the loss of the scores (hinge, logistic or square) minus that of linear models that are
    fitted to all rows in hindsight. These are one fixed model, and the best sequence of models that switches at most k
    times (default 3), at every `window` rows (default a twentieth of the rows) or at known drift points. `ball` bounds
    their weights. They see the same rows as the learner, with a constant feature.

    --detector reports how soon an alarm follows each known change of the stream (a change without an alarm within 1,000
    rows is missed), and the number of false alarms per 100,000 rows.

    --plan repeats a history of plans (`driftway models`): the models change at the offsets at which a partition
    adopted each plan. Predictions (--scores) and accuracy points (--points) are the same as the worker's, except for
    the times of a stream's rows. With --topic the plans are repeated on the rows that the workers of --group saw,
    with the same label delays. --topic without --plan shows what other learners would have predicted on these rows,
    beside what the workers predicted.

    --learner river:tree.HoeffdingTreeClassifier:grace_period=50 is a classifier or regressor of River (extra river). It
    runs in Python, at 100 to 100,000 rows per second. If a parameter is itself a model, the parameters of that model
    follow after a slash, as in model=tree.HoeffdingTreeClassifier/delta=0.1. The default of `seed` is 1. Only this
    command has these learners, because a worker could not take a snapshot of them.

    --grid tries every combination of parameter values, with the given --protocol. --table reproduces a table of the
    papers with the streams and learners that are available. --table auto compares the default learner with the figures
    of the papers, with the best of the other learners, and with learners of other libraries. Both write Markdown and
    PNG to --out.

    \b
    Examples:
      driftway evaluate sea --learner dfop:mu=0.001 --learner arow
      driftway evaluate sea electricity --protocol segments --learner dfop:mu=0.001 --learner rls --jobs 4
      driftway evaluate sea --protocol holdout --holdout-every 500 --learner d_odm --curves holdout.svg
      driftway evaluate sea --learner dfop --learner arow --curves accuracy.html --curve-metric accuracy
      driftway evaluate electricity --learner auto --learner river:tree.HoeffdingTreeClassifier
      driftway evaluate sea --learner ogd_logistic --regret logistic:k=3,ball=20
      driftway evaluate sea --learner dfop --detector adwin --detector hddm_w --detector ddm:drift=4
      driftway evaluate sea --partitions 8 --share-models average:rows=10 --learner dfop:mu=0.0005
      driftway evaluate electricity --warm-start electricity.driftway --skip 20000 --learner dfop
      driftway evaluate electricity --label-delay 48 --learner auto --learner dfop
      driftway evaluate electricity --coverage 0.9 --learner auto --scores sets.jsonl
      driftway evaluate electricity.csv.gz --learner dfop:mu=0.01 --scores scores.jsonl
      driftway evaluate shop.csv --feature amount --feature "country:one-of=de|fr|*" --missing mean --label bought
      driftway evaluate sea --map polynomial:degree=2 --learner arow --csv results.csv --parquet results.parquet
      driftway evaluate sea --learner arow --inject gradual:at=5000,width=1000,to=sea:thresholds=5
      driftway evaluate sea --protocol segments --grid dfop:mu=0.0001/0.001/0.01/0.1 --jobs 2 --out grid
      driftway evaluate electricity --plan plans.json --partition 0 --group trades --scores predictions.jsonl
      driftway evaluate --topic EVENTS --group sea --plan plans.json --points points.jsonl
      driftway evaluate --topic EVENTS --group sea --learner dfop --learner arow:r=2 --from 10000
      driftway evaluate --table dfop --data-dir data --jobs 2 --out results
      driftway evaluate a.csv b.parquet --task regression --learner rls --json
    """
    check_replay_options(streams, given)
    check_files(given, streams)
    if given["topic"] is not None:
        return _write_and_show(obj["evaluate_topic"](given), given, replayed=True)
    check_options(given)
    check_table_options(streams, given)
    leave_to_the_stream(given)
    if given["table"]:
        return write_a_table(obj, given)
    if given["grids"]:
        return run_the_grids(obj["open_stream"], streams, given)
    if given["plan"] is not None:
        from driftway.worker.evaluation.cli.planned import evaluate_planned

        return _write_and_show(evaluate_planned(obj["open_stream"], streams[0], given), given, replayed=True)
    from driftway.worker.evaluation.comparison import add_comparison
    from driftway.worker.evaluation.results import add_robustness

    results, drawings, read, failures = _run(obj["open_stream"], streams, given)
    if not results:
        raise failed(failures, len(streams), results=False)
    print_losses(read)
    add_robustness(results)
    add_comparison(results)
    _write_and_show(results, given, kept=any(counts.labelled for _, counts in read))
    if not (useless := unused(read)):
        _draw(drawings, given)
    if failures:
        raise failed([*failures, *useless], len(streams), results=True)
    require_used(read)


def _write_and_show(
    results: list[dict[str, Any]], given: dict[str, Any], replayed: bool = False, kept: bool = True
) -> None:
    """Print the results, `replayed` those of --plan or --topic, and write them if they are to be `kept`."""
    from driftway.worker.evaluation.cli.evaluation_table import show
    from driftway.worker.evaluation.cli.replay_table import show_replay
    from driftway.worker.wire.codec import write_json

    if kept:
        write_files(results, given)
    if given["as_json"]:
        click.echo(write_json(results))
    else:
        (show_replay if replayed else show)(results)


class _Evaluated(NamedTuple):
    """Results and curve points of a stream, its rows, counted, and what failed."""

    results: list[dict[str, Any]]
    points: list[dict[str, Any]]
    counts: RowCounts | None
    failures: list[Failure]


def _run(
    open_stream: Any, streams: tuple[str, ...], given: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[StreamCurves], list[tuple[str, RowCounts]], list[tuple[str, Failure]]]:
    """Results and curves of all streams, their rows, counted, and what failed, which does not end the others.

    In a single process, all learners of a stream read it together if possible.
    """
    from driftway.worker.evaluation.cli.evaluation_curves import StreamCurves

    results: list[dict[str, Any]] = []
    drawings: list[StreamCurves] = []
    read: list[tuple[str, RowCounts]] = []
    failures: list[tuple[str, Failure]] = []
    plans = plan_all(open_stream, streams, given)
    print_river_cost(plans[0].specs)
    together = given["protocol"] == PREQUENTIAL and given["jobs"] == 1
    outcomes = [] if together else run_plans(open_stream, plans, given["jobs"])
    with writing(given["scores"]) as out:
        for i, one in enumerate(plans):
            found = _together(one, out, len(streams) > 1, given) if together else _apart(outcomes[i])
            name = one.stream.name
            failures += [(name, failure) for failure in found.failures]
            if found.counts is not None:
                results += found.results
                read.append((name, found.counts))
                drawings.append(StreamCurves(name, found.points, one.stream.drift_points, given["partitions"]))
    return results, drawings, read, failures


def _apart(outcomes: list[Outcome | Failure]) -> _Evaluated:
    """What learners have found that each read a stream by itself."""
    from driftway.worker.evaluation.results import rows_of

    done = [one for one in outcomes if not isinstance(one, Failure)]
    results, points = [row for one in done for row in rows_of(one)], [point for one in done for point in one.points]
    failures = [one for one in outcomes if isinstance(one, Failure)]
    return _Evaluated(results, points, done[0].counts if done else None, failures)


def _together(one: EvaluationPlan, out: IO[bytes] | None, tagged: bool, given: dict[str, Any]) -> _Evaluated:
    """What all learners of a stream find, which is read once."""
    from driftway.worker.evaluation.prequential import evaluate as run_evaluations
    from driftway.worker.evaluation.protocols import evaluation_of, rows_for

    stream = one.stream
    runs, counter = [evaluation_of(stream, job) for job in one.jobs], one.jobs[0].counter(stream)
    tag = {"stream": stream.name} if tagged else None
    regret = _make_regret(one, given) if given["regret"] is not None else None
    detection = _make_detection(one, given) if given["detectors"] else None
    try:
        with bar(stream.name, one.rows) as advance:
            run_evaluations(runs, rows_for(stream, one.jobs[0], counter), out, tag, advance, regret, detection)
    except Failure as failure:
        return _Evaluated([], [], None, [failure])
    failures: list[Failure] = [run.failure for run in runs if run.failure is not None]
    runs = [run for run in runs if run.failure is None]
    results = [{"protocol": PREQUENTIAL, **result} for run in runs for result in run.results(stream.name)]
    for result in results:
        result.update(counter.parts[result.get("partition", 0)].figures())
    if regret is not None:
        for result in results:
            result.update(regret.result(result["learner"], result.get("partition", 0)))
    if detection is not None:
        for result in results:
            result.update(detection.result(result["learner"]))
    points = [point for run in runs for point in run.points]
    return _Evaluated(results, points, counter.total if runs else None, failures)


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


def _draw(drawings: list[StreamCurves], given: dict[str, Any]) -> None:
    if given["curves"]:
        from driftway.worker.evaluation.cli.evaluation_curves import draw_curves

        for path in draw_curves(drawings, given["curves"], given["curve_metric"]):
            click.echo(f"wrote {path}", err=True)

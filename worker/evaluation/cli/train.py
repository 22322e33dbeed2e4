"""`driftway train`: train a model file on a bounded set of rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.console import bar
from driftway.worker.cli.event_options import made_events, schema_options
from driftway.worker.cli.file_options import file_options, given_file_options, print_notes, require_other_file
from driftway.worker.cli.model_options import make_target
from driftway.worker.cli.option_groups import GroupedCommand
from driftway.worker.cli.options import client_options, reading_option, was_typed
from driftway.worker.errors import Failure, UsageFailure, require_writable
from driftway.worker.evaluation.cli.progress_line import progress_line
from driftway.worker.evaluation.cli.unused_rows import print_large_loss
from driftway.worker.kafka.client_config import parse_properties
from driftway.worker.settings import ModelSettings
from driftway.worker.wire.codec import FORMATS, write_json
from driftway.worker.wire.events import CLASSIFICATION, Target

if TYPE_CHECKING:
    from driftway.learners import Spec
    from driftway.worker.evaluation.training.resume_file import ResumeFile
    from driftway.worker.evaluation.training.rows import StreamRows
    from driftway.worker.evaluation.training.topic import TopicRows

LINEAR, QUADRATIC = "linear", "quadratic"
OF_TOPICS = ("partition", "first", "end", "form")
OF_STREAMS = ("limit", "skip", "named", "drop")
OF_EVENTS = ("feature", "id", "time", "envelope", "missing", "missing-indicators", "drop")
"""Names of the options that say how rows are read."""
PERCEPTRONS = ("perceptron", "quadratic_perceptron")
OPTIONS = {
    "first": "--from",
    "end": "--to",
    "form": "--format",
    "test_skip": "--test-skip",
    "test_limit": "--test-limit",
}
"""Argument -> option, where the names differ."""


@click.command(cls=GroupedCommand)
@click.argument("source", required=False)
@click.option("--out", required=True, metavar="FILE", help="Model file to write, such as model.driftway.")
@click.option(
    "--algorithm",
    default="iii",
    show_default=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Batch algorithm: i, ii, iii-weak, iii, random-stopping, longest-survival, average or cutoff-average.",
)
@click.option(
    "--learner",
    default="perceptron",
    show_default=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Binary learner that the algorithm converts.",
)
@click.option(
    "--features",
    type=click.Choice((LINEAR, QUADRATIC)),
    default=LINEAR,
    show_default=True,
    help=f"{QUADRATIC}: the perceptron on all products of two features.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    show_default=True,
    help="Seed of the order of visits or of the draws, and of a generator.",
)
@schema_options("Label column of a file. With --feature: path of the label in an event.  [default: y]")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Column of a file to leave out. Repeatable.")
@file_options
@click.option(
    "--labels", metavar="A,B", help="Names of the two classes, in class order, as the labels are written in the data."
)
@click.option("--skip", type=click.IntRange(0), help="Skip this many rows of SOURCE.")
@click.option("--limit", type=click.IntRange(1), help="Take at most this many rows of SOURCE, after those of --skip.")
@click.option(
    "--named", is_flag=True, help="Sort the features by name, because the worker's events will have feature names."
)
@click.option(
    "--data-dir", envvar="DRIFTWAY_DATA", metavar="DIR", help="Folder in which streams are looked up by name."
)
@click.option("--topic", metavar="TOPIC", help="Learn from this topic instead of SOURCE.")
@click.option(
    "--partition", type=click.IntRange(0), help="Read only this partition of the topic.  [default: all, in order]"
)
@click.option(
    "--from",
    "first",
    metavar="OFFSET|TIME",
    help="First offset or time in each partition: 1000, or 2026-11-01T00:00:00Z.  [default: the log's beginning]",
)
@click.option(
    "--to", "end", metavar="OFFSET|TIME", help="Offset or time before which to stop.  [default: the log's current end]"
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True, help="Event format."
)
@client_options
@reading_option
@click.option("--test", metavar="SOURCE", help="Held-out rows on which the error of the model is reported.")
@click.option("--test-skip", type=click.IntRange(0), help="Skip this many rows of --test, or of SOURCE.")
@click.option("--test-limit", type=click.IntRange(1), help="Take at most this many rows of --test, or of SOURCE.")
@click.option("--force", is_flag=True, help="Overwrite FILE; without --resume, discard FILE.partial.")
@click.option("--resume", is_flag=True, help="Continue from FILE.partial, with the same options.")
@click.option(
    "--save-interval",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two saves of FILE.partial.",
)
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
@click.pass_obj
def train(obj: dict[str, Any], /, source: str | None, **given: Any) -> None:
    """Train a model on a bounded set of labelled rows, for `driftway worker --warm-start FILE`.

    SOURCE is a stream or file, as for `driftway evaluate`. --topic reads a part of a topic instead, as it is when the
    command starts, from --from up to but not including --to. Rows need not be independent draws: the algorithms visit
    all of them until an online learner makes no mistake on the rows that are kept, and they guarantee the error on the
    given rows. Features are standardised to mean 0 and variance 1 over all rows, and the model applies the same
    scaling.

    With --feature the rows of a file, or the events of a topic, are read as a worker with the same options reads them,
    and --missing replaces missing values in the same way. A worker with --warm-start FILE takes both options from the
    file.

    Rows without a label, and events that a worker would reject, are left out and counted. After Ctrl-C or SIGTERM there
    is a FILE.partial, from which --resume continues; the result is then the same, byte for byte, as without the
    interruption.

    \b
    Examples:
      driftway train electricity --out electricity.driftway
      driftway train shop.csv --label bought --labels no,yes --algorithm ii:phi_max=20 --out shop.driftway
      driftway train shop.csv --feature amount --feature visits --missing mean --label bought --out shop.driftway
      driftway train sea --limit 20000 --test-skip 20000 --features quadratic --out sea.driftway --json
      driftway train --topic EVENTS --partition 2 --from 1000 --to 500000 --out events.driftway
      driftway train --topic EVENTS --from 2026-11-01T00:00:00Z --labels DOWN,UP --out november.driftway
      driftway train --topic EVENTS --out events.driftway --resume
    """
    out, resumed = Path(given["out"]), None
    partial = _partial(out)
    _check(source, given, out, partial)
    asked = _asked(source, given)
    if given["resume"]:
        from driftway.worker.evaluation.training.resume_file import ResumeFile

        resumed = ResumeFile.read(partial)
        resumed.require_same(asked, partial)
    _train(obj["open_stream"], source, given, asked, resumed)


def _partial(out: Path) -> Path:
    return Path(f"{out}.partial")


def _check(source: str | None, given: dict[str, Any], out: Path, partial: Path) -> None:
    """Refuse options that do not fit together, and to overwrite files unasked.

    Raises
    ------
    UsageFailure
        The message names the options or files.
    """
    from driftway.worker.evaluation.training.bounds import OffsetBound, require_order

    if (source is None) == (given["topic"] is None):
        raise UsageFailure("name what to learn from: a SOURCE, or a --topic")
    # With --topic, --label may refer to --test.
    labelled = given["test"] or given["feature"]
    others = OF_TOPICS if source is not None else (*OF_STREAMS, *(() if labelled else ("label",)))
    for name in others:
        if was_typed(name):
            raise UsageFailure(f"{_option(name)} belongs to {'--topic' if source is not None else 'a SOURCE'}")
    if source is None and given["test"] is None and (given["test_skip"] is not None or given["test_limit"]):
        raise UsageFailure("--test-skip and --test-limit with --topic need --test SOURCE")
    require_order(OffsetBound.parse(given["first"], "--from"), OffsetBound.parse(given["end"], "--to"))
    require_writable(out, replaced=True)
    require_other_file(out, [source, given["test"]])
    if out.exists() and not given["force"]:
        raise UsageFailure(f"{out} already exists: --force overwrites it")
    if partial.exists() and not (given["force"] or given["resume"]):
        raise UsageFailure(f"{partial} holds an unfinished run: --resume continues it, --force starts over")


def _option(name: str) -> str:
    return OPTIONS.get(name, f"--{name}")


def _asked(source: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The options that decide the result, by name, for the resume file.

    Raises
    ------
    UsageFailure
        The algorithm or the learner is not valid.
    """
    common = {
        "algorithm": _algorithm(given["algorithm"]).text,
        "learner": _learner(given["learner"], given["features"]).text,
        "seed": given["seed"],
        "labels": given["labels"],
        "topic": given["topic"],
        "source": source,
    }
    others = ("partition", "first", "end", "form") if source is None else ("skip", "limit", "named")
    asked = {**common, **{_option(name).lstrip("-"): given[name] for name in others}}
    if source is not None or given["feature"]:
        asked["label"] = given["label"] or "y"
    names = {name: {"id": "id_", "time": "time_"}.get(name, name.replace("-", "_")) for name in OF_EVENTS}
    return {**asked, **{name: given[key] or None for name, key in names.items()}}


def _algorithm(text: str) -> Spec:
    from driftway.learners import ParameterError, Spec
    from driftway.learners.online_to_batch.registry import find

    try:
        spec = Spec.parse(text)
        find(spec.name).Params.build(dict(spec.parameters))
    except ParameterError as error:
        raise UsageFailure(f"--algorithm {text}: {error}") from None
    return spec


def _learner(text: str, features: str) -> Spec:
    """The learner's spec; perceptrons treat a score of 0 as class 1, as every prediction does."""
    from driftway.learners import ParameterError, Spec, UnknownLearner

    try:
        spec = Spec.parse(text)
        if features == QUADRATIC:
            if spec.name not in PERCEPTRONS:
                raise UsageFailure(f"--features {QUADRATIC} is for the perceptron: leave --learner {text} out")
            spec = Spec(PERCEPTRONS[1], spec.parameters)
        if spec.name in PERCEPTRONS and "ties" not in dict(spec.parameters):
            spec = Spec(spec.name, (*spec.parameters, ("ties", "correct")))
        Spec(f"scaled:{spec.name}", spec.parameters).min_features()  # as the model file will name it
    except UnknownLearner as error:
        raise UsageFailure(str(error)) from None
    except ParameterError as error:
        raise UsageFailure(f"--learner {text}: {error}") from None
    return spec


def _train(
    open_stream: Callable[..., Any],
    source: str | None,
    given: dict[str, Any],
    asked: dict[str, Any],
    resumed: ResumeFile | None,
) -> None:
    """Read the rows, train, test, write the model file, and report."""
    from driftway.learners import Spec
    from driftway.worker.evaluation.training import job
    from driftway.worker.evaluation.training.resume_file import ResumeFile
    from driftway.worker.evaluation.training.run import StopSignal, run
    from driftway.worker.state import model_file
    from driftway.worker.state.snapshot import DIGEST_BYTES

    out, partial = Path(given["out"]), _partial(Path(given["out"]))
    target = make_target(CLASSIFICATION, None, given["labels"])
    if target.n_classes != 2:
        raise UsageFailure(f"--labels {given['labels']}: training takes two classes")
    reading = _reading(given, target)
    tests = _test_rows(open_stream, source, given, reading)  # opened first, to report a mistyped name early
    skip, limit = given["skip"] or 0, given["limit"]
    rows = _open(open_stream, source, given, reading, skip, limit) if source else _topic_rows(given, reading, resumed)
    started = time.monotonic()
    if resumed is None:
        partial.unlink(missing_ok=True)
    with bar(f"reading {rows.name}", rows.length) as advance:
        problem = job.read(rows, advance)
    print_large_loss(rows.name, rows.counts)
    if tests is not None:
        tests.begun = rows.filling
        job.require_testable(tests, problem.n_features)
        print_large_loss(tests.name, tests.counts)
    algorithm, learner = Spec.parse(asked["algorithm"]), Spec.parse(asked["learner"])
    procedure = job.begin(problem, algorithm, learner, given["seed"], resumed.progress if resumed else None)

    def save(progress: bytes) -> None:
        ResumeFile(asked, rows.origin(), progress).write(partial)

    read, stop = time.monotonic(), StopSignal()
    with progress_line(f"{algorithm.text} on {rows.name}") as show, stop.listening():
        finished = run(procedure, save, show, given["save_interval"], stop)
    if not finished:
        raise Failure(
            f"stopped after {procedure.progress.passes} passes; {partial} holds the work so far: --resume continues it"
        )
    result = procedure.result()
    model = job.deployable(result, problem)
    test = None if tests is None else job.held_out(model, tests)
    blob = job.model_file(rows, model, job.origin(rows, result, test))
    model_file.save(out, blob)
    partial.unlink(missing_ok=True)
    summary = job.summary(str(out), rows, result, blob[-DIGEST_BYTES:].hex(), test)
    seconds = {"reading_seconds": round(read - started, 6), "seconds": round(time.monotonic() - read, 6)}
    if given["as_json"]:
        click.echo(write_json({**summary, **seconds}))
    else:
        click.echo("\n".join(job.sentences({**summary, **seconds})), err=True)


def _reading(given: dict[str, Any], target: Target) -> ModelSettings:
    """The settings for reading events and filling in missing values.

    Raises
    ------
    UsageFailure
        The options do not fit together.
    """
    from driftway.learners import Spec

    if given["feature"]:
        for option in ("drop", "named"):
            if given[option]:
                raise UsageFailure(f"--{option} is for numeric columns: leave it or --feature out")
    return ModelSettings((Spec("perceptron"),), target, form=given["form"], **made_events(given, columns=True))


def _test_rows(
    open_stream: Callable[..., Any], source: str | None, given: dict[str, Any], reading: ModelSettings
) -> StreamRows | None:
    """Held-out rows, if requested: from --test, or from SOURCE itself."""
    skip, limit = given["test_skip"] or 0, given["test_limit"]
    name = given["test"] or source
    if name is None or (given["test"] is None and given["test_skip"] is None and limit is None):
        return None
    return _open(open_stream, name, given, reading, skip, limit)


def _open(
    open_stream: Callable[..., Any],
    name: str,
    given: dict[str, Any],
    reading: ModelSettings,
    skip: int,
    limit: int | None,
) -> StreamRows:
    from driftway.worker.evaluation.rows import is_read, open_rows
    from driftway.worker.evaluation.training.rows import StreamRows

    target = reading.target
    opening = {"seed": given["seed"], "label": given["label"], "labels": target.labels or None}
    more = ({"drop": list(given["drop"])} if given["drop"] else {}) | given_file_options(given)
    stream = open_rows(open_stream, name, {**opening, **more, "data_dir": given["data_dir"]}, target, reading.events)
    print_notes(stream)
    read = reading if is_read(reading) else None
    return StreamRows(
        stream,
        target,
        {"stream": name, **opening, "label": given["label"] or stream.label_name, **more},
        skip,
        limit,
        given["named"],
        read,
    )


def _topic_rows(given: dict[str, Any], reading: ModelSettings, resumed: ResumeFile | None) -> TopicRows:
    from driftway.worker.evaluation.rows import is_read
    from driftway.worker.evaluation.training.bounds import OffsetBound
    from driftway.worker.evaluation.training.topic import PartitionRange, TopicPart, TopicRows
    from driftway.worker.kafka.client_factory import choose_client

    first, end = OffsetBound.parse(given["first"], "--from"), OffsetBound.parse(given["end"], "--to")
    part = TopicPart(
        given["topic"], given["partition"], first, end, given["form"], reading if is_read(reading) else None
    )
    passthrough = parse_properties(given["properties"], given["client_properties"])
    ranges = None
    if resumed is not None:  # the log may have grown since, so that a time stands for other offsets now
        ranges = [PartitionRange(one["partition"], one["from"], one["to"]) for one in resumed.origin["ranges"]]
    return TopicRows(given["bootstrap"], passthrough, part, reading.target, ranges, choose_client(given["client"])[0])

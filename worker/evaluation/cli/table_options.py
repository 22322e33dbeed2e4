"""`driftway evaluate --table` and `--grid`: options, and output as pages, pictures and JSON."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.console import bar, wide_console
from driftway.worker.cli.options import Command, was_typed, with_options
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.cli.plan_options import plan_all
from driftway.worker.evaluation.cli.unused_rows import print_losses, require_used

if TYPE_CHECKING:
    from driftway.worker.evaluation.grid.search import GridResult


DEFAULT_OUT = Path("docs") / "results"
TABLES = ("auto", "d-odm", "dfop", "dfop-regression", "moving-targets", "online-to-batch", "sanity")
"""Tables of the workbench, which only the command line may import."""
TABLE_TAKES = ("table", "data_dir", "jobs", "out", "seed")
"""The options that apply to a table; it has its own streams, learners and protocol."""
GRID_REFUSES = ("learner", "warm_start", "frozen", "scores", "curves", "csv", "parquet", "regret", "coverage")
"""Options that do not apply to a grid."""


def table_options(command: Command) -> Command:
    """Add --table, --grid and --out."""
    options = [
        click.option(
            "--table",
            type=click.Choice(TABLES),
            help="Reproduce a table of the papers, beside the printed figures. auto: compare auto with all other "
            "learners. Takes neither STREAM nor --learner.",
        ),
        click.option(
            "--grid",
            "grids",
            multiple=True,
            metavar="LEARNER:PARAM=V1/V2/..",
            help="Try every combination of these values, instead of --learner. Show the best one, and which parameters "
            "matter. Repeatable.",
        ),
        click.option(
            "--out",
            metavar="DIR",
            help=f"Folder to which --table and --grid write Markdown and PNG.  [default: {DEFAULT_OUT} for --table]",
        ),
    ]
    return with_options(command, options)


def check_table_options(streams: tuple[str, ...], given: dict[str, Any]) -> None:
    """Refuse options that do not fit together.

    Raises
    ------
    UsageFailure, click.UsageError
        The message names the options.
    """
    asked = "--table" if given["table"] else "--grid"
    if given["table"] and (streams or given["grids"]):
        raise UsageFailure(f"--table {given['table']} has its own streams and learners: leave STREAM and --grid out")
    if not given["table"] and not streams:
        raise click.UsageError("Missing argument 'STREAM...'; only --table has streams of its own.")
    if given["out"] and not (given["table"] or given["grids"]):
        raise UsageFailure("--out belongs to --table and --grid")
    for option in click.get_current_context().command.params:
        ignored = option.name not in TABLE_TAKES if given["table"] else given["grids"] and option.name in GRID_REFUSES
        if ignored and was_typed(option.name or ""):
            has = "has its own streams, learners and protocol"
            why = has if given["table"] else "sets what is learned and shown"
            raise UsageFailure(f"{max(option.opts, key=len)} does not go with {asked}, which {why}")


def write_a_table(joints: dict[str, Callable[..., Any]], given: dict[str, Any]) -> None:
    """Measure the requested table and print the paths of the files written."""
    written = joints["write_table"](
        given["table"],
        open_stream=joints["open_stream"],
        out=Path(given["out"]) if given["out"] else DEFAULT_OUT,
        seed=given["seed"],
        data_dir=given["data_dir"],
        processes=given["jobs"],
        say=lambda line: click.echo(line, err=True),
    )
    for path in written:
        click.echo(f"wrote {path}", err=True)


def run_the_grids(open_stream: Callable[..., Any], streams: tuple[str, ...], given: dict[str, Any]) -> None:
    """Evaluate all points on all streams, print the results, and write pages if --out is given."""
    from driftway.worker.evaluation.grid.search import parse_grid, run_grids
    from driftway.worker.wire.codec import write_json

    started = time.perf_counter()
    grids = [parse_grid(text) for text in given["grids"]]
    first = tuple(grid.spec(grid.points()[0]).text for grid in grids)
    plans = plan_all(open_stream, streams, {**given, "learner": first})
    points = sum(len(grid.points()) for grid in grids)
    rows = [one.rows for one in plans]
    total = points * sum(n for n in rows if n is not None) if None not in rows else None
    with bar("grid", total) as advance:
        results = run_grids(open_stream, grids, [one.jobs[0] for one in plans], given["jobs"], advance)
    read = [(result.stream, result.counts) for result in results[:: len(grids)]]
    print_losses(read)
    require_used(read)  # before the best point of each grid is asked for
    if given["out"]:
        from driftway.worker.evaluation.grid.page import write_grids

        options = [f"--grid {text}" for text in given["grids"]]
        options += [
            f"--{name} {given[name]}"
            for name in ("protocol", "task", "skip", "limit", "seed")
            if given[name] is not None
        ]
        options += [f"--map {text}" for text in given["maps"]] + ["--no-standardize"] * (not given["standardize"])
        command = " ".join(["driftway evaluate", *streams, *options])
        for path in write_grids(results, Path(given["out"]), command, given["jobs"], time.perf_counter() - started):
            click.echo(f"wrote {path}", err=True)
    if given["as_json"]:
        click.echo(write_json([point for result in results for point in result.objects()]))
    else:
        _show(results)


def _show(results: list[GridResult]) -> None:
    from rich.table import Table

    from driftway.worker.evaluation.grid.page import shown

    console = wide_console()
    for result in results:
        table = Table(
            box=None, header_style="bold", title=f"{result.grid.name} on {result.stream}", title_justify="left"
        )
        for name, _ in result.grid.axes:
            table.add_column(name)
        table.add_column(result.metric, justify="right")
        table.add_column("")
        best = result.best
        for i, (point, figure) in enumerate(zip(result.grid.points(), result.figures, strict=True)):
            table.add_row(*point, shown(figure.mean, result.metric, figure.deviation), "best" if i == best else "")
        console.print(table)

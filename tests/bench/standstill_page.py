"""Make tables and a picture of what `tests.bench.cluster_standstill --json` measured. Needs matplotlib.

    python -m tests.bench.standstill_page --picture PICTURE.png "TITLE=RESULT.json,.." ..

Results of several runs under one title are put together. The tables go to stdout, as Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

from driftway.worker.plots.plotting import COLOURS, DOTS_PER_INCH, check_output

WIDTH = 0.8
"""Width of all bars of a fault together."""
LEADERS = "leaders"

Result = Mapping[str, Any]


def together(results: Sequence[Result]) -> Result:
    """All rounds of several runs of the same programs, and the sums of what was counted."""
    first = results[0]["counts"]
    counts = {name: {what: sum(one["counts"][name][what] for one in results) for what in first[name]} for name in first}
    rounds = [one for result in results for one in result["rounds"]]
    return {"rows": sum(one["rows"] for one in results), "counts": counts, "rounds": rounds}


def names(result: Result) -> list[str]:
    """The input, Driftway and its peers."""
    return list(result["counts"])


def faults(result: Result) -> list[str]:
    """Faults in the order in which they happened."""
    return list(dict.fromkeys(one["fault"] for one in result["rounds"]))


def silences(result: Result, fault: str, name: str) -> list[float]:
    """Longest silence of each round, s."""
    return [one["silences"][name] for one in result["rounds"] if one["fault"] == fault]


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table, with numbers from the second column on."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines]) + "\n"


def silence_table(result: Result) -> str:
    """A line for each fault: the silences of all rounds, and their median."""

    def cell(times: Sequence[float]) -> str:
        return "–" if not times else f"**{median(times):.1f}** ({', '.join(f'{one:.1f}' for one in times)})"

    lines = []
    for fault in faults(result):
        rounds = [one for one in result["rounds"] if one["fault"] == fault]
        leaders = [one["leaders"] for one in rounds if one["leaders"] is not None]
        lines.append([fault, cell(leaders), *(cell(silences(result, fault, name)) for name in names(result))])
    return table(["fault", LEADERS, *names(result)], lines)


def count_table(result: Result) -> str:
    """A line for each output: rows that were predicted twice or never, and processes that ended."""
    lines = [
        [name, f"{result['rows']:,}", *(f"{count:,}" for count in counts.values())]
        for name, counts in result["counts"].items()
    ]
    return table(["output", "rows", *next(iter(result["counts"].values()))], lines)


def draw(results: Mapping[str, Result], path: str) -> None:
    """Draw the median of each fault as bars, and each round as a dot, a panel for each result.

    Raises
    ------
    UsageFailure
        `path` has an unknown suffix, or its directory does not exist.
    Failure
        matplotlib is not installed.
    """
    check_output(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2 * len(results)), layout="constrained")
    FigureCanvasAgg(figure)  # no display, no global state
    for axes, (title, result) in zip(
        figure.subplots(len(results), 1, squeeze=False)[:, 0], results.items(), strict=True
    ):
        _draw_panel(axes, title, result)
    figure.savefig(path, dpi=DOTS_PER_INCH)


def _draw_panel(axes: Any, title: str, result: Result) -> None:
    shown, columns = faults(result), names(result)
    width = WIDTH / len(columns)
    for number, name in enumerate(columns):
        found = [silences(result, fault, name) for fault in shown]
        places = [i + (number - 0.5 * (len(columns) - 1)) * width for i in range(len(shown))]
        colour = "#999999" if number == 0 else COLOURS[(number - 1) % len(COLOURS)]  # the input is no contender
        axes.bar(places, [median(times) for times in found], 0.92 * width, color=colour, label=name)
        for place, times in zip(places, found, strict=True):
            axes.plot([place + 0.3 * width] * len(times), times, "o", color="#222222", markersize=3, zorder=3)
            above = {"xytext": (-4, 3), "textcoords": "offset points", "ha": "center", "fontsize": 8.5}
            axes.annotate(f"{median(times):.1f}", (place, median(times)), **above)
    axes.set_xticks(range(len(shown)), shown)
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold")
    axes.set_ylabel("longest silence of a partition, s")
    axes.margins(y=0.12)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#e3e3e3", linewidth=0.8)
    axes.set_axisbelow(True)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))


@click.command(help=__doc__)
@click.option("--picture", required=True, type=click.Path(dir_okay=False))
@click.argument("given", nargs=-1, required=True)
def main(picture: str, given: Sequence[str]) -> None:
    results = {}
    for title, paths in (text.split("=", 1) for text in given):
        results[title] = together([json.loads(Path(path).read_text(encoding="utf-8")) for path in paths.split(",")])
        click.echo(f"## {title}\n\n{silence_table(results[title])}\n{count_table(results[title])}")
    draw(results, picture)


if __name__ == "__main__":
    main()

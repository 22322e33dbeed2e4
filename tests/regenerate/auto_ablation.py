"""`python -m tests.regenerate.auto_ablation`: docs/results/auto-ablation.md, `auto` without each family of its experts.

The page also shows how much the random draw of the waves' frequencies matters.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from pathlib import Path
from statistics import mean, stdev

from rich.progress import track

from driftway.producers.streams import open_stream
from driftway.workbench.paper_tables.auto.ablation import FAMILIES, NOTHING, AblationRun, ablated_accuracy
from driftway.workbench.paper_tables.auto.streams import STREAMS
from driftway.worker.evaluation.results import markdown

PAGE = Path(__file__).parents[2] / "docs" / "results" / "auto-ablation.md"
ROWS = 20_000
SEEDS = (1, 2, 3)
"""Seeds of the waves' frequencies."""

HEAD = """# `auto` without one family of its experts

Prequential accuracy in per cent over the first {rows:,} rows, defaults, the mean of {seeds} draws of the waves. In each
column the mixture does not hear one family, which is asked and learns all the same; *squashed inputs* are the second
form in which the mixture hears every expert. Columns are differences to the whole; **bold**: more than 0.3 points lost.
Without the label history the figures of `usenet1`, `usenet2`, `powersupply_ampm`, `powersupply` and
`movingSquares` are those that features alone can give: there the order of the labels tells the next one.

Made by `python -m tests.regenerate.auto_ablation` in {seconds:.0f} s on one process.

"""

Figures = dict[str, dict[str, list[float]]]


def measure(streams: tuple[str, ...] = tuple(STREAMS), rows: int = ROWS) -> Figures:
    """Return stream -> family left out -> accuracies by seed."""
    found: Figures = {name: {} for name in streams}
    works = list(product(streams, (NOTHING, *FAMILIES), SEEDS))
    for name, family, seed in track(works, "auto", disable=len(works) < 100):
        one = STREAMS[name]
        work = AblationRun(one.opens, one.n_classes, family, None, seed, rows)
        found[name].setdefault(family, []).append(ablated_accuracy(open_stream, work))
    return found


def table(found: Figures) -> str:
    """Return the table: one line per stream, then the means and the worst losses."""
    lines, losses = [], {family: [] for family in FAMILIES}
    for name, figures in found.items():
        whole, cells = mean(figures[NOTHING]), []
        for family in FAMILIES:
            gained = mean(figures[family]) - whole
            losses[family].append(gained)
            cells.append(shown(gained))
        lines.append([name, f"{whole:.2f}", f"{stdev(figures[NOTHING]):.2f}", *cells])
    wholes = [mean(figures[NOTHING]) for figures in found.values()]
    lines.append(["**mean**", f"{mean(wholes):.2f}", "", *(shown(mean(values)) for values in losses.values())])
    lines.append(["**worst**", "", "", *(shown(min(values)) for values in losses.values())])
    return markdown(["stream", "whole", "sd of draws", *(f"no {family}" for family in FAMILIES)], lines)


def shown(gained: float) -> str:
    text = f"{gained + 0.0:+.2f}"
    return f"**{text}**" if gained < -0.3 else text


def main() -> int:
    """Measure, and write the page."""
    started = time.perf_counter()
    text = table(measure())
    head = HEAD.format(rows=ROWS, seeds=len(SEEDS), seconds=time.perf_counter() - started)
    PAGE.write_text(head + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.regenerate.auto_ablation`: docs/results/auto-ablation.md, `auto` without each family of its experts.

The page also shows how much the random draw of the waves' frequencies matters, and what it costs that the forests
sleep where they gain little.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np
from rich.progress import track

from driftway.learners.auto.auto import Auto
from driftway.learners.learner import CLASSIFICATION, REGRESSION
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.preprocessing.standardizer import OnlineStandardizer
from driftway.producers.streams import open_stream
from driftway.workbench.paper_tables.auto.ablation import FAMILIES, NOTHING, AblationRun, ablated_accuracy, rows_of
from driftway.workbench.paper_tables.auto.streams import BESIDE_PEERS, opened, opens_as
from driftway.worker.evaluation.results import markdown

PAGE = Path(__file__).parents[2] / "docs" / "results" / "auto-ablation.md"
ROWS = 20_000
SEEDS = (1, 2, 3)
"""Seeds of the waves' frequencies, and of the forests."""
WITH_CLASSES = tuple(name for name, n_classes in BESIDE_PEERS.items() if n_classes)

HEAD = """# `auto` without one family of its experts

Prequential accuracy in per cent over the first {rows:,} rows, defaults, the mean of {seeds} draws of the waves and
forests. In each column the mixture does not use one family, although its experts predict and learn as usual;
*squashed inputs* are the second form in which the mixture gets every score. Columns are differences to the whole;
**bold**: more than 0.3 points lost. Without the label history, the figures of `usenet1`, `usenet2`,
`powersupply_ampm`, `powersupply` and `movingSquares` are those that features alone can give: there the next label
follows from the order of the labels.

*Forests* and *network* are those of the second mixture; [what pausing them costs](#what-pausing-costs) is below.

Made by `python -m tests.regenerate.auto_ablation` in {seconds:.0f} s of processor time on one process.

"""

SLEEP_HEAD = """
## What pausing costs

`auto` uses its forests and its network only while they make the error smaller. Here it is compared with some that never
pause, on the same rows: accuracy in per cent, or MSE. *In use*: the share of blocks of {block:,} rows that began with
forests in use. *Time*: how many times as long a row takes if they never pause (processor time, one right after the
other; good to a fifth on a busy machine). **Bold**: pausing loses more than 0.3 points, or 3 % of the MSE.

"""
BLOCK = 500
"""Rows between two looks at the forests; less than between two judgements, so that none can end their use."""

Figures = dict[str, dict[str, list[float]]]


def measure(streams: tuple[str, ...] = WITH_CLASSES, rows: int = ROWS) -> Figures:
    """Return stream -> family left out -> accuracies by seed."""
    found: Figures = {name: {} for name in streams}
    opening = partial(opened, open_stream)
    works = list(product(streams, (NOTHING, *FAMILIES), SEEDS))
    for name, family, seed in track(works, "auto", disable=len(works) < 100):
        work = AblationRun(opens_as(name), BESIDE_PEERS[name], family, None, seed, rows)
        found[name].setdefault(family, []).append(ablated_accuracy(opening, work))
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


class Result(NamedTuple):
    """Accuracy in per cent or MSE, share of blocks with forests in use, and the kernels' processor time in seconds."""

    figure: float
    used: float
    seconds: float


def run_auto(X: np.ndarray, y: np.ndarray, n_classes: int, awake: bool) -> Result:
    """Run `auto` over rows X f8[n, d], y f8[n]; `awake`: its forests never pause. 0 classes: targets."""
    task = CLASSIFICATION if n_classes else REGRESSION
    learner = OnlineStandardizer(Auto(X.shape[1], n_classes, task))
    learner.compile_kernels()
    usage, scores = learner.state, np.empty((len(X), learner.n_scores))
    used, spent = [], 0.0
    for start in range(0, len(X), BLOCK):
        block = slice(start, start + BLOCK)
        used.append(int(usage["second.usage.used"][0]))
        if awake:
            usage["second.usage.fails"][0] = -1
        started = time.process_time()
        learner.predict_then_update(X[block], y[block], scores[block])
        spent += time.process_time() - started
    if n_classes:
        figure = 100.0 * (predicted_class(scores, learner.kind) == y).mean()
    else:
        figure = ((scores[:, 0] - y) ** 2).mean()
    return Result(float(figure), mean(used), spent)


def sleeping(streams: tuple[str, ...] = tuple(BESIDE_PEERS), rows: int = ROWS) -> str:
    """Return the table of `auto` with forests that sleep and that do not."""
    lines = []
    for name in track(streams, "forests", disable=len(streams) < 10):
        X, y = rows_of(partial(opened, open_stream), opens_as(name), None, rows)
        asleep, awake = (run_auto(X, y, BESIDE_PEERS[name], never) for never in (False, True))
        if BESIDE_PEERS[name]:
            figures = [f"{asleep.figure:.2f}", f"{awake.figure:.2f}", shown(asleep.figure - awake.figure)]
        else:
            lost = 100.0 * (asleep.figure / awake.figure - 1.0)
            text = f"{lost:+.1f} %"
            figures = [f"{asleep.figure:.4g}", f"{awake.figure:.4g}", f"**{text}**" if lost > 3.0 else text]
        lines.append([name, f"{asleep.used:.0%}", *figures, f"{awake.seconds / asleep.seconds:.1f}"])
    return markdown(["stream", "in use", "auto", "never paused", "difference", "time"], lines)


def shown(gained: float) -> str:
    text = f"{gained + 0.0:+.2f}"
    return f"**{text}**" if gained < -0.3 else text


def main() -> int:
    """Measure, and write the page."""
    started = time.process_time()
    text = table(measure())
    text += SLEEP_HEAD.format(block=BLOCK) + sleeping()
    head = HEAD.format(rows=ROWS, seeds=len(SEEDS), seconds=time.process_time() - started)
    PAGE.write_text(head + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

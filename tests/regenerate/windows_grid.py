"""`python -m tests.regenerate.windows_grid`: docs/results/windows-grid.md, windowed learners and published columns.

The papers state neither windows nor C, kernels or scaling. For each column and data set, a search finds the setting
closest to the published accuracy; it and the defaults are then measured on longer pieces. Takes some minutes.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import chain, islice, product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.workbench.paper_tables.experiments import dfop
from driftway.workbench.paper_tables.experiments.data_sets import DATA_SETS
from driftway.worker.evaluation.protocols import PARTS, Job, run
from driftway.worker.evaluation.rows import count_rows
from driftway.worker.processes import run_jobs
from driftway.worker.settings.option_values import SEGMENTS

PAGE = Path(__file__).parents[2] / "docs" / "results" / "windows-grid.md"
COMMAND = "python -m tests.regenerate.windows_grid"
PROCESSES = 2
STRETCHES, STRETCH = 3, 4_000
"""Number and rows of the stretches of a longer stream used in the search, spread evenly: its ends may be easy."""
PIECES = ((2_000, PARTS), (20_000, 2))
"""(T, n): streams of at most T rows are measured on the first n of the ten pieces, longer ones on the first only."""
CONFIRMED = 3
"""Number of the closest settings of the search that are compared on longer pieces."""
NEAR = 2.0
"""Points within which an accuracy counts as close to the published one."""

KERNEL, C, SCALE = ("linear", "gaussian"), (0.01, 1.0, 100.0), (True, False)
SIZES = {
    "svm_win": ("window=50", "window=200"),
    "svm_fix": ("window=100,batch=50", "window=200", "window=1000"),
    "svm_ada": ("batch=50,max_batches=6", "batch=100,max_batches=10"),
    "knn_win": ("window=50", "window=200", "window=500", "window=1000", "window=2000"),
}
COLUMNS = {"SVM-win": "svm_win", "SVM-fix": "svm_fix", "SVM-ada": "svm_ada", "1NN-win": "knn_win"}
MISSING = ("1CSurr", "UG-2C-3D", "UG-2C-5D", "GEARS-2C-2D", "Chess", "Luxembourg", "Weather")

NOTES = {
    "SVM-win": "Mostly a shorter window or a larger C than the defaults, which are better on most data sets.\n"
    "MG-2C-2D needs the Gaussian kernel (`window=50,C=1` with the standardiser 90.67; linear 85.16). The figure of\n"
    "Spam is between those of the windows searched, raw, Gaussian, C = 1: `window=75` 83.50, `window=100` 85.24.",
    "SVM-fix": "The defaults, except on Usenet, whose concepts last 300 rows and need windows of 100, batches of 50,\n"
    "and on Electricity, which has such a low accuracy only on raw rows, or with the Gaussian kernel and C = 0.01.",
    "SVM-ada": "Only windows shorter than the default were searched. Electricity is this low only on raw rows.",
    "1NN-win": "Windows of 50 to 200 rows; the default is 1,000.",
}
"""Column -> what the papers' settings seem to have been, and what remains unexplained."""


class Setting(NamedTuple):
    """A learner in command-line syntax, and whether it uses the standardiser."""

    text: str
    standardize: bool

    @property
    def shown(self) -> str:
        return f"`{self.text}`" + ("" if self.standardize else ", raw")


class Cell(NamedTuple):
    """For a column and a data set: the printed figure, the closest setting, and its and the defaults' figures."""

    printed: float
    nearest: Setting
    figure: float
    default: float
    default_raw: float
    least: float
    most: float


def settings(name: str) -> list[Setting]:
    """Return the settings to try."""
    if name == "knn_win":
        return [Setting(f"{name}:{size}", scale) for size, scale in product(SIZES[name], SCALE)]
    found = product(SIZES[name], KERNEL, C, SCALE)
    return [Setting(f"{name}:{size},kernel={kernel},C={c:g}", scale) for size, kernel, c, scale in found]


def printed(column: str, data_set: str) -> float:
    """Return the published figure; the papers agree on the columns they share."""
    return dfop.EXPERIMENT.printed[data_set][column].mean


def stream_of(data_set: str) -> str:
    """Return the first available stream of a data set: archive streams may be generated instead."""
    from driftway.worker.errors import UsageFailure

    for name in DATA_SETS[data_set].streams:
        try:
            open_stream(name)
        except UsageFailure:
            continue
        return name
    raise UsageFailure(f"no stream of {data_set}")


def accuracies(jobs: list[Job]) -> list[float]:
    """Return the mean accuracy over each job's pieces, in per cent."""
    outcomes = run_jobs(partial(run, open_stream), jobs, PROCESSES)
    return [100.0 * float(outcome.figure("accuracy").mean or 0.0) for outcome in outcomes]


def pieces_of(stream: str, setting: Setting, parts: int) -> Job:
    """Return the job for the first pieces of a stream, of 4T/5 rows each."""
    spec = Spec.parse(setting.text)
    return Job(stream, spec, protocol=SEGMENTS, parts=parts, first=0, standardize=setting.standardize)


def searches(stream: str, setting: Setting, rows: int) -> list[Job]:
    """Return the jobs that try a setting: on all pieces, on the first piece, or, for a long stream, on stretches."""
    if rows <= PIECES[-1][0]:
        return [pieces_of(stream, setting, PARTS if rows <= PIECES[0][0] else 1)]
    starts = [(2 * k + 1) * rows // (2 * STRETCHES) - STRETCH // 2 for k in range(STRETCHES)]
    spec = Spec.parse(setting.text)
    return [Job(stream, spec, rows=STRETCH, skip=start, standardize=setting.standardize) for start in starts]


Cells = dict[tuple[str, str], Cell]


def measure() -> Cells:
    """Search, then measure."""
    sets = [name for name in DATA_SETS if name not in MISSING]
    streams = {name: stream_of(name) for name in sets}
    lengths = {name: count_rows(open_stream(streams[name])) for name in sets}
    tried = [(c, s, one) for c, s in product(COLUMNS, sets) for one in settings(COLUMNS[c])]
    jobs = [searches(streams[s], one, lengths[s]) for _, s, one in tried]
    figures = iter(accuracies(list(chain(*jobs))))
    found: dict[tuple[str, str], list[tuple[float, Setting]]] = {}
    for (c, s, one), some in zip(tried, jobs, strict=True):
        found.setdefault((c, s), []).append((fmean(islice(figures, len(some))), one))
    closest = {
        key: [one for _, one in sorted(row, key=lambda pair, key=key: abs(pair[0] - printed(*key)))[:CONFIRMED]]
        for key, row in found.items()
    }
    asked = [
        (key, one)
        for key in found
        for one in (*closest[key], Setting(COLUMNS[key[0]], True), Setting(COLUMNS[key[0]], False))
    ]
    pieces = {name: next((n for most, n in PIECES if lengths[name] <= most), 1) for name in sets}
    again = accuracies([pieces_of(streams[s], one, pieces[s]) for (_, s), one in asked])
    cells = {}
    for i, key in enumerate(found):
        row = [figure for figure, _ in found[key]]
        *candidates, default, raw = again[(CONFIRMED + 2) * i : (CONFIRMED + 2) * (i + 1)]
        figure, best = min(zip(candidates, closest[key], strict=True), key=lambda pair: abs(pair[0] - printed(*key)))
        cells[key] = Cell(printed(*key), best, figure, default, raw, min(row), max(row))
    return cells


HEAD = """# Which settings give the printed figures of window learners

Table 2 of Zhang, Zhao and Jin (D-ODM) and Table 1 of Zhao and Zhou (DFOP) print the same columns SVM-win, SVM-fix and
SVM-ada; only the second has 1NN-win. Neither paper gives the window, C, the kernel or the scaling. This page searches
for settings that could have given the printed figures: of many settings (kernel {kernels}; C {cs}; the sizes below;
standardised or raw; gamma 1/d), it takes the one whose accuracy is nearest to the printed figure. The search uses ten
pieces of 4T/5 rows for Usenet, one piece for other streams of at most 20,000 rows, and three stretches of {stretch:,}
rows for longer ones. The three nearest settings and the defaults are then measured on pieces, as in the tables: ten of
Usenet, two of streams of at most 20,000 rows, the first of longer ones. The settings are chosen afterwards and per data
set, so they explain the printed figures, but do not say what to expect.

{sizes}

Made by `{command}`. *Span*: the lowest and highest accuracy of the search. **Bold**: more than
{near:g} points from the printed figure.
"""


def line(data_set: str, cell: Cell) -> str:
    def shown(figure: float) -> str:
        text = f"{figure:.2f}"
        return text if abs(figure - cell.printed) <= NEAR else f"**{text}**"

    three = " | ".join(shown(figure) for figure in (cell.default, cell.default_raw, cell.figure))
    span = f"{cell.least:.1f} – {cell.most:.1f}"
    return f"| {data_set} | {cell.printed:.2f} | {three} | {cell.nearest.shown} | {span} |\n"


def page(cells: Cells) -> str:
    """Return the page."""
    text = HEAD.format(
        kernels=" or ".join(KERNEL),
        cs=", ".join(f"{c:g}" for c in C),
        stretch=STRETCH,
        sizes="\n".join(f"- `{name}`: {'; '.join(sizes)}" for name, sizes in SIZES.items()),
        command=COMMAND,
        near=NEAR,
    )
    for column, name in COLUMNS.items():
        rows = [(s, cell) for (c, s), cell in cells.items() if c == column]
        default = sum(abs(cell.default - cell.printed) <= NEAR for _, cell in rows)
        near = sum(abs(cell.figure - cell.printed) <= NEAR for _, cell in rows)
        text += (
            f"\n## {column}: `{name}`\n\nWithin {NEAR:g} points: the defaults on {default} of {len(rows)} data sets, "
        )
        text += f"the nearest setting on {near}.\n{NOTES[column]}\n\n"
        text += "| data set | printed | default | default, raw | nearest | setting | span |\n"
        text += "|---|--:|--:|--:|--:|---|---|\n"
        text += "".join(line(s, cell) for s, cell in rows)
    return text


def main() -> int:
    """Measure everything, write the page."""
    PAGE.write_text(page(measure()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.regenerate.label_delay`: docs/results/label-delay.md and .png, the cost of delayed labels.

The page also shows whether `auto` is then as good as the better of no-change and its best expert in hindsight. `auto`
keeps every expert's prediction of a row until the row's label arrives, so one run yields the accuracy of all experts.
"""

from __future__ import annotations

import sys
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.progress import track

from driftway.learners.auto import classification
from driftway.learners.auto.auto import Auto
from driftway.learners.engine.update_loop import DelayedRows
from driftway.learners.preprocessing.standardizer import OnlineStandardizer
from driftway.learners.spec import Spec
from driftway.producers.streams import open_stream
from driftway.workbench.paper_tables.auto.ablation import rows_of
from driftway.worker.evaluation.protocols import Job, run
from driftway.worker.evaluation.results import markdown
from driftway.worker.plots.plotting import BASELINES, COLOURS, DOTS_PER_INCH
from driftway.worker.state.delayed_labels.delay_simulator import DelaySimulator
from driftway.worker.wire.events import CLASSIFICATION, REGRESSION, Target

PAGE = Path(__file__).parents[2] / "docs" / "results" / "label-delay.md"
COMMAND = "python -m tests.regenerate.label_delay"

DFOP, AUTO = "dfop", "auto"
DRAWN = {"electricity": (0, 1, 12, 48, 336), "sea": (0, 10, 100, 1000, 5000)}
"""Label delays in rows that are plotted; a day of electricity has 48 rows."""
JUDGED = {
    "electricity": (1, 12, 48, 336),
    "sea": (10, 100, 1000, 5000),
    "keystroke": (2, 20, 100),
    "occupancy": (10, 100, 500),
    "usenet1": (1, 10, 50),
    "powersupply_ampm": (2, 24, 120),
}
"""Label delays that are judged: for most streams that of docs/decisions/0033, a tenth of it, and five times it."""
N_CLASSES = dict.fromkeys(JUDGED, 2) | {"keystroke": 4}
TARGETS = {"bike_hour": (0, 1, 24, 168), "beijing_pm25": (0, 1, 24, 168), "sru1": (0, 1, 10, 100)}
"""Streams with targets, and delays in rows; a row of the first two is an hour."""
FORECASTERS = ("running_mean", "no_change", "auto")
MAX_BELOW = 0.5
"""Points by which `auto` may be worse than the better of no-change and its best expert."""

KIN = ("gaussian_nb:decay=0.999", "gaussian_nb:decay=0.98", "knn_win:window=512", "knn_win:window=512,k=5")
KIN_OF_TWO = (*KIN, "ogd_logistic:schedule=const,eta=0.05", "pa", "bayes_probit:q=1e-5", "bayes_probit:q=1e-3")
KIN_OF_MORE = (
    *KIN,
    "mc_softmax:schedule=const,eta=0.05",
    "mc_pa",
    "ova:bayes_probit:q=1e-5",
    "ova:bayes_probit:q=1e-3",
)
"""Registered learners that are closest to experts of `auto`."""

NOTES = {
    ("sea", 5000): "two fifths of a concept late. After each change 5,000 rows are judged by what experts said "
    "who knew the old concept only; by the time that they have learned the new one, the mixture has learned not to "
    "believe them",
    ("occupancy", 100): "labels come in runs: of 1 of up to 284 rows, of 0 of up to 3,758. A run that most experts "
    "got wrong moves the weights, and the next run is another one. Late labels count less if their residuals are alike "
    "(docs/decisions/0090); before that, it was 2.0 below",
    ("occupancy", 500): "the same; it was 3.0 below before",
    ("usenet1", 50): "1,500 rows, of which only the labels' order tells the next one: `after_run` knows it from "
    "row 150 on, and by the labels that had come `auto` believed it from row 600 on. No-change is that good by chance: "
    "labels go round every 3 rows, and the last one that is known stands 51 rows back",
}
"""(stream, delay in rows) -> why `auto` is worse by more than MAX_BELOW."""


class Cell(NamedTuple):
    """Accuracies in per cent for a stream and a delay: no-change, learners by name, experts of `auto` by name."""

    no_change: float
    learners: dict[str, float]
    experts: dict[str, float]

    @property
    def best_expert(self) -> str:
        return max(self.experts, key=self.experts.__getitem__)

    @property
    def best_kin(self) -> str:
        kin = [name for name in self.learners if name not in (AUTO, DFOP)]
        return max(kin, key=self.learners.__getitem__)

    @property
    def ahead(self) -> float:
        """Points by which `auto` is better than the better of no-change and its best expert."""
        return self.learners[AUTO] - max(self.no_change, self.experts[self.best_expert])


Cells = dict[tuple[str, int], Cell]


def said_late(stream: str, n_classes: int, delay: int, rows: int | None = None) -> dict[str, float]:
    """Return the accuracy of each expert's prediction at the row's arrival, over the rows whose labels arrived."""
    X, y = rows_of(open_stream, stream, None, rows)
    auto = Auto(X.shape[1], n_classes)
    learner = OnlineStandardizer(auto)
    steps = DelaySimulator(delay, learner).arrange(X, y)
    # One slot per row, so that no prediction is overwritten. Labels arrive in the order of their rows.
    number = np.where(steps.is_row, np.cumsum(steps.is_row), np.cumsum(~steps.is_row)) - 1
    cached_prediction = learner.prediction_cache(len(y))
    learner.predict_then_update_delayed(
        steps.X, steps.y, np.empty((len(number), learner.n_scores)), DelayedRows(number, cached_prediction)
    )
    E, known = len(auto.state["mixing.share"]), len(y) - delay
    names = classification.names(auto.rule().parameters)[:E]  # without the forests
    width = E * (1 if n_classes == 2 else n_classes)
    outputs = cached_prediction[:known, :width].reshape(known, E, -1)
    predicted = (outputs[:, :, 0] >= 0.0).astype(int) if n_classes == 2 else outputs.argmax(axis=2)
    right = 100.0 * (predicted == y[:known, None]).mean(axis=0)
    return dict(zip(names, right.tolist(), strict=True))


def explained() -> list[list[str]]:
    """Return a line for each stream with targets and each delay: R² of each forecaster, in per cent."""
    lines = []
    for stream, delay in track([(stream, delay) for stream, delays in TARGETS.items() for delay in delays], "targets"):
        line = [stream, f"{delay:,}"]
        for name in FORECASTERS:
            job = Job(stream, Spec.parse(name), Target(REGRESSION, 0), {"seed": 1}, label_delay=delay)
            (part,) = run(open_stream, job).parts
            line.append(f"{100.0 * part['r2_overall']:.1f}")
        lines.append(line)
    return lines


def measure() -> Cells:
    """Measure every stream and delay that is plotted or judged."""
    requests = {(s, d): [DFOP, AUTO] for s, delays in DRAWN.items() for d in delays}
    for stream, delays in JUDGED.items():
        kin = KIN_OF_TWO if N_CLASSES[stream] == 2 else KIN_OF_MORE
        for delay in delays:
            requests[stream, delay] = [*requests.get((stream, delay), [AUTO]), *kin]
    return {
        (stream, delay): cell_of(stream, delay, learners)
        for (stream, delay), learners in track(requests.items(), "delays")
    }


def cell_of(stream: str, delay: int, learners: list[str], rows: int | None = None) -> Cell:
    """Return the accuracies of `driftway evaluate STREAM --label-delay DELAY`, and those of the experts of `auto`."""
    n_classes = N_CLASSES[stream]
    target, opening = Target(CLASSIFICATION, n_classes), {"seed": 1}
    found: dict[str, dict[str, Any]] = {}
    for name in learners:
        job = Job(stream, Spec.parse(name), target, opening, rows=rows, label_delay=delay)
        (found[name],) = run(open_stream, job).parts
    accuracy = {name: 100.0 * part["accuracy"] for name, part in found.items()}
    experts = said_late(stream, n_classes, delay, rows) if delay else {}
    return Cell(100.0 * found[AUTO]["no_change_accuracy"], accuracy, experts)


HEAD = """# What it costs that labels come late

Each row is predicted when it comes, and its label comes so many rows later, as to a worker with `--label-wait`
(`driftway evaluate STREAM --label-delay ROWS`). What was predicted then is counted, and learned from
(docs/decisions/0033). Accuracy in per cent over all rows whose label came before the end of the stream, the first ones
among them, which nobody could know anything about; defaults, behind the online standardiser. *no-change* says the last
label that is known when the row comes. Dotted in the picture: without delay.

Made by `{command}` in {seconds:.0f} s on one process."""

JUDGEMENT = """`auto` should never be more than {most:g} points below the better of no-change and its best expert, both
as late as itself. *Expert*: the best of the {experts} that `auto` asks, chosen afterwards, by its own predictions of
the rows when they came. *Registry*: the best of the learners that come nearest to those experts, {kin}; with more
classes `mc_softmax`, `mc_pa` and `ova:bayes_probit` instead of the last four. The sigmoid rules and the labels' order
have no counterpart there, and waves were left out: `--map fourier` draws others, before the standardiser. *Ahead*:
`auto` beside the better of no-change and expert; **bold**: more than {most:g} below."""

OF_TARGETS = """R² over all rows in per cent, the share of the targets' variance that a forecast explains: the mean of
the targets known when the row comes, the last of them, and `auto`. Below 0 a forecast is worse than the mean of
all targets, which nobody knows in advance."""


def delay_table(cells: Cells) -> str:
    """Return the table of all figures of the plot."""
    lines = []
    for stream, delays in DRAWN.items():
        for delay in delays:
            cell, at_once = cells[stream, delay], cells[stream, delays[0]]
            costs = [cell.learners[name] - at_once.learners[name] for name in (DFOP, AUTO)]
            figures = [cell.no_change, cell.learners[DFOP], cell.learners[AUTO]]
            cost = [f"{value:+.2f}" if delay else "" for value in costs]
            lines.append([stream, f"{delay:,}", *(f"{value:.2f}" for value in figures), *cost])
    names = [f"`{name}`" for name in (DFOP, AUTO)]
    return markdown(["stream", "rows late", "no-change", *names, *(f"{n}, beside 0" for n in names)], lines)


def judged(cells: Cells) -> Cells:
    return {(stream, delay): cells[stream, delay] for stream, delays in JUDGED.items() for delay in delays}


def judgement_table(cells: Cells) -> str:
    """Return the table that compares `auto` with no-change, its best expert, and similar registered learners."""
    lines = []
    for (stream, delay), cell in judged(cells).items():
        expert, kin = cell.best_expert, cell.best_kin
        ahead = f"{cell.ahead:+.2f}"
        lines.append(
            [
                stream,
                f"{delay:,}",
                f"{cell.learners[AUTO]:.2f}",
                f"{cell.no_change:.2f}",
                f"{cell.experts[expert]:.2f} {expert}",
                f"**{ahead}**" if cell.ahead < -MAX_BELOW else ahead,
                f"{cell.learners[kin]:.2f} `{kin}`",
            ]
        )
    return markdown(["stream", "rows late", "`auto`", "no-change", "expert", "ahead", "registry"], lines)


def verdict(cells: Cells) -> str:
    """Say in how many cells `auto` is good enough, and why it is not in the others."""
    found = judged(cells)
    missed = {key: cell for key, cell in found.items() if cell.ahead < -MAX_BELOW}
    text = f"It holds in {len(found) - len(missed)} of {len(found)}{':' if missed else '.'}\n"
    for (stream, delay), cell in missed.items():
        why = NOTES.get((stream, delay), "nobody has looked into it")
        note = f"- {stream}, {delay:,} rows late ({cell.ahead:+.2f}): {why}."
        text += "\n" + textwrap.fill(note, 120, subsequent_indent="  ", break_on_hyphens=False)
    return text + "\n" if missed else text


def page(cells: Cells, targets: list[list[str]], seconds: float) -> str:
    """Return the page."""
    judgement = JUDGEMENT.format(
        most=MAX_BELOW,
        experts=len(next(iter(judged(cells).values())).experts),
        kin=", ".join(f"`{k}`" for k in KIN_OF_TWO),
    )
    parts = [
        HEAD.format(command=COMMAND, seconds=seconds),
        f"![Accuracy over the delay]({PAGE.with_suffix('.png').name})",
        delay_table(cells),
        "## `auto` beside its experts",
        textwrap.fill(judgement, 120, break_on_hyphens=False),
        judgement_table(cells),
        verdict(cells),
        "## Targets\n\n" + textwrap.fill(OF_TARGETS, 120),
        markdown(["stream", "rows late", *(f"`{name}`" for name in FORECASTERS)], targets),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def draw(cells: Cells, path: str) -> None:
    """Plot accuracy over the delay, one panel per stream; dotted lines show the accuracy without delay."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    FigureCanvasAgg(figure)  # no display, no global state
    for axes, (stream, delays) in zip(figure.subplots(1, len(DRAWN)), DRAWN.items(), strict=True):
        for name, colour in ((AUTO, COLOURS[0]), (DFOP, COLOURS[1])):
            heights = [cells[stream, delay].learners[name] for delay in delays]
            axes.plot(delays, heights, marker="o", ms=4, color=colour, label=name)
            axes.axhline(heights[0], color=colour, linewidth=0.8, linestyle=(0, (1, 2)))
        label, colour, style = BASELINES["no_change_accuracy"]
        heights = [cells[stream, delay].no_change for delay in delays]
        axes.plot(delays, heights, marker="o", ms=4, color=colour, linestyle=style, label=label)
        axes.set_xscale("symlog", linthresh=delays[1])  # includes 0
        axes.set_xticks(delays, [f"{delay:,}" for delay in delays])
        axes.minorticks_off()
        axes.set(title=stream, xlabel="rows that labels are late", ylabel="accuracy, %")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, frameon=False)
        for edge in ("top", "right"):
            axes.spines[edge].set_visible(False)
    figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})


def main() -> int:
    """Measure, and write page and plot."""
    started = time.perf_counter()
    cells, targets = measure(), explained()
    draw(cells, str(PAGE.with_suffix(".png")))
    PAGE.write_text(page(cells, targets, time.perf_counter() - started), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

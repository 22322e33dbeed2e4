"""Draw the papers' figure of robustness: stacked ratios, ours and the printed ones. Needs matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftway.workbench.paper_tables.experiments.experiment import PaperExperiment, PaperResults
from driftway.worker.evaluation.significance import robustness
from driftway.worker.plots.plotting import check_output, new_figure, save

SHADES = "tab20"


def draw_robustness(contest: PaperExperiment, results: PaperResults, path: str) -> bool:
    """Write the picture; False if fewer than two contenders were measured.

    Raises
    ------
    Failure
        The picture cannot be written, or matplotlib is not installed.
    """
    columns = results.columns
    names = [name for name, figures in results.figures.items() if set(columns) <= set(figures)]
    if len(columns) < 2 or not names:
        return False
    check_output(path)
    print_too = list(contest.contenders)
    figure = new_figure(5 + 0.7 * (len(columns) + len(print_too)), 5)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[len(columns), len(print_too)])
    ours = [[results.figures[name][column].mean or np.nan for column in columns] for name in names]
    theirs = [[contest.printed[name][column].mean for column in print_too] for name in names]
    if contest.larger_is_better:
        ratios = robustness(ours), robustness(theirs)
        what = "accuracy over the least of the data set, summed"
    else:  # for errors, the largest divided by one's own: the larger the better, as with accuracies
        ratios = 1.0 / robustness_of_errors(ours), 1.0 / robustness_of_errors(theirs)
        what = "the data set's largest error over one's own, summed"
    for axes, table, labels, title in (
        (left, ratios[0], columns, f"ours, {len(names)} data sets"),
        (right, ratios[1], print_too, "printed, the same data sets"),
    ):
        _stack(axes, table, names, labels, title)
    left.set_ylabel(what)
    right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False, reverse=True)
    figure.suptitle(contest.title, fontsize=11, fontweight="bold")
    save(figure, path, metadata={"Software": None})
    return True


def robustness_of_errors(table: list[list[float]]) -> Any:
    """Divide each error by the largest of its data set. Shapes: f8[N, k] both."""
    errors = np.asarray(table, np.float64)
    return errors / errors.max(axis=1, keepdims=True)


def _stack(axes: Any, table: Any, names: list[str], labels: list[str], title: str) -> None:
    from matplotlib import colormaps

    bottom = np.zeros(len(labels))
    for number, name in enumerate(names):
        axes.bar(
            range(len(labels)), table[number], 0.7, bottom=bottom, label=name, color=colormaps[SHADES](number % 20)
        )
        bottom += table[number]
    axes.bar_label(axes.containers[-1], [f"{total:.2f}" for total in bottom], fontsize=8, padding=2)
    axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize=9)
    axes.set_title(title, fontsize=10)
    axes.margins(y=0.06)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)

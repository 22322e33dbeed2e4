"""Draw the distance of `auto` from the best of the others: a panel for the papers' tables, one for whole streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from driftway.workbench.paper_tables.auto.claims import best_printed
from driftway.workbench.paper_tables.auto.measure import AUTO, AutoResults
from driftway.workbench.paper_tables.auto.peers import PLAIN, PeerFigure, compared
from driftway.workbench.paper_tables.auto.streams import OF_THE_PAPERS
from driftway.worker.plots.plotting import COLOURS, check_output, new_figure, save

SINGLE, PEER, PRINT = COLOURS[0], COLOURS[1], COLOURS[2]
WIDEST = 10.0
"""Points beyond which a bar is cut off; its value is written beside it."""


def draw(results: AutoResults, path: str, figures: Sequence[PeerFigure] = ()) -> bool:
    """Write the picture; False if there is nothing to show.

    Raises
    ------
    Failure
        The picture cannot be written, or matplotlib is not installed.
    """
    data_sets = [name for name in OF_THE_PAPERS if name in results.pieces]
    printed = {n: (results.pieces[n].mean or 0.0) - best_printed(n)[1].mean for n in data_sets}
    streams = results.compared
    single = {n: results.accuracy(n, AUTO) - results.best_single(n)[1] for n in streams}
    best = {n: found[0] for n, found in compared(results, figures, PLAIN).items()}
    peers = {n: one.margin for n, one in best.items() if one.mse is None}
    errors = {n: one.margin for n, one in best.items() if one.mse is not None}
    streams = [*streams, *(n for n in peers if n not in streams)]
    if not printed and not streams:
        return False
    check_output(path)
    figure = new_figure(11, 1.6 + 0.28 * max(len(printed) + len(errors), len(streams)))
    heights = [max(1, len(printed)), max(1, len(errors))]
    parts = figure.subplot_mosaic([["papers", "streams"], ["targets", "streams"]], height_ratios=heights)
    left, right = parts["papers"], parts["streams"]
    _panel(left, data_sets, [(printed, PRINT, "best printed column")], "ten pieces, beside the papers")
    both = [(single, SINGLE, "best single learner"), (peers, PEER, "best peer")]
    _panel(right, streams, both, "streams (peers: over the same rows)")
    _panel(
        parts["targets"], list(errors), [(errors, PEER, "best peer")], "targets", "per cent of the peer's MSE", 100.0
    )
    save(figure, path, metadata={"Software": None})
    return True


def _panel(
    axes: Any,
    names: list[str],
    bars: list[tuple[dict[str, float], str, str]],
    title: str,
    unit: str = "points of accuracy",
    widest: float = WIDEST,
) -> None:
    """Draw horizontal bars, to the right where `auto` is better; without a bar the panel is hidden."""
    if not any(differences for differences, _, _ in bars):
        axes.set_visible(False)
        return
    height = 0.8 / len(bars)
    for number, (differences, colour, label) in enumerate(bars):
        at = [names.index(name) + (number - (len(bars) - 1) / 2) * height for name in differences]
        shown = [max(-widest, min(widest, value)) for value in differences.values()]
        drawn = axes.barh(at, shown, height, color=colour, label=f"beside the {label}")
        axes.bar_label(drawn, [f"{value:+.2f}" for value in differences.values()], fontsize=6.5, padding=2)
    axes.axvline(0.0, color="#333333", linewidth=0.8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(-1.3 * widest, 1.3 * widest)
    axes.set_xlabel(f"{unit}, cut off at {widest:g}")
    axes.set_title(f"auto: {title}", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)

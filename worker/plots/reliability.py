"""A reliability diagram: how often predictions were right, by their probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from driftway.worker.errors import Failure
from driftway.worker.plots.plotting import COLOURS, check_output, new_figure, save

Bins = Sequence[Sequence[int]]
"""As the field ``reliability`` of an accuracy point: bin, rows, of them right, sum of probabilities in millionths."""
MILLION = 1e6
FEW_ROWS = 10
"""Bins with fewer rows are not drawn: their share says little."""


def added_up(parts: Sequence[Bins]) -> list[list[int]]:
    """Return the bins of several partitions together, in order."""
    total: dict[int, list[int]] = {}
    for bins in parts:
        for j, *figures in bins:
            total[j] = [one + other for one, other in zip(total.get(j, [0, 0, 0]), figures, strict=True)]
    return [[j, *total[j]] for j in sorted(total)]


def calibration_error(bins: Bins) -> float:
    """Return the calibration error over all rows of the bins; 0 without rows."""
    rows = sum(n for _, n, _, _ in bins)
    return sum(abs(millionths / MILLION - right) for _, _, right, millionths in bins) / max(rows, 1)


def draw_reliability(models: Mapping[str, Bins], name: str, path: str) -> None:
    """Write the picture: learner -> its bins over all partitions; `name` is that of the topic.

    Raises
    ------
    UsageFailure
        `path` has an unknown suffix.
    Failure
        No learner has probabilities, the file cannot be written, or matplotlib is not installed.
    """
    check_output(path)
    if not any(models.values()):
        raise Failure(f"the accuracy points of {name} have no probabilities to draw")
    figure = new_figure(6.5, 7.5)
    axes, below = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 1)})
    axes.plot((0, 1), (0, 1), color="#999999", linestyle="--", linewidth=1.0, label="calibrated", zorder=1)
    for number, (learner, bins) in enumerate(models.items()):
        drawn = [(sum_ / MILLION / n, right / n, n) for _, n, right, sum_ in bins if n >= FEW_ROWS]
        if drawn:
            said, was, rows = zip(*drawn, strict=True)
            colour, error = COLOURS[number % len(COLOURS)], 100 * calibration_error(bins)
            axes.plot(said, was, color=colour, marker="o", label=f"{learner} (error {error:.2f} %)", zorder=3)
            below.plot(said, rows, color=colour, marker="o", zorder=3)
    axes.set_title(f"Reliability on {name}", loc="left", fontsize=13, fontweight="bold", parse_math=False)
    axes.set_ylabel("share of right predictions")
    below.set_ylabel("rows")
    below.set_yscale("log")
    below.set_xlabel("probability of the class predicted")
    axes.legend(loc="upper left", frameon=False, fontsize=9.5)
    for one in (axes, below):
        one.grid(color="#e3e3e3", linewidth=0.8)
        one.set_axisbelow(True)
    save(figure, path)

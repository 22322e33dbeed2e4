"""The page of `--table online-to-batch`: our figures beside the reference results, times, and what was cut.

See docs/algorithms/reference-results.md#online-to-batch.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftway.workbench.paper_tables.online_to_batch.experiment import (
    AVERAGED,
    AVERAGED_LENGTHS,
    BASES,
    DATA,
    DRAWN,
    LENGTHS,
    LIMITS,
    SEEDS,
    Results,
    RunResult,
    limits_of,
    measure,
    runs,
)
from driftway.workbench.paper_tables.online_to_batch.picture import draw
from driftway.workbench.paper_tables.published import PublishedFigure, read_table
from driftway.workbench.paper_tables.request import TableRequest
from driftway.worker.evaluation.results import NONE, markdown

SHOWN = (1, 5, 20, 100)
"""Values of phi whose errors are in the tables."""
ALLOWED = 2.0
"""Number of their standard deviations by which our mean may differ from theirs."""

Value = Callable[[RunResult], float]


class TableColumn(NamedTuple):
    """A column of a table: its heading, the algorithm's name (and length), and the value of a run to show."""

    heading: str
    algorithm: str
    value: Value


def _best_up_to(phi: int) -> Value:
    return lambda one: 100.0 * next(least for at, least, *_ in reversed(one.curve) if at <= phi)


def _seconds_at(phi: int) -> Value:
    return lambda one: next(seconds for at, _, _, seconds, _ in reversed(one.curve) if at <= phi)


def _error(one: RunResult) -> float:
    return 100.0 * one.error


MAIN = (
    *(TableColumn(f"II φ={phi}" if phi == 1 else f"II φ≤{phi}", "ii", _best_up_to(phi)) for phi in SHOWN),
    TableColumn("III", "iii", _error),
    TableColumn("I", "i", _error),
    TableColumn("III-weak", "iii-weak", _error),
    TableColumn("passes at φ=1", "ii", lambda one: float(one.curve[0][4])),
)
SHORT = {"random-stopping": "random stopping", "longest-survival": "longest survival", "average": "average"}
IID = tuple(
    TableColumn(f"{SHORT[name]} {length}n", f"{name}:mult={length}", _error) for name in DRAWN for length in LENGTHS
)
AVERAGES = tuple(
    TableColumn(f"{SHORT.get(name, name.replace('-', ' '))} {length}n", f"{name}:mult={length}", _error)
    for name in AVERAGED
    for length in AVERAGED_LENGTHS
)
SECONDS = (
    *(TableColumn(f"II up to φ={phi}", "ii", _seconds_at(phi)) for phi in SHOWN),
    TableColumn("III", "iii", lambda one: one.seconds),
    *(TableColumn(column.heading, column.algorithm, lambda one: one.seconds) for column in IID),
)

EXPECTED_MAIN = {
    "linear": """
phishing   | 5.96±0.07  | 5.79±0.05  | 5.73±0.04  | 5.68±0.02  | 5.88±0.08  | - | - | 12
htru2      | 2.07±0.05  | 2.02±0.02  | 1.99±0.02  | 1.98±0.01  | 2.07±0.04  | - | - | 9
magic      | 20.79±0.22 | 20.55±0.13 | 20.46±0.08 | 20.42±0.08 | 20.59±0.13 | - | - | 15
creditcard | 18.43±0.10 | 18.36±0.06 | 18.29±0.03 | 18.26±0.02 | 18.37±0.07 | - | - | 17
a9a        | 15.26±0.05 | 15.20±0.03 | 15.17±0.04 | 15.13±0.03 | 15.24±0.04 | - | - | 17
""",
    "quadratic": """
phishing   | 3.25±0.12  | 2.42±0.06  | 2.05±0.05  | 1.85±0.03  | 3.25±0.12  | - | - | 13
htru2      | 2.08±0.03  | 1.99±0.03  | 1.94±0.02  | 1.92±0.03  | 2.06±0.03  | - | - | 9
magic      | 13.54±0.06 | 13.28±0.03 | 13.20±0.04 | 13.14±0.03 | 13.54±0.06 | - | - | 12
""",
}
EXPECTED_IID = {
    "linear": """
phishing   | 9.1±1.2  | 9.0±1.2  | 8.3±1.2  | 8.3±0.7  | 8.0±0.7  | 7.7±0.5
htru2      | 3.6±1.1  | 3.4±1.7  | 4.3±2.7  | 2.4±0.3  | 2.4±0.4  | 2.3±0.2
magic      | 30.3±4.1 | 29.3±5.9 | 28.1±5.9 | 24.6±2.0 | 24.0±1.6 | 25.0±2.2
creditcard | 26.1±3.3 | 28.7±5.5 | 31.4±6.8 | 24.6±2.8 | 22.8±1.9 | 23.4±2.0
a9a        | 20.9±1.4 | 20.8±1.3 | 20.2±1.3 | 19.9±1.0 | 19.6±1.0 | 19.4±0.7
""",
    "quadratic": "",
}
EXPECTED_AVERAGES = {
    "linear": """
phishing   | 6.16±0.12  | 6.08±0.05  | 6.11±0.11  | 6.02±0.07
htru2      | 2.09±0.01  | 2.10±0.01  | 2.06±0.03  | 2.07±0.04
magic      | 21.42±0.06 | 21.38±0.06 | 21.24±0.15 | 21.04±0.16
""",
    "quadratic": "",
}
"""Empirical errors in per cent, - if not stated: docs/algorithms/reference-results.md#online-to-batch."""

HEAD = """# Online-to-batch training: the experiments of Tao and Lu

This page repeats the experiments of Tao and Lu, "From Online to Non-i.i.d. Batch Learning" (KDD 2020), section 7.2, on
those of their data sets that are available here. A perceptron learns from the features (linear) or from all products of
two features (quadratic); rows are standardised as a whole. The error is empirical: the share of training rows that the
final hypothesis gets wrong, in per cent, as mean ± standard deviation over {seeds} seeds. Algorithm II increases φ one
by one, and its error is the lowest up to that φ. III is the practical schedule, and III-weak has Z = 1000. The
conversions for independent draws run over a stream of 1n, 10n or 100n rows that are drawn from the n rows.

The paper only has curves. In brackets are the means of docs/algorithms/reference-results.md#online-to-batch, which come
from another implementation with other random orders; **bold** figures differ from them by more than two of their
standard deviations. {compared} figures were compared; outside: {outside}. {dash}: not measured.

What the paper finds, and how it stands here: {findings}

Made by `driftway evaluate --table online-to-batch` in {seconds:.0f} s on {processes} processes."""


def write(asked: TableRequest) -> list[Path]:
    """Measure the table and write `online-to-batch.md` and its picture."""
    picture = asked.out / "online-to-batch.png"
    started = time.perf_counter()
    results = measure(asked)
    draw(results, str(picture))
    text = page(results, picture.name, time.perf_counter() - started, asked.processes)
    out = asked.out / "online-to-batch.md"
    out.write_text(text, encoding="utf-8")
    return [out, picture]


def page(results: Results, picture: str, seconds: float = 0.0, processes: int = 1) -> str:
    """Return the page as Markdown."""
    outside: list[str] = []
    counted = [0]
    body = ""
    for base in BASES:
        tables = ((MAIN, EXPECTED_MAIN), (IID, EXPECTED_IID), (AVERAGES, EXPECTED_AVERAGES))
        parts = [_errors(results, base, columns, given[base], outside, counted) for columns, given in tables]
        if not any(parts):
            continue
        body += f"\n## {base.capitalize()} classifiers\n\n{_left_out(results, base)}"
        body += "\n".join(part for part in parts if part)
        body += f"\nSeconds of processor time, mean over the seeds, without reading:\n\n{_seconds(results, base)}"
    head = HEAD.format(
        seeds=SEEDS,
        compared=counted[0],
        outside=", ".join(outside) or "none",
        dash=NONE,
        findings=" ".join(findings(results)),
        seconds=seconds,
        processes=processes,
    )
    text = "\n\n".join(textwrap.fill(part, 120, break_on_hyphens=False) for part in head.split("\n\n"))
    return f"{text}\n\n![Empirical error against running time]({picture})\n{body}"


def mean_of(results: Results, base: str, data: str, column: TableColumn) -> tuple[float, float] | None:
    """Return mean and standard deviation of a column on a case; None if it was not measured."""
    found = runs(results, base, data, column.algorithm)
    if not found or (column.algorithm == "ii" and _beyond(column, limits_of(base, data).phi_max)):
        return None
    values = np.array([column.value(one) for one in found])
    return float(values.mean()), float(values.std())


def is_outside(mean: float, wanted: PublishedFigure) -> bool:
    """Whether a mean is too far from the reference; both are rounded to a hundredth, or their last digit."""
    return wanted.deviation is not None and abs(mean - wanted.mean) > ALLOWED * wanted.deviation + 0.005


def findings(results: Results) -> list[str]:
    """Describe the paper's findings, each with the number of cases in which it holds."""
    cases = [(base, data) for base in BASES for data in DATA if runs(results, base, data, "iii")]
    drawn = [column for column in IID if column.heading.endswith(" 10n")]
    worse = steadier = near = 0
    alike: list[int] = []
    for case in cases:
        ii, iii = mean_of(results, *case, MAIN[0]), mean_of(results, *case, MAIN[len(SHOWN)])
        others = [found for found in (mean_of(results, *case, column) for column in drawn) if found is not None]
        if ii is None or iii is None:
            continue
        worse += all(ii[0] < other[0] for other in others)
        steadier += all(ii[1] < other[1] for other in others)
        near += iii[0] <= ii[0] + max(ii[1], 0.1)
        alike += [phi_of_equal_time(results, *case)]
    n = len(cases)
    return [
        f"Algorithm II, already at φ = 1, errs less than random stopping and longest survival (10n) in {worse} of {n} "
        f"cases, with less deviation in {steadier};",
        f"III errs as little as II at φ = 1, or less, in {near}; it takes about as long as II up to φ = "
        f"{int(np.median(alike)) if alike else 0} (the median of the cases; the paper says 60).",
        surpassed(results, cases),
    ]


def surpassed(results: Results, cases: list[tuple[str, str]]) -> str:
    """Describe how often III errs no more than the conversions for independent draws, and where it errs more."""
    compared, more = 0, []
    for case in cases:
        iii = mean_of(results, *case, MAIN[len(SHOWN)])
        for column in IID:
            other = mean_of(results, *case, column)
            if iii is not None and other is not None:
                compared += 1
                if iii[0] > other[0]:
                    more.append(f"{column.heading} on {case[1]}, {case[0]}")
    details = f" (more than {'; '.join(more)})" if more else ""
    return f"III errs no more than a conversion for independent draws in {compared - len(more)} of {compared}{details}."


def phi_of_equal_time(results: Results, base: str, data: str) -> int:
    """Return the phi up to which II takes about as long as III, by the mean over the seeds, or II's largest phi."""
    iii = float(np.mean([one.seconds for one in runs(results, base, data, "iii")]))
    found = runs(results, base, data, "ii")
    for points in zip(*(one.curve for one in found), strict=False):
        if np.mean([point[3] for point in points]) >= iii:
            return int(points[0][0])
    return int(found[0].curve[-1][0])


def _beyond(column: TableColumn, phi_max: int) -> bool:
    """Whether a column of II shows a phi that was not reached."""
    digits = column.heading.rpartition("φ")[2].strip("=≤")
    return digits.isdigit() and int(digits) > phi_max


def _errors(
    results: Results, base: str, columns: tuple[TableColumn, ...], given: str, outside: list[str], counted: list[int]
) -> str:
    expected = read_table(given, tuple(column.heading for column in columns)) if given else {}
    lines = []
    for data in DATA:
        cells = []
        for column in columns:
            ours, wanted = mean_of(results, base, data, column), expected.get(data, {}).get(column.heading)
            if ours is None:
                cells.append(NONE)
                continue
            passes = "passes" in column.heading
            cell = f"{ours[0]:.0f}" if passes else f"{ours[0]:.2f} ± {ours[1]:.2f}"
            if wanted is not None:
                cell += f" ({wanted.mean:g})" if passes else f" ({wanted.mean:.2f})"
                counted[0] += not passes
                if is_outside(ours[0], wanted):
                    outside.append(f"{base} {column.heading} on {data}")
                    cell = f"**{cell}**"
            cells.append(cell)
        if set(cells) != {NONE}:
            lines.append([data, *cells])
    return markdown(["error, %", *(column.heading for column in columns)], lines) if lines else ""


def _seconds(results: Results, base: str) -> str:
    lines = []
    for data in DATA:
        found = [mean_of(results, base, data, column) for column in SECONDS]
        if any(found):
            lines.append([data, *(NONE if one is None else f"{one[0]:.3g}" for one in found)])
    return markdown(["seconds", *(column.heading for column in SECONDS)], lines)


def _left_out(results: Results, base: str) -> str:
    """Describe what was left out of heavy cases."""
    notes = []
    for data in DATA:
        if (base, data) in LIMITS and runs(results, base, data, "iii"):
            cut = LIMITS[base, data]
            notes.append(f"{data}: II with {cut.seeds} seeds, φ up to {cut.phi_max}; streams up to {cut.longest}n")
    return f"Cut short, since it takes long: {'. '.join(notes)}.\n\n" if notes else ""

"""Results of a bench: medians, spread and ratios, as an object for programs and a table for people."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from driftway.workbench.bench.cases import CALLED, LIMIT, PASSTHROUGH, WORKER, Case, Repetitions, swept

if TYPE_CHECKING:
    from rich.table import Table

    from driftway.workbench.bench.latency import LatencyRun
    from driftway.workbench.bench.throughput import Run

THROUGHPUT = ("messages_per_second", "cpu_seconds", "peak_rss")
LATENCY = ("p50", "p95", "p99", "p99_9")
RATIOS = ("messages_per_second", "cpu_seconds", "p99")
"""Figures that `ratios` always has; null if not measured."""


SHOWN: dict[str, tuple[str, float, str]] = {
    "messages_per_second": ("messages/s", 1.0, ",.0f"),
    "cpu_seconds": ("CPU-s per million messages", 1.0, ".2f"),
    "peak_rss": ("peak RSS, MB", 1e-6, ".0f"),
    "p50": ("latency p50, ms", 1.0, ".1f"),
    "p95": ("latency p95, ms", 1.0, ".1f"),
    "p99": ("latency p99, ms", 1.0, ".1f"),
    "p99_9": ("latency p99.9, ms", 1.0, ".1f"),
}
"""Figure -> heading with unit, factor into that unit, number format."""


@dataclass(frozen=True)
class BenchResult:
    """Measurements of one case.

    Parameters
    ----------
    case : Case
        What was measured.
    effort : Repetitions
        How often and how long.
    message_bytes : int
        Mean size of an input message.
    runs : list of Run
        Throughput runs, in the order they ran.
    delays : list of LatencyRun
        Latency runs, in the order they ran.
    """

    case: Case
    effort: Repetitions
    message_bytes: int
    runs: list[Run]
    delays: list[LatencyRun]

    def values(self, side: str, figure: str) -> list[float]:
        """Return a side's values of a figure, in the order of pairs; empty if not measured."""
        rows: Sequence[Run | LatencyRun] = self.runs if figure in THROUGHPUT else self.delays
        rows_of_side = sorted((row for row in rows if row.side == side), key=lambda row: row.pair)
        return [float(getattr(row, figure)) for row in rows_of_side]

    def ratios(self, figure: str, other: str = PASSTHROUGH) -> list[float]:
        """Return the ratios of the worker to another side, by round; empty if that side was not measured."""
        theirs = self.values(other, figure)
        pairs = zip(self.values(WORKER, figure), theirs, strict=True) if theirs else ()
        return [mine / its for mine, its in pairs if its > 0]

    def measured(self) -> list[str]:
        """Return the figures that were measured."""
        return [*(THROUGHPUT if self.runs else ()), *(LATENCY if self.delays else ())]

    def as_object(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        figures = self.measured()
        settings = {**asdict(self.case), **asdict(self.effort), "message_bytes": self.message_bytes}
        settings["passthrough"] = sorted(self.effort.passthrough)  # names only: values may be secrets
        ratios = {figure: self.ratios(figure) for figure in {*RATIOS, *figures}}
        to_limit = {figure: found for figure in figures if (found := self.ratios(figure, LIMIT))}
        by_side = {side: {f: found for f in figures if (found := self.values(side, f))} for side in self.effort.sides}
        return {
            "settings": settings,
            "machine": {"processors": os.cpu_count(), "system": platform.system(), "arch": platform.machine()},
            "runs": [asdict(run) for run in self.runs],
            "latency_runs": [asdict(found) for found in self.delays],
            "medians": {side: {f: median(found) for f, found in own.items()} for side, own in by_side.items()},
            "spread": {side: {f: _ends(found) for f, found in own.items()} for side, own in by_side.items()},
            "ratios": {f: median(ratios[f]) if ratios[f] else None for f in (*RATIOS, "p50") if f in ratios},
            "ratios_spread": {f: _ends(ratios[f]) for f in RATIOS if ratios[f]},
            "ratios_to_limit": {f: median(found) for f, found in to_limit.items()},
            "ratios_to_limit_spread": {f: _ends(found) for f, found in to_limit.items()},
        }


def table(result: BenchResult) -> Table:
    """Build a table of the sides' medians with their spread, and the ratios."""
    from rich.table import Table

    made = Table(box=None, header_style="bold", padding=(0, 3, 0, 0), title=result.case.named(), title_justify="left")
    made.add_column("median (smallest - largest)", no_wrap=True)
    sides = [side for side in CALLED if side in result.effort.sides]
    others = [side for side in sides if side != WORKER]
    for heading in [*(CALLED[side] for side in sides), *(f"worker / {CALLED[side]}" for side in others)]:
        made.add_column(heading, justify="right", no_wrap=True)
    for figure in result.measured():
        heading, factor, form = SHOWN[figure]
        cells = [_cell((factor * v for v in result.values(side, figure)), form) for side in sides]
        made.add_row(heading, *cells, *(_cell(result.ratios(figure, side), ".2f") for side in others))
    return made


def summary(results: Sequence[BenchResult]) -> Table:
    """Build a table with a line per case of a sweep: what differs, the worker's medians, its ratios to the copiers."""
    from rich.table import Table

    fields, figures = swept([result.case for result in results]), results[0].measured()
    made = Table(box=None, header_style="bold", padding=(0, 3, 0, 0), title_justify="left")
    limit = LIMIT in results[0].effort.sides
    made.title = "medians of the worker (ratio to the pass-through" + (", to the limit)" if limit else ")")
    for name in fields:
        made.add_column(name, no_wrap=True)
    for figure in figures:
        made.add_column(SHOWN[figure][0], justify="right")
    for result in results:
        cells = []
        for figure in figures:
            _, factor, form = SHOWN[figure]
            ratios = [median(found) for side in (PASSTHROUGH, LIMIT) if (found := result.ratios(figure, side))]
            share = " (" + ", ".join(f"{ratio:.2f}" for ratio in ratios) + ")" if ratios else ""
            cells.append(format(factor * median(result.values(WORKER, figure)), form) + share)
        made.add_row(*(str(getattr(result.case, name)) for name in fields), *cells)
    return made


def closing(result: BenchResult) -> str:
    """Describe in a sentence how the figures were measured."""
    counts = []
    if result.runs:
        counts.append(f"{result.effort.repetitions} alternating rounds of {result.case.messages:,} messages")
    if result.delays:
        counts.append(
            f"{result.effort.latency_repetitions} of {result.effort.latency_seconds:g} s at {result.effort.rate:,.0f}/s"
        )
    return (
        f"{' and '.join(counts)}, about {result.message_bytes} bytes a message, {os.cpu_count()} processors shared "
        "with the broker; ratios are medians of the rounds' ratios."
    )


def _ends(values: Sequence[float]) -> list[float]:
    return [min(values), max(values)]


def _cell(values: Iterable[float], form: str) -> str:
    found = list(values)
    if not found:
        return "-"
    middle = format(median(found), form)
    return middle if len(found) == 1 else f"{middle} ({min(found):{form}} - {max(found):{form}})"

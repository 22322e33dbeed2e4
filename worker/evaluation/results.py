"""Evaluation results as plain rows and as files: one row per stream and learner (and partition)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any

from driftway.learners.metrics.offline import robustness_ratios
from driftway.worker.errors import Failure
from driftway.worker.evaluation.protocols import Outcome
from driftway.worker.settings.option_values import HOLDOUT, PREQUENTIAL

Row = dict[str, Any]
LEADING = ("protocol", "stream", "learner", "partition", "rows", "rejected", "labelled", "missing", "parts")
"""Columns that come first in a file; the others follow in order of appearance."""
BETWEEN_VALUES = ";"

NONE = "–"


def rows_of(outcome: Outcome) -> list[Row]:
    """Convert an outcome to JSON objects.

    `prequential` gives one object per partition with each metric as a number. `segments` gives a single object whose
    metrics are means over the parts, along with ``_sd`` (of the population) and ``_values``. `holdout` gives the same
    for its tests, named ``holdout_...``, along with the prequential metrics of the whole run.
    """
    whole = {"protocol": outcome.protocol, "stream": outcome.stream, "learner": outcome.learner}
    spent = {"seconds": round(outcome.seconds, 6)}
    if outcome.protocol == PREQUENTIAL:
        several = len(outcome.parts) > 1
        numbered = enumerate(outcome.parts)
        return [{**whole, **({"partition": p} if several else {}), **part, **spent} for p, part in numbered]
    prefix = "holdout_" if outcome.protocol == HOLDOUT else ""
    counts = {"parts": len(outcome.parts)}
    if outcome.protocol != HOLDOUT:
        counts |= outcome.counts.figures()  # each row of the stream once, although segments overlap
    row = {**whole, **outcome.totals, **counts}
    for metric in outcome.metrics:
        figure = outcome.figure(metric)
        row[prefix + metric] = figure.mean
        row[f"{prefix}{metric}_sd"] = figure.deviation
        row[f"{prefix}{metric}_values"] = list(figure.values)
    return [{**row, **spent}]


def add_robustness(rows: list[Row]) -> None:
    """Add ``robustness_ratio`` among the learners of its stream to each row, and ``robustness_total`` over all streams.

    Streams with a single learner, and regression, get neither. The ratio is taken of the holdout accuracies if there
    are any, else of the accuracies.
    """
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["stream"], row.get("partition", 0)), []).append(row)
    for group in groups.values():
        values = [row.get("holdout_accuracy", row.get("accuracy")) for row in group]
        if len(group) > 1 and "accuracy" in group[0]:
            for row, ratio in zip(group, robustness_ratios(values), strict=True):
                row["robustness_ratio"] = ratio
    for learner in {row["learner"] for row in rows}:
        mine = [row for row in rows if row["learner"] == learner and "robustness_ratio" in row]
        ratios = [row["robustness_ratio"] for row in mine]
        total = None if None in ratios else sum(ratios)
        for row in mine:
            row["robustness_total"] = total


def write_csv(rows: Sequence[Row], path: str) -> None:
    """Write rows as CSV with a header: numbers in full precision, lists joined by semicolons, missing values empty.

    Raises
    ------
    Failure
        The file cannot be written.
    """
    columns = _columns(rows)
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None


def write_parquet(rows: Sequence[Row], path: str) -> None:
    """Write rows as Parquet; the values of parts are lists of numbers. Needs pyarrow.

    Raises
    ------
    Failure
        The file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {column: [row.get(column) for row in rows] for column in _columns(rows)}
    arrays = {
        # The type of a column without values cannot be inferred; all such columns are numbers.
        column: pa.array(values, pa.float64() if all(v is None for v in values) else None)
        for column, values in columns.items()
    }
    try:
        with open(path, "wb") as file:  # a path alone may be taken for a URI
            pq.write_table(pa.table(arrays), file)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}") from None


def _columns(rows: Iterable[Row]) -> list[str]:
    found = list(dict.fromkeys(name for row in rows for name in row))
    return [*(name for name in LEADING if name in found), *(name for name in found if name not in LEADING)]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return BETWEEN_VALUES.join(map(_cell, value))
    return repr(value) if isinstance(value, float) else str(value)


def markdown(headings: Sequence[str], lines: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    """A Markdown table; all but the first `text_columns` columns are numbers."""
    rule = ["---"] * text_columns + ["--:"] * (len(headings) - text_columns)
    lead = f"| {' | '.join(headings)} |\n|{'|'.join(rule)}|\n"
    return lead + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

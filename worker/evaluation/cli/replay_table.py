"""Terminal output of `driftway evaluate --plan` and `--topic`."""

from __future__ import annotations

from typing import Any

from driftway.worker.cli.console import wide_console
from driftway.worker.evaluation.cli.evaluation_table import cell

COLUMNS = {
    "accuracy": "accuracy",
    "window_accuracy": "window",
    "kappa": "kappa",
    "kappa_temporal": "kappa-temporal",
    "log_loss": "log-loss",
    "mse": "mse",
    "mae": "mae",
    "r2": "r2",
    "won": "wins",
    "lost": "loses",
}
"""Figure -> heading."""
COUNTS = "won", "lost"


def show_replay(results: list[dict[str, Any]]) -> None:
    """Print a row for each partition and side, then one for all partitions, with what is known of which is better."""
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    shown = [figure for figure in COLUMNS if any(row.get(figure) is not None for row in results)]
    counts = ["rows", "labels", *(["rejected"] if any(row.get("rejected") for row in results) else [])]
    for heading in ("partition", "learner"):
        table.add_column(heading)
    for heading in (*counts, *(COLUMNS[figure] for figure in shown)):
        table.add_column(heading, justify="right")
    verdicts = any(row.get("verdict") for row in results)
    if verdicts:
        table.add_column("against the worker")
    for row in results:
        name = f"{row['learner']}: {', '.join(row['champions'])}" if "champions" in row else row["learner"]
        numbers = [f"{row[count]:,}" if row.get(count) is not None else "" for count in counts]
        figures = [_figure(figure, row) for figure in shown]
        verdict = [row.get("verdict") or ""] if verdicts else []
        table.add_row(str(row.get("partition", "all")), name, *numbers, *figures, *verdict)
    wide_console().print(table)


def _figure(figure: str, row: dict[str, Any]) -> str:
    """A cell; empty where a figure means nothing."""
    if figure not in row:
        return ""
    return f"{row[figure]:,}" if figure in COUNTS else cell(figure, row[figure])

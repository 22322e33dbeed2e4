"""Terminal output of `driftway evaluate`: its results as a table."""

from __future__ import annotations

from typing import Any

from driftway.worker.cli.console import wide_console
from driftway.worker.errors import shown

COLUMNS = {
    "accuracy": "accuracy",
    "window_accuracy": "window",
    "kappa": "kappa",
    "kappa_temporal": "kappa-temporal",
    "no_change_accuracy": "no-change",
    "majority_accuracy": "majority",
    "mse": "mse",
    "mae": "mae",
    "r2": "r2",
    "coverage": "coverage",
    "worst_window_coverage": "worst window",
    "width": "width",
    "set_size": "set size",
    "regret": "regret",
    "regret_per_row": "a row",
    "switching_regret": "switching",
}
"""Metric -> heading, for the prequential protocol."""

PART_COLUMNS = {
    "holdout_accuracy": "holdout",
    "holdout_kappa": "holdout kappa",
    "holdout_mse": "holdout mse",
    "holdout_mae": "holdout mae",
    "accuracy": "accuracy",
    "kappa": "kappa",
    "kappa_temporal": "kappa-temporal",
    "kappa_m": "kappa-M",
    "log_loss": "log-loss",
    "brier": "Brier",
    "mse": "mse",
    "mae": "mae",
    "r2": "r2",
    "robustness_ratio": "robustness",
}
"""Metric -> heading, for protocols with parts."""

COUNTS = ("labelled", "rejected", "missing")
"""Counts of rows beside `rows`, each shown if it differs from what is expected of a stream in order."""

PARTS = {"segments": "segments", "holdout": "tests"}
"""Protocol -> name of its parts."""


def show(results: list[dict[str, Any]]) -> None:
    """Print the results: a table with one row per stream and learner (and partition), and notes below it."""
    from rich.table import Table

    protocol = results[0].get("protocol", "prequential")
    columns = PART_COLUMNS if protocol in PARTS else COLUMNS
    table = Table(box=None, header_style="bold")
    partitioned = any("partition" in result for result in results)
    present = [metric for metric in columns if any(metric in result for result in results)]
    for heading in ("stream", "learner", *(["partition"] * partitioned)):
        table.add_column(heading)
    counts = ["rows", *(name for name in COUNTS if any(is_informative(name, result) for result in results))]
    parts = ["parts"] if protocol in PARTS else []
    for heading in (*counts, *(PARTS[protocol] for _ in parts), *(columns[metric] for metric in present), "rows/s"):
        table.add_column(heading, justify="right")
    for result in results:
        partition = [str(result["partition"])] if partitioned else []
        numbers = [f"{result[name]:,}" for name in (*counts, *parts)]
        values = [cell(metric, result.get(metric), result.get(f"{metric}_sd")) for metric in present]
        table.add_row(shown(result["stream"]), result["learner"], *partition, *numbers, *values, rate(result, results))
    console = wide_console()
    console.print(table)
    show_detectors(results, console)
    if protocol in PARTS:
        show_robustness(results, console)
    from driftway.worker.evaluation.comparison import comparison

    for sentence in comparison(results):
        console.print(sentence, soft_wrap=True)


DETECTOR_COLUMNS = {
    "alarms": "alarms",
    "changes": "changes",
    "missed": "missed",
    "median_delay": "median delay",
    "false_alarms": "false alarms",
    "false_per_100000": "false in 100,000 rows",
}
"""Key of a detector's result -> heading."""


def show_detectors(results: list[dict[str, Any]], console: Any) -> None:
    """Print a table with one row per learner and detector, if there are detectors."""
    from rich.table import Table

    watched = [(r, name, numbers) for r in results for name, numbers in r.get("detectors", {}).items()]
    if not watched:
        return
    table = Table(box=None, header_style="bold")
    for heading in ("stream", "learner", "detector"):
        table.add_column(heading)
    present = {key: text for key, text in DETECTOR_COLUMNS.items() if any(key in numbers for _, _, numbers in watched)}
    for heading in present.values():
        table.add_column(heading, justify="right")
    for result, name, numbers in watched:
        values = ["-" if numbers.get(key) is None else f"{numbers[key]:,g}" for key in present]
        table.add_row(shown(result["stream"]), result["learner"], name, *values)
    console.print(table)


def rate(result: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """Rows per second of the learner alone, over all partitions together, because they share one figure of seconds."""
    same = [r for r in results if (r["stream"], r["learner"]) == (result["stream"], result["learner"])]
    seconds = result["seconds"]
    return f"{sum(r['rows'] for r in same) / seconds:,.0f}" if seconds > 0 else "-"


def is_informative(count: str, result: dict[str, Any]) -> bool:
    """Whether a count says more than `rows`: not all rows have a label, or some were rejected or had a gap."""
    return bool(result[count] != (result["rows"] if count == "labelled" else 0))


def show_robustness(results: list[dict[str, Any]], console: Any) -> None:
    """Print the robustness ratios summed over the streams, the best first, if there are several of both."""
    totals = {result["learner"]: result.get("robustness_total") for result in results}
    known = {learner: total for learner, total in totals.items() if total is not None}
    if len({result["stream"] for result in results}) < 2 or len(known) < 2:
        return
    ranked = sorted(known.items(), key=lambda pair: -pair[1])
    console.print("robustness over all streams: " + ", ".join(f"{name} {total:.3f}" for name, total in ranked))


def cell(metric: str, value: float | None, deviation: float | None = None) -> str:
    """Format a value, with its deviation if it is a mean: accuracies and coverage in per cent, others to 4 digits."""
    if value is None:
        return "-"
    if "accuracy" in metric or "coverage" in metric:
        spread = "" if deviation is None else f" ± {100 * deviation:.2f}"
        return f"{100 * value:.2f}{spread} %"
    return f"{value:.4g}" if deviation is None else f"{value:.4g} ± {deviation:.2g}"

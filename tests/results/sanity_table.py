"""`python -m tests.results.sanity_table [NAME...]`: docs/results/sanity-table.md, the accuracies of ALGORITHMS.md 19.6.

Takes every learner that the conformance table gives accuracies for, with the parameters given there. Names on the
command line run these only and print them, without writing the page.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

import learners
from learners.prequential import predicted_class
from tests.conformance.rows import COLUMNS, real
from tests.conformance.table import TABLE
from tests.conformance.test_accuracy import TOLERANCE

PAGE = Path(__file__).parents[2] / "docs" / "results" / "sanity-table.md"
COMMAND = "python -m tests.results.sanity_table"
BLOCK = 997

HEAD = f"""# Accuracies of the specification

Prequential accuracy in per cent of the first 20,000 rows (usenet2 1,500, spam500 2,500), one pass with
defaults unless the first column says otherwise, behind the online standardiser: what is measured now, and in brackets
how far that is from ALGORITHMS.md 19.6, or from the measurement that the conformance table names in its place. The
tolerance is {TOLERANCE} points unless the row names its own; what lies outside is **bold**.

{{count}} learners, {{rows}} rows, {{cells}} cells; outside the tolerance: {{outside}}. Made by `{COMMAND}`.

"""


def accuracy(name: str, parameters: dict[str, object], column: int) -> float:
    """Per cent of right predictions, each before its row is learned."""
    X, y = real(*COLUMNS[column])
    learner = learners.create(name, X.shape[1], standardize=True, **parameters)
    score = np.empty((len(X), learner.n_scores))
    for i in range(0, len(X), BLOCK):
        learner.predict_then_update(X[i : i + BLOCK], y[i : i + BLOCK], score[i : i + BLOCK])
    return float(100.0 * (predicted_class(score, learner.kind) == y).mean())


def measured(names: list[str]) -> list[tuple[str, list[float], list[float], float]]:
    """(learner with parameters, measured, expected, tolerance) of every row that has accuracies."""
    found = []
    for row in TABLE:
        for parameters, expected in row.accuracy:
            if names and row.name not in names:
                continue
            started = time.perf_counter()
            values = [accuracy(row.name, dict(parameters), column) for column in range(len(expected))]
            given = ", ".join(f"{key}={value}" for key, value in parameters.items())
            found.append((f"{row.name} ({given})" if given else row.name, values, list(expected), tolerance(row)))
            print(f"{found[-1][0]:40} {time.perf_counter() - started:6.1f} s", file=sys.stderr)
    return found


def tolerance(row: object) -> float:
    """Points that a measurement may be off: the row's own, where it has one."""
    return float(getattr(row, "tolerance", TOLERANCE))


def cell(value: float, expected: float, allowed: float) -> str:
    """Measured value and difference, bold where it is too large."""
    text = f"{value:.2f} ({round(value - expected, 2) + 0.0:+.2f})"  # + 0.0 makes 0.00 of -0.00
    return f"**{text}**" if is_outside(value, expected, allowed) else text


def is_outside(value: float, expected: float, allowed: float) -> bool:
    """Whether a difference is larger than allowed; both figures are rounded to hundredths."""
    return abs(value - expected) > allowed + 0.005


def page(found: list[tuple[str, list[float], list[float], float]]) -> str:
    """The whole page."""
    cells = [
        (label, COLUMNS[column][0], value, wanted, allowed)
        for label, values, expected, allowed in found
        for column, (value, wanted) in enumerate(zip(values, expected, strict=True))
    ]
    outside = [
        f"{label} on {stream}" for label, stream, value, wanted, allowed in cells if is_outside(value, wanted, allowed)
    ]
    streams = [name for name, _ in COLUMNS]
    text = HEAD.format(
        count=len({label.partition(" ")[0] for label, *_ in found}),
        rows=len(found),
        cells=len(cells),
        outside=", ".join(outside) or "none",
    )
    text += f"| learner | {' | '.join(streams)} | tolerance |\n|---|{'--:|' * (len(streams) + 1)}\n"
    for label, values, expected, allowed in found:
        shown = [cell(value, wanted, allowed) for value, wanted in zip(values, expected, strict=True)]
        text += f"| {label} | {' | '.join(shown + [''] * (len(COLUMNS) - len(shown)))} | {allowed:g} |\n"
    return text


def main(names: list[str]) -> int:
    """Measure, and write the page if that was for all."""
    unknown = set(names) - {row.name for row in TABLE}
    if unknown:
        print(f"no learner {', '.join(sorted(unknown))} in the conformance table", file=sys.stderr)
        return 2
    try:
        text = page(measured(names))
    except pytest.skip.Exception as absent:
        print(absent, file=sys.stderr)
        return 1
    if names:
        print(text)
    else:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

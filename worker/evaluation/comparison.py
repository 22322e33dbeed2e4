"""Several learners compared over several streams: ranks with Friedman's and Nemenyi's tests, and paired t tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import isfinite
from typing import Any

import numpy as np

from driftway.worker.evaluation.significance import (
    NEEDS_SCIPY,
    NEMENYI,
    Array,
    alike,
    can_test,
    critical_difference,
    friedman,
    paired_t,
    ranks,
    win_tie_loss,
)

Row = dict[str, Any]
METRICS = ("holdout_accuracy", "accuracy", "holdout_mse", "mse")
"""Metrics to compare learners by: the first one that the protocol and the task have."""
MAX_LEARNERS = len(NEMENYI[0.05]) + 1


def add_comparison(rows: list[Row]) -> None:
    """Add to each row how its learner compares with others, if several learners ran on the same streams.

    Added are ``rank`` on its stream, 1 the best; over two or more streams ``mean_rank``, ``friedman_p`` and
    ``critical_difference`` of mean ranks (Nemenyi, 95 %; up to 20 learners). With the parts of `segments` or `holdout`,
    also the first learner's paired t test against this one on the stream: ``first_t``, two-sided ``first_p``, and
    ``first_verdict``, which is 1 if the first is significantly better at 95 %, -1 if worse, else 0.

    Nothing is added if there are partitions, unknown figures, or streams that not all learners saw. Without scipy only
    the rank is added.
    """
    table = _table(rows)
    if table is None:
        return
    by_stream, figures, larger = table
    for group, all_ranks in zip(by_stream, ranks(figures, larger), strict=True):
        for row, rank in zip(group, all_ranks.tolist(), strict=True):
            row["rank"] = rank
        if can_test():
            _add_paired(group, larger)
    if len(by_stream) < 2 or not can_test():
        return
    found = friedman(figures, larger)
    k, n = len(by_stream[0]), len(by_stream)
    for group in by_stream:
        for row, rank in zip(group, found.ranks.tolist(), strict=True):
            row |= {"mean_rank": rank, "friedman_p": found.p}
            if k <= MAX_LEARNERS:
                row["critical_difference"] = critical_difference(k, n)


def comparison(rows: list[Row]) -> list[str]:
    """The comparison in sentences; empty if there is nothing to compare."""
    table = _table(rows)
    if table is None:
        return []
    by_stream, figures, larger = table
    if not can_test():
        return [NEEDS_SCIPY]
    learners = [row["learner"] for row in by_stream[0]]
    lines = [ranks_in_words(learners, figures, larger, "streams")] if len(by_stream) > 1 else []
    for i, learner in enumerate(learners[1:], 1):
        verdicts = [group[i]["first_verdict"] for group in by_stream if "first_verdict" in group[i]]
        if verdicts:
            counts = "/".join(map(str, win_tie_loss(verdicts)))
            lines.append(f"{learners[0]} against {learner}: win/tie/loss {counts} (paired t test on the parts, 95 %)")
    return lines


def ranks_in_words(learners: Sequence[str], figures: Any, larger: bool, what: str) -> str:
    """Describe mean ranks over two or more data sets, and whether they differ.

    Parameters
    ----------
    learners : sequence of str
        k >= 2 names.
    figures : f8[N, k]
        One row per data set, N >= 2.
    larger : bool
        Whether larger figures are better.
    what : str
        Name of the data sets in the text.
    """
    found, n, k = friedman(figures, larger), len(figures), len(learners)
    shown = ", ".join(f"{learner} {rank:.2f}" for rank, learner in sorted(zip(found.ranks, learners, strict=True)))
    decision = f"F {found.F:.2f} (p = {found.p_F:.2g})" if isfinite(found.F) else "one order on all of them"
    text = f"Mean ranks over {n} {what}: {shown}. Friedman: chi-square {found.chi_square:.2f} (p = {found.p:.2g}), "
    if k > MAX_LEARNERS:
        return f"{text}{decision}."
    critical = critical_difference(k, n)
    groups = [" and ".join(learners[i] for i in group) for group in alike(found.ranks, critical)]
    together = "; not significantly different: " + "; ".join(groups) if groups else "; all differ significantly"
    return f"{text}{decision}. Nemenyi's critical difference at 95 %: {critical:.2f}{together}."


def _table(rows: list[Row]) -> tuple[list[list[Row]], Array, bool] | None:
    """Rows by stream, their figures f8[N, k], and whether larger ones are better; None if they cannot be compared."""
    if any("partition" in row for row in rows):
        return None
    metric = next((name for name in METRICS if all(row.get(name) is not None for row in rows)), None)
    by_stream = [list(group) for _, group in groupby(rows, key=lambda row: row["stream"])]
    names = [[row["learner"] for row in group] for group in by_stream]
    if metric is None or not names or len(names[0]) < 2 or any(one != names[0] for one in names):
        return None
    figures = np.array([[row[metric] for row in group] for group in by_stream])
    return (by_stream, figures, "accuracy" in metric) if np.isfinite(figures).all() else None


def _add_paired(group: list[Row], larger: bool) -> None:
    """Add the paired t tests of a stream's first learner against each other one, on the parts of the protocol."""
    name = next((name for name in METRICS if f"{name}_values" in group[0]), None)
    if name is None:
        return
    first = group[0][f"{name}_values"]
    for row in group[1:]:
        pairs = [(a, b) for a, b in zip(first, row[f"{name}_values"], strict=False) if a is not None and b is not None]
        if len(pairs) < 2:
            continue
        ours, theirs = ([pair[i] for pair in pairs] for i in (0, 1))
        found = paired_t(ours, theirs) if larger else paired_t(theirs, ours)
        t = found.t if isfinite(found.t) else None  # infinite if all parts differ by the same; JSON has no infinity
        row |= {"first_t": t, "first_p": found.p, "first_verdict": found.verdict}

"""docs/algorithms/metrics.md#metrics, each value recomputed from the full history of (score, label)."""

from __future__ import annotations

import math


def mean(values):
    return sum(values) / len(values) if values else None


def chosen(scores):
    """The class predicted by a row of scores."""
    if len(scores) == 1:
        return 1 if scores[0] >= 0 else 0
    return scores.index(max(scores))


def fading_mean(values, alpha):
    if not values:
        return None
    n = len(values)
    weights = [alpha ** (n - 1 - i) for i in range(n)]
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)


def cohen(p0, pc):
    if p0 is None or pc is None or 1 - pc < 1e-12:
        return None
    return (p0 - pc) / (1 - pc)


def classification(history, n_classes, window=1000, alpha=0.999):
    """The accuracy point after `history`, a list of (scores, label or nan)."""
    rows = [(chosen(s), int(y)) for s, y in history if not math.isnan(y)]
    labels = [y for _, y in rows]
    binary = bool(history) and len(history[0][0]) == 1
    start = 1 if binary else 0
    right = [float(p == y) for p, y in rows]
    no_change = [float(p == y) for p, y in zip([start, *labels[:-1]], labels, strict=True)] if labels else []
    majority = []
    for t, y in enumerate(labels):
        counts = [labels[:t].count(c) for c in range(n_classes)]
        favourite = (1 if counts[1] >= counts[0] else 0) if binary else counts.index(max(counts))
        majority.append(float(favourite == y))
    chance = None
    if rows:
        n = len(rows)
        chance = sum(labels.count(c) / n * sum(p == c for p, _ in rows) / n for c in range(n_classes))
    return {
        "labels": len(rows),
        "window": len(rows[-window:]),
        "window_accuracy": mean(right[-window:]),
        "fading_accuracy": fading_mean(right, alpha),
        "accuracy": mean(right),
        "kappa": cohen(mean(right), chance),
        "kappa_temporal": cohen(mean(right[1:]), mean(no_change[1:])),
        "no_change_accuracy": mean(no_change),
        "majority_accuracy": mean(majority),
    }


def r2(errors, mean_errors):
    """1 - nmse over rows that have a running mean (None marks the first row)."""
    pairs = [(e, m) for e, m in zip(errors, mean_errors, strict=True) if m is not None]
    below = sum(m * m for _, m in pairs)
    return None if not pairs or below < 1e-300 else 1 - sum(e * e for e, _ in pairs) / below


def regression(history, window=1000, alpha=0.999):
    """The accuracy point after `history`, a list of ([prediction], target or nan)."""
    rows = [(s[0], y) for s, y in history if not math.isnan(y)]
    targets = [y for _, y in rows]
    errors = [s - y for s, y in rows]
    mean_errors = [None if t == 0 else sum(targets[:t]) / t - y for t, y in enumerate(targets)]
    squares, sizes = [e * e for e in errors], [abs(e) for e in errors]
    return {
        "labels": len(rows),
        "window": len(rows[-window:]),
        "mse": mean(squares),
        "mae": mean(sizes),
        "r2": r2(errors, mean_errors),
        "window_mse": mean(squares[-window:]),
        "window_mae": mean(sizes[-window:]),
        "window_r2": r2(errors[-window:], mean_errors[-window:]),
        "fading_mse": fading_mean(squares, alpha),
        "fading_mae": fading_mean(sizes, alpha),
    }

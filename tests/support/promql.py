"""A subset of PromQL to evaluate our rules and panels on scrapes, with the parser of Prometheus-like systems."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import promql_parser as promql
from prometheus_client import CollectorRegistry

STALE_SECONDS = 300.0
Labels = dict[str, str]
Vector = list[tuple[Labels, float]]
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b, ">": lambda a, b: a > b, "==": lambda a, b: a == b,
}  # fmt: skip
MERGED: dict[str, Callable[[list[float]], float]] = {
    "sum": sum, "min": min, "max": max, "count": len, "avg": lambda v: sum(v) / len(v),
}  # fmt: skip


def selectors(expression: str) -> list[Any]:
    """Return the selectors of an expression; fail if it does not parse."""
    found: list[Any] = []
    promql.walk(promql.parse(expression), lambda node: _note(found, node))
    return found


def _note(found: list[Any], node: Any) -> bool:
    if isinstance(node, promql.MatrixSelector):
        found.append(node.vector_selector)
    elif isinstance(node, promql.VectorSelector):
        found.append(node)
    return True


class Scrapes:
    """The samples that a Prometheus has scraped from one worker."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[float, float]]] = defaultdict(list)

    def take(self, registry: CollectorRegistry, at: float, **labels: str) -> None:
        """Add a scrape taken at the time `at`, in seconds."""
        for family in registry.collect():
            for sample in family.samples:
                place = sample.name, tuple(sorted({**sample.labels, **labels}.items()))
                self._series[place].append((at, sample.value))

    def ask(self, expression: str, at: float) -> Vector:
        """Evaluate an expression at a time."""
        return self._value(promql.parse(expression), at)  # type: ignore[no-any-return]

    def _value(self, node: Any, at: float) -> Any:
        match type(node):
            case promql.NumberLiteral:
                return node.val
            case promql.ParenExpr:
                return self._value(node.expr, at)
            case promql.VectorSelector:
                return [(labels, seen[-1][1]) for labels, seen in self._select(node, at, STALE_SECONDS)]
            case promql.Call:
                return self._call(node, at)
            case promql.AggregateExpr:
                return _aggregate(str(node.op), str(node.modifier), self._value(node.expr, at))
            case promql.BinaryExpr:
                return _combine(node, self._value(node.lhs, at), self._value(node.rhs, at))
        raise NotImplementedError(type(node).__name__)

    def _select(self, node: Any, at: float, seconds: float) -> list[tuple[Labels, list[tuple[float, float]]]]:
        wanted = re.findall(r'(\w+)(=~|=)"([^"]*)"', str(node.matchers))
        found = []
        for (name, pairs), samples in self._series.items():
            labels = dict(pairs)
            fits = all(re.fullmatch(v if op == "=~" else re.escape(v), labels.get(k, "")) for k, op, v in wanted)
            seen = [(t, value) for t, value in samples if at - seconds <= t <= at]
            if name == node.name and fits and seen:
                found.append((labels, seen))
        return found

    def _call(self, node: Any, at: float) -> Vector:
        name, first = node.func.name, node.args[0]
        if name == "histogram_quantile":
            return _quantile(first.val, self._value(node.args[1], at))
        seconds = first.range.total_seconds()
        series = self._select(first.vector_selector, at, seconds)
        if name == "deriv":
            return [(labels, _slope(seen)) for labels, seen in series if len(seen) > 1]
        grown = [(labels, sum(max(0.0, b[1] - a[1]) for a, b in pairwise(seen))) for labels, seen in series]
        if name == "increase":
            return grown
        if name == "rate":
            return [(labels, value / seconds) for labels, value in grown]
        raise NotImplementedError(name)


def _slope(seen: list[tuple[float, float]]) -> float:
    at, values = np.array(seen).T
    return float(np.polyfit(at - at[0], values, 1)[0])


def _kept(modifier: str, labels: Labels) -> tuple[tuple[str, str], ...]:
    """Return the labels that a `by`, `on` or `ignoring` keeps."""
    named = re.match(r"\s*(by|on|ignoring)?\s*\(([^)]*)\)", modifier)
    if named is None:
        return tuple(sorted(labels.items()))
    names = {name.strip() for name in named[2].split(",")}
    return tuple(sorted((k, v) for k, v in labels.items() if (k in names) is (named[1] != "ignoring")))


def _aggregate(op: str, modifier: str, vector: Vector) -> Vector:
    groups: dict[tuple[tuple[str, str], ...], list[float]] = defaultdict(list)
    for labels, value in vector:
        groups[_kept(modifier if modifier != "None" else "by ()", labels)].append(value)
    return [(dict(labels), float(MERGED[op](values))) for labels, values in groups.items()]


def _combine(node: Any, left: Any, right: Any) -> Any:
    op, modifier = str(node.op), str(node.modifier)
    if op == "*":
        return [(labels, value * left) for labels, value in right]
    if op == "and":
        there = {_kept(modifier, labels) for labels, _ in right}
        return [(labels, value) for labels, value in left if _kept(modifier, labels) in there]
    if isinstance(right, float):
        return [(labels, value) for labels, value in left if COMPARED[op](value, right)]
    beside = {_kept(modifier, labels): value for labels, value in right}
    pairs = ((labels, value, beside.get(_kept(modifier, labels))) for labels, value in left)
    return [(labels, value) for labels, value, other in pairs if other is not None and COMPARED[op](value, other)]


def _quantile(share: float, vector: Vector) -> Vector:
    histograms: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = defaultdict(list)
    for labels, value in vector:
        rest = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        histograms[rest].append((float(labels["le"].replace("+Inf", "inf")), value))
    found = []
    for rest, buckets in histograms.items():
        buckets.sort()
        wanted = share * buckets[-1][1]
        if buckets[-1][1] > 0:
            found.append((dict(rest), next(limit for limit, count in buckets if count >= wanted)))
    return found

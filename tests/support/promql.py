"""A subset of PromQL, to evaluate our rules and panels on scraped samples.

Unlike in Prometheus, `rate` and `increase` are not extrapolated to the ends of their range.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import promql_parser as promql
from prometheus_client.parser import text_string_to_metric_families

STALE_SECONDS = 300.0
Key = tuple[tuple[str, str], ...]
Labels = dict[str, str]
Samples = list[tuple[float, float]]
Vector = list[tuple[Labels, float]]
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, ">": operator.gt, "==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
COMPUTED: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "/": lambda a, b: a / b if b else (math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)),
}  # fmt: skip
MERGED: dict[str, Callable[[list[float]], float]] = {
    "sum": sum, "min": min, "max": max, "count": len, "avg": lambda v: sum(v) / len(v),
}  # fmt: skip
OVER_RANGE: dict[str, Callable[[Samples, float], float]] = {
    "increase": lambda seen, _: _grown(seen),
    "rate": lambda seen, seconds: _grown(seen) / seconds,
    "changes": lambda seen, _: sum(a[1] != b[1] for a, b in pairwise(seen)),
    "count_over_time": lambda seen, _: len(seen),
    "deriv": lambda seen, _: float(np.polyfit(np.array(seen)[:, 0] - seen[0][0], np.array(seen)[:, 1], 1)[0]),
}
TWO_SAMPLES = "increase", "rate", "deriv"
"""Functions that are not defined on a single sample."""


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
    """The samples that Prometheus has scraped; a series that its target no longer exposes is stale at once."""

    def __init__(self) -> None:
        self._series: dict[str, dict[Key, Samples]] = defaultdict(lambda: defaultdict(list))
        self._shown: dict[Key, set[tuple[str, Key]]] = {}
        """Labels of a target -> series of its last scrape."""

    def take(self, text: str, at: float, **target: str) -> None:
        """Add what a target answered at the time `at`, in seconds; `target` are the labels that Prometheus adds."""
        found = {("up", tuple(sorted(target.items()))): 1.0}
        for line in text.splitlines():
            if not line.startswith("#"):
                series, _, value = line.rpartition(" ")
                name, labels = _series_of(series)
                found[name, tuple(sorted({**labels, **target}.items()))] = float(value)
        self._add(found, at, target)

    def fail(self, at: float, **target: str) -> None:
        """Record that a target did not answer."""
        self._add({("up", tuple(sorted(target.items()))): 0.0}, at, target)

    def forget(self, at: float, **target: str) -> None:
        """Record that service discovery no longer lists a target."""
        self._add({}, at, target)

    def _add(self, found: dict[tuple[str, Key], float], at: float, target: Labels) -> None:
        place = tuple(sorted(target.items()))
        stale = dict.fromkeys(self._shown.get(place, set()) - set(found), math.nan)
        for (name, labels), value in (found | stale).items():
            self._series[name][labels].append((at, value))
        self._shown[place] = set(found)

    def promtool_series(self, every: int, until: int) -> list[dict[str, str]]:
        """All samples as `promtool test rules` reads them: a value for each scrape, _ for none, stale for the last."""
        series = []
        for name, found in self._series.items():
            for pairs, samples in found.items():
                labels = ",".join(f"{key}={json.dumps(value)}" for key, value in pairs)
                seen = {at: "stale" if math.isnan(value) else repr(value) for at, value in samples}
                values = " ".join(seen.get(at, "_") for at in range(0, until + 1, every))
                series.append({"series": f"{name}{{{labels}}}", "values": values})
        return series

    def ask(self, expression: str, at: float) -> Vector:
        """Evaluate an expression at a time."""
        return self._value(_parsed(expression), at)  # type: ignore[no-any-return]

    def _value(self, node: Any, at: float) -> Any:
        match type(node):
            case promql.NumberLiteral:
                return node.val
            case promql.ParenExpr:
                return self._value(node.expr, at)
            case promql.VectorSelector:
                found = self._select(node, at, STALE_SECONDS)
                return [(labels, seen[-1][1]) for labels, seen in found if not math.isnan(seen[-1][1])]
            case promql.Call:
                return self._call(node, at)
            case promql.AggregateExpr:
                return _aggregate(node, self._value(node.expr, at))
            case promql.BinaryExpr:
                return _combine(node, self._value(node.lhs, at), self._value(node.rhs, at))
        raise NotImplementedError(type(node).__name__)

    def _select(self, node: Any, at: float, seconds: float) -> list[tuple[Labels, Samples]]:
        assert node.offset is None
        assert node.at is None
        found = []
        for pairs, samples in self._series.get(node.name, {}).items():
            labels = dict(pairs)
            seen = [(t, value) for t, value in samples if at - seconds <= t <= at]
            if seen and all(_fits(one, labels) for one in node.matchers.matchers):
                found.append((labels, seen))
        return found

    def _call(self, node: Any, at: float) -> Any:
        name = node.func.name
        if name == "time":
            return at
        if name == "vector":
            return [({}, node.args[0].val)]
        if name == "absent":
            (selector,) = _selectors_of(node.args[0])
            equal = [one for one in selector.matchers.matchers if str(one.op) == "MatchOp.Equal"]
            return [] if self._value(node.args[0], at) else [({one.name: one.value for one in equal}, 1.0)]
        if name == "histogram_quantile":
            return _quantile(node.args[0].val, self._value(node.args[1], at))
        (matrix,) = node.args
        seconds = matrix.range.total_seconds()
        found = []
        for labels, seen in self._select(matrix.vector_selector, at, seconds):
            present = [(t, value) for t, value in seen if not math.isnan(value)]
            if len(present) > (name in TWO_SAMPLES):
                found.append((labels, float(OVER_RANGE[name](present, seconds))))
        return found


_parsed = cache(promql.parse)


@cache
def _series_of(text: str) -> tuple[str, Labels]:
    """Return the name and the labels of a line of a scrape, which is without its value; most come in each scrape."""
    ((sample,),) = (family.samples for family in text_string_to_metric_families(f"{text} 0\n"))
    return sample.name, sample.labels


def _selectors_of(node: Any) -> list[Any]:
    found: list[Any] = []
    promql.walk(node, lambda one: _note(found, one))
    return found


def _fits(matcher: Any, labels: Labels) -> bool:
    value = labels.get(matcher.name, "")
    if str(matcher.op) in ("MatchOp.Equal", "MatchOp.NotEqual"):
        return (value == matcher.value) is (str(matcher.op) == "MatchOp.Equal")
    return (re.fullmatch(matcher.value, value) is not None) is (str(matcher.op) == "MatchOp.Re")


def _grown(seen: Samples) -> float:
    """Return the increase of a counter, which may have been reset."""
    return sum(b[1] - a[1] if b[1] >= a[1] else b[1] for a, b in pairwise(seen))


def _kept(labels: Labels, names: list[str], excluded: bool) -> Key:
    return tuple(sorted((k, v) for k, v in labels.items() if (k in names) is not excluded))


def _aggregate(node: Any, vector: Vector) -> Vector:
    by = node.modifier
    assert by is None or str(by.type) == "AggModifierType.By"
    groups: dict[Key, list[float]] = defaultdict(list)
    for labels, value in vector:
        groups[_kept(labels, [] if by is None else by.labels, False)].append(value)
    return [(dict(labels), float(MERGED[str(node.op)](values))) for labels, values in groups.items()]


def _combine(node: Any, left: Any, right: Any) -> Any:
    """Apply a binary operator; of two vectors, to the series whose labels match."""
    op = str(node.op)
    if isinstance(left, float) and isinstance(right, float):
        return COMPUTED[op](left, right)
    if isinstance(left, float):
        return [(labels, COMPUTED[op](left, value)) for labels, value in right]
    if isinstance(right, float):
        return _applied(op, [(labels, value, right) for labels, value in left])
    matching = node.modifier.matching if node.modifier else None
    names, excluded = (matching.labels, str(matching.type).endswith("Exclude")) if matching else ([], True)
    beside: dict[Key, float] = {}
    for labels, value in right:
        key = _kept(labels, names, excluded)
        assert op in ("and", "or", "unless") or key not in beside, "many-to-many matching is an error in Prometheus"
        beside[key] = value
    keys = [_kept(labels, names, excluded) for labels, _ in left]
    many = node.modifier is not None and str(node.modifier.card) != "VectorMatchCardinality.OneToOne"
    if op in ("and", "unless"):
        return [one for one, key in zip(left, keys, strict=True) if (key in beside) is (op == "and")]
    if op == "or":
        return left + [(labels, value) for labels, value in right if _kept(labels, names, excluded) not in keys]
    assert many or len(set(keys)) == len(keys), "many-to-one matching needs group_left"
    paired = [(labels, value, beside[key]) for (labels, value), key in zip(left, keys, strict=True) if key in beside]
    return _applied(op, paired)


def _applied(op: str, paired: list[tuple[Labels, float, float]]) -> Vector:
    if op in COMPARED:
        return [(labels, a) for labels, a, b in paired if COMPARED[op](a, b)]
    return [(labels, COMPUTED[op](a, b)) for labels, a, b in paired]


def _quantile(share: float, vector: Vector) -> Vector:
    """Interpolate within the bucket, as Prometheus does; the last one with a limit stands for all beyond."""
    histograms: dict[Key, list[tuple[float, float]]] = defaultdict(list)
    for labels, value in vector:
        rest = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        histograms[rest].append((float(labels["le"].replace("+Inf", "inf")), value))
    found = []
    for rest, buckets in histograms.items():
        buckets.sort()
        wanted = share * buckets[-1][1]
        if buckets[-1][1] <= 0:
            continue
        i = next(i for i, (_, count) in enumerate(buckets) if count >= wanted)
        low, before = buckets[i - 1] if i else (0.0, 0.0)
        high, count = buckets[i]
        quantile = low if math.isinf(high) else low + (high - low) * (wanted - before) / (count - before)
        found.append((dict(rest), quantile))
    return found

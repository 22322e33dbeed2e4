"""What becomes of a field: the feature that it is, or why it is none."""

from __future__ import annotations

from driftway.worker.admin.schema.scan import EventStats, FieldStats
from driftway.worker.admin.schema.values import id_rank, is_time_name, unit_of
from driftway.worker.admin.schema.wording import in_order, percent, shares
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.schema.feature import AGE, HASH, HOUR, NUMBERS, ONE_OF, TIME, WEEKDAY, Feature
from driftway.worker.wire.schema.paths import Path

NEARLY_ALL = 0.95
RARE = 0.05
ENOUGH = 10
"""Rows: of fewer nobody can say what is constant."""
MOST_LISTED = 12
MOST_DIFFERENT = 0.8
NARROW, WIDE, MOST_NARROW = 32, 64, 512
FALLS = 0.1


def feature_of(found: EventStats, seen: FieldStats, time: Path | None) -> tuple[Feature | None, str]:
    """The feature that a field is, and what was seen; None, and why it is none. The event's time stands at `time`."""
    if not seen.scalars:
        return None, "list" if seen.lists else "always empty" if seen.empties else "always null"
    if seen.lists or seen.objects:
        return None, "list in some events" if seen.lists else "object in some events"
    if seen.scalars < RARE * found.rows:
        return None, f"only in {percent(seen.scalars, found.rows)}"
    if len(seen.values) == 1 and found.rows >= ENOUGH:
        return None, "constant so far"
    path = seen.path
    if moment := moment_of(seen, named=time == path):
        moment += _wrong(found, seen.scalars - max(seen.times, seen.numeric), "time")
        if time is not None and time != path:
            return Feature(path, str(path), TIME, parts=(AGE,)), f"{moment}: how long before the event, in s"
        hours = (HOUR,) if seen.clocks or not seen.times else ()
        return Feature(path, str(path), TIME, parts=(*hours, WEEKDAY)), moment
    if seen.numeric >= NEARLY_ALL * seen.scalars and id_rank(path.steps[-1]) is None:
        if not seen.fractions and seen.rises == seen.steps == found.rows - 1 and found.rows >= ENOUGH:
            return None, "whole number, rises with every event"
        return Feature(path, str(path), NUMBERS), _amount(found, seen)
    return _category(found, seen)


def _amount(found: EventStats, seen: FieldStats) -> str:
    if seen.truths == seen.scalars:
        said = shares(seen)
    else:
        said = f"number{' in text' if seen.numbers_in_text else ''}, {seen.low:.6g} to {seen.high:.6g}"
    lacking = found.rows - seen.scalars
    said += f", {percent(lacking, found.rows)} missing" if lacking else ""
    return said + _wrong(found, seen.scalars - seen.numeric, "number")


def _wrong(found: EventStats, count: int, kind: str) -> str:
    return f", {percent(count, found.rows)} no {kind}: rejected" if count else ""


def _category(found: EventStats, seen: FieldStats) -> tuple[Feature | None, str]:
    path, different, lacking = seen.path, len(seen.values), found.absent(seen)
    kind = "text" if seen.texts + seen.times + seen.numbers_in_text else "number"
    if different > max(MOST_LISTED, MOST_DIFFERENT * seen.scalars):
        return None, f"{kind}, different in almost every event"
    said = f"{kind}, {different:,} value{'s' * (different > 1)}"
    said += f", {percent(lacking, found.rows)} missing" if lacking else ""
    listed = Feature(path, str(path), ONE_OF, categories=tuple(in_order(seen.values)))
    if different <= MOST_LISTED:
        if _can_be_written(listed):
            return listed, said
        said += ", not all of which can be listed"
    width = NARROW if different <= MOST_NARROW else WIDE
    return Feature(path, str(path), HASH, width=width), said


def _can_be_written(feature: Feature) -> bool:
    """Whether the text of a feature says the same: categories may have commas and bars."""
    try:
        return Feature.parse(str(feature)) == feature
    except UsageFailure:
        return False


def missing_share(found: EventStats, feature: Feature) -> float:
    """The share of rows that lack the value: to a category the empty text is one."""
    seen = found.paths[feature.path]
    lacking = found.absent(seen) + (seen.empties if feature.kind in (NUMBERS, TIME) else 0)
    return lacking / found.rows


def moment_of(seen: FieldStats, named: bool = False) -> str:
    """What kind of time stands there, and whether it rises; empty: none does.

    Parameters
    ----------
    named : bool
        Somebody says that it is one: its name need not.
    """
    kind = ""
    if seen.lists or seen.objects or not seen.scalars:
        return kind
    if seen.times >= NEARLY_ALL * seen.scalars:
        kind = "ISO 8601" if seen.clocks else "date"
    elif seen.numeric == seen.scalars and not seen.truths and (named or is_time_name(seen.path.steps[-1])):
        unit = unit_of(seen.low, seen.high)
        kind = f"{unit} since 1970" if unit else ""
    if not kind or not seen.rises or not rises(seen):
        return kind
    return f"{kind}, rising" if not seen.falls else f"{kind}, almost always rising"


def rises(seen: FieldStats) -> bool:
    """Whether numbers or times hardly ever fall from a row to the next, and sometimes rise."""
    return seen.falls <= FALLS * seen.steps and (seen.rises > 0 or seen.steps == 0)

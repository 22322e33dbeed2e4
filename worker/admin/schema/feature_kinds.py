"""Decide whether a field becomes a feature, and which kind, or why it is left out."""

from __future__ import annotations

from driftway.worker.admin.schema.scan import EventStats, FieldStats
from driftway.worker.admin.schema.values import (
    has_unit,
    id_rank,
    is_date_in_digits,
    is_date_name,
    is_json,
    is_other_date,
    is_time_name,
    unit_of,
)
from driftway.worker.admin.schema.wording import percent, shares, spelled_once
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.schema.feature import (
    AGE,
    HASH,
    HOUR,
    NAMES,
    NUMBERS,
    ONE_OF,
    TIME,
    WEEKDAY,
    Feature,
    MissingPolicy,
)
from driftway.worker.wire.schema.paths import Path

NEARLY_ALL = 0.95
RARE = 0.05
ENOUGH = 10
"""Rows below which no field is called constant or a counter."""
MAX_LISTED = 12
LONGEST_LISTED = 100
"""Characters of a category; a proposal with longer ones could not be read."""
MAX_DIFFERENT = 0.8
NARROW, WIDE, MAX_NARROW, MAX_WORDS = 32, 64, 512, 1024
FALLS = 0.1
ZERO = MissingPolicy("", 0.0)
AS_TIMES = "write them as 2026-11-24T14:30:00Z to use them as times"
LIST_OF_NUMBERS = "list of numbers"


def feature_of(found: EventStats, seen: FieldStats, time: Path | None) -> tuple[Feature | None, str]:
    """The feature made of a field and what was seen, or None and why it is left out; the event's time is at `time`."""
    if seen.lists == found.rows >= ENOUGH and seen.same_list:
        return None, "constant so far"
    if seen.words and seen.word_lists >= NEARLY_ALL * seen.lists and not (seen.scalars or seen.objects):
        about = f"lists of words, {len(seen.words):,} different"
        return _words(found, seen, str(seen.path), len(seen.words)), about
    if not seen.scalars:
        if seen.reordered:
            return None, "list of keys and values in varying order: write it as an object"
        if seen.lists:
            return None, LIST_OF_NUMBERS if seen.number_lists == seen.lists else "list"
        return None, "always empty" if seen.empties else "always null"
    if seen.lists or seen.objects:
        return None, "list in some events" if seen.lists else "object in some events"
    if seen.scalars < RARE * found.rows:
        return None, f"only in {percent(seen.scalars, found.rows)}"
    if len(seen.values) == 1 and found.rows >= ENOUGH:
        return _presence(found, seen)
    path = seen.path
    if kind := moment_of(seen, named=time == path):
        unit = unit_at(seen, named=time == path)
        kind += _wrong(found, seen.scalars - max(seen.times, seen.numeric), "time")
        if time is not None and time != path:
            age = Feature(path, str(path), TIME, parts=(AGE,), unit=unit, missing_words=seen.missing_words)
            return age, f"{kind}: how long before the event, in s"
        hours = (HOUR,) if seen.clocks or not (seen.times or unit == "days") else ()
        parts = (*hours, WEEKDAY)
        return Feature(path, str(path), TIME, parts=parts, unit=unit, missing_words=seen.missing_words), kind
    if seen.numeric >= NEARLY_ALL * seen.scalars and not seen.codes and id_rank(path.steps[-1]) is None:
        always = seen.rises == seen.steps == found.rows - found.partitions
        if not seen.fractions and always and found.rows >= ENOUGH:
            return None, "whole number, increases with every event"
        return Feature(path, str(path), NUMBERS, missing_words=seen.missing_words), _amount(found, seen)
    return _category(found, seen)


def words_of_object(found: EventStats, seen: FieldStats, different: int) -> tuple[Feature, str]:
    """The feature made of an object with some of so many fields, and what was seen of it."""
    return _words(found, seen, f"{seen.path}{NAMES}", different), f"object with some of {different:,} fields"


def _words(found: EventStats, seen: FieldStats, name: str, different: int) -> Feature:
    """The feature that hashes words, into as many columns as few share, if so many are affordable."""
    width = min(max(NARROW, 1 << (different - 1).bit_length()), MAX_WORDS)
    missing = ZERO if found.absent(seen) else None
    return Feature(seen.path, name, HASH, width=width, missing=missing, names=name != str(seen.path))


def _presence(found: EventStats, seen: FieldStats) -> tuple[Feature | None, str]:
    """The feature of a field with one value: whether a row has it."""
    path, (word,), lacking = seen.path, seen.values, found.rows - seen.scalars
    number = seen.numbers + seen.truths > 0
    kind, categories = (NUMBERS, ()) if number else (ONE_OF, (word,))
    words = seen.missing_words if number else ()
    feature = Feature(path, str(path), kind, categories=categories, missing=ZERO, missing_words=words)
    if not lacking or (number and not seen.high) or not _can_be_listed(feature):
        return None, "constant so far"
    return feature, f"{word[:40]}, not in {percent(lacking, found.rows)}"


def _amount(found: EventStats, seen: FieldStats) -> str:
    if seen.truths == seen.scalars:
        text = shares(seen)
    elif all(map(is_date_in_digits, seen.values)):
        text = f"dates in digits, {seen.low:.0f} to {seen.high:.0f}: {AS_TIMES}"
    else:
        text = f"number{' in text' if seen.numbers_in_text else ''}, {seen.low:.6g} to {seen.high:.6g}"
    lacking = found.rows - seen.scalars
    text += f", {percent(lacking, found.rows)} missing" if lacking else ""
    return text + _wrong(found, seen.scalars - seen.numeric, "number")


def _wrong(found: EventStats, count: int, kind: str) -> str:
    return f", {percent(count, found.rows)} no {kind}: rejected" if count else ""


def _category(found: EventStats, seen: FieldStats) -> tuple[Feature | None, str]:
    path, different, lacking = seen.path, len(seen.values), found.absent(seen)
    kind = "text" if seen.texts + seen.times + seen.numbers_in_text else "number"
    if different and all(map(is_other_date, seen.values)):
        kind = f"dates that are not ISO 8601: {AS_TIMES}"
    elif different and all(map(has_unit, seen.values)):
        kind = "numbers with other characters: write them as numbers to use them as such"
    elif different and all(map(is_json, seen.values)):
        kind = "JSON in text: write it as an object to use its fields"
    if different > max(MAX_LISTED, MAX_DIFFERENT * seen.scalars):
        return None, f"{kind}, different in almost every event"
    text = f"{kind}, {different:,} value{'s' * (different > 1)}"
    text += f", {percent(lacking, found.rows)} missing" if lacking else ""
    listed = Feature(path, str(path), ONE_OF, categories=tuple(spelled_once(seen.values)))
    if different <= MAX_LISTED:
        if _can_be_listed(listed):
            return listed, text
        text += ", not all of which can be listed"
    width = NARROW if different <= MAX_NARROW else WIDE
    return Feature(path, str(path), HASH, width=width), text


def _can_be_listed(feature: Feature) -> bool:
    """Whether no category is long, and the feature can be written and parsed again, as commas and bars may prevent."""
    if max(map(len, feature.categories), default=0) > LONGEST_LISTED:
        return False
    try:
        return Feature.parse(str(feature)) == feature
    except UsageFailure:
        return False


def missing_share(found: EventStats, feature: Feature) -> float:
    """The share of rows that lack a feature's value; for a category the empty text is a value."""
    seen = found.paths[feature.path]
    lacking = found.absent(seen) + (seen.empties if feature.kind in (NUMBERS, TIME) else 0)
    return lacking / found.rows


def moment_of(seen: FieldStats, named: bool = False) -> str:
    """What kind of time a field holds, and whether it rises; empty if it holds none.

    Parameters
    ----------
    seen : FieldStats
        The field's values.
    named : bool
        Whether the user named the field as the time, so that its own name does not matter.
    """
    kind = ""
    if seen.lists or seen.objects or not seen.scalars:
        return kind
    if seen.times >= NEARLY_ALL * seen.scalars:
        kind = "ISO 8601" if seen.clocks else "date"
    elif unit := unit_at(seen, named):
        kind = f"{unit} since 1970"
    if not kind or not seen.rises or not rises(seen):
        return kind
    return f"{kind}, rising" if not seen.falls else f"{kind}, almost always rising"


def unit_at(seen: FieldStats, named: bool = False) -> str:
    """The unit of a field of numbers that are times, from all rows that were seen; empty if they are none."""
    name = seen.path.steps[-1] if seen.path.steps else ""
    if seen.lists or seen.objects or not seen.scalars or seen.numeric < seen.scalars or seen.truths:
        return ""
    return unit_of(seen.low, seen.high, is_date_name(name)) if named or is_time_name(name) else ""


def rises(seen: FieldStats) -> bool:
    """Whether numbers or times rarely fall from one row to the next, and rise at least once."""
    return seen.falls <= FALLS * seen.steps and (seen.rises > 0 or seen.steps == 0)

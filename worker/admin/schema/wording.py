"""Text for counts and shares."""

from __future__ import annotations

from collections.abc import Mapping

from driftway.worker.admin.schema.scan import FieldStats
from driftway.worker.errors import plural
from driftway.worker.wire.json_tokens.text_values import as_number, truth_in


def shares(seen: FieldStats) -> str:
    """The shares of the most frequent values: ``true 12 %, false 88 %``."""
    frequent = sorted(seen.values.items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{word[:40]} {percent(count, seen.scalars)}" for word, count in frequent[:4]]
    return ", ".join(parts) + (f" and {len(frequent) - 4:,} more" if len(frequent) > 4 else "")


def spread(seen: FieldStats) -> str:
    """The number of different values."""
    n = len(seen.values)
    return (
        "different in every event" if n == seen.scalars else f"{plural(n, 'value')} in {plural(seen.scalars, 'event')}"
    )


def percent(part: int, whole: int) -> str:
    """A share in per cent that is never rounded to 0 or 100."""
    share = 100 * part / whole
    if 0 < share < 1:
        return "under 1 %"
    return "over 99 %" if 99 < share < 100 else f"{share:.0f} %"


def in_order(words: Mapping[str, int]) -> list[str]:
    """Sort words: numbers first, by value, then texts."""
    numbers = {word: as_number(word) for word in words}
    return sorted(words, key=lambda word: (isinstance(numbers[word], str), numbers[word]))


def spelled_once(words: Mapping[str, int]) -> list[str]:
    """Sort words as `in_order`; if all are truth words, the most frequent one for false, then that for true."""
    ordered = in_order(words)
    best = {truth_in(word): word for word in sorted(ordered, key=lambda word: words[word])}
    return ordered if -1 in best else [best[truth] for truth in sorted(best)]

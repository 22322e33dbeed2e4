"""What people read of counts."""

from __future__ import annotations

from collections.abc import Mapping

from driftway.worker.admin.schema.scan import FieldStats
from driftway.worker.wire.events import as_number


def shares(seen: FieldStats) -> str:
    """How often the most frequent values come: ``true 12 %, false 88 %``."""
    frequent = sorted(seen.values.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{word[:40]} {percent(count, seen.scalars)}" for word, count in frequent[:4]]
    return ", ".join(told) + (f" and {len(frequent) - 4:,} more" if len(frequent) > 4 else "")


def spread(seen: FieldStats) -> str:
    """How many values are different."""
    n = len(seen.values)
    return "different in every event" if n == seen.scalars else f"{n:,} values in {seen.scalars:,} events"


def percent(part: int, whole: int) -> str:
    """A share, none of which becomes 0 or 100 by rounding."""
    share = 100 * part / whole
    if 0 < share < 1:
        return "under 1 %"
    return "over 99 %" if 99 < share < 100 else f"{share:.0f} %"


def in_order(words: Mapping[str, int]) -> list[str]:
    """Numbers first, by size, then texts."""
    numbers = {word: as_number(word) for word in words}
    return sorted(words, key=lambda word: (isinstance(numbers[word], str), numbers[word]))

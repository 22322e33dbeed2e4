"""Bounds of a part of a topic, as users write them: an offset or a point in time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from driftway.worker.errors import UsageFailure


@dataclass(frozen=True)
class OffsetBound:
    """One end of a range.

    Parameters
    ----------
    offset : int or None
        An offset, >= 0; None if the bound is a time.
    time : int or None
        Milliseconds since 1970, standing for the first record that is not older; None if the bound is an offset.
    """

    offset: int | None
    time: int | None

    @classmethod
    def parse(cls, text: str | None, option: str) -> OffsetBound | None:
        """Read ``500000`` or ``2026-11-01T00:00:00Z``; a time without zone is UTC. None stays None.

        Raises
        ------
        UsageFailure
            The text has another form.
        """
        if text is None:
            return None
        if text.isascii() and text.isdigit():
            return cls(int(text), None)
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise UsageFailure(
                f"{option} {text}: write an offset such as 500000, or a time such as 2026-11-01T00:00:00Z"
            ) from None
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return cls(None, round(at.timestamp() * 1000.0))


def require_order(first: OffsetBound | None, end: OffsetBound | None) -> None:
    """Refuse a range that is obviously empty, without knowing the log.

    Raises
    ------
    UsageFailure
        `first` does not lie before `end`.
    """
    if first is None or end is None:
        return
    for a, b in ((first.offset, end.offset), (first.time, end.time)):
        if a is not None and b is not None and a >= b:
            raise UsageFailure("the range is empty: --from is not before --to")

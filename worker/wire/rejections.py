"""Headers and kinds of rejections, and the limit on their number: bad input is set aside, but reported and bounded.

--max-rejected counts events, not seconds: it trips at the same event however records are split into batches. It looks
at the last events of a partition, which are kept in memory only: after a restart or a rebalance the window is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.wire.events import RejectedEvent
from driftway.worker.wire.headers import Header

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Integers

WINDOW = 1000
"""Default window, in events, of a share without one."""

Flags = NDArray[np.bool_]
INPUT_OFFSET, EARLIER_INPUT_OFFSET = "input-offset", "before"
"""Header of a label's rejection: the input offset of the event before which it was taken; and that header's name in
earlier versions."""

KINDS = {
    "null value": "null",
    "not JSON": "not-json",
    "not a JSON object": "not-object",
    "no x": "no-x",
    "late label": "late-label",
    "x is neither": "bad-x",
    "x is empty": "features",
    "x is a list": "features",
    "x is an object": "features",
    "label ": "label",
    "id is nested": "id",
    "packed: ": "packed",
    "no object": "no-row",
    "debezium: ": "deleted",
    "avro: ": "registry",
    "protobuf: ": "registry",
    "json-schema: ": "registry",
}
"""Beginning of a reason -> its kind. Kinds are a closed list; reasons contain names and values of the event."""
BY_END = {
    "is not a number": "not-a-number",
    "is not finite": "not-finite",
    "is missing": "missing",
    "is not a time": "not-a-time",
    "days into the schema": "not-a-time",
    "is no category": "no-category",
}
"""End of a reason -> its kind; checked first, since such a reason begins with a feature's name."""
OTHER = "features"
"""Kind of reasons that compare an event's features with the schema: x has, x lacks."""


def headers_of(bad: RejectedEvent, topic: str, partition: int, label_topic: str = "") -> tuple[Header, ...]:
    """Return the headers of a rejection's record: the reason, and the position of the event in the input.

    For a label from a label topic: its position there, and the input offset of the event before which it was taken.
    """
    topic, offset = (topic, bad.offset) if bad.label_offset is None else (label_topic, bad.label_offset)
    return (
        ("reason", bad.reason.encode()),
        ("topic", topic.encode()),
        ("partition", b"%d" % partition),
        ("offset", b"%d" % offset),
        ("timestamp", b"%d" % bad.timestamp),
        *(() if bad.label_offset is None else ((INPUT_OFFSET, b"%d" % bad.offset),)),
    )


def answered_offset(headers: Mapping[str, bytes]) -> tuple[int, bytes | None]:
    """Return the input offset of a rejection, and for a label its own offset, since several share an input offset.

    Raises
    ------
    KeyError, ValueError
        These are not the headers of a rejection.
    """
    for name in (INPUT_OFFSET, EARLIER_INPUT_OFFSET):
        if name in headers:
            return int(headers[name]), headers["offset"]
    return int(headers["offset"]), None


def kind_of(reason: str) -> str:
    """Return the kind of a reason, for counting."""
    for words, kind in BY_END.items():
        if reason.endswith(words):
            return kind
    return next((kind for words, kind in KINDS.items() if reason.startswith(words)), OTHER)


def format_counts(kinds: Mapping[str, int]) -> str:
    """Format counts by kind, the most frequent first; empty if there are none."""
    return ", ".join(f"{kind} {count:,}" for kind, count in Counter(kinds).most_common())


class TooManyRejected(Failure):
    """More of a partition's last events were rejected than --max-rejected allows."""


@dataclass(frozen=True)
class RejectionLimit:
    """The largest share of a partition's last `window` events that may be rejected.

    Parameters
    ----------
    text : str
        As the user wrote it: ``SHARE`` or ``SHARE/WINDOW``.
    most : int
        Most rejections allowed: the share of the window, rounded down.
    window : int
        Number of events considered, >= 1.
    """

    text: str
    most: int
    window: int

    @classmethod
    def parse(cls, text: str) -> RejectionLimit:
        """Read ``SHARE[/WINDOW]``; the share is exact, so that 0.29 of 100 events are 29.

        Raises
        ------
        UsageFailure
            The share is not in [0, 1), or the window is not a whole number >= 1.
        """
        share, slash, events = (piece.strip() for piece in text.partition("/"))
        try:
            part, window = Fraction(share), int(events) if slash else WINDOW
        except (ValueError, ZeroDivisionError):
            raise UsageFailure(f"--max-rejected {text}: write SHARE or SHARE/WINDOW, like 0.1/1000") from None
        if not 0 <= part < 1:
            raise UsageFailure(f"--max-rejected {text}: the share must be >= 0 and < 1")
        if window < 1:
            raise UsageFailure(f"--max-rejected {text}: the window must be >= 1")
        return cls(text, int(part * window), window)


class RejectionWindow:
    """Tracks which of a partition's last events were rejected.

    Parameters
    ----------
    limit : RejectionLimit
        The limit; the same number of rejections is allowed before `window` events were seen.
    partition : int
        Named in the error.
    """

    def __init__(self, limit: RejectionLimit, partition: int) -> None:
        self.limit = limit
        self.partition = partition
        self._recent: Flags = np.zeros(0, np.bool_)

    def observe(self, offsets: Integers, rejected: Sequence[RejectedEvent]) -> TooManyRejected | None:
        """Add a batch's accepted offsets and rejections, both ascending; return an error if they exceed the limit."""
        bad_offsets = np.fromiter((bad.offset for bad in rejected), np.int64, len(rejected))
        flags = np.zeros(len(offsets) + len(rejected), np.bool_)
        flags[np.searchsorted(offsets, bad_offsets) + np.arange(len(bad_offsets))] = True
        known, window = len(self._recent), self.limit.window
        flags = np.concatenate([self._recent, flags])
        self._recent = flags[-window:]
        total = np.cumsum(flags)
        counts = total - np.concatenate([np.zeros(window, total.dtype), total])[: len(total)]
        over = np.flatnonzero(counts[known:] > self.limit.most)
        if not len(over):
            return None
        end = known + int(over[0]) + 1
        latest = rejected[int(flags[known:end].sum()) - 1]
        last = f"the latest, at offset {latest.offset}: {shown(latest.reason)}"
        return TooManyRejected(
            f"partition {self.partition}: {counts[end - 1]} of its last {min(end, window)} events were rejected, more "
            f"than --max-rejected {self.limit.text} allows; {last}"
        )

    def save(self) -> Flags:
        """Return a copy of the window."""
        return self._recent.copy()

    def load(self, recent: Flags | None) -> None:
        """Restore a saved window; None empties it."""
        self._recent = np.zeros(0, np.bool_) if recent is None else recent.copy()


def shown(reason: str) -> str:
    """Make `reason` safe for a terminal: names of features may contain control characters."""
    return "".join(c if c.isprintable() else "?" for c in reason)

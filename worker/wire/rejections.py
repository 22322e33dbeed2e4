"""What is said of rejections, and how many a partition may have: bad input is set aside, not silently and not for ever.

The rule of --max-rejected counts events, not seconds: it trips at the same event however records are cut into batches.
What it remembers is the last events of a partition, in memory only: a restart, and a partition that moves, begin with
an empty memory.
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
"""Events that a share without a window is of."""

Flags = NDArray[np.bool_]
INPUT_OFFSET, EARLIER_INPUT_OFFSET = "input-offset", "before"
"""Header of a label's rejection: the input offset of the event before which it was taken; what earlier versions called
it."""

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
"""How a reason begins -> its kind: a closed list, while reasons name the event's own names and values."""
BY_END = {
    "is not a number": "not-a-number",
    "is not finite": "not-finite",
    "is missing": "missing",
    "is not a time": "not-a-time",
    "is no category": "no-category",
}
"""How a reason ends -> its kind; looked for first, since it begins with a feature's name."""
OTHER = "features"
"""Of reasons that compare the features of an event with those of the first: x has, lacks."""


def headers_of(bad: RejectedEvent, topic: str, partition: int, label_topic: str = "") -> tuple[Header, ...]:
    """The headers of the record that a rejection becomes: why, and where its event stands in the input.

    Of a label out of a topic of its own where it stands there, and the event in the input that it was taken before.
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
    """The input offset that a rejection answers, and what tells it from others that answer the same.

    Raises
    ------
    KeyError, ValueError
        It has not the headers of a rejection.
    """
    for name in (INPUT_OFFSET, EARLIER_INPUT_OFFSET):
        if name in headers:
            return int(headers[name]), headers["offset"]
    return int(headers["offset"]), None


def kind_of(reason: str) -> str:
    """The kind of a reason, for counting."""
    for words, kind in BY_END.items():
        if reason.endswith(words):
            return kind
    return next((kind for words, kind in KINDS.items() if reason.startswith(words)), OTHER)


def format_counts(kinds: Mapping[str, int]) -> str:
    """Counts by kind in words, the most frequent first; empty if there are none."""
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
        Rejections that are still allowed: the share of the window, rounded down.
    window : int
        Events looked back at, >= 1.
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
            The share is not in [0, 1), or the window is no whole number >= 1.
        """
        share, slash, events = (piece.strip() for piece in text.partition("/"))
        try:
            part, window = Fraction(share), int(events) if slash else WINDOW
        except (ValueError, ZeroDivisionError):
            raise UsageFailure(f"--max-rejected {text}: say SHARE or SHARE/WINDOW, like 0.1/1000") from None
        if not 0 <= part < 1:
            raise UsageFailure(f"--max-rejected {text}: the share must be >= 0 and < 1")
        if window < 1:
            raise UsageFailure(f"--max-rejected {text}: the window must be >= 1")
        return cls(text, int(part * window), window)


class RejectionWindow:
    """The last events of one partition: which of them were rejected.

    Parameters
    ----------
    limit : RejectionLimit
        What is allowed. Before `window` events were seen, the same number of rejections is.
    partition : int
        For the sentence.
    """

    def __init__(self, limit: RejectionLimit, partition: int) -> None:
        self.limit = limit
        self.partition = partition
        self._recent: Flags = np.zeros(0, np.bool_)

    def observe(self, offsets: Integers, rejected: Sequence[RejectedEvent]) -> TooManyRejected | None:
        """Look at a batch: accepted offsets and rejections, both rising; return the first excess."""
        places = np.fromiter((bad.offset for bad in rejected), np.int64, len(rejected))
        flags = np.zeros(len(offsets) + len(rejected), np.bool_)
        flags[np.searchsorted(offsets, places) + np.arange(len(places))] = True
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
        """Copy the memory."""
        return self._recent.copy()

    def load(self, recent: Flags | None) -> None:
        """Go back to a saved memory; None empties it."""
        self._recent = np.zeros(0, np.bool_) if recent is None else recent.copy()


def shown(reason: str) -> str:
    """`reason` fit for a terminal: names of features may hold control characters."""
    return "".join(c if c.isprintable() else "?" for c in reason)

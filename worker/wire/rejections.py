"""Headers and kinds of rejections, and the limit on their number: bad input is set aside, but reported and bounded.

--max-rejected counts events, not seconds: it stops the worker at the same event however records are split into batches.
It looks at the last events of a partition, which are kept in memory only: after a restart or a rebalance the window is
empty.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from driftway.worker.errors import Failure, UsageFailure, plural, shown
from driftway.worker.wire.events import MAX_KEY, NOT_JSON, NOT_OBJECT, UNKNOWN_ID, RejectedEvent
from driftway.worker.wire.headers import Header

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Flags, Integers

WINDOW = 1000
"""Default window, in events, of a share without one."""

TRUNCATED = "truncated"
"""Header of a rejection that holds only the beginning of its event."""
FIRST_BYTES = 1024
"""Bytes that are kept of a value or key that is too large to be written whole."""
SMALL_RECORD = 131_072
"""Size up to which rejections are written whole after the broker has refused a larger one: below any sensible limit,
and enough for the longest key with the beginning of the value."""
RECORD_BYTES, HEADER_BYTES = 256, 16
"""Room for the framing of a record and its batch, and of a header."""

INPUT_OFFSET, EARLIER_INPUT_OFFSET = "input-offset", "before"
"""Header of a label's rejection: the input offset of the event before which it was taken; and that header's name in
earlier versions."""
OWN_COUNT, OWN = "headers", "event."
"""Header of a rejection: how many headers the event had, so that a lost one shows and rejections of earlier versions,
which kept none, are recognised; and the beginning of the names of those headers, which sets them apart from ours."""
SET_ASIDE, LABEL = "set-aside", "label"
"""Header of a label that was set aside, and its value. Such a record is not the outcome of an event: the event of the
label is predicted, or the label is a record of its own. Earlier versions did not write the header."""

PLAIN, KAFKA_STREAMS = REJECTED_HEADERS = "plain", "kafka-streams"
"""Which headers rejections have: those above, or also those of Kafka Streams' dead letter queue (KIP-1034)."""
EXCEPTION, MESSAGE, STACK_TRACE = (
    "__streams.errors.exception",
    "__streams.errors.message",
    "__streams.errors.stacktrace",
)
STREAMS_POSITION = [(f"__streams.errors.{name}", name) for name in ("topic", "partition", "offset")]
"""Its names of a record's position -> those of Driftway."""
EXCEPTION_CLASS = b"driftway.RejectedEvent"
"""Stands where a Java program has the class of the exception."""

SHORTER = (
    *(reason.encode() for reason in (NOT_JSON, NOT_OBJECT, UNKNOWN_ID)),
    *(f"{form}: not in the registry's format".encode() for form in ("avro", "protobuf", "json-schema")),
)
"""Reasons as earlier versions wrote them. Now more may follow: what the value begins with, that a label has no time."""
NESTED_LABEL = b"label given is not one of "
"""As a reason begins that earlier versions wrote without saying that the label is a list or an object."""
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
    "id is ": "id",
    "key is ": "key",
    "packed: ": "packed",
    "inexact: ": "inexact",
    "no object": "no-row",
    "debezium: ": "deleted",
    "avro: ": "registry",
    "protobuf: ": "registry",
    "json-schema: ": "registry",
}
"""Beginning of a reason -> its kind. Kinds are a closed list; reasons contain names and values of the event. A reason
never changes its kind: what was sent again is remembered by kind."""
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
ALL_KINDS = sorted({*KINDS.values(), *BY_END.values(), OTHER})


def headers_of(bad: RejectedEvent, topic: str, partition: int, label_topic: str = "") -> tuple[Header, ...]:
    """Return the headers of a rejection's record: the reason, the position of the event in the input, and its headers.

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
        *(((SET_ASIDE, LABEL.encode()),) if bad.set_aside else ()),
        (OWN_COUNT, b"%d" % len(bad.headers)),
        *((OWN + name, value) for name, value in bad.headers),
    )


def streams_headers(headers: Sequence[Header]) -> tuple[Header, ...]:
    """Return the headers of Kafka Streams' dead letter queue (KIP-1034) that say the same as those of a rejection.

    No exception was thrown: there is the reason in its place, and the stack trace has no calls.
    """
    said = dict(headers)
    reason = said["reason"] or b""
    thrown = EXCEPTION_CLASS + b": " + reason
    position = ((theirs, said[ours]) for theirs, ours in STREAMS_POSITION)
    return (EXCEPTION, thrown), (MESSAGE, reason), (STACK_TRACE, thrown), *position


def own_headers(headers: Sequence[Header]) -> tuple[Header, ...]:
    """Return the headers that a rejected event came with; none if an earlier version wrote the rejection."""
    return tuple((name.removeprefix(OWN), value) for name, value in headers if name.startswith(OWN))


def keeps_headers(headers: Sequence[Header]) -> bool:
    """Return whether a rejection keeps the event's headers: earlier versions did not."""
    return any(name == OWN_COUNT for name, _ in headers)


def lost_part(headers: Sequence[Header]) -> str:
    """Return which part of its event a rejection has lost, in words; empty if it is whole, so far as is known."""
    named = dict(headers)
    if TRUNCATED in named:
        return "it was too large, and must be sent again from its source"
    said, found = named.get(OWN_COUNT), len(own_headers(headers))
    if not keeps_headers(headers) or said == b"%d" % found:
        return ""
    return f"{plural(found, 'header is left', 'headers are left')} of {(said or b'').decode(errors='replace')}"


def in_earlier_words(headers: Sequence[Header], reason: bytes | None) -> tuple[Header, ...]:
    """Return a rejection's headers with a `reason` of an earlier version, if this one only says more than that."""

    def earlier(name: str, value: bytes | None) -> bytes | None:
        known = reason is not None and (reason in SHORTER or reason.startswith(NESTED_LABEL))
        more = name == "reason" and known and (value or b"").startswith((reason or b"") + b": ")
        return reason if more else value

    return tuple((name, earlier(name, value)) for name, value in headers)


def without_own(headers: Sequence[Header]) -> tuple[Header, ...]:
    """Return a rejection's headers as earlier versions wrote them."""
    return tuple((name, value) for name, value in headers if name != OWN_COUNT and not name.startswith(OWN))


class RejectionRecord(NamedTuple):
    """A rejection as it is written."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]

    @property
    def size(self) -> int:
        """About the bytes that it takes in the log, rather too many."""
        of_headers = sum(len(name) + len(value or b"") + HEADER_BYTES for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + of_headers + RECORD_BYTES

    def within(self, largest: int) -> RejectionRecord:
        """Return this record, or `beginning` if it is larger than `largest` bytes."""
        return self if self.size <= largest else self.beginning()

    def beginning(self) -> RejectionRecord:
        """Return the record with the beginning of the value, and of a key longer than MAX_KEY, in place of the whole.

        Headers say so (`truncated`), and give the length and the digest of what was cut. The event's own headers are
        left out if they are longer than FIRST_BYTES.
        """
        value, of_value = _beginning(self.value, FIRST_BYTES, "")
        key, of_key = _beginning(self.key, MAX_KEY, "key-")
        own = sum(len(name) + len(content or b"") for name, content in self.headers if name.startswith(OWN))
        headers = self.headers if own <= FIRST_BYTES else tuple(h for h in self.headers if not h[0].startswith(OWN))
        return RejectionRecord(key, value, (*headers, (TRUNCATED, b"true"), *of_value, *of_key))


def _beginning(text: bytes | None, max_bytes: int, prefix: str) -> tuple[bytes | None, tuple[Header, ...]]:
    """Return text of at most `max_bytes` bytes unchanged; else its first FIRST_BYTES, with its length and SHA-256."""
    if text is None or len(text) <= max_bytes:
        return text, ()
    digest = hashlib.sha256(text).hexdigest().encode()
    return text[:FIRST_BYTES], ((f"{prefix}length", b"%d" % len(text)), (f"{prefix}sha256", digest))


def record_of(
    bad: RejectedEvent, topic: str, partition: int, label_topic: str = "", form: str = PLAIN
) -> RejectionRecord:
    """Return a rejection's record: the event unchanged, with `headers_of`, and those that `form` adds."""
    headers = headers_of(bad, topic, partition, label_topic)
    more = streams_headers(headers) if form == KAFKA_STREAMS else ()
    return RejectionRecord(bad.key, bad.value, headers + more)


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


def is_set_aside(headers: Mapping[str, bytes]) -> bool:
    """Whether a record is a label that was set aside, also one of a label topic in earlier versions."""
    return not {SET_ASIDE, INPUT_OFFSET, EARLIER_INPUT_OFFSET}.isdisjoint(headers)


def kind_of(reason: str, set_aside: bool = False) -> str:
    """Return the kind of a reason, for counting; `set_aside`: of a label's."""
    if set_aside and reason.startswith("label "):
        return LABEL  # not that of a feature called `label`
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
    max_rejected : int
        Most rejections allowed: the share of the window, rounded down.
    window : int
        Number of events considered, >= 1.
    """

    text: str
    max_rejected: int
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
    """Tracks which of a partition's last events were rejected, or had their label set aside.

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
        own_topic = np.fromiter((bad.label_offset is not None for bad in rejected), np.bool_, len(rejected))
        predicted = np.isin(bad_offsets, offsets) & ~own_topic  # only their labels were set aside
        events, others = bad_offsets[predicted], bad_offsets[~predicted]
        flags = np.zeros(len(offsets) + len(others), np.bool_)
        flags[np.searchsorted(offsets, others) + np.arange(len(others))] = True
        flags[np.searchsorted(offsets, events) + np.searchsorted(others, events, "right")] = True
        known, window = len(self._recent), self.limit.window
        flags = np.concatenate([self._recent, flags])
        self._recent = flags[-window:]
        total = np.cumsum(flags)
        counts = total - np.concatenate([np.zeros(window, total.dtype), total])[: len(total)]
        over = np.flatnonzero(counts[known:] > self.limit.max_rejected)
        if not len(over):
            return None
        end = known + int(over[0]) + 1
        latest = rejected[int(flags[known:end].sum()) - 1]
        what = "were rejected or had their label set aside" if latest.set_aside else "were rejected"
        last = f"the latest, at offset {latest.offset}: {shown(latest.reason)}"
        return TooManyRejected(
            f"partition {self.partition}: {counts[end - 1]} of its last {min(end, window)} events {what}, more "
            f"than --max-rejected {self.limit.text} allows; {last}"
        )

    def save(self) -> Flags:
        """Return a copy of the window."""
        return self._recent.copy()

    def load(self, recent: Flags | None) -> None:
        """Restore a saved window; None empties it."""
        self._recent = np.zeros(0, np.bool_) if recent is None else recent.copy()

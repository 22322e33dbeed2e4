"""Replay: a stream's rows onto a topic, in order, at a rate. Start reading in `Replay.run`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from producers.pacing import Pace
from producers.sending import Sender, Stop, check_owned
from producers.streams.stream import BLOCK_ROWS, Block, Stream
from worker import codec, packed
from worker.client import require_broker
from worker.errors import UsageFailure
from worker.topics import create_topics, partition_counts

PACED_BLOCK_SECONDS = 0.05
"""A paced replay encodes this much ahead at once: longer blocks would hold a slice back while they encode."""

LARGEST_PLAIN = 1e15
"""Whole numbers below are written without a fraction in keys; above, digits would pretend to exist."""

Encoded = tuple[list[bytes], list[bytes] | None]


@dataclass(frozen=True)
class Selection:
    """Which rows: `laps` times the stream (None = for ever), without the first `skip`, at most `limit`."""

    skip: int = 0
    limit: int | None = None
    laps: int | None = 1


@dataclass(frozen=True)
class Encoding:
    """How a row becomes a message: `form` json or packed, `named` features, and the `key`'s column."""

    form: str = codec.JSON
    named: bool = False
    key: str | None = None


@dataclass(frozen=True)
class Report:
    """What a replay did. `rows` were queued, `errors` of them were not delivered; `late` is in seconds."""

    rows: int
    bytes: int
    seconds: float
    errors: int
    first_error: str | None
    next_id: int
    late: float

    @property
    def rate(self) -> float:
        """Rows a second, from the first row to the broker's last answer."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


@dataclass
class Replay:
    """One stream on its way to one topic.

    Parameters
    ----------
    stream : Stream
        The rows.
    topic : str
        Where to.
    rate : float or None
        Rows a second; None = as fast as the client goes.
    selection : Selection
        Which rows.
    encoding : Encoding
        How they are written.
    stop : Stop
        Call it to end the replay early.
    on_progress : callable
        Called with the number of rows queued so far, once per slice.
    """

    stream: Stream
    topic: str
    rate: float | None = None
    selection: Selection = field(default_factory=Selection)
    encoding: Encoding = field(default_factory=Encoding)
    stop: Stop = field(default_factory=Stop)
    on_progress: Callable[[int], None] = lambda _rows: None

    def run(self, bootstrap: str, properties: Mapping[str, Any], partitions: int | None = None) -> Report:
        """Send the rows and wait until the broker has answered for each.

        Parameters
        ----------
        bootstrap : str
            Address of a broker.
        properties : mapping
            Client properties to pass through.
        partitions : int or None
            Of the topic. None: as many as it has, or 1 if it must be created.

        Raises
        ------
        Unreachable
            No broker answers.
        UsageFailure
            The topic has another number of partitions, the stream has no rows or no such key column, or a
            property cannot be set.
        """
        check_owned(properties)
        encode = encoder(self.stream, self.encoding)
        blocks = select(self.stream, self.selection, self._block_rows())
        # The first block compiles the generator's kernel or shows that the file is unusable: neither is the
        # schedule's business, and the second should not leave a topic behind.
        first = next(blocks, None)
        if first is None:
            raise UsageFailure(f"{self.stream.name} has no rows after the first {self.selection.skip}")
        count = ensure_topic(bootstrap, properties, self.topic, partitions)
        sender = Sender(bootstrap, properties, self.topic, count, self.stop)
        sender.await_topic()
        pace = Pace(self.rate)
        pace.start()
        sent, weight, position = 0, 0, first[0]
        for position, block in itertools.chain([first], blocks):
            values, keys = encode(position, block)
            queued = self._send(sender, pace, sent, position, (values, keys))
            sent += queued
            weight += sum(map(len, values[:queued]))
            position += queued  # noqa: PLW2901
            if queued < len(values):
                break
        sender.finish()
        return Report(sent, weight, pace.elapsed(), sender.errors, sender.first_error, position, pace.latest)

    def _send(self, sender: Sender, pace: Pace, sent: int, position: int, encoded: Encoded) -> int:
        """Send a block in the slices that the schedule allows; return how many rows left before a stop."""
        values, keys = encoded
        heaviest = max(map(len, values))
        at = 0
        while at < len(values) and not self.stop.requests:
            rows = pace.due(sent + at, len(values) - at)
            if rows == 0:
                sender.rest(pace.wait(sent + at, len(values) - at))
                continue
            if not sender.room(rows, heaviest):
                break
            sender.send(position + at, values[at : at + rows], None if keys is None else keys[at : at + rows])
            at += rows
            self.on_progress(sent + at)
        return at

    def _block_rows(self) -> int:
        if self.rate is None:
            return BLOCK_ROWS
        return min(BLOCK_ROWS, max(1, math.ceil(self.rate * PACED_BLOCK_SECONDS)))


def select(stream: Stream, selection: Selection, size: int) -> Iterator[tuple[int, Block]]:
    """Yield the chosen rows as blocks with their first row's position.

    Positions count rows from 0 through all laps, skipped ones included. They are the ids, and modulo the
    number of partitions they choose the partition; ``--limit 1000`` and then ``--skip 1000`` equal one run.
    """
    start = selection.skip
    end = math.inf if selection.limit is None else start + selection.limit
    position = 0
    laps = itertools.count() if selection.laps is None else range(selection.laps)
    for _ in laps:
        lap_start = position
        for block in stream.blocks(size):
            first, position = position, position + len(block.y)
            low, high = max(start - first, 0), min(end - first, len(block.y))
            if low < high:
                yield first + low, Block(block.X[low : int(high)], block.y[low : int(high)])
            if position >= end:
                return
        if position == lap_start:
            return


def encoder(stream: Stream, encoding: Encoding) -> Callable[[int, Block], Encoded]:
    """The function that turns a block and its first id into values and keys.

    Raises
    ------
    UsageFailure
        `named` with the packed format, which has no names, or a key column that the stream does not have.
    """
    if encoding.named and encoding.form == codec.PACKED:
        raise UsageFailure("--named needs --format json: packed messages carry no names")
    if encoding.form not in codec.FORMATS:
        raise UsageFailure(f"format must be one of {', '.join(codec.FORMATS)}, got {encoding.form!r}")
    names = stream.feature_names if encoding.named else None
    columns = (*stream.feature_names, stream.label_name)
    if encoding.key is not None and encoding.key not in columns:
        some = ", ".join(columns[:8]) + (", ..." if len(columns) > 8 else "")
        raise UsageFailure(f"{stream.name} has no column {encoding.key!r} for --key; columns: {some}")
    at = None if encoding.key is None else columns.index(encoding.key)

    def encode(first: int, block: Block) -> Encoded:
        if encoding.form == codec.PACKED:
            values = packed.encode_events(block.X, block.y)
        else:
            values = codec.encode_events(block.X, block.y, first, names)
        if at is None:
            return values, None
        column = block.y if at == stream.n_features else block.X[:, at]
        return values, [key_text(value) for value in column.tolist()]

    return encode


def key_text(value: float) -> bytes:
    """A column's value as a key: ``3``, ``0.25``, or ``null`` where it is missing."""
    if math.isnan(value):
        return b"null"
    if value.is_integer() and abs(value) < LARGEST_PLAIN:
        return str(int(value)).encode()
    return repr(value).encode()


def ensure_topic(bootstrap: str, properties: Mapping[str, Any], topic: str, partitions: int | None) -> int:
    """Create `topic` if it is missing; return how many partitions it has.

    Raises
    ------
    Unreachable
        No broker answers.
    UsageFailure
        It exists with another number of partitions than `partitions`.
    """
    present = partition_counts(require_broker(bootstrap, properties)).get(topic)
    if present is None or partitions is not None:
        create_topics(bootstrap, properties, {topic: (partitions or 1, {})})
    return partitions or present or 1

"""Rows as a worker would get them: a file's events read by a schema, with missing values filled in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.errors import UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.factory import make_imputer
from driftway.worker.wire.columns import BytesColumn, ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Schema, Target
from driftway.worker.wire.rejections import shown
from driftway.worker.wire.schema.feature import AGE
from driftway.worker.wire.schema.paths import HEADER, KEY, TIMESTAMP
from driftway.worker.wire.schema.schema import EventSchema

if TYPE_CHECKING:
    from driftway.learners.preprocessing.imputation import Imputer

Array = NDArray[np.float64]
BESIDE = (KEY, HEADER, TIMESTAMP)


class RowBlock(NamedTuple):
    """Consecutive rows: X f8[n, d], NaN where a feature is missing, infinite in all of a rejected row; y f8[n]."""

    X: Array
    y: Array


class EventRowSource:
    """A stream of rows decoded from a file's events by a schema, for evaluation and training.

    Parameters
    ----------
    file : EventFile
        Provides the events in blocks, as JSON texts.
    events : EventSchema
        Schema of the events.
    target : Target
        The rows' labels are indices of its classes.

    Raises
    ------
    UsageFailure
        The schema refers to keys, headers or timestamps, which a file does not have.
    """

    label_name = "y"
    labels: tuple[str, ...] | None = None
    drift_points: tuple[int, ...] = ()
    task: str | None = None

    def __init__(self, file: Any, events: EventSchema, target: Target) -> None:
        self._file, self._events, self._target = file, events, target
        for path in self._events.sources:
            if path.source in BESIDE:
                raise UsageFailure(f"{file.name} holds nothing but the events: {path} exists in topics only")
        self.name: str = file.name
        self.rows: int | None = file.rows
        self.feature_names = self._events.columns
        self.first_rejected: str | None = None
        """Row and reason of the first event rejected so far."""

    @property
    def n_features(self) -> int:
        """Number of columns of a row, without indicators of missing values."""
        return len(self.feature_names)

    def blocks(self) -> Iterator[RowBlock]:
        """Read the events, starting at the first.

        Raises
        ------
        UsageFailure
            The file cannot be read, or a feature is an age and an event has no time.
        """
        decoder, first = Decoder(self._target, events=self._events), 0
        for values in self._file.blocks():
            yield self._rows(decoder, values, first)
            first += len(values)

    def _rows(self, decoder: Decoder, values: BytesColumn, first: int) -> RowBlock:
        n = len(values)
        places = np.arange(first, first + n)
        batch = decoder.decode(Records(0, places, values, ListColumn([None] * n), np.zeros(n, np.int64)))
        bad = next((one for one in batch.rejected if not one.set_aside), None)
        if bad is not None and self.first_rejected is None:
            self.first_rejected = f"row {bad.offset}: {shown(bad.reason)}"
        kept = batch.offsets - first
        self._require_times(batch.t, batch.offsets)
        X, y = np.full((n, self.n_features), np.inf), np.full(n, np.nan)
        X[kept], y[kept] = batch.X, batch.y
        return RowBlock(X, y)

    def _require_times(self, t: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        from driftway.worker.wire.scanner import NO_TIME

        aged = next((feature for feature in self._events.features if AGE in feature.parts), None)
        if aged is not None and (t == NO_TIME).any():
            row = int(rows[np.argmax(t == NO_TIME)])
            raise UsageFailure(
                f"row {row} of {self.name} has no time at {self._events.time}, which the age of {aged.path} needs: "
                "say where it is with --time PATH"
            )


def open_rows(
    open_stream: Callable[..., Any],
    name: str,
    opening: dict[str, Any],
    target: Target,
    events: EventSchema | None = None,
) -> Any:
    """Open a stream of rows, decoded from a file's events if there is a schema.

    Raises
    ------
    UsageFailure
        As the opener, or as `EventRowSource`.
    """
    if events is None:
        return open_stream(name, **opening)
    return EventRowSource(open_stream(name, raw=True, data_dir=opening.get("data_dir")), events, target)


def count_rows(stream: Any, limit: int | None = None) -> int:
    """Number of rows of a stream, at most `limit`; a file of unknown length is read once to count them."""
    known = stream.rows
    if known is None:
        known = 0
        for block in stream.blocks():
            known += len(block.y)
            if limit is not None and known >= limit:
                break
    return int(known if limit is None else min(known, limit))


def first_rows(blocks: Iterable[Any], limit: int | None) -> Iterator[tuple[Array, Array]]:
    """The first `limit` rows, cut here since a generator asked for fewer rows would squeeze its concepts into them."""
    left = limit
    for block in blocks:
        yield block.X[:left], block.y[:left]
        if left is not None:
            left -= len(block.y)
            if left <= 0:
                return


def chosen_rows(
    stream: Any, skip: int, limit: int | None, columns: Sequence[int] | None = None
) -> Iterator[tuple[Array, Array]]:
    """At most `limit` rows after the first `skip`, with the given columns in the given order; None: unchanged.

    Raises
    ------
    UsageFailure
        No row is left.
    """
    row, end = 0, None if limit is None else skip + limit
    for X, y in first_rows(stream.blocks(), end):
        start = max(skip - row, 0)
        row += len(y)
        if start < len(y):
            kept = X[start:] if columns is None else X[start:, columns]
            yield np.ascontiguousarray(kept), y[start:]
    if row <= skip:
        raise UsageFailure(f"--skip {skip} leaves no row of {stream.name}, which has {row}")


class MissingValueFillers:
    """Fills in missing values, separately for each partition: row i belongs to partition i mod `partitions`.

    Parameters
    ----------
    settings : ModelSettings
        Settings with the policy for missing values.
    n_features : int
        Number of columns of an incoming row.
    partitions : int
        Number of partitions, >= 1.
    row : int
        Number of the first row to come.
    """

    def __init__(self, settings: ModelSettings, n_features: int, partitions: int = 1, row: int = 0) -> None:
        self.row = row
        # Rows of events are infinite if rejected; infinite numbers of a stream would arrive as null on a topic.
        self._infinite_is_missing = settings.events is None
        schema = Schema(n_features)
        made = [make_imputer(settings, schema) for _ in range(partitions)]
        self._of: list[Imputer] = [one for one in made if one is not None]

    def fill(self, X: Array) -> Array:
        """Fill in the next rows; a rejected row is NaN throughout. Shapes: X f8[n, d], returns f8[n, width]."""
        if not self._of:
            return X
        if self._infinite_is_missing:
            X = np.where(np.isfinite(X), X, np.nan)
        usable: NDArray[np.bool_] = np.asarray(~np.isinf(X).any(axis=1))
        filled = np.full((len(X), self._of[0].width), np.nan)
        count = len(self._of)
        for p, filling in enumerate(self._of):
            first = (p - self.row) % count
            keep = np.flatnonzero(usable[first::count]) * count + first
            filled[keep] = filling.transform(np.ascontiguousarray(X[keep]))
        self.row += len(X)
        return filled

    @property
    def state(self) -> bytes:
        """The first partition's statistics of the columns; empty if no value may be missing."""
        return self._of[0].state.memory.tobytes() if self._of else b""

    def begin(self, state: bytes) -> None:
        """Start all partitions from a saved state; an empty one is ignored."""
        for filling in self._of if state else ():
            filling.state.memory[:] = np.frombuffer(state, np.uint8)

    def merge(self, other: MissingValueFillers) -> None:
        """Merge in the statistics of other partitions."""
        for ours, theirs in zip(self._of, other._of, strict=True):
            ours.update(theirs)

    def filled(self, blocks: Iterable[tuple[Array, Array]]) -> Iterator[tuple[Array, Array]]:
        """Fill in blocks, one after the other."""
        for X, y in blocks:
            yield self.fill(X), y


def is_read(settings: ModelSettings) -> bool:
    """Whether rows are read by a schema, or missing values are filled in."""
    return settings.events is not None or settings.filling(Schema(1)) is not None

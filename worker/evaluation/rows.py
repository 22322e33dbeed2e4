"""Rows as a worker would get them: a file's events read by a schema, with missing values filled in; and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.errors import Failure, UsageFailure, plural, shown
from driftway.worker.settings import ModelSettings
from driftway.worker.state.factory import make_imputer
from driftway.worker.wire.columns import BytesColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Schema, Target
from driftway.worker.wire.rejections import kind_of
from driftway.worker.wire.schema.feature import AGE
from driftway.worker.wire.schema.paths import HEADER, KEY, ROW, TIMESTAMP, Path
from driftway.worker.wire.schema.schema import EventSchema

if TYPE_CHECKING:
    from driftway.learners.preprocessing.imputation import Imputer

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
BESIDE = (KEY, HEADER, TIMESTAMP)
MISSING = "missing"
"""Kind of the rejections for a missing feature."""
NO_LABEL, GAP = "it has no label", "is missing or infinite"
FILL, NAMES = " (--missing mean fills gaps, --drop leaves out a column of a file)", " (--labels names the classes)"


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
        self.notes: tuple[str, ...] = file.notes
        self.rows: int | None = file.rows
        self.feature_names = self._events.columns
        self.reasons: dict[int, str] = {}
        """Row -> why its event, or only its label, cannot be used, in the block read last."""

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

    def events(self) -> Iterator[BytesColumn]:
        """The events themselves, in blocks, starting at the first."""
        yield from self._file.blocks()

    def _rows(self, decoder: Decoder, values: BytesColumn, first: int) -> RowBlock:
        n, batch = len(values), decoder.decode(Records.of_values(values, first))
        self.reasons = {bad.offset: bad.reason for bad in batch.rejected}
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
    file = open_stream(
        name,
        raw=True,
        label=_field(events.label),
        labels=target.labels or None,
        values=_categories(events),
        only=None if events.envelope else {path.steps[0] for path in events.sources if path.source == ROW},
        **{key: opening[key] for key in ("data_dir", "reading") if key in opening},
    )
    return EventRowSource(file, events, target)


def _field(path: Path) -> str | None:
    """The name of a field that stands in the row itself."""
    return path.steps[0] if path.source == ROW and len(path.steps) == 1 else None


def _categories(events: EventSchema) -> dict[str, tuple[str, ...]]:
    """Field -> its categories, where they are named."""
    named = ((_field(feature.path), feature.categories) for feature in events.features)
    return {field: categories for field, categories in named if field is not None and categories}


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
    Failure, UsageFailure
        The stream has no row, or none is left.
    """
    row, end = 0, None if limit is None else skip + limit
    for X, y in first_rows(stream.blocks(), end):
        start = max(skip - row, 0)
        row += len(y)
        if start < len(y):
            kept = X[start:] if columns is None else X[start:, columns]
            yield np.ascontiguousarray(kept), y[start:]
    if row == 0:
        raise Failure(f"{stream.name} holds no rows")
    if row <= skip:
        raise UsageFailure(f"--skip {skip} leaves no row of {stream.name}, which has {row}")


@dataclass
class RowCounts:
    """Counts of the rows read from a stream or topic.

    Parameters
    ----------
    labelled : int
        Rows that could be used: with a label and finite features.
    unlabelled : int
        Rows without a label, or with one that cannot be used. An evaluation predicts them, but cannot score them.
    rejected : int
        Rows that a worker would reject, labelled or not.
    missing : int
        Rows with a missing feature, which was filled in, or for which the row was rejected.
    first_rejected, first_unused : str or None
        Location and reason of the first rejected row, and of the first row rejected or without a label.
    """

    labelled: int = 0
    unlabelled: int = 0
    rejected: int = 0
    missing: int = 0
    first_rejected: str | None = None
    first_unused: str | None = None

    @property
    def read(self) -> int:
        """All rows."""
        return self.labelled + self.unlabelled + self.rejected

    @property
    def lost_many(self) -> bool:
        """Whether more than a fifth of the rows could not be used."""
        return 5 * (self.unlabelled + self.rejected) > self.read

    def figures(self) -> dict[str, int]:
        """The counts as an evaluation reports them; `rows` are those that were predicted."""
        return {
            "rows": self.labelled + self.unlabelled,
            "labelled": self.labelled,
            "rejected": self.rejected,
            "missing": self.missing,
        }

    def sentence(self, name: str) -> str:
        """Say how many rows of the stream `name` could be used, how many could not, and why the first could not."""
        if not self.read:
            return f"{name} holds no rows"
        others = (self.rejected, "rejected"), (self.unlabelled, "without a label")
        lost = ", ".join(f"{count:,} {what}" for count, what in others if count)
        used, why = f"{self.labelled:,}" if self.labelled else "none", str(self.first_unused)
        hint = FILL if why.endswith(GAP) else NAMES if " is not one of " in why else ""
        return f"{used} of the {plural(self.read, 'row')} of {name} could be used: {lost}; the first, {why}{hint}"


@dataclass
class RowCounter:
    """Counts the rows of a stream by partition, as they are read: row i belongs to partition i mod `partitions`.

    Parameters
    ----------
    stream : Stream
        Names the features; an `EventRowSource` also says why it rejected an event.
    reading : ModelSettings or None
        Settings with the event schema and the policy for missing values; None: there is neither.
    partitions : int
        Number of partitions, >= 1.
    row : int
        Number of the first row to come.
    columns : sequence of int or None
        The stream's columns in the order of the rows to come; None: the stream's own order.
    """

    stream: Any
    reading: ModelSettings | None = None
    partitions: int = 1
    row: int = 0
    columns: Sequence[int] | None = None
    parts: list[RowCounts] = field(init=False)
    first_rejected: str | None = field(default=None, init=False)
    first_unused: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.parts = [RowCounts() for _ in range(self.partitions)]

    @property
    def total(self) -> RowCounts:
        """The counts of all partitions together."""
        names = ("labelled", "unlabelled", "rejected", "missing")
        sums: dict[str, Any] = {name: sum(getattr(part, name) for part in self.parts) for name in names}
        return RowCounts(**sums, first_rejected=self.first_rejected, first_unused=self.first_unused)

    def count(self, X: Array, y: Array) -> Flags:
        """Count the next rows, X f8[n, d] before missing values are filled in, y f8[n]; return which are not rejected.

        Rows are as in `RowBlock`.
        """
        reasons: dict[int, str] = getattr(self.stream, "reasons", {})
        missing: Flags = np.asarray(~np.isfinite(X).all(axis=1))
        rejected = missing.copy() if self.reading is None else np.zeros(len(y), np.bool_)
        if holds_events(self.stream):
            rejected |= np.asarray(np.isinf(X).any(axis=1))
            for i in np.flatnonzero(rejected).tolist():
                missing[i] &= kind_of(reasons.get(self.row + i, MISSING)) == MISSING
        unlabelled = np.isnan(y)
        for p, part in enumerate(self.parts):
            mine = slice((p - self.row) % self.partitions, None, self.partitions)
            part.labelled += int((~rejected & ~unlabelled)[mine].sum())
            part.unlabelled += int((~rejected & unlabelled)[mine].sum())
            part.rejected += int(rejected[mine].sum())
            part.missing += int(missing[mine].sum())
        self.first_rejected = self.first_rejected or self._first(rejected, X, reasons)
        self.first_unused = self.first_unused or self._first(rejected | unlabelled, X, reasons)
        self.row += len(y)
        return ~rejected

    def _first(self, which: Flags, X: Array, reasons: dict[int, str]) -> str | None:
        """Location and reason of the first row where `which` is true, if there is one."""
        if not which.any():
            return None
        i = int(np.argmax(which))
        reason = reasons.get(self.row + i, NO_LABEL)
        bad = np.flatnonzero(~np.isfinite(X[i]))
        if len(bad) and self.reading is None and self.row + i not in reasons:
            column = bad[0] if self.columns is None else self.columns[bad[0]]
            reason = f"{self.stream.feature_names[column]} {GAP}"
        return f"row {self.row + i}: {shown(reason)}"


def holds_events(stream: Any) -> bool:
    """Whether the rows of a stream are decoded from events, some of which may be rejected."""
    return hasattr(stream, "reasons")


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
    of_events : bool
        Whether infinite features mark a rejected event; infinite numbers of other streams would arrive as null on a
        topic.
    """

    def __init__(
        self, settings: ModelSettings, n_features: int, partitions: int = 1, row: int = 0, of_events: bool = False
    ) -> None:
        self.row = row
        self._infinite_is_missing = settings.events is None and not of_events
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


def is_read(settings: ModelSettings) -> bool:
    """Whether rows are read by a schema, or missing values are filled in."""
    return settings.events is not None or settings.filling(Schema(1)) is not None

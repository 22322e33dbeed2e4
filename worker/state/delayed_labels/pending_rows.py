"""Rows that wait for their labels, their predictions, and the matching of labels to rows.

A batch's rows and labels become one sequence of operations in the order of their offsets: a row that has its label, a
row that waits, and again the row whose label has arrived. Learners and metrics process operations as if they were rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.update_loop import LABEL_EXPIRED, DelayedRows
from driftway.learners.learner import Learner
from driftway.learners.metrics.classification import NO_SLOTS, Guesses
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.delayed_labels.pending_table import (
    CONFLICTING,
    EXPIRED,
    HEAD,
    LABELLED,
    NEWEST,
    RECENT,
    ROWS,
    SAME_AGAIN,
    SLACK_SHARE,
    TAIL,
    TAKEN,
    UNKNOWN,
    LabelColumns,
    OperationColumns,
    PendingTable,
    RowColumns,
    arrange,
    emitted_scores,
    hash_ids,
    insert_all,
)
from driftway.worker.state.delayed_labels.stamps import AHEAD, BEHIND, NO_TIME, judged
from driftway.worker.wire.columns import Floats, Integers
from driftway.worker.wire.events import OTHER_LABEL, SAME_LABEL, UNKNOWN_ID, Batch, Labels, RejectedEvent
from driftway.worker.wire.writer import Column

OTHER_SIZES = "the saved waiting rows have other sizes than those of these learners"
WRONG_STAMPS = "wrong_timestamps", "furthest_ms"
"""Figures on the stamps that those around them contradict."""
NO_STAMP = f"{UNKNOWN_ID}: without a timestamp, by which a topic of labels is merged, it comes before all events"
REASONS = {UNKNOWN: UNKNOWN_ID, SAME_AGAIN: SAME_LABEL, CONFLICTING: OTHER_LABEL}


class Segment(NamedTuple):
    """Operations from `start` to before `end`."""

    start: int
    end: int
    complete: bool
    """Whether an accuracy point follows."""
    delays: dict[str, Any] | None = None
    """The point's fields on delays, where labels may be late."""


@dataclass
class OrderedBatch:
    """A batch as operations.

    Parameters
    ----------
    batch : Batch
        As if each operation were a row: X, y, offsets, ids, times.
    slot : i8
        See `OperationColumns`; i8[0] where labels are never late.
    row_operations : i8[n] or None
        The operation of each row; None: all operations are rows.
    segments : list of Segment
        The segments, cut so that accuracy points fall on fixed rows.
    rejected : list of RejectedEvent
        Labels that no row waits for.
    """

    batch: Batch
    slot: Integers
    row_operations: Integers | None
    segments: list[Segment]
    rejected: list[RejectedEvent] = field(default_factory=list)

    @classmethod
    def of_rows(cls, batch: Batch, cuts: list[int]) -> OrderedBatch:
        """Return the batch of rows whose labels are never late, cut before each row index in `cuts`."""
        n = len(batch)
        starts, ends = [0, *cuts], [*cuts, *([n] if n and cuts[-1:] != [n] else [])]
        pieces = [Segment(start, end, end in cuts) for start, end in zip(starts, ends, strict=False)]
        return cls(batch, NO_SLOTS, None, pieces)


class WaitingRows(NamedTuple):
    """The columns with which rows that wait go on under a plan."""

    columns: Sequence[int | None] | None
    """For each column its number among those before; None: it is new. None for all: they are the same."""
    filled_in: Sequence[float]
    """For each column the value that a new one has in these rows."""

    def followed(self, store: PendingTable) -> PendingTable:
        """Return the table of rows with these columns, of that with those before."""
        if self.columns is None:
            return store
        number, key, stamp, row, label, rows, *rest = store
        found = np.tile(np.array(self.filled_in, np.float64), (len(rows), 1))
        for new, old in enumerate(self.columns):
            if old is not None:
                found[:, new] = rows[:, old]
        return PendingTable(number, key, stamp, row, label, found, *rest)


SAME_COLUMNS = WaitingRows(None, ())


class PendingRows:
    """Rows of a partition that wait for their labels.

    Parameters
    ----------
    wait : LabelWait
        How long they wait.
    n_features : int
        d.
    learners : sequence of Learner
        The learners that predict the rows.
    """

    def __init__(self, wait: LabelWait, n_features: int, learners: Sequence[Learner]) -> None:
        W = wait.rows
        table_size = 1 << (2 * W - 1).bit_length()
        self._store = PendingTable(
            np.zeros(6, np.int64),
            np.zeros(W, np.uint64),
            np.zeros(W, np.int64),
            np.zeros(W, np.int64),
            np.zeros(W),
            np.zeros((W, n_features)),
            np.array([wait.rows, wait.millis], np.int64),
            np.zeros(table_size, np.int64),
            np.zeros((RECENT, 2), np.int64),
        )
        self.cached_guesses = Guesses.allocate(W)
        self.cached_predictions = [learner.prediction_cache(W) for learner in learners]
        """For each learner f4 or f8[W, ...], see `Learner.prediction_cache`."""
        self._with_expired = any(learner.uses_unlabelled for learner in learners)
        """Whether rows that expire without a label are operations, too."""
        self._scores = [np.zeros((W, learner.n_scores)) for learner in learners]
        """The emitted scores, for each learner f8[W, k]."""
        self.more_columns: list[NDArray[Any]] = []
        """What others keep of each row that waits, [W, ...] each; it is saved and loaded with the rows."""
        self.clocks = dict.fromkeys(WRONG_STAMPS, 0) if wait.millis else {}
        """With a limit in ms: the number of timestamps so far that do not fit those around them, and the largest
        error."""

    @property
    def waiting(self) -> Integers:
        """Slots of the rows that wait, oldest first."""
        return self._slots()[1]

    def scores_of(self, i: int) -> Floats:
        """The scores that learner `i` emitted for the rows that wait, f8[n, k]."""
        return self._scores[i][self.waiting]

    def continue_from(
        self,
        before: PendingRows,
        learners: Sequence[Learner],
        kept: Sequence[int | None],
        waiting: WaitingRows = SAME_COLUMNS,
    ) -> None:
        """Go on with the rows that wait under the plan before.

        Parameters
        ----------
        before : PendingRows
            It is used no more.
        learners : sequence of Learner
            Those of this plan.
        kept : sequence of int or None
            For each of them the number of the learner before whose state it goes on with, and so its predictions of the
            rows that wait. None: it is new, and predicts them now.
        waiting : WaitingRows
            The columns with which the rows go on.
        """
        self._store, self.cached_guesses = waiting.followed(before._store), before.cached_guesses
        self.clocks = before.clocks
        slots = self._slots()[1]
        for i, (learner, number) in enumerate(zip(learners, kept, strict=True)):
            scores, cache = self._scores[i], self.cached_predictions[i]
            if number is not None:
                scores[slots], cache[slots] = before._scores[number][slots], before.cached_predictions[number][slots]
            elif len(slots):
                score = np.empty((len(slots), learner.n_scores))
                unlabelled = np.full(len(slots), np.nan)
                learner.predict_then_update_delayed(self._store.x[slots], unlabelled, score, DelayedRows(slots, cache))
                scores[slots] = score

    def arrange(self, batch: Batch, cuts: list[int]) -> OrderedBatch:
        """Arrange a batch's rows and labels as operations, and match each label to its row.

        A segment ends before each row index in `cuts`.
        """
        incoming, stamps = batch.labels, batch.stamps
        assert incoming is not None  # noqa: S101 - the decoder was asked for them
        assert stamps is not None  # noqa: S101
        n, m = len(batch), len(incoming)
        most = n + m
        if self._with_expired:
            most += n + int(self._store.number[HEAD] - self._store.number[TAIL])
        row, label, slot = (np.empty(most, np.int64) for _ in range(3))
        order = OperationColumns(
            row, label, slot, np.empty((most, batch.X.shape[1])), np.empty(most), np.empty(m, np.int64)
        )
        rows = RowColumns(_keys(batch.ids), batch.y, batch.X, stamps)
        labels = LabelColumns(incoming.row_index, _keys(incoming.ids), incoming.y, incoming.stamps)
        self._count_wrong(np.insert(stamps, incoming.row_index, incoming.stamps))
        done, segments, start = np.zeros(3, np.int64), list[Segment](), 0
        for end in cuts:
            arrange(self._store, rows, labels, order, done, end, self._with_expired)
            begin, start = start, int(done[2])
            segments.append(Segment(begin, start, True, self.delay_fields()))
        arrange(self._store, rows, labels, order, done, n + 1, self._with_expired)
        k = int(done[2])
        if k > start:
            segments.append(Segment(start, k, False))
        row, label = row[:k], label[:k]
        pick = np.where(row >= 0, row, n + label)
        is_row = (row >= 0) & (slot[:k] != LABEL_EXPIRED)
        bounds = np.concatenate([batch.ids[1], incoming.ids[1]], axis=1)
        arranged = Batch(
            batch.partition,
            batch.next_offset,
            np.concatenate([batch.offsets, incoming.offsets])[pick],
            order.X[:k],
            order.y[:k],
            (batch.ids[0], np.ascontiguousarray(bounds[:, pick])),
            np.concatenate([batch.t, incoming.t])[pick],
            batch.keys,
        )
        rejected = [
            incoming.rejection(i, _reason(incoming, i, int(order.code[i])))
            for i in np.flatnonzero(order.code != TAKEN).tolist()
        ]
        return OrderedBatch(arranged, order.slot[:k], np.flatnonzero(is_row), segments, rejected)

    def _count_wrong(self, stamps: Integers) -> None:
        """Count the wrong ones among a batch's stamps, in the order of the records."""
        if self.clocks and len(stamps):
            found = judged(stamps, int(self._store.number[NEWEST]) or NO_TIME)
            wrong = (found.verdicts == AHEAD) | (found.verdicts == BEHIND)
            off = np.abs(stamps - found.line)[wrong & (found.line != NO_TIME)]
            off = off[off > self._store.limit[1] // SLACK_SHARE]
            self.clocks["wrong_timestamps"] += len(off)
            self.clocks["furthest_ms"] = max(self.clocks["furthest_ms"], int(off.max(initial=0)))

    def count_awaited(self, labels: Labels, offsets: Integers) -> int:
        """Return for how many of the first offsets, i8[n], there is a label that a row waits for."""
        keys, (_, waits) = _keys(labels.ids), self._slots()
        awaited = np.isin(offsets, labels.offsets[np.isin(keys, self._store.key[waits]) & (keys != 0)])
        return len(offsets) if awaited.all() else int(awaited.argmin())

    def scores_at_prediction(self, arranged: OrderedBatch, scores: list[Floats]) -> list[Floats]:
        """Scores emitted for each operation's row, f8[ops, k] per learner; stores those of rows that wait."""
        slot, y = arranged.slot, arranged.batch.y
        return [emitted_scores(slot, y, score, kept) for score, kept in zip(scores, self._scores, strict=True)]

    def delay_fields(self) -> dict[str, Any]:
        """The fields of an accuracy point on delays."""
        number = self._store.number
        recent = self._store.delay[: min(int(number[LABELLED]), RECENT)]
        late, times = np.sort(recent[:, 0]), np.sort(recent[:, 1])
        return {
            "rows": int(number[ROWS]),
            "waiting": len(self._slots()[1]),
            "never_labelled": int(number[EXPIRED]),
            "delay_rows": _of_delays(late),
            "delay_ms": _of_delays(times),
        }

    def delay_metrics(self) -> dict[str, int]:
        """Number of rows that wait for labels, the labels' delays, wrong stamps."""
        fields = self.delay_fields() | self.clocks
        flat = {key: value for key, value in fields.items() if isinstance(value, int)}
        nested = ((key, value) for key, value in fields.items() if isinstance(value, dict))
        return flat | {f"{key}_{which}": figure for key, value in nested for which, figure in value.items()}

    def adopt(self, i: int, other: PendingRows, j: int) -> tuple[Integers, Integers]:
        """Copy what learner `j` of `other` predicted for its waiting rows to learner `i`.

        Both must have read the same records lately; the newest entry of one is that of the other. Returns the slots of
        the rows here and there.
        """
        own, theirs = self._slots()[0], other._slots()[0]
        n = min(len(own), len(theirs))
        own, theirs = own[len(own) - n :], theirs[len(theirs) - n :]
        self._scores[i][own] = other._scores[j][theirs]
        self.cached_predictions[i][own] = other.cached_predictions[j][theirs]
        return own, theirs

    def save(self) -> NDArray[np.uint8]:
        """Serialise the entries; for those already labelled, only what is needed to recognise a repeated label."""
        slots, waits = self._slots()
        columns = [
            *(column[slots] for column in self._key_columns()),
            *(column[waits] for column in self._row_columns()),
        ]
        parts = [self._store.number, self._store.delay, *map(np.ascontiguousarray, columns)]
        return np.concatenate([part.reshape(-1).view(np.uint8) for part in parts])

    def load(self, saved: NDArray[np.uint8]) -> None:
        """Restore a result of `save`.

        Raises
        ------
        ValueError
            It has other sizes.
        """
        store, raw, end = self._store, saved.tobytes(), 0

        def take(array: NDArray[Any]) -> NDArray[Any]:
            nonlocal end
            end += array.nbytes
            if end > len(raw):
                raise ValueError(OTHER_SIZES)
            return np.frombuffer(raw, array.dtype, array.size, end - array.nbytes).reshape(array.shape)

        store.number[:] = take(store.number)
        store.delay[:] = take(store.delay)
        if not 0 <= store.number[HEAD] - store.number[TAIL] <= len(store.label):
            raise ValueError("there are more saved waiting rows than may wait here")
        slots, _ = self._slots()
        for column in self._key_columns():
            column[slots] = take(column[: len(slots)])
        _, waits = self._slots()
        for column in self._row_columns():
            column[waits] = take(column[: len(waits)])
        if end < len(raw):
            raise ValueError(OTHER_SIZES)
        if store.table.any():
            store.table[:] = 0
        insert_all(store)

    def _slots(self) -> tuple[Integers, Integers]:
        """Slots of all entries, oldest first, and of those that wait."""
        slots = np.arange(self._store.number[TAIL], self._store.number[HEAD]) % len(self._store.label)
        return slots, slots[np.isnan(self._store.label[slots])]

    def _key_columns(self) -> list[NDArray[Any]]:
        """Columns stored for every entry."""
        return [self._store.key, self._store.stamp, self._store.row, self._store.label]

    def _row_columns(self) -> list[NDArray[Any]]:
        """Columns stored only for entries that wait: what their labels will need."""
        columns = [self._store.x, self.cached_guesses.of, *self._scores, *self.cached_predictions]
        return [*columns, *self.more_columns]


def _of_delays(sorted_delays: Integers) -> dict[str, int] | None:
    """Median and 95th percentile: the smallest delays that half and 95 % of all do not exceed."""
    n = len(sorted_delays)
    if n == 0:
        return None
    return {"median": int(sorted_delays[(n - 1) // 2]), "p95": int(sorted_delays[(95 * n + 99) // 100 - 1])}


def _reason(labels: Labels, i: int, code: int) -> str:
    """Return why label `i` is set aside."""
    merged_too_early = code == UNKNOWN and labels.stamps[i] < 0 and labels.records.label_offsets is not None
    return NO_STAMP if merged_too_early else REASONS[code]


def _keys(ids: Column) -> NDArray[np.uint64]:
    """Hash of each id, u8[n]; 0 if there is none."""
    text, bounds = ids
    keys = np.empty(bounds.shape[1], np.uint64)
    hash_ids(text, bounds, keys)
    return keys

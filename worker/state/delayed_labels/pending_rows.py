"""Rows that wait for their labels: where each is, what was said of it, and which label belongs to which.

A batch's rows and labels become one row of operations in the order of their offsets: a row that has its label, a row
that waits, and once more the row that a label has come for. Learners and metrics go through these as through rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.update_loop import LABEL_EXPIRED
from driftway.learners.learner import Learner
from driftway.learners.metrics.classification import Guesses
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.delayed_labels.pending_table import (
    CONFLICTING,
    EMPTY,
    EXPIRED,
    HEAD,
    LABELLED,
    RECENT,
    ROWS,
    SAME_AGAIN,
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
from driftway.worker.wire.columns import Integers
from driftway.worker.wire.events import OTHER_LABEL, SAME_LABEL, UNKNOWN_ID, Batch, RejectedEvent
from driftway.worker.wire.writer import Column

Floats = NDArray[np.float64]

OTHER_SIZES = "the saved rows that wait are of other sizes than these learners'"
REASONS = {UNKNOWN: UNKNOWN_ID, SAME_AGAIN: SAME_LABEL, CONFLICTING: OTHER_LABEL}


class Segment(NamedTuple):
    """Operations from `start` to before `end`."""

    start: int
    end: int
    complete: bool
    """Whether an accuracy point stands behind them."""
    delays: dict[str, Any] | None = None
    """What it says of delays, where labels may be late."""


@dataclass
class OrderedBatch:
    """A batch in operations.

    Parameters
    ----------
    batch : Batch
        As if each operation were a row: X, y, offsets, ids, times.
    slot : i8
        See `OperationColumns`; i8[0] where nothing waits.
    row_operations : i8[n] or None
        The operation of each row; None: there are no others.
    segments : list of Segment
        Where it is cut, so that accuracy points stand at fixed rows.
    rejected : list of RejectedEvent
        Labels that nothing waits for.
    """

    batch: Batch
    slot: Integers
    row_operations: Integers | None
    segments: list[Segment]
    rejected: list[RejectedEvent] = field(default_factory=list)


class PendingRows:
    """Rows of a partition that wait for their labels.

    Parameters
    ----------
    wait : LabelWait
        How long.
    n_features : int
        d.
    learners : sequence of Learner
        Who said something of the rows.
    """

    def __init__(self, wait: LabelWait, n_features: int, learners: Sequence[Learner]) -> None:
        W = wait.rows
        room = 1 << (2 * W - 1).bit_length()
        self._store = PendingTable(
            np.zeros(6, np.int64),
            np.zeros(W, np.uint64),
            np.zeros(W, np.int64),
            np.zeros(W, np.int64),
            np.full(W, math.nan),
            np.zeros((W, n_features)),
            np.array([wait.rows, wait.millis], np.int64),
            np.full(room, EMPTY, np.int64),
            np.zeros((RECENT, 2), np.int64),
        )
        self.cached_guesses = Guesses.allocate(W)
        self.cached_predictions = [learner.prediction_cache(W) for learner in learners]
        """Of each learner f4[W, ...], see there."""
        self._with_expired = any(learner.uses_unlabelled for learner in learners)
        """Whether rows that are let go without a label are operations, too."""
        self._scores = [np.zeros((W, learner.n_scores)) for learner in learners]
        """What was emitted, of each learner f8[W, k]."""

    def arrange(self, batch: Batch, cuts: list[int]) -> OrderedBatch:
        """Put a batch's rows and labels in order, and find out which row each label is for.

        A piece ends behind each of the rows before `cuts`.
        """
        come, stamps = batch.labels, batch.stamps
        assert come is not None  # noqa: S101 - the decoder was asked for them
        assert stamps is not None  # noqa: S101
        n, m = len(batch), len(come)
        most = n + m
        if self._with_expired:
            most += n + int(self._store.number[HEAD] - self._store.number[TAIL])
        row, label, slot = (np.empty(most, np.int64) for _ in range(3))
        order = OperationColumns(
            row, label, slot, np.empty((most, batch.X.shape[1])), np.empty(most), np.empty(m, np.int64)
        )
        rows = RowColumns(_keys(batch.ids), batch.y, batch.X, stamps)
        labels = LabelColumns(come.row_index, _keys(come.ids), come.y, come.stamps)
        done, pieces, start = np.zeros(3, np.int64), list[Segment](), 0
        for end in cuts:
            arrange(self._store, rows, labels, order, done, end, self._with_expired)
            pieces.append(Segment(start, start := int(done[2]), True, self.delay_fields()))
        arrange(self._store, rows, labels, order, done, n + 1, self._with_expired)
        k = int(done[2])
        pieces += [Segment(start, k, False)] if k > start else []
        row, label = row[:k], label[:k]
        pick = np.where(row >= 0, row, n + label)
        is_row = (row >= 0) & (slot[:k] != LABEL_EXPIRED)
        bounds = np.concatenate([batch.ids[1], come.ids[1]], axis=1)
        whole = Batch(
            batch.partition,
            batch.next_offset,
            np.concatenate([batch.offsets, come.offsets])[pick],
            order.X[:k],
            order.y[:k],
            (batch.ids[0], np.ascontiguousarray(bounds[:, pick])),
            np.concatenate([batch.t, come.t])[pick],
            batch.keys,
        )
        rejected = [
            come.rejection(i, REASONS[int(order.code[i])]) for i in np.flatnonzero(order.code != TAKEN).tolist()
        ]
        return OrderedBatch(whole, order.slot[:k], np.flatnonzero(is_row), pieces, rejected)

    def scores_at_prediction(self, arranged: OrderedBatch, scores: list[Floats]) -> list[Floats]:
        """What was emitted of each operation's row, of each learner f8[ops, k]; keeps it of those that wait."""
        slot, y = arranged.slot, arranged.batch.y
        return [emitted_scores(slot, y, score, then) for score, then in zip(scores, self._scores, strict=True)]

    def delay_fields(self) -> dict[str, Any]:
        """What an accuracy point says of delays."""
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

    def save(self) -> NDArray[np.uint8]:
        """What is known of the entries; of those whose label has come only what tells a repetition."""
        slots, waits = self._slots()
        columns = [
            *(column[slots] for column in self._key_columns()),
            *(column[waits] for column in self._row_columns()),
        ]
        parts = [self._store.number, self._store.delay, *map(np.ascontiguousarray, columns)]
        return np.concatenate([part.reshape(-1).view(np.uint8) for part in parts])

    def load(self, saved: NDArray[np.uint8]) -> None:
        """Go back to what `save` gave.

        Raises
        ------
        ValueError
            It is of other sizes.
        """
        store, whole, place = self._store, saved.tobytes(), 0

        def take(array: NDArray[Any]) -> NDArray[Any]:
            nonlocal place
            place += array.nbytes
            if place > len(whole):
                raise ValueError(OTHER_SIZES)
            return np.frombuffer(whole, array.dtype, array.size, place - array.nbytes).reshape(array.shape)

        store.number[:] = take(store.number)
        store.delay[:] = take(store.delay)
        if not 0 <= store.number[HEAD] - store.number[TAIL] <= len(store.label):
            raise ValueError("more rows are saved as waiting than may wait here")
        slots, _ = self._slots()
        for column in self._key_columns():
            column[slots] = take(column[: len(slots)])
        _, waits = self._slots()
        for column in self._row_columns():
            column[waits] = take(column[: len(waits)])
        if place < len(whole):
            raise ValueError(OTHER_SIZES)
        store.table[:] = EMPTY
        insert_all(store)

    def _slots(self) -> tuple[Integers, Integers]:
        """Of all entries, the oldest first, and of those that wait."""
        slots = np.arange(self._store.number[TAIL], self._store.number[HEAD]) % len(self._store.label)
        return slots, slots[np.isnan(self._store.label[slots])]

    def _key_columns(self) -> list[NDArray[Any]]:
        """What is known of each entry."""
        return [self._store.key, self._store.stamp, self._store.row, self._store.label]

    def _row_columns(self) -> list[NDArray[Any]]:
        """What its label will need."""
        return [self._store.x, self.cached_guesses.of, *self._scores, *self.cached_predictions]


def _of_delays(sorted_delays: Integers) -> dict[str, int] | None:
    """Median and 95th percentile, each the least number that so many are not above."""
    n = len(sorted_delays)
    if n == 0:
        return None
    return {"median": int(sorted_delays[(n - 1) // 2]), "p95": int(sorted_delays[(95 * n + 99) // 100 - 1])}


def _keys(ids: Column) -> NDArray[np.uint64]:
    """Hash of each id, u8[n]; 0: it has none."""
    text, bounds = ids
    keys = np.empty(bounds.shape[1], np.uint64)
    hash_ids(text, bounds, keys)
    return keys

"""Table of rows that wait for their labels, and the kernels that match a batch's labels to rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel, load8
from driftway.learners.engine.update_loop import LABEL_EXPIRED, NOT_DELAYED
from driftway.worker.wire.columns import Floats, Integers, Text

Words = NDArray[np.uint64]

RECENT = 1000
"""Number of latest labels whose median and 95th percentile of delays are in accuracy points."""
EMPTY = -1
SLACK_SHARE = 10
"""With a limit in ms: timestamps may differ by this fraction of it before they are compared with others."""
CONFIRMING_ROWS, CONFIRMING_SHARE, FEWEST = 31, 4, 3
"""So many latest rows are asked whether a later time has come; one in so many of them must say so, but at least 3."""
TAKEN, UNKNOWN, SAME_AGAIN, CONFLICTING = range(4)
"""Outcomes of a label."""
FACTOR, ROUND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
HALF, REST = np.uint64(32), np.uint64(29)
ONE, EIGHT = np.uint64(1), np.uint64(8)
LOWER_N = 110
HEAD, TAIL, ROWS, NEWEST, EXPIRED, LABELLED = range(6)
"""Indices into `PendingTable.number`: entries so far, the oldest that is kept, rows so far, the newest time in ms, rows
whose label never arrived, labels that arrived."""


class PendingTable(NamedTuple):
    """Entries of rows that wait or waited until recently; entry number i is in slot i modulo W."""

    number: Integers
    """i8[6]: see HEAD and what follows it."""
    key: Words
    """u8[W]: hash of the id; 0 once a later row has the same id."""
    stamp: Integers
    """i8[W]: the record's time in ms; with a limit in ms, that of the newest time if it is far behind that."""
    row: Integers
    """i8[W]: the row's number in the partition."""
    label: Floats
    """f8[W]: the label; NaN until it arrives."""
    x: Floats
    """f8[W, d]."""
    limit: Integers
    """i8[2]: how long a row waits, in later rows and in ms; 0 ms: no time limit."""
    table: Integers
    """i8[T]: hash table from ids to slots, by linear probing; derived from the other columns. It holds ~slot, so that
    0 is EMPTY: a new table takes no memory before it is used."""
    delay: Integers
    """i8[RECENT, 2]: delays of the latest labels in rows and ms, as a ring buffer."""


class RowColumns(NamedTuple):
    """A batch's rows as `arrange` takes them."""

    key: Words
    y: Floats
    X: Floats
    stamp: Integers


class LabelColumns(NamedTuple):
    """A batch's labels."""

    behind: Integers
    key: Words
    y: Floats
    stamp: Integers


class OperationColumns(NamedTuple):
    """Operations, written by `arrange`: at most n + m, and one for each row that expires."""

    row: Integers
    """i8: the batch's row, or -1. That of an expired row names the row or label before which it expires."""
    label: Integers
    """i8: the batch's label, or -1."""
    slot: Integers
    """i8: where a row waits or waited; LABEL_EXPIRED: its label never arrived; NOT_DELAYED: it came with its label, or
    has no id by which a label could find it."""
    X: Floats
    y: Floats
    code: Integers
    """i8[m]: the outcome of each label."""


@kernel
def hash_ids(text: Text, bounds: Integers, keys: Words) -> None:
    """Hash the JSON text of each id; 0 for null. Shapes: bounds i8[2, n], keys u8[n].

    Waiting ids are distinguished by 64 bits: among 10,000, a label finds a wrong one about once in 10^15 times.
    """
    for i in range(keys.shape[0]):
        p, end = np.uint64(bounds[0, i]), np.uint64(bounds[1, i])
        if text[p] == LOWER_N:
            keys[i] = np.uint64(0)
            continue
        h = (end - p) * FACTOR
        while end - p >= EIGHT:
            h = (h ^ load8(text, p)) * FACTOR
            h ^= h >> REST
            p += EIGHT
        while p < end:
            h = (h ^ np.uint64(text[p])) * FACTOR
            h ^= h >> REST
            p += ONE
        h *= ROUND
        h ^= h >> HALF
        keys[i] = h if h != np.uint64(0) else ONE


@kernel
def arrange(
    store: PendingTable,
    rows: RowColumns,
    labels: LabelColumns,
    operations: OperationColumns,
    done: Integers,
    end: int,
    with_expired: bool,
) -> None:
    """Write the operations before row `end`, and if `end` is beyond all rows, those of the remaining labels.

    Each label is matched to its row, or gets a code that says why not. With `with_expired`, each row that expires
    without a label is an operation, too. Shapes: done i8[3], rows, labels and operations so far.
    """
    W, m, (i, j, k) = store.label.shape[0], labels.y.shape[0], done
    while True:
        while j < m and (i < end or end > rows.y.shape[0]) and labels.behind[j] <= i:
            k = expire(store, labels.stamp[j], store.limit[0], operations, k, -1, j, with_expired)
            slot = find(store, labels.key[j])
            if slot == EMPTY:
                operations.code[j] = UNKNOWN
            elif not math.isnan(store.label[slot]):
                operations.code[j] = SAME_AGAIN if store.label[slot] == labels.y[j] else CONFLICTING
            else:
                operations.code[j] = TAKEN
                store.label[slot] = labels.y[j]
                note_delay(store, store.number[ROWS] - store.row[slot] - 1, labels.stamp[j] - store.stamp[slot])
                write_operation(operations, k, -1, j, slot)
                write_row(operations, k, store.x[slot], labels.y[j])
                k += 1
            j += 1
        if i >= min(end, rows.y.shape[0]):
            break
        k = expire(store, rows.stamp[i], store.limit[0] - 1, operations, k, i, -1, with_expired)
        slot = NOT_DELAYED
        if not math.isnan(rows.y[i]):
            note_delay(store, 0, 0)
        elif rows.key[i] != 0:
            slot = store.number[HEAD] % W
            insert_row(store, slot, rows.key[i], rows.stamp[i])
            for f in range(store.x.shape[1]):
                store.x[slot, f] = rows.X[i, f]
        write_operation(operations, k, i, -1, slot)
        write_row(operations, k, rows.X[i], rows.y[i])
        store.number[ROWS] += 1
        k += 1
        i += 1
    done[0], done[1], done[2] = i, j, k


@fragment
def write_operation(operations: OperationColumns, k: int, row: int, label: int, slot: int) -> None:
    """Write row, label and slot of operation `k`."""
    operations.row[k], operations.label[k], operations.slot[k] = row, label, slot


@fragment
def write_row(operations: OperationColumns, k: int, x: Floats, y: float) -> None:
    """Write features and label of operation `k`."""
    for f in range(x.shape[0]):
        operations.X[k, f] = x[f]
    operations.y[k] = y


@fragment
def note_delay(store: PendingTable, rows: int, millis: int) -> None:
    """Record how late a label was."""
    entry = store.number[LABELLED] % RECENT
    store.delay[entry, 0], store.delay[entry, 1] = rows, max(millis, 0)
    store.number[LABELLED] += 1


@kernel
def expire(
    store: PendingTable,
    stamp: int,
    most_rows: int,
    operations: OperationColumns,
    k: int,
    row: int,
    label: int,
    with_expired: bool,
) -> int:
    """Drop the entries that have waited for more than `most_rows` rows, or too many ms.

    This happens before row `row` or label `label` of the batch; with `with_expired`, rows without a label are written
    as operations from `k` on. Returns the number of the next operation.
    """
    number, W, most_millis = store.number, store.label.shape[0], store.limit[1]
    number[NEWEST] = newest_time(store, stamp)
    while number[TAIL] < number[HEAD]:
        slot = number[TAIL] % W
        waited = number[ROWS] - store.row[slot]
        if waited <= most_rows and (most_millis == 0 or number[NEWEST] - came_at(store, slot) <= most_millis):
            break
        if math.isnan(store.label[slot]):
            number[EXPIRED] += 1
            if with_expired:
                write_operation(operations, k, row, label, LABEL_EXPIRED)
                write_row(operations, k, store.x[slot], math.nan)
                k += 1
        if store.key[slot] != 0:
            delete(store, slot)
        number[TAIL] += 1
    return k


@kernel
def newest_time(store: PendingTable, stamp: int) -> int:
    """The newest time, in ms, after a record with this stamp.

    With a limit in ms, a stamp that few of the latest rows confirm counts only as far as they do: otherwise one clock
    that is ahead would let all rows go.
    """
    newest, slack, head, W = store.number[NEWEST], store.limit[1] // SLACK_SHARE, store.number[HEAD], store.key.shape[0]
    n = min(head - store.number[TAIL], CONFIRMING_ROWS)
    if stamp <= newest or store.limit[1] == 0 or n == 0:
        return int(max(newest, stamp))
    needed = min(n, max(FEWEST, n // CONFIRMING_SHARE))
    if later_rows(store, head - n, stamp - slack) >= needed:
        return stamp
    for i in range(head - n, head):
        confirmed = store.stamp[i % W] + slack
        if confirmed > newest and later_rows(store, head - n, store.stamp[i % W]) >= needed:
            newest = confirmed
    return int(min(newest, stamp))


@kernel
def later_rows(store: PendingTable, first: int, stamp: int) -> int:
    """How many entries from number `first` on have this stamp or a later one."""
    n, W = 0, store.key.shape[0]
    for i in range(first, store.number[HEAD]):
        n += store.stamp[i % W] >= stamp
    return n


@fragment
def came_at(store: PendingTable, slot: int) -> int:
    """When the oldest entry, in `slot`, came, in ms: a stamp that is ahead of both rows behind it counts as theirs."""
    stamp, tail, W = store.stamp[slot], store.number[TAIL], store.key.shape[0]
    if store.number[HEAD] - tail > 2:
        behind = max(store.stamp[(tail + 1) % W], store.stamp[(tail + 2) % W])
        if stamp > behind + store.limit[1] // SLACK_SHARE:
            stamp = behind
    return int(stamp)


@kernel
def insert_row(store: PendingTable, slot: int, key: np.uint64, stamp: int) -> None:
    """Add an entry for a row; of two rows with the same id, a label is for the later one."""
    if store.limit[1] > 0 and stamp < store.number[NEWEST] - store.limit[1] // SLACK_SHARE:
        stamp = store.number[NEWEST]  # a clock that is behind: it waits as long as the others
    other = find(store, key)
    if other != EMPTY:
        delete(store, other)
        store.key[other] = 0
    store.key[slot], store.stamp[slot], store.row[slot], store.label[slot] = key, stamp, store.number[ROWS], math.nan
    store.number[HEAD] += 1
    insert(store, slot)


@fragment
def find(store: PendingTable, key: np.uint64) -> int:
    """The slot of an id, or EMPTY."""
    last = np.uint64(store.table.shape[0] - 1)
    at = key & last
    while store.table[at] != 0 and (key == 0 or store.key[~store.table[at]] != key):
        at = (at + ONE) & last
    return int(~store.table[at])


@fragment
def insert(store: PendingTable, slot: int) -> None:
    """Add a slot to the hash table."""
    last = np.uint64(store.table.shape[0] - 1)
    at = store.key[slot] & last
    while store.table[at] != 0:
        at = (at + ONE) & last
    store.table[at] = ~slot


@kernel
def delete(store: PendingTable, slot: int) -> None:
    """Remove a slot from the hash table, moving up what follows it. Source: Knuth, volume 3, 6.4, algorithm R."""
    table, last = store.table, np.uint64(store.table.shape[0] - 1)
    hole = store.key[slot] & last
    while ~table[hole] != slot:
        hole = (hole + ONE) & last
    at = hole
    while True:
        table[hole] = 0
        while True:
            at = (at + ONE) & last
            if table[at] == 0:
                return
            home = store.key[~table[at]] & last
            # It may move unless its home lies after the hole, up to its present place.
            if (at - home) & last >= (at - hole) & last:
                break
        table[hole] = table[at]
        hole = at


@kernel
def insert_all(store: PendingTable) -> None:
    """Fill an empty hash table with all entries."""
    for entry in range(store.number[TAIL], store.number[HEAD]):
        slot = entry % store.label.shape[0]
        if store.key[slot] != 0:
            insert(store, slot)


def emitted_scores(slot: Integers, y: Floats, score: Floats, kept: Floats) -> Floats:
    """Scores emitted for each operation's row, f8[k, s]; stores those of rows that wait in `kept`."""
    emitted = score.copy()
    recall_scores(slot, y, score, kept, emitted)
    return emitted


@kernel
def recall_scores(slot: Integers, y: Floats, score: Floats, kept: Floats, out: Floats) -> None:
    """Store the scores of rows that wait, and write them to `out` where their labels arrive.

    Shapes: slot i8[k], y f8[k], score f8[k, s], kept f8[W, s], out f8[k, s].
    """
    for t in range(slot.shape[0]):
        if slot[t] >= 0:
            for c in range(score.shape[1]):
                if math.isnan(y[t]):
                    kept[slot[t], c] = score[t, c]
                else:
                    out[t, c] = kept[slot[t], c]

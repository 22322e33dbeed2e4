"""Columns of two topics' records, put into one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.worker.state.delayed_labels.merge_order import MergePosition
from driftway.worker.wire.columns import SPARE, TAIL, BytesColumn, Integers, TerminatedColumn, Text, read_only
from driftway.worker.wire.events import NO_LABEL_OFFSET, Records
from driftway.worker.wire.headers import joined_headers, picked_headers


def times_of(records: Records) -> Integers:
    """Stamps of records in ms, i8[n]."""
    return np.asarray(records.timestamps, np.int64)


@kernel
def find_indices(events: Integers, labels: Integers, indices: Integers) -> int:
    """Find the event before which each label goes; return how many labels have one. Shapes: i8[n], i8[m], i8[m]."""
    i = 0
    for j in range(labels.shape[0]):
        while i < events.shape[0] and events[i] <= labels[j]:
            i += 1
        if i == events.shape[0]:
            return j
        indices[j] = i
    return int(labels.shape[0])


def interleaved(events: Records, labels: Records | None, indices: Integers) -> Records:
    """Insert labels among events. Shapes: indices i8[m], the event before which each label goes."""
    n, m = len(events), len(indices)
    if labels is None or not m:
        return replace(events, label_offsets=np.full(n, NO_LABEL_OFFSET))
    pick = np.insert(np.arange(n), indices, np.arange(n, n + m))
    headers = joined_headers([(events.headers, n), (labels.headers, m)])
    own = np.concatenate([np.full(n, NO_LABEL_OFFSET), labels.offsets])
    return Records(
        events.partition,
        np.concatenate([events.offsets, events.offsets[indices]])[pick],
        _gather([events.values, labels.values], pick),
        _gather([events.keys, labels.keys], pick),
        np.concatenate([times_of(events), times_of(labels)])[pick],
        picked_headers(headers, pick),
        own[pick],
    )


def position_after(records: Records, before: MergePosition) -> MergePosition:
    """Return the position after merged records, of which there is at least one, that follow the position `before`.

    Behind a label it is still before the event before which the label was taken.
    """
    last, own = int(records.offsets[-1]), records.label_offsets
    if own is None:
        return MergePosition(last + 1, before.label)
    labels = own[own != NO_LABEL_OFFSET]
    label = int(labels[-1]) + 1 if len(labels) else before.label
    return MergePosition(last + int(own[-1] == NO_LABEL_OFFSET), label)


def concatenated(parts: Sequence[Records]) -> Records:
    """Concatenate records into new columns."""
    sizes = list(map(len, parts))
    pick = np.arange(sum(sizes))
    return Records(
        parts[0].partition,
        np.concatenate([part.offsets for part in parts]),
        _gather([part.values for part in parts], pick),
        _gather([part.keys for part in parts], pick),
        np.concatenate(list(map(times_of, parts))),
        joined_headers([(part.headers, size) for part, size in zip(parts, sizes, strict=True)]),
        None
        if parts[0].label_offsets is None
        else np.concatenate([part.label_offsets for part in parts if part.label_offsets is not None]),
    )


def _gather(parts: Sequence[BytesColumn], pick: Integers) -> BytesColumn:
    """Copy strings of several columns into a new one, in the order of `pick`, i8[n]."""
    texts, starts, sizes, shift = list[Text](), list[Integers](), list[Integers](), 0
    for part in parts:
        text, begins, lengths = part.to_buffer()
        texts.append(text)
        starts.append(begins + shift)
        sizes.append(lengths)
        shift += len(text)
    text = texts[0] if len(texts) == 1 else np.concatenate(texts)
    begins, lengths = np.concatenate(starts)[pick], np.concatenate(sizes)[pick]
    widths = np.maximum(lengths, 0) + 1
    ends = np.cumsum(widths)
    buffer = np.zeros(int(ends[-1]) + SPARE if len(ends) else SPARE, np.uint8)
    new_starts = ends - widths
    copy_strings(read_only(text), begins, lengths, new_starts, buffer)
    buffer[len(buffer) - SPARE :] = np.frombuffer(TAIL, np.uint8)
    return TerminatedColumn(read_only(buffer), new_starts, lengths)


@kernel
def copy_strings(text: Text, starts: Integers, sizes: Integers, new_starts: Integers, made: Text) -> None:
    """Copy strings to `new_starts`, leaving the bytes between them alone. Shapes: starts, sizes, new_starts i8[n]."""
    for i in range(starts.shape[0]):
        for k in range(sizes[i]):
            made[new_starts[i] + k] = text[starts[i] + k]

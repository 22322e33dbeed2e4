"""Seeded malformed messages among the rows, of every kind that a worker must reject, to test that it does.

A worker whose partition has no shape yet takes it from the first valid event. No kind here can pass for one: a message
of the wrong length also has a defect that makes an event of any length invalid.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np

from driftway.producers.messages import Encoding, Messages, insert_items
from driftway.producers.row_random import POISON, RowRandom
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.stream import Stream
from driftway.worker.wire import codec, packed

TOO_DEEP = 300
"""Depth of a nested list that JSON parsers read but the worker's writer cannot write."""

Value = bytes | None
Kind = Callable[[bytes], Value]
"""Makes a malformed message from the valid one that follows it."""


class Poison:
    """Inserts a malformed message before a share of the rows, with the row's partition and key but no id.

    Parameters
    ----------
    share : float
        Share of the rows, in [0, 1].
    seed : int
        0 <= seed < 2^64.
    stream : Stream or EventFile
        The stream of the rows.
    encoding : Encoding
        Encoding of the rows.
    """

    def __init__(self, share: float, seed: int, stream: Stream | EventFile, encoding: Encoding) -> None:
        self.share = share
        if isinstance(stream, EventFile):
            self.kinds = raw_kinds()
        else:
            self.kinds = kinds(stream.n_features, stream.feature_names if encoding.named else None, encoding.form)
        self._draws = RowRandom(seed, POISON, 2)

    def interleave(self, messages: Messages) -> Messages:
        """Insert malformed messages between the rows' messages, one per row."""
        draws = self._draws.uniforms(messages.first, messages.rows)
        indices = np.flatnonzero(draws[:, 0] < self.share)
        if not len(indices):
            return messages
        chosen = (draws[indices, 1] * len(self.kinds)).astype(np.int64).tolist()
        before = indices.tolist()
        made = [self.kinds[kind](messages.values[row] or b"") for kind, row in zip(chosen, before, strict=True)]
        keys, times = (
            None if column is None else insert_items(column, before, [column[row] for row in before])
            for column in (messages.keys, messages.times)
        )
        rows = np.arange(messages.rows)
        positions = messages.first + np.insert(rows, indices, indices)
        values = insert_items(messages.values, before, made)
        return Messages(messages.first, messages.rows, values, keys, times, positions)


def kinds(n_features: int, names: Sequence[str] | None, form: str) -> list[Kind]:
    """The kinds of malformed messages for one format and for rows of `n_features`, named or not."""
    return _packed(n_features) if form == codec.PACKED else _json(n_features, names)


def raw_kinds() -> list[Kind]:
    """The kinds for events that are sent unchanged: no schema accepts any of them."""
    fixed: list[Value] = [None, b"", b"\xff\xfe poison", b'{"poison":NaN}', b"[1,2,3]", b'"poison"']
    return [_torn, *(_constant(value) for value in fixed)]


def _json(d: int, names: Sequence[str] | None) -> list[Kind]:
    def event(*x: object, y: object = None, length: int = d) -> bytes:
        features = [*x, *[0.5] * length][:length]
        called = None if names is None else [*names, *(f"poison{i}" for i in range(length))][:length]
        return codec.write_json({"x": features if called is None else dict(zip(called, features, strict=True)), "y": y})

    deep = b'{"id":' + b"[" * TOO_DEEP + b"]" * TOO_DEEP + b"," + event()[1:]
    infinite = event(7777).replace(b"7777", b"1e999")
    other = b'{"x":{}}' if names is None else b'{"x":[]}'
    fixed: list[Value] = [
        None,  # null value
        b"",
        b"\xff\xfe poison",  # not JSON, not even UTF-8
        event().replace(b"null", b"NaN"),
        b"[1,2,3]",  # not an object
        b'"poison"',
        b'{"y":1}',  # no x
        b'{"x":"poison"}',  # x is neither a list nor an object
        b'{"x":[]}' if names is None else b'{"x":{}}',
        other,
        event("poison", length=d + 1),  # of another length
        event("poison"),  # not a number
        event(None),
        event(True),
        infinite,
        event(y="\u2620 poison"),  # not a label of any task
        event(y=[1]),
        deep,
    ]
    return [_cut, *(_constant(value) for value in fixed)]


def _packed(d: int) -> list[Kind]:
    def event(*x: float, y: float = float("nan"), length: int = d) -> bytes:
        return packed.encode_events(np.array([[*x, *[0.5] * length][:length]]), np.array([y]))[0]

    def head(version: int, size: int) -> bytes:
        return struct.pack("<BBd", version, size, 0.0) + event()[packed.EVENT_HEAD.size :]

    fixed: list[Value] = [
        None,
        b"",
        head(packed.VERSION, 8)[: packed.EVENT_HEAD.size - 1],
        head(packed.VERSION, 8)[: packed.EVENT_HEAD.size],  # no features
        head(packed.VERSION + 1, 8),
        head(packed.VERSION, 3),
        b'{"x":[1,2,3],"y":1}',
        event(float("nan"), length=d + 1),
        event(float("nan")),
        event(float("-inf")),
        event(y=float("inf")),
    ]
    return [_cut, *(_constant(value) for value in fixed)]


def _cut(value: bytes) -> bytes:
    """The message without its last byte."""
    return value[:-1]


def _torn(value: bytes) -> bytes:
    """Mismatched brackets around the message, which is not JSON whatever it contains."""
    return b"[" + value + b"}"


def _constant(value: Value) -> Kind:
    return lambda _good: value

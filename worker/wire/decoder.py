"""Decode a partition's records into batches. Leaf module.

Plain JSON events go through compiled kernels (`driftway.worker.wire.scanner`); all others are parsed by orjson, event
by event, with the same result. Events with a schema are read by `driftway.worker.wire.schema`, packed events by
`driftway.worker.wire.packed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire import packed
from driftway.worker.wire.codec import JSON, LARGEST_TIME, NULL, PACKED, id_text, parse_event, parse_exactly, parse_json
from driftway.worker.wire.columns import read_only
from driftway.worker.wire.events import (
    BAD_X,
    LATE_LABEL,
    NO_LABEL,
    NO_X,
    NOT_A_LABEL,
    NOT_OBJECT,
    NULL_VALUE,
    UNKNOWN_ID,
    Batch,
    Labels,
    Records,
    Reject,
    RejectedEvent,
    Schema,
    Target,
    finite,
)
from driftway.worker.wire.headers import chosen_headers
from driftway.worker.wire.schema.decoder import SchemaDecoder
from driftway.worker.wire.schema.schema import EventSchema

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Integers
    from driftway.worker.wire.scanner import Floats, Names
    from driftway.worker.wire.writer import Column


class Decoder:
    """Decodes a partition's records into batches; the first good event fixes the partition's schema.

    Parameters
    ----------
    target : Target
        What labels mean.
    schema : Schema or None
        The schema; None: the first good event fixes it.
    form : str
        ``json`` or ``packed``.
    admit : callable or None
        Called with the first good event's schema; returns the schema to use, or raises a `Failure`.
    lenient : bool
        Read a feature that is null, or absent where features have names, as NaN instead of rejecting its event.
    late : bool
        Accept labels of earlier events; otherwise they are rejected.
    loads : callable or None
        Parses an event's bytes if they are not JSON; used with `events`. May have `exactly`, see `codec.parse_event`.
    events : EventSchema or None
        How to read objects other than ``{"x": ..}``, and whether a missing value is NaN or rejects the event.
    """

    def __init__(
        self,
        target: Target,
        schema: Schema | None = None,
        form: str = JSON,
        admit: Callable[[Schema], Schema] | None = None,
        lenient: bool = False,
        late: bool = False,
        events: EventSchema | None = None,
        loads: Callable[[bytes], Any] | None = None,
    ) -> None:
        self.target = target
        self.schema = schema if events is None else events.shape
        self.form = form
        self._admit = admit
        self._lenient = lenient
        self._late = late
        self._schema_decoder = (
            None
            if events is None
            else SchemaDecoder(
                events,
                target,
                loads or parse_json,
                id_text,
                loads is None,
                parse_exactly if loads is None else getattr(loads, "exactly", None),
            )
        )

    @property
    def schema(self) -> Schema | None:
        """The schema in use; None until an event has fixed it."""
        return self._schema

    @schema.setter
    def schema(self, schema: Schema | None) -> None:
        """Use this schema from now on."""
        self._schema = schema
        self._names: Names | None = None

    def decode(self, records: Records) -> Batch:
        """Decode records into rows, labels and rejections; the result does not depend on how calls split them."""
        rejected: list[RejectedEvent] = []
        start = 0
        while self.schema is None and start < len(records):
            try:
                if records.is_label[start]:
                    raise Reject(UNKNOWN_ID)
                found = self._schema_of(records.values[start])
                self.schema = found if self._admit is None else self._admit(found)
            except Reject as reject:
                rejected.append(records.rejection(start, str(reject)))
                start += 1
        schema = self.schema or Schema(1)
        rest = records.after(start) if start else records
        batch, reasons = self._read(rest, schema)
        rejected += [rest.rejection(i, reason) for i, reason in sorted(reasons.items())]
        batch.rejected = rejected
        batch.next_offset = int(records.offsets[-1]) + 1
        return batch

    def _read(self, records: Records, schema: Schema) -> tuple[Batch, dict[int, str]]:
        if self._schema_decoder is not None:
            X, y, ids, t, reasons, labels = self._schema_decoder.decode(records, self._late)
            return self._batch(records, X, y, ids, t, reasons, labels), reasons
        return self._packed(records, schema) if self.form == PACKED else self._json(records, schema)

    def _schema_of(self, value: bytes | None) -> Schema:
        if self.form == PACKED:
            return packed.schema_of(value, self.target, self._lenient)
        x, *_ = self._event(value)
        if x is None:
            raise Reject(UNKNOWN_ID)
        schema = Schema.of(x)
        for name, feature in zip(schema.names or range(len(x)), schema.check(x), strict=True):
            self._feature(feature, f"x[{name}]")
        return schema

    def _feature(self, value: Any, what: str) -> float:
        return math.nan if value is None and self._lenient else finite(value, what)

    def _event(self, value: bytes | None) -> tuple[Any, float, bytes, int | None]:
        """Parse a JSON event: features (None: a delayed label), class index, JSON text of the id, time."""
        if value is None:
            raise Reject(NULL_VALUE)
        event, name = parse_event(value, _id_of)
        x, t = event.get("x"), event.get("t")
        if "x" not in event:
            if "id" not in event or "y" not in event:
                raise Reject(NO_X)
            _require_label(event["y"] is not None, self._late)
        elif not isinstance(x, list | dict):
            raise Reject(BAD_X)
        known = isinstance(t, int) and not isinstance(t, bool) and -LARGEST_TIME < t < LARGEST_TIME
        return x, self.target.index(event.get("y")), id_text(name), t if known else None

    def _json(self, records: Records, schema: Schema) -> tuple[Batch, dict[int, str]]:
        from driftway.worker.wire.scanner import LABEL, NEEDS_PARSER, NO_TIME, Names, scan
        from driftway.worker.wire.writer import as_text

        self._names = self._names or Names.of(schema.names or ())
        text, X, y, spans, t, found = scan(records.values, schema.n_features, self._names, self._lenient)
        y, known = self.target.indices(y)
        labels = found == LABEL
        to_parse = (found == NEEDS_PARSER) | ~known | (labels & np.isnan(y) if self._late else labels)
        labels &= ~to_parse
        reasons: dict[int, str] = {}
        tail: list[bytes] = []
        end = len(text)
        for i in np.flatnonzero(to_parse).tolist():
            try:
                x, y[i], id_json, time = self._event(records.values[i])
                labels[i] = x is None
                for j, feature in enumerate(() if x is None else schema.check(x, self._lenient)):
                    X[i, j] = self._feature(feature, f"x[{schema.names[j] if schema.names else j}]")
            except Reject as reject:
                reasons[i] = str(reject)
                continue
            t[i] = NO_TIME if time is None else time
            tail.append(id_json)
            spans[:, i] = end, end + len(id_json)
            end += len(id_json)
        ids = read_only(np.concatenate([text, as_text(b"".join(tail))])) if tail else text, spans
        return self._batch(records, X, y, ids, t, reasons, labels), reasons

    def _packed(self, records: Records, schema: Schema) -> tuple[Batch, dict[int, str]]:
        from driftway.worker.wire.scanner import NO_TIME
        from driftway.worker.wire.writer import as_text

        n = len(records)
        X, y, reasons = packed.decode_events(records.values, schema, self.target, self._lenient)
        ids = as_text(NULL), np.repeat([[0], [len(NULL)]], n, axis=1)
        no_labels = np.zeros(n, np.bool_)
        return self._batch(records, X, y, ids, np.full(n, NO_TIME), reasons, no_labels), reasons

    def _batch(
        self,
        records: Records,
        X: Floats,
        y: Floats,
        ids: Column,
        t: Integers,
        reasons: dict[int, str],
        labels: NDArray[np.bool_],
    ) -> Batch:
        """Build the batch of all records that are not rejected."""
        if records.label_offsets is not None:
            not_labels = np.flatnonzero(records.is_label & ~labels).tolist()
            reasons |= {i: NOT_A_LABEL for i in not_labels if i not in reasons}
        stamps = np.asarray(records.timestamps, np.int64) if self._late else None
        if not reasons and not labels.any():
            batch = Batch(
                records.partition, 0, records.offsets, X, y, ids, t, records.keys, records.headers, stamps=stamps
            )
        else:
            keep = ~labels
            keep[list(reasons)] = False
            batch = Batch(
                records.partition,
                0,
                records.offsets[keep],
                X[keep],
                y[keep],
                _ids_of(ids, keep),
                t[keep],
                records.keys.chosen(keep),
                chosen_headers(records.headers, keep),
                stamps=None if stamps is None else stamps[keep],
            )
        if stamps is not None:
            labels[list(reasons)] = False
            batch.labels = Labels(
                batch.offsets.searchsorted(records.offsets[labels]),
                records.offsets[labels],
                y[labels],
                _ids_of(ids, labels),
                t[labels],
                records.chosen(labels),
            )
        return batch


def _id_of(event: Any) -> Any:
    """Return the id in a parsed event."""
    if not isinstance(event, dict):
        raise Reject(NOT_OBJECT)
    return event.get("id")


def _ids_of(ids: Column, rows: NDArray[np.bool_]) -> Column:
    return ids[0], np.ascontiguousarray(ids[1][:, rows])


def _require_label(given: bool, late: bool) -> None:
    """Raise `Reject` unless an event without features may be the label of an earlier one."""
    if not late:
        raise Reject(LATE_LABEL)
    if not given:
        raise Reject(NO_LABEL)

"""Decode a partition's records into batches. Leaf module.

Plain JSON events go through compiled kernels (`driftway.worker.wire.scanner`); all others are parsed by orjson, event
by event, with the same result. Events with a schema are read by `driftway.worker.wire.schema`, packed events by
`driftway.worker.wire.packed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire import packed
from driftway.worker.wire.codec import JSON, LARGEST_TIME, NULL, PACKED, id_text, parse_event, parse_exactly, parse_json
from driftway.worker.wire.columns import read_only
from driftway.worker.wire.events import (
    BAD_X,
    LATE_LABEL,
    MAX_ID,
    MAX_KEY,
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
    RejectLabel,
    Schema,
    Target,
    finite,
    too_long,
)
from driftway.worker.wire.headers import chosen_headers
from driftway.worker.wire.json_tokens.wrong_values import why_no_object
from driftway.worker.wire.schema.decoder import Decoded, SchemaDecoder
from driftway.worker.wire.schema.schema import EventSchema

if TYPE_CHECKING:
    from driftway.worker.wire.scanner import Names
    from driftway.worker.wire.writer import Column


class ParsedEvent(NamedTuple):
    """An event that orjson has parsed."""

    x: Any
    """The features; None: the event is the label of an earlier one."""
    y: float
    """Class index or number; NaN: no label, or none that can be used."""
    id_json: bytes
    t: int | None
    label_reason: str | None = None
    """Why the label cannot be used."""


class Decoder:
    """Decodes a partition's records into batches; the first usable event fixes the partition's schema.

    Parameters
    ----------
    target : Target
        What labels mean.
    schema : Schema or None
        The schema; None: the first usable event fixes it.
    form : str
        ``json`` or ``packed``.
    admit : callable or None
        Called with the first usable event's schema; returns the schema to use, or raises a `Failure`.
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
        self.set_aside_from = 0
        """Offset of the first event whose label alone is set aside if it cannot be used. Earlier versions rejected such
        an event, so those before it are still rejected (docs/decisions/0043)."""
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
                    raise RejectLabel(UNKNOWN_ID)
                _require_short("key", records.keys[start] or b"", MAX_KEY)
                found = self._schema_of(records.values[start], self._is_strict(records, start))
                self.schema = found if self._admit is None else self._admit(found)
            except Reject as reject:
                rejected.append(self._rejection(records, start, str(reject), isinstance(reject, RejectLabel)))
                start += 1
        schema = self.schema or Schema(1)
        rest = records.after(start) if start else records
        decoded = self._read(rest, schema)
        batch = self._batch(rest, decoded)
        unusable = {**decoded.reasons, **decoded.set_aside}
        rejected += [self._rejection(rest, i, unusable[i], i in decoded.set_aside) for i in sorted(unusable)]
        batch.rejected = rejected
        batch.next_offset = int(records.offsets[-1]) + 1
        return batch

    def _is_strict(self, records: Records, i: int) -> bool:
        """Whether a label that cannot be used rejects record `i`, as in earlier versions."""
        return bool(records.offsets[i] < self.set_aside_from)

    def _rejection(self, records: Records, i: int, reason: str, of_label: bool) -> RejectedEvent:
        set_aside = (of_label or bool(records.is_label[i])) and not self._is_strict(records, i)
        return records.rejection(i, reason, set_aside)

    def _read(self, records: Records, schema: Schema) -> Decoded:
        if self._schema_decoder is not None:
            return self._schema_decoder.decode(records, self._late)
        return self._packed(records, schema) if self.form == PACKED else self._json(records, schema)

    def _schema_of(self, value: bytes | None, strict: bool) -> Schema:
        if self.form == PACKED:
            schema = packed.schema_of(value, self._lenient)
            if strict and (reason := packed.label_reason(value, self.target)) is not None:
                raise Reject(reason)
            return schema
        x = self._event(value, strict).x
        if x is None:
            raise RejectLabel(UNKNOWN_ID)
        schema = Schema.of(x)
        for name, feature in zip(schema.names or range(len(x)), schema.check(x), strict=True):
            self._feature(feature, f"x[{name}]")
        return schema

    def _feature(self, value: Any, what: str) -> float:
        return math.nan if value is None and self._lenient else finite(value, what)

    def _event(self, value: bytes | None, strict: bool = False) -> ParsedEvent:
        """Parse a JSON event; if `strict`, a label that cannot be used rejects it."""
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
        id_json = id_text(name)
        _require_short("id", id_json, MAX_ID)
        y, label_reason = math.nan, None
        try:
            y = self.target.index(event.get("y"))
        except RejectLabel as reject:
            if x is None:
                raise
            if strict:
                raise Reject(str(reject)) from None
            label_reason = str(reject)
        return ParsedEvent(x, y, id_json, t if known else None, label_reason)

    def _json(self, records: Records, schema: Schema) -> Decoded:
        from driftway.worker.wire.scanner import LABEL, NEEDS_PARSER, NO_TIME, Names, scan
        from driftway.worker.wire.writer import as_text

        self._names = self._names or Names.of(schema.names or ())
        text, X, y, spans, t, found = scan(records.values, schema.n_features, self._names, self._lenient)
        y, known = self.target.indices(y)
        labels = found == LABEL
        to_parse = (found == NEEDS_PARSER) | ~known | (labels & np.isnan(y) if self._late else labels)
        labels &= ~to_parse
        reasons: dict[int, str] = {}
        set_aside: dict[int, str] = {}
        tail: list[bytes] = []
        end = len(text)
        for i in np.flatnonzero(to_parse).tolist():
            try:
                x, y[i], id_json, time, label_reason = self._event(records.values[i], self._is_strict(records, i))
                labels[i] = x is None
                for j, feature in enumerate(() if x is None else schema.check(x, self._lenient)):
                    X[i, j] = self._feature(feature, f"x[{schema.names[j] if schema.names else j}]")
            except Reject as reject:
                labels[i] = isinstance(reject, RejectLabel)
                (set_aside if labels[i] else reasons)[i] = str(reject)
                continue
            if label_reason is not None:
                set_aside[i] = label_reason
            t[i] = NO_TIME if time is None else time
            tail.append(id_json)
            spans[:, i] = end, end + len(id_json)
            end += len(id_json)
        ids = read_only(np.concatenate([text, as_text(b"".join(tail))])) if tail else text, spans
        return Decoded(X, y, ids, t, reasons, labels, set_aside)

    def _packed(self, records: Records, schema: Schema) -> Decoded:
        from driftway.worker.wire.scanner import NO_TIME
        from driftway.worker.wire.writer import as_text

        n = len(records)
        X, y, reasons, set_aside = packed.decode_events(records.values, schema, self.target, self._lenient)
        ids = as_text(NULL), np.repeat([[0], [len(NULL)]], n, axis=1)
        return Decoded(X, y, ids, np.full(n, NO_TIME), reasons, np.zeros(n, np.bool_), set_aside)

    def _batch(self, records: Records, decoded: Decoded) -> Batch:
        """Build the batch of all records that are not rejected; where a label rejects its event, give the reason."""
        X, y, ids, t, reasons, labels, set_aside = decoded
        rejecting = [i for i in set_aside if not labels[i] and self._is_strict(records, i)]
        if records.label_offsets is not None:
            rejecting += np.flatnonzero(records.is_label & ~labels).tolist()
        for i in rejecting:
            reasons.setdefault(i, set_aside.pop(i, NOT_A_LABEL))
        sizes = [("id", ids[1][1] - ids[1][0], MAX_ID)]
        if not records.keys.all_none:
            sizes.append(("key", records.keys.lengths(), MAX_KEY))
        for what, lengths, limit in sizes:
            long = np.flatnonzero(lengths > limit).tolist()
            reasons |= {i: too_long(what, int(lengths[i])) for i in long if i not in reasons}
        for i in set(reasons).intersection(set_aside):  # the whole record is rejected
            del set_aside[i]
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
            labels[[*reasons, *set_aside]] = False
            batch.labels = Labels(
                batch.offsets.searchsorted(records.offsets[labels]),
                records.offsets[labels],
                y[labels],
                _ids_of(ids, labels),
                t[labels],
                records.chosen(labels),
                self.set_aside_from,
            )
        return batch


def _id_of(event: Any) -> Any:
    """Return the id in a parsed event."""
    if not isinstance(event, dict):
        raise Reject(why_no_object(NOT_OBJECT, event))
    return event.get("id")


def _ids_of(ids: Column, rows: NDArray[np.bool_]) -> Column:
    return ids[0], np.ascontiguousarray(ids[1][:, rows])


def _require_short(what: str, text: bytes, limit: int) -> None:
    """Raise `Reject` if an id or key is longer than a prediction may echo."""
    if len(text) > limit:
        raise Reject(too_long(what, len(text)))


def _require_label(given: bool, late: bool) -> None:
    """Raise unless an event without features may be the label of an earlier one, and can be used as one."""
    if not late:
        raise Reject(LATE_LABEL)
    if not given:
        raise RejectLabel(NO_LABEL)

"""Reading events through a schema, for the tests of this folder: by the kernel and by orjson alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftway.worker.wire import codec
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Target
from driftway.worker.wire.schema.cell_table import CellTable
from driftway.worker.wire.schema.decoder import SchemaDecoder
from driftway.worker.wire.schema.schema import EventSchema
from tests.unit.worker.rows import records


def schema_of(*features: str, **rest: Any) -> EventSchema:
    return EventSchema.parse(features, **rest)


def reader_of(schema: EventSchema, target: Target, scanned: bool) -> SchemaDecoder:
    return SchemaDecoder(schema, target, codec.parse_json, codec.id_text, scanned)


def tabled(reader: SchemaDecoder, parts: list[Records]) -> dict[int, Any]:
    """Return offset -> (x bytes, y bytes, id text, t, why the label is set aside), or why the event is rejected."""
    found: dict[int, Any] = {}
    for part in parts:
        X, y, (text, (starts, ends)), t, reasons, _, set_aside = reader.decode(part)
        for i, offset in enumerate(part.offsets.tolist()):
            name = text[starts[i] : ends[i]].tobytes()
            row = X[i].tobytes(), y[i].tobytes(), name, int(t[i]), set_aside.get(i)
            found[offset] = reasons.get(i, row)
    return found


def assert_same(schema: EventSchema, whole: Records, target: Target | None = None) -> dict[int, Any]:
    """Fail unless the kernel reads what orjson reads; return what was read."""
    target = target or Target()
    expected = tabled(reader_of(schema, target, False), [whole])
    assert tabled(reader_of(schema, target, True), [whole]) == expected
    return expected


def plain(schema: EventSchema, values: list[bytes | None]) -> list[bool]:
    """Return which events the kernel reads."""
    from driftway.worker.wire.schema import fields
    from driftway.worker.wire.schema.decoder import build_index

    tree = build_index(schema)
    assert tree is not None
    cells = CellTable.of(len(values), len(schema.sources))
    flags: list[bool] = fields.scan_fields(records(values).values, tree, cells)[-1].tolist()
    return flags


def decoded(values: list[bytes | None], schema: EventSchema, target: Target | None = None, **rest: Any) -> Any:
    """Return the decoded batch of events."""
    whole = records(values)
    for name, column in rest.items():
        setattr(whole, name, column)
    return Decoder(target or Target(), events=schema).decode(whole)


def row(values: list[bytes | None], schema: EventSchema, target: Target | None = None, **rest: Any) -> Any:
    """Return (x, y, id, t) of the only event, or why it is rejected."""
    batch = decoded(values, schema, target, **rest)
    if batch.rejected:
        return batch.rejected[0].reason
    text, (starts, ends) = batch.ids
    y = None if np.isnan(batch.y[0]) else batch.y[0].item()
    return batch.X[0].tolist(), y, text[starts[0] : ends[0]].tobytes(), int(batch.t[0])

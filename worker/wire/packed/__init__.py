"""Encode and decode the packed wire format: little-endian events and predictions of fixed layout. Leaf module.

Event (``--format packed``), 10 + d x size bytes:

    0   u1      version, 1
    1   u1      size: bytes per feature, 4 or 8
    2   f8      label; NaN = none
    10  f4, f8  d features

Prediction (``--output-format packed``), 40 + 8 k bytes and the id; of a plan from the second on, see
`driftway.worker.state.plans`, version 2 with 8 bytes more; with other optional fields version 3:

    0   u1      version, 1 to 3
    1   u1      kind: 0 the prediction is a class index, 1 it is a number
    2   u2      k, number of scores
    4   i4      input partition
    8   i8      input offset
    16  i8      t of the event; the smallest i8 (`driftway.worker.wire.scanner.NO_TIME`) = none
    24  f8      y: class index or number; NaN = none
    32  f8      prediction
    40  i8      in version 2 only: number of the plan
    40  u8      in version 3 only: which of the optional fields follow, one bit each, in this order:
    ..  i8        1: number of the plan, from the second on
    ..  f8        2: probability of the class predicted
    ..  f8[2]     8: low and high end of the interval, infinite where it has none
    ..  u1[..]   16: the set of classes, (K + 7) div 8 bytes: bit c mod 8 of byte c div 8 is class c; K = max(2, k)
    ..  f8[k]   scores
    ..  u2        4: bytes of the challenger's name
    ..            4: the name, UTF-8
    ..          JSON text of the event's id, to the end of the record; empty = none or null

Classes are indices even where JSON uses the names from ``--labels``. The champion's name is left out: accuracy points
and snapshots have it, and a header on every record would cost more than the record. Challengers share a topic, so their
records must say whose they are.
"""

from driftway.worker.wire.packed.events import (
    EVENT_HEAD,
    decode_events,
    encode_events,
    label_reason,
    schema_of,
    why_unusable,
    write_events,
)
from driftway.worker.wire.packed.predictions import (
    CLASS,
    MAX_SCORES,
    NUMBER,
    PREDICTION_HEAD,
    VERSION,
    Predictions,
    decode_predictions,
    encode_predictions,
    is_packed,
)

__all__ = [
    "CLASS",
    "EVENT_HEAD",
    "MAX_SCORES",
    "NUMBER",
    "PREDICTION_HEAD",
    "VERSION",
    "Predictions",
    "decode_events",
    "decode_predictions",
    "encode_events",
    "encode_predictions",
    "is_packed",
    "label_reason",
    "schema_of",
    "why_unusable",
    "write_events",
]

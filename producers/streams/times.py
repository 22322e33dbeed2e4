"""Times that a file holds as text or as Arrow's timestamps, as milliseconds since 1970."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from driftway.producers.streams.arrow import to_floats
from driftway.producers.streams.stream import Array

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def milliseconds(text: str) -> float:
    """Read a time in ISO 8601, in UTC if it names no zone; NaN if it is none."""
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return math.nan
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) / MILLISECOND


def is_time(kind: Any) -> bool:
    """Whether an arrow type is that of timestamps or dates."""
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def column_milliseconds(column: Any) -> Array:
    """An arrow array of timestamps or dates as f8[n]; null -> NaN."""
    import pyarrow as pa

    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    return to_floats(column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())) / 1000.0

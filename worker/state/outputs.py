"""What a batch adds to the output topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from driftway.worker.state.alarms import DriftAlarm
from driftway.worker.state.model_sharing.exchange_record import ExchangeRecord
from driftway.worker.wire import columns
from driftway.worker.wire.columns import BytesColumn, empty_column
from driftway.worker.wire.events import RejectedEvent
from driftway.worker.wire.headers import Headers, joined_headers
from driftway.worker.wire.rejections import TooManyRejected

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Integers


@dataclass
class Outputs:
    """What a batch adds to the output topics, as encoded records in input order."""

    next_offset: int
    offsets: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of the rows that were predicted, i8[rows]."""
    keys: BytesColumn = field(default_factory=empty_column)
    predictions: BytesColumn = field(default_factory=empty_column)
    headers: Headers | None = None
    """Of the predictions; None: none has any."""
    points: list[tuple[bytes, bytes]] = field(default_factory=list)
    alarms: list[DriftAlarm] = field(default_factory=list)
    """Drifts that the champion's detectors called."""
    shares: list[ExchangeRecord] = field(default_factory=list)
    """What the learners combined with their own models, and send to other partitions."""
    rejected: list[RejectedEvent] = field(default_factory=list)
    excess: TooManyRejected | None = None
    """Too many of the last events were rejected: to be raised once the batch is dealt with."""

    @property
    def rows(self) -> int:
        """Rows that were predicted."""
        return len(self.offsets)


def merged(some: list[RejectedEvent], others: list[RejectedEvent]) -> list[RejectedEvent]:
    """Both in the order of their offsets."""
    return sorted([*some, *others], key=lambda one: one.offset) if others else some


def joined(*parts: Outputs) -> Outputs:
    """One after the other, as one."""
    if len(parts) == 1:
        return parts[0]
    whole = Outputs(parts[-1].next_offset, np.concatenate([part.offsets for part in parts]))
    whole.keys = columns.concatenated([part.keys for part in parts])
    whole.predictions = columns.concatenated([part.predictions for part in parts])
    whole.headers = joined_headers([(part.headers, len(part.predictions)) for part in parts])
    for part in parts:
        whole.points += part.points
        whole.alarms += part.alarms
        whole.shares += part.shares
        whole.rejected += part.rejected
        whole.excess = whole.excess or part.excess
    return whole

"""What a batch adds to the output topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from driftway.learners.metrics.prequential import predicted_class
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model_sharing.exchange_record import ExchangeRecord
from driftway.worker.state.monitoring.alarms import DriftAlarm
from driftway.worker.wire import columns, packed
from driftway.worker.wire.codec import PACKED, encode_predictions
from driftway.worker.wire.columns import BytesColumn, empty_column
from driftway.worker.wire.events import Batch, RejectedEvent
from driftway.worker.wire.headers import Headers, joined_headers
from driftway.worker.wire.rejections import TooManyRejected

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Integers


@dataclass
class Outputs:
    """What a batch adds to the output topics, as encoded records in input order."""

    next_offset: int
    offsets: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """Offsets of the predicted rows, i8[rows]."""
    keys: BytesColumn = field(default_factory=empty_column)
    predictions: BytesColumn = field(default_factory=empty_column)
    headers: Headers | None = None
    """Headers of the predictions; None: none has any."""
    points: list[tuple[bytes, bytes]] = field(default_factory=list)
    alarms: list[DriftAlarm] = field(default_factory=list)
    """Alarms of the champion's drift detectors."""
    shares: list[ExchangeRecord] = field(default_factory=list)
    """Exchange records: what the learners merged into their models, and send to other partitions."""
    rejected: list[RejectedEvent] = field(default_factory=list)
    excess: TooManyRejected | None = None
    """Set if too many recent events were rejected; to be raised once the batch is processed."""

    @property
    def rows(self) -> int:
        """Number of predicted rows."""
        return len(self.offsets)

    @property
    def nbytes(self) -> int:
        """Bytes of predictions, rejected events, and their keys."""
        rejected = sum(len(bad.value or b"") + len(bad.key or b"") for bad in self.rejected)
        return self.predictions.nbytes + self.keys.nbytes + rejected


def encoded(
    batch: Batch, score: NDArray[np.float64], sure: Integers | None, kind: str, settings: ModelSettings, plan: int
) -> BytesColumn:
    """Encode the champion's predictions in the output format.

    Parameters
    ----------
    batch : Batch
        n rows.
    score : f8[n, k]
        The champion's scores.
    sure : i8[n] or None
        The predictions' probabilities in millionths; None: they have none.
    kind : str
        The champion's.
    settings : ModelSettings
        Target, format and names.
    plan : int
        Number of the plan.
    """
    predicted = predicted_class(score, kind)
    if settings.output_form == PACKED:
        return packed.encode_predictions(batch, score, predicted, settings.target, plan, sure)
    return encode_predictions(batch, score, predicted, settings.target, settings.names[0], plan, sure)


def merged(some: list[RejectedEvent], others: list[RejectedEvent]) -> list[RejectedEvent]:
    """Merge two lists by offset."""
    return sorted([*some, *others], key=lambda one: one.offset) if others else some


def joined(*parts: Outputs) -> Outputs:
    """Concatenate outputs in order."""
    if len(parts) == 1:
        return parts[0]
    outputs = Outputs(parts[-1].next_offset, np.concatenate([part.offsets for part in parts]))
    outputs.keys = columns.concatenated([part.keys for part in parts])
    outputs.predictions = columns.concatenated([part.predictions for part in parts])
    outputs.headers = joined_headers([(part.headers, len(part.predictions)) for part in parts])
    for part in parts:
        outputs.points += part.points
        outputs.alarms += part.alarms
        outputs.shares += part.shares
        outputs.rejected += part.rejected
        outputs.excess = outputs.excess or part.excess
    return outputs

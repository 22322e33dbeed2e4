"""What a batch adds to the output topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from driftway.learners.metrics.prequential import predicted_class
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import EVERY_MODEL
from driftway.worker.state.model_sharing.exchange_record import ExchangeRecord
from driftway.worker.state.monitoring.alarms import DriftAlarm
from driftway.worker.state.monitoring.confidence import ModelOutput, as_written
from driftway.worker.wire import columns, packed
from driftway.worker.wire.codec import JSON, PACKED, encode_predictions
from driftway.worker.wire.columns import BytesColumn, empty_column, repeated
from driftway.worker.wire.events import Batch, RejectedEvent
from driftway.worker.wire.headers import Headers, chosen_headers, cloud_event_headers, joined_headers
from driftway.worker.wire.json_tokens.interleave import interleaved
from driftway.worker.wire.registered import avro, protobuf
from driftway.worker.wire.registered.framing import AVRO, JSON_SCHEMA, PROTOBUF, header
from driftway.worker.wire.rejections import TooManyRejected

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Integers

RECORD_FORMATS = {AVRO: avro.FORMAT, PROTOBUF: protobuf.FORMAT}
"""Format of predictions that are neither JSON nor packed -> how they are written."""

CONTENT_TYPES = {
    JSON: b"application/json",
    JSON_SCHEMA: b"application/json",
    PACKED: b"application/octet-stream",
    AVRO: b"application/vnd.apache.avro",
    PROTOBUF: b"application/vnd.google.protobuf",
}
"""Format of predictions -> its media type, for CloudEvents."""


@dataclass(frozen=True)
class ChallengerPredictions:
    """The challengers' predictions for a batch: those of a row side by side, in the order of the plan."""

    names: tuple[str, ...]
    """The m challengers."""
    offsets: Integers
    """Offset of each prediction's row, i8[m rows]."""
    keys: BytesColumn
    predictions: BytesColumn
    headers: Headers | None = None
    """Like those of the champion's predictions."""

    @property
    def nbytes(self) -> int:
        """Bytes of predictions and keys."""
        return self.predictions.nbytes + self.keys.nbytes

    def chosen(self, keep: NDArray[np.bool_]) -> ChallengerPredictions:
        """Return those where `keep`, bool[m rows], is true."""
        kept = self.keys.chosen(keep), self.predictions.chosen(keep), chosen_headers(self.headers, keep)
        return replace(self, offsets=self.offsets[keep], keys=kept[0], predictions=kept[1], headers=kept[2])

    def identities(self) -> list[tuple[int, bytes]]:
        """Input offset and name of each prediction, which tell it apart from all others."""
        names = cycle([name.encode() for name in self.names])
        return list(zip(self.offsets.tolist(), names, strict=False))


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
    challengers: list[ChallengerPredictions] = field(default_factory=list)
    """Predictions of challengers, if they are written."""
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
        return self.predictions.nbytes + self.keys.nbytes + rejected + sum(one.nbytes for one in self.challengers)


def encoded(
    batch: Batch, emitted: ModelOutput, kind: str, settings: ModelSettings, plan: int, number: int = 0
) -> BytesColumn:
    """Encode the predictions of model `number` in the output format.

    Parameters
    ----------
    batch : Batch
        n rows.
    emitted : ModelOutput
        What the model emits for them.
    kind : str
        The model's.
    settings : ModelSettings
        Target, format and names.
    plan, number : int
        Number of the plan, and of the model in it.
    """
    score, target, name = emitted.score, settings.target, settings.names[number]
    predicted, confidence = predicted_class(score, kind), as_written(emitted, target.n_classes)
    if settings.output_form == PACKED:
        challenger = name if number else ""
        return packed.encode_predictions(batch, score, predicted, target, plan, confidence, challenger)
    if (form := RECORD_FORMATS.get(settings.output_form)) is not None:
        return form.encode_predictions(batch, score, predicted, target, name, plan, confidence, settings.output_schema)
    begin = b"" if settings.output_form == JSON else header(settings.output_schema)
    return encode_predictions(batch, score, predicted, target, name, plan, confidence, begin)


def written_headers(
    batch: Batch, settings: ModelSettings, passed: Headers | None, names: Sequence[str] = ("",)
) -> Headers | None:
    """Return the headers of predictions, those of a row side by side; None: they have none.

    Parameters
    ----------
    batch : Batch
        n rows.
    settings : ModelSettings
        The output format, and whether predictions are CloudEvents.
    passed : Headers or None
        What they carry of the rows' events, n.
    names : sequence of str
        As in `cloud_event_headers`.
    """
    if settings.cloudevents:
        rows, media = (batch.partition, batch.offsets, batch.t), CONTENT_TYPES[settings.output_form]
        return cloud_event_headers(settings.cloudevents, media, rows, passed, names)
    if passed is None or len(names) == 1:
        return passed
    return [each for each in passed for _ in names]


def of_challengers(
    batch: Batch,
    emitted: Sequence[ModelOutput],
    kinds: Sequence[str],
    settings: ModelSettings,
    plan: int,
    headers: Headers | None,
) -> list[ChallengerPredictions]:
    """Encode the challengers' predictions, if there are challengers and their predictions are written.

    Parameters
    ----------
    batch : Batch
        n > 0 rows.
    emitted : sequence of ModelOutput
        What each challenger emits for them.
    kinds : sequence of str
        Of the challengers.
    settings : ModelSettings
        Their names, and the output format.
    plan : int
        Number of the plan.
    headers : Headers or None
        What the predictions of a row carry of its event.
    """
    m = len(kinds)
    if settings.emit != EVERY_MODEL or not m:
        return []
    numbered = zip(range(1, m + 1), emitted, kinds, strict=True)
    parts = [encoded(batch, one, kind, settings, plan, number) for number, one, kind in numbered]
    own = written_headers(batch, settings, headers, settings.names[1:])
    names, offsets, keys = settings.names[1:], batch.offsets.repeat(m), repeated(batch.keys, m)
    return [ChallengerPredictions(names, offsets, keys, interleaved(parts), own)]


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
        outputs.challengers += part.challengers
        outputs.points += part.points
        outputs.alarms += part.alarms
        outputs.shares += part.shares
        outputs.rejected += part.rejected
        outputs.excess = outputs.excess or part.excess
    return outputs

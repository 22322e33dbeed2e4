"""What one partition has learned: its schema, learners and metrics, and how a batch moves them on.

Pure computation: no Kafka, no clock. The same rows give the same bits, however they are cut into batches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from learners.learner import Learner
from learners.metrics.rolling import Metrics, create_metrics
from learners.prequential import predicted_class
from worker.errors import Failure
from worker.settings import ModelSettings
from worker.state.alarms import Alarm, Alarms
from worker.state.making import allocating, make_filling, make_learner
from worker.wire import packed, strings
from worker.wire.codec import PACKED, Decoder, encode_point, encode_predictions, key_of, write_json
from worker.wire.events import Batch, Records, Rejection, Schema
from worker.wire.mapped.feature import REJECT, indicator_of
from worker.wire.rejections import Flags, TooManyRejected, Watch
from worker.wire.strings import Strings, none

if TYPE_CHECKING:
    from learners.reductions.filling import Filling
    from worker.wire.strings import Integers

SHARE_DIGITS = 4
"""Of an expert's share in an accuracy point."""
DIGEST_BYTES = 6
"""Of `Model.digests`: enough to tell a group's learners apart."""


@dataclass
class Outputs:
    """What a batch adds to the output topics, as encoded records in input order."""

    next_offset: int
    offsets: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of the rows that were predicted, i8[rows]."""
    keys: Strings = field(default_factory=none)
    predictions: Strings = field(default_factory=none)
    points: list[tuple[bytes, bytes]] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    """Drifts that the champion's detectors called."""
    rejected: list[Rejection] = field(default_factory=list)
    excess: TooManyRejected | None = None
    """Too many of the last events were rejected: to be raised once the batch is dealt with."""

    @property
    def rows(self) -> int:
        """Rows that were predicted."""
        return len(self.offsets)


def joined(*parts: Outputs) -> Outputs:
    """One after the other, as one."""
    if len(parts) == 1:
        return parts[0]
    whole = Outputs(parts[-1].next_offset, np.concatenate([part.offsets for part in parts]))
    whole.keys = strings.joined([part.keys for part in parts])
    whole.predictions = strings.joined([part.predictions for part in parts])
    for part in parts:
        whole.points += part.points
        whole.alarms += part.alarms
        whole.rejected += part.rejected
        whole.excess = whole.excess or part.excess
    return whole


@dataclass(frozen=True)
class Saved:
    """A model at rest: enough to go back to it, or to write it down."""

    schema: Schema | None
    rows: int
    parts: tuple[NDArray[np.uint8], ...]
    recent: Flags | None = None
    """Memory of `worker.wire.rejections.Watch`; for going back only, a snapshot leaves it out."""

    @property
    def nbytes(self) -> int:
        """Bytes of state."""
        return sum(part.nbytes for part in self.parts)


class Model:
    """Champion and challengers of one partition, with a set of rolling metrics each.

    Parameters
    ----------
    settings : ModelSettings
        What is learned.
    partition : int
        Whose rows these are; part of the output records.
    group : str
        Whose learners these are; part of accuracy points.
    """

    def __init__(self, settings: ModelSettings, partition: int, group: str = "") -> None:
        self.settings = settings
        self.partition = partition
        self.group = group
        self.rows = 0
        lenient = settings.missing.word != REJECT
        self._decoder = Decoder(
            settings.target, settings.shape, settings.form, self._admit, lenient=lenient, events=settings.events
        )
        self._filling: Filling | None = None
        self._learners: list[Learner] = []
        self._metrics: list[Metrics] = []
        self._alarms: Alarms | None = None
        self._digests: list[str] = []
        self._watch = Watch(settings.max_rejected, partition) if settings.max_rejected is not None else None
        self._fit_to_schema()

    @property
    def schema(self) -> Schema | None:
        """The shape of the partition's events; None until a good one was seen."""
        return self._decoder.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what the learners are given, in order; empty before the schema is known."""
        schema = self.schema
        if schema is None:
            return ()
        names = schema.names or tuple(f"x[{j}]" for j in range(schema.n_features))
        if self._filling is None:
            return names
        if self.settings.events is not None:
            return (*names, *self.settings.events.indicator_names)
        return (*names, *(map(indicator_of, names) if self.settings.indicators else ()))

    @property
    def learners(self) -> tuple[Learner, ...]:
        """Champion and challengers, for a look at their states; none before the schema is known."""
        return tuple(self._learners)

    @property
    def filling(self) -> Filling | None:
        """What stands for missing values; None where none may be missing, or before the schema is known."""
        return self._filling

    def advance(self, records: Records, emit: bool = True) -> Outputs:
        """Decode, predict, learn, observe, encode.

        Parameters
        ----------
        records : Records
            The partition's next records.
        emit : bool
            False while replaying after a restore: the state moves, nothing is encoded.
        """
        batch = self.decode(records)
        outputs = Outputs(batch.next_offset, batch.offsets, rejected=batch.rejected)
        scores = [np.empty((len(batch), learner.n_scores)) for learner in self._learners]
        weights = [self._learn(i, batch, score) for i, score in enumerate(scores)]
        self._observe(batch, scores, weights, outputs if emit else None)
        if emit and len(batch):
            outputs.predictions = self._encode(batch, scores[0])
            outputs.keys = batch.keys
        if emit and self._watch is not None:
            outputs.excess = self._watch.observe(batch.offsets, batch.rejected)
        return outputs

    def _learn(self, i: int, batch: Batch, score: NDArray[np.float64]) -> list[dict[str, float]]:
        """Predict, and learn unless frozen; what the experts of a mixture count for at each accuracy point."""
        learner, weights = self._learners[i], []
        for start, end in self._pieces(len(batch)) if learner.mixes else [(0, len(batch))]:
            if i == 0 and self.settings.frozen:
                learner.predict(batch.X[start:end], score[start:end])
            else:
                learner.predict_then_update(batch.X[start:end], batch.y[start:end], score[start:end])
            if learner.mixes:
                weights.append({name: round(share, SHARE_DIGITS) for name, share in learner.experts().items()})
        return weights

    def _pieces(self, n: int) -> list[tuple[int, int]]:
        """Where a batch of n rows is cut, so that accuracy points stand at fixed rows."""
        every, pieces, start = self.settings.accuracy_every, list[tuple[int, int]](), 0
        while start < n:
            end = min(n, start + every - (self.rows + start) % every)
            pieces.append((start, end))
            start = end
        return pieces

    def decode(self, records: Records) -> Batch:
        """Read records, and learn from none: the first good event makes the learners, which need its shape.

        What stands for missing values follows from the rows so far: each record is read once.
        """
        batch = self._decoder.decode(records)
        self._fit_to_schema()
        if self._filling is not None:
            batch.X = self._filling.fill(batch.X)
        return batch

    def latest_points(self) -> dict[str, dict[str, Any]]:
        """Learner -> its rolling metrics now, for the endpoint."""
        pairs = zip(self.settings.names, self._metrics, strict=False)
        return {name: metrics.point() for name, metrics in pairs}

    def experts(self) -> dict[str, dict[str, float]]:
        """Learner -> what its experts count for now, of those that mix."""
        pairs = zip(self.settings.names, self._learners, strict=False)
        return {name: learner.experts() for name, learner in pairs if learner.mixes}

    def save(self) -> Saved:
        """Copy the state."""
        recent = None if self._watch is None else self._watch.save()
        return Saved(self.schema, self.rows, tuple(part.copy() for part in self._parts()), recent)

    def load(self, saved: Saved) -> None:
        """Go back to a saved state, bit for bit.

        Raises
        ------
        ValueError
            Its parts do not fit this model's learners and metrics.
        """
        if self.settings.shape is None:
            self._decoder.schema = saved.schema
            self._learners, self._metrics, self._alarms, self._filling = [], [], None, None
            self._fit_to_schema()
        parts = self._parts()
        if [part.nbytes for part in parts] != [part.nbytes for part in saved.parts]:
            raise ValueError("the saved state has other sizes than these learners")
        for part, memory in zip(parts, saved.parts, strict=True):
            part[:] = memory
        self.rows = saved.rows
        if self._watch is not None:
            self._watch.load(saved.recent)

    def identity(self) -> dict[str, Any]:
        """Everything that a written state must agree on before it may be loaded."""
        settings, target = self.settings, self.settings.target
        warm = settings.warm
        return {
            "learners": [spec.text + settings.behind for spec in settings.specs],
            "standardize": settings.standardize,
            "task": target.task,
            "n_classes": target.n_classes,
            "labels": list(target.labels),
            "window": settings.window,
            "accuracy_every": settings.accuracy_every,
            "states": [learner.identity() for learner in self._learners],
            # Only where there is something to say, so that snapshots from before warm starts stay valid.
            **({} if warm is None else {"warm": warm.digest}),
            **({"frozen": True} if settings.frozen else {}),
            **({"detectors": [spec.text for spec in settings.detectors]} if settings.detectors else {}),
            **({"event": settings.events.as_dict()} if settings.events is not None else {}),
            **({"missing": str(settings.missing)} if settings.missing.word != REJECT else {}),
            **({"missing_indicators": True} if settings.indicators else {}),
        }

    def digests(self) -> list[str]:
        """Short for what `identity` says of each learner: those with the same learn the same from the same rows."""
        whole = self.identity()
        shared = ("standardize", "task", "n_classes", "labels", "window")
        common: dict[str, Any] = {key: whole[key] for key in shared}
        common |= {key: whole[key] for key in ("event", "missing", "missing_indicators") if key in whole}
        begun: dict[str, Any] = {key: whole[key] for key in ("warm", "frozen") if key in whole}  # the champion, that is
        parts = zip(whole["learners"], whole["states"], strict=True)
        told = [{**common, "learner": name, "state": state} for name, state in parts]
        if told:
            told[0] |= begun
        return [hashlib.blake2b(write_json(one), digest_size=DIGEST_BYTES).hexdigest() for one in told]

    def _parts(self) -> list[NDArray[np.uint8]]:
        watching = [] if self._alarms is None else self._alarms.parts()
        filling = [] if self._filling is None else [self._filling.state.memory]
        return [part.state.memory for part in (*self._learners, *self._metrics)] + watching + filling

    def _admit(self, found: Schema) -> Schema:
        """The schema that the first good event fixes.

        Raises
        ------
        Failure
            Another one than the model file's.
        """
        warm = self.settings.warm
        return found if warm is None else warm.admit(found, f"the first good event of partition {self.partition}")

    def _fit_to_schema(self) -> None:
        """Make the learners once the number of features is known.

        Raises
        ------
        Failure
            Their state cannot be allocated, or a parameter does not fit the number of features.
        """
        if self._learners or self.schema is None:
            return
        settings, target = self.settings, self.settings.target
        self._filling = make_filling(settings, self.schema)
        d = self.schema.n_features if self._filling is None else self._filling.width
        for i, spec in enumerate(settings.specs):
            with allocating(spec.text, d):
                learner = make_learner(spec, settings, d)
                metrics = create_metrics(target.task, target.n_classes, learner.n_scores, settings.window)
            if i == 0 and settings.warm is not None and settings.warm.state:
                learner.state.memory[:] = np.frombuffer(settings.warm.state, np.uint8)
            self._learners.append(learner)
            self._metrics.append(metrics)
        self._digests = self.digests()
        if settings.detectors:
            whose = {"learner": settings.names[0], "group": self.group, "model": self._digests[0]}
            self._alarms = Alarms(settings.detectors, self._learners[0].kind, whose)

    @property
    def champion(self) -> Learner:
        """The learner whose predictions are written.

        Raises
        ------
        Failure
            There is none yet: no good event was seen.
        """
        if not self._learners:
            raise Failure(f"partition {self.partition} has seen no good event yet: there is no learner")
        return self._learners[0]

    def _encode(self, batch: Batch, score: NDArray[np.float64]) -> Strings:
        """The champion's predictions in the output format."""
        settings = self.settings
        predicted = predicted_class(score, self._learners[0].kind)
        if settings.output_form == PACKED:
            return packed.encode_predictions(batch, score, predicted, settings.target)
        return encode_predictions(batch, score, predicted, settings.target, settings.names[0])

    def _observe(
        self,
        batch: Batch,
        scores: list[NDArray[np.float64]],
        weights: list[list[dict[str, float]]],
        outputs: Outputs | None,
    ) -> None:
        """Feed metrics and detectors; write alarms and accuracy points, unless nothing is to be written."""
        every, n = self.settings.accuracy_every, len(batch)
        called = self._alarms.observe(batch, scores[0]) if self._alarms is not None and n else []
        if outputs is not None:
            outputs.alarms = called
        counters = [metrics.counter(score, batch.y) for metrics, score in zip(self._metrics, scores, strict=True)]
        for piece, (start, end) in enumerate(self._pieces(n)):
            for count in counters:
                count(start, end)
            drift = None
            complete = (self.rows + end) % every == 0
            if self._alarms is not None:
                last = batch.offsets[end - 1]
                self._alarms.note([alarm for alarm in called if batch.offsets[start] <= alarm.offset <= last])
                drift = self._alarms.tell() if complete else None
            if outputs is not None and complete:
                experts = [of_learner[piece] if of_learner else None for of_learner in weights]
                outputs.points += self._points(batch, end - 1, drift, experts)
        self.rows += n

    def _points(
        self, batch: Batch, row: int, drift: dict[str, int] | None, experts: list[dict[str, float] | None]
    ) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of the accuracy points that stand behind a row of the batch."""
        offset, t, champion = int(batch.offsets[row]), int(batch.t[row]), self._metrics[0]
        for name, metrics, digest, shares in zip(
            self.settings.names, self._metrics, self._digests, experts, strict=True
        ):
            whose = {"group": self.group, "model": digest}
            point = metrics.point() if shares is None else {**metrics.point(), "experts": shares}
            of_champion = drift if metrics is champion else None
            value = encode_point(point, self.partition, offset, name, t, whose, of_champion)
            yield key_of(name, self.partition), value

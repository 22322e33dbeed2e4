"""Prequential evaluation of learners on a stream, without Kafka, with the same kernels and the same bits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners.learner import REGRESSION, Learner
from driftway.learners.metrics.classification import NO_SLOTS
from driftway.learners.metrics.offline import OfflineMetrics
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.reliability import MILLION
from driftway.learners.metrics.rolling import Metrics, create_metrics
from driftway.learners.preprocessing.maps import create_mapped
from driftway.learners.spec import Spec
from driftway.worker.errors import LearnerFailed, UsageFailure
from driftway.worker.settings.option_values import NO_COVERAGE, SharingOption
from driftway.worker.state.delayed_labels.delay_simulator import DelaySimulator
from driftway.worker.state.model_sharing.exchange_record import ExchangeRecord
from driftway.worker.state.model_sharing.model_exchange import ModelExchange
from driftway.worker.state.monitoring.confidence import LearnerConfidence, ModelOutput
from driftway.worker.state.monitoring.coverage import coverage_fields
from driftway.worker.warm_start import WarmStart
from driftway.worker.wire.codec import write_json
from driftway.worker.wire.columns import Integers
from driftway.worker.wire.events import Target

if TYPE_CHECKING:
    from driftway.worker.evaluation.detection import Detection
    from driftway.worker.evaluation.regret import Regret

Array = NDArray[np.float64]

OF_CONFUSIONS = ("precision", "recall", "specificity", "f1", "g_mean", "balanced_accuracy", "sum_sens_spec")
ORDERLESS = ("accuracy", "kappa", *OF_CONFUSIONS, "log_loss", "brier", "hinge_loss", "mse", "mae", "rmse", "r2_overall")
"""Metrics that do not depend on the order of rows, for test rows. The others need baselines that learn row by row."""


@dataclass
class PartitionRun:
    """One learner on one partition's rows."""

    learner: Learner
    metrics: Metrics
    offline: OfflineMetrics
    delays: DelaySimulator | None = None
    exchange: ModelExchange | None = None
    rows: int = 0
    rejected: int = 0
    seconds: float = 0.0
    sent: list[ExchangeRecord] = field(default_factory=list)
    """Exchange records that are not delivered to the other partitions yet."""
    confidence: LearnerConfidence | None = None
    """What says how sure predictions are."""
    emitted: ModelOutput | None = None
    """What was emitted for the rows of the latest batch, with `confidence`."""

    def learn(self, X: Array, y: Array, frozen: bool) -> Array:
        """Predict rows, learn from their labels, at once or delayed, and update the metrics; return scores f8[n, k]."""
        score, started = np.empty((len(X), self.learner.n_scores)), time.perf_counter()
        if self.delays is not None:
            steps = self.delays.arrange(X, y)
            score, emitted = self.delays.run(steps)
            self.seconds += time.perf_counter() - started
            (guesses,) = self.delays.guesses.shared(len(steps.y), 1)
            self.metrics.counter(emitted, steps.y, steps.slot, guesses)(0, len(steps.y))
            self.offline.observe(emitted, steps.y)
            self._emit(emitted, steps.y, steps.slot)
            self.emitted = None if self.emitted is None else self.emitted.at(np.flatnonzero(steps.is_row))
            return score
        if frozen:
            self.learner.predict(X, score)
        elif self.exchange is not None:
            self.exchange.plan_rounds(y, emit=True)
            for start, end in self.exchange.segments(0, len(X)):
                self.learner.predict_then_update(X[start:end], y[start:end], score[start:end])
            self.sent += self.exchange.finish_rounds(np.arange(self.rows, self.rows + len(X)))
        else:
            self.learner.predict_then_update(X, y, score)
        self.seconds += time.perf_counter() - started  # the learner's alone: metrics cost as much as a cheap learner
        self.observe(score, y)
        return score

    def observe(self, score: Array, y: Array) -> None:
        """Update the metrics with a batch: score f8[n, k], y f8[n]."""
        self.metrics.observe(score, y)
        self.offline.observe(score, y)
        self._emit(score, y)

    def _emit(self, score: Array, y: Array, slot: Integers = NO_SLOTS) -> None:
        """Emit probabilities, and intervals or sets, and count how good they are: score f8[n, k], y f8[n]."""
        if self.confidence is not None:
            self.emitted, counts = self.confidence.emit(score, y, slot)
            for count in counts:
                count(0, len(y))

    def point(self) -> dict[str, Any]:
        """All current metrics: those of a worker's accuracy point, then those that only evaluation has."""
        rolling = self.metrics.point()
        calibration, coverage = ({}, {}) if self.confidence is None else self.confidence.points()
        return {**rolling, **calibration, **self.offline.point(rolling), **coverage}


@dataclass
class Evaluation:
    """A learner on a stream split over `partitions` partitions: row i belongs to partition i mod partitions.

    Parameters
    ----------
    spec : Spec
        The learner.
    target : Target
        What is predicted.
    n_features : int
        Number of features d of the stream.
    standardize : bool
        Whether to put the online standardiser in front of the learner.
    partitions : int
        Number of partitions, each with its own learner, >= 1.
    window : int
        Rows of the rolling window.
    maps : tuple of Spec
        Feature maps in front of everything else.
    points_every : int
        Rows of the stream between two points of a curve, kept in `points`; 0: no points are kept.
    warm : WarmStart or None
        Initial state of every partition; None: empty.
    rows : int
        Rows of the stream so far; initially the number of skipped rows.
    label_delay : int
        Later rows of the partition that are predicted before a row's label arrives; 0: it arrives with the row.
    share : SharingOption or None
        How partitions exchange models, every `share.rows` rows of each partition. None: each learns alone.
    coverage : float or None
        Share of labels that intervals or sets are to cover (`driftway.learners.conformal.conformal`); None: no such.
    """

    spec: Spec
    target: Target
    n_features: int
    standardize: bool = True
    partitions: int = 1
    window: int = 1000
    maps: tuple[Spec, ...] = ()
    points_every: int = 0
    warm: WarmStart | None = None
    rows: int = 0
    label_delay: int = 0
    share: SharingOption | None = None
    coverage: float | None = None
    seconds: float = 0.0
    points: list[dict[str, Any]] = field(default_factory=list)
    thresholds: Array = field(default_factory=lambda: np.zeros(0))
    """f8[n]: of the rows of the last block, with `coverage`; NaN for rows that were not usable."""
    parts: list[PartitionRun] = field(init=False)
    probability: Integers | None = None
    """The latest block's probabilities in millionths, i8[n], 0 where a row is not usable; None: they have none."""
    failure: LearnerFailed | None = None
    """Why the learner has seen no more rows, set by `evaluate`."""

    def __post_init__(self) -> None:
        target = self.target
        self.parts = []
        for _ in range(self.partitions):
            learner = create_mapped(
                self.spec, self.maps, self.n_features, target.n_classes, target.task, self.standardize
            )
            if self.warm is not None:
                learner.state.memory[:] = np.frombuffer(self.warm.state, np.uint8)
            metrics = create_metrics(target.task, target.n_classes, learner.n_scores, self.window)
            delays = DelaySimulator(self.label_delay, learner) if self.label_delay else None
            exchange = None if self.share is None else self._model_exchange(learner, len(self.parts))
            offline = OfflineMetrics(learner, self.window)
            slots = 0 if delays is None else delays.slots
            confidence = LearnerConfidence(learner, self.window, True, self.coverage or NO_COVERAGE, slots)
            confidence.begin_with(b"" if self.warm is None else self.warm.calibration)
            self.parts.append(PartitionRun(learner, metrics, offline, delays, exchange, confidence=confidence))
        self.parts[0].learner.compile_kernels()

    @property
    def name(self) -> str:
        """Name of the learner in results."""
        return self.spec.text if self.warm is None else self.warm.display_name(self.spec.text)

    def step(self, X: Array, y: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Process a block; return the scores f8[n, k] and which rows were usable (finite features).

        Raises
        ------
        UsageFailure
            A label is not one of the target's.
        """
        indices, known = self.target.indices(y)
        if not known.all():
            words = ", ".join(self.target.class_json())
            label, row = y[~known][0], self.rows + int(np.argmin(known))
            raise UsageFailure(
                f"label {label:g} in row {row} is not one of {words}: give the number of classes with --classes, "
                "name them with --labels, or predict numbers with --task regression"
            )
        usable: NDArray[np.bool_] = np.asarray(np.isfinite(X).all(axis=1))
        score = np.full((len(X), self.parts[0].learner.n_scores), np.nan)
        self.thresholds = np.full(len(X), np.nan)
        self.probability = None if self.target.task == REGRESSION else np.zeros(len(X), np.int64)
        start = 0
        while start < len(X):
            every = self.points_every
            end = min(len(X), start + every - self.rows % every) if every else len(X)
            if self.share is not None:
                turn = self.share.rows * self.partitions
                end = min(end, start + turn - self.rows % turn)
                if self.rows % turn == 0:
                    self._deliver()
            thresholds = self.thresholds[start:end]
            probability = None if self.probability is None else self.probability[start:end]
            score[start:end] = self._take(X[start:end], indices[start:end], usable[start:end], thresholds, probability)
            if every and self.rows % every == 0:
                self._record_point()
            start = end
        return score, usable

    def _take(
        self, X: Array, indices: Array, usable: NDArray[np.bool_], thresholds: Array, probability: Integers | None
    ) -> Array:
        """Distribute rows over the partitions; return their scores, NaN where a row is not usable.

        With `coverage` their thresholds are written to `thresholds`, f8[n]; their probabilities to `probability`.
        """
        score = np.full((len(X), self.parts[0].learner.n_scores), np.nan)
        for p, part in enumerate(self.parts):
            mine = slice((p - self.rows) % self.partitions, None, self.partitions)
            keep = np.flatnonzero(usable[mine]) * self.partitions + mine.start
            rows, labels = np.ascontiguousarray(X[keep]), indices[keep]
            score[keep] = part.learn(rows, labels, self.warm is not None and self.warm.frozen)
            if part.emitted is not None and part.emitted.threshold is not None:
                thresholds[keep] = part.emitted.threshold
            if probability is not None and part.emitted is not None and part.emitted.probability is not None:
                probability[keep] = part.emitted.probability
            part.rows += len(rows)
            part.rejected += len(usable[mine]) - len(rows)
        self.rows += len(X)
        self.seconds = sum(part.seconds for part in self.parts)
        return score

    def _model_exchange(self, learner: Learner, partition: int) -> ModelExchange | None:
        """The model exchange of a partition, or None if its learner cannot share."""
        if self.share is None or learner.sharing is None:
            return None
        exchange = ModelExchange(self.share, partition)
        exchange.attach([learner], self.spec.text)
        exchange.start(self.partitions, {})
        return exchange

    def _deliver(self) -> None:
        """Deliver every partition's exchange records to all partitions."""
        for part in self.parts:
            for record in part.sent:
                for other in self.parts:
                    if other.exchange is not None:
                        other.exchange.receive(record.partition, record.round_number, record, 0)
            part.sent.clear()

    def _record_point(self) -> None:
        """Record a point of each partition at its last row so far, as a worker would send it."""
        for p, part in enumerate(self.parts):
            dealt = (self.rows - p + self.partitions - 1) // self.partitions
            if dealt:
                position = {"learner": self.name, "partition": p, "offset": dealt - 1}
                self.points.append({**position, **part.point()})

    def results(self, stream: str) -> list[dict[str, Any]]:
        """One object per partition: stream, learner, rows, the metrics (accuracy as a fraction), seconds."""
        return [
            {
                "stream": stream,
                "learner": self.name,
                **({"partition": p} if self.partitions > 1 else {}),
                "rows": part.rows,
                "rejected": part.rejected,
                **part.point(),
                "seconds": round(self.seconds, 6),
            }
            for p, part in enumerate(self.parts)
        ]


def measure(learner: Learner, target: Target, X: Array, y: Array) -> dict[str, Any]:
    """Measure a learner's predictions of test rows, X f8[n, d], y f8[n], without learning from them.

    Only the metrics in ORDERLESS are returned.
    """
    score = np.empty((len(X), learner.n_scores))
    learner.predict(np.ascontiguousarray(X), score)
    metrics = create_metrics(target.task, target.n_classes, learner.n_scores, max(1, len(X)))
    part = PartitionRun(learner, metrics, OfflineMetrics(learner))
    part.observe(score, target.indices(y)[0])
    return {name: value for name, value in part.point().items() if name in ORDERLESS}


def evaluate(
    evaluations: list[Evaluation],
    blocks: Iterable[tuple[Array, Array]],
    scores: IO[bytes] | None = None,
    tag: dict[str, Any] | None = None,
    progress: Callable[[int], None] | None = None,
    regret: Regret | None = None,
    detection: Detection | None = None,
) -> None:
    """Run several learners over a stream's blocks; the others continue if one fails.

    Parameters
    ----------
    evaluations : list of Evaluation
        Each sees every row.
    blocks : iterable of (X, y)
        The stream.
    scores : binary file or None
        Every row's score is written here as a JSON line: row (of the stream), score, prediction, y (and `tag`); with
        `coverage` also low and high, null for an interval without end, or set.
    tag : dict or None
        Further fields of each line.
    progress : callable or None
        Called with the number of rows of each block.
    regret : Regret or None
        Observes every block and its scores.
    detection : Detection or None
        Likewise.
    """
    row = evaluations[0].rows
    for X, y in blocks:
        running = [evaluation for evaluation in evaluations if evaluation.failure is None]
        if not running:
            return
        for evaluation in running:
            try:
                score, usable = evaluation.step(X, y)
            except LearnerFailed as error:
                evaluation.failure = error
                continue
            if regret is not None:
                regret.observe(evaluation.name, row, X, y, score, usable)
            if detection is not None:
                detection.observe(evaluation.name, evaluation.parts[0].learner.kind, row, y, score, usable)
            if scores is not None:
                name = {"learner": evaluation.name} if len(evaluations) > 1 else {}
                _write(scores, evaluation, row, y, score, usable, {**(tag or {}), **name})
        row += len(X)
        if progress is not None:
            progress(len(X))


def _write(
    out: IO[bytes],
    evaluation: Evaluation,
    first: int,
    y: Array,
    score: Array,
    usable: NDArray[np.bool_],
    tag: dict[str, Any],
) -> None:
    kind = evaluation.parts[0].learner.kind
    predictions = predicted_class(score, kind).tolist()
    flat = score[:, 0].tolist() if score.shape[1] == 1 else score.tolist()
    fields_of_coverage = coverage_fields(evaluation.target, evaluation.coverage, score, evaluation.thresholds)
    for i in np.flatnonzero(usable).tolist():
        label = None if np.isnan(y[i]) else y[i].item()
        if kind != "regression" and label is not None and label.is_integer():
            label = int(label)
        probability = (
            {} if evaluation.probability is None else {"probability": int(evaluation.probability[i]) / MILLION}
        )
        said = {"score": flat[i], "prediction": predictions[i], **probability, "y": label}
        line = {"row": first + i, **said, **fields_of_coverage(i), **tag}
        out.write(write_json(line) + b"\n")

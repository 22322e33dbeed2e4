"""Explain a prediction: rebuild the state that made it, and show what each feature of its event added to the score.

The score is recomputed from the state just before the event, and compared bit for bit with the emitted one if the
predictions topic still holds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from confluent_kafka import TopicPartition
from numpy.typing import NDArray

from driftway.learners.explain import Explanation, explain
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.reliability import MILLION
from driftway.worker.admin.audit.diff import confidence_of, fields
from driftway.worker.admin.state_admin.listing import Progress
from driftway.worker.admin.state_admin.source import GroupPartition
from driftway.worker.admin.state_admin.state_at_offset import ProgressFactory, require_form, rows, state_at
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES, records_of
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, watermarks
from driftway.worker.kafka.log_reader.stream import MessageStream, reader_of
from driftway.worker.kafka.topics import present_topics
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.coverage import coverage_fields
from driftway.worker.wire.codec import parse_exactly, read_json
from driftway.worker.wire.events import REGRESSION, Records, Target
from driftway.worker.wire.packed import decode_predictions, is_packed
from driftway.worker.wire.registered.framing import is_registered
from driftway.worker.wire.registered.reading import read_fields, read_prediction_id

CLOCKS_MS = 600_000
"""A prediction is searched first from this long before its event's timestamp on (clocks may differ), then elsewhere."""
SAME, DIFFERS, ABSENT, AHEAD = "same", "differs", "absent", "not yet predicted"


@dataclass(frozen=True)
class WrittenPrediction:
    """What the predictions topic holds for an event.

    Parameters
    ----------
    verdict : str
        ``same``: the recomputed scores, bit for bit, and as sure; ``differs``; ``absent``: no prediction of this
        learner (any more); ``not yet predicted``: the group has not committed that far.
    scores : list of float or None
        The emitted scores.
    confidence : dict
        What the emitted prediction says of how sure it is.
    """

    verdict: str
    scores: list[float] | None = None
    confidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ExplainedPrediction:
    """The explanation of one prediction.

    Parameters
    ----------
    learner : str
        The model's name in outputs.
    id, prediction, y, about : object
        The event's id; the predicted class (as on the wire) or number; the label, None if unknown; the class whose
        score is explained, None in regression.
    names : list of str
        Feature names.
    x : f8[d]
        The event's feature values.
    scores : list of float
        All scores.
    explanation : Explanation
        Explanation of the score of `about`.
    rebuilt_from : str
        How the state was rebuilt.
    emitted : WrittenPrediction
        What the predictions topic holds for the event.
    confidence : dict
        How sure the prediction is, as far as it says so: ``probability``; ``low`` and ``high``, None without end;
        ``set``, as on the wire.
    """

    learner: str
    id: Any
    prediction: Any
    y: Any
    about: Any
    names: list[str]
    x: NDArray[np.float64]
    scores: list[float]
    explanation: Explanation
    rebuilt_from: str
    emitted: WrittenPrediction
    confidence: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Everything as a dict, features with the largest contribution first."""
        e = self.explanation
        columns = zip(self.names, self.x.tolist(), e.baseline.tolist(), e.contributions.tolist(), strict=True)
        features = [dict(zip(("name", "value", "baseline", "contribution"), row, strict=True)) for row in columns]
        return {
            "learner": self.learner,
            "id": self.id,
            "prediction": self.prediction,
            **self.confidence,
            "y": self.y,
            "scores": self.scores,
            "class": self.about,
            "score": e.score,
            "baseline_score": e.baseline_score,
            "remainder": e.remainder,
            "features": sorted(features, key=lambda feature: -abs(feature["contribution"])),
            "rebuilt_from": self.rebuilt_from,
            "emitted": {"verdict": self.emitted.verdict, "scores": self.emitted.scores, **self.emitted.confidence},
        }


def explain_prediction(
    source: GroupPartition,
    offset: int,
    about: str | None,
    bars: ProgressFactory,
    challenger: str | None,
) -> ExplainedPrediction:
    """Explain the prediction for the event at an offset.

    Parameters
    ----------
    source : GroupPartition
        The group's partition.
    offset : int
        Offset of the event.
    about : str or None
        The class whose score is explained, as on the wire; None: the predicted one.
    bars : ProgressFactory
        Shows progress.
    challenger : str or None
        Name of the challenger whose prediction is explained; None: the champion's is.

    Raises
    ------
    UsageFailure
        There is no such offset, class or challenger.
    Failure
        The event was rejected, or the state before it cannot be rebuilt.
    Unreachable
        The broker does not answer.
    """
    if not source.low <= offset < source.high:
        held = f"its log holds {source.low} to {source.high}"
        raise UsageFailure(f"there is no event at offset {offset} of {source}: {held}")
    rebuilt = state_at(source, offset, bars)
    model, records = rebuilt.model, _event(source, offset, rebuilt.model.settings.reads_headers)
    if source.labels:
        with closing(rows(source, model.settings, offset, offset + 1, rebuilt.begin)) as found:
            for part in found:  # learn the labels that the workers took before the event
                if part.is_label.any():
                    model.advance(part.chosen(part.is_label), emit=False)
    batch = model.decode(records)
    if batch.rejected and not len(batch):
        require_form(model.settings, records)
        raise Failure(f"the event at offset {offset} of {source} was rejected: {batch.rejected[0].reason}")
    if not len(batch):
        raise Failure(f"offset {offset} of {source} holds the label of an earlier event: labels have no prediction")
    target, number = model.settings.target, 0 if challenger is None else _index_of(model, challenger, offset)
    name, learner = model.settings.names[number], (model.champion, *model.learners[1:])[number]
    score = np.empty((1, learner.n_scores))
    learner.predict(batch.X, score)
    predicted = float(predicted_class(score, learner.kind)[0])
    column, shown = column_of_class(target, learner.n_scores, predicted, about)
    text, (starts, ends) = batch.ids
    topics, appended = source.settings.topics, int(records.timestamps[0])
    confidence = _confidence(model, number, score)
    wanted = WantedPrediction(offset, name, score[0], confidence, target)
    return ExplainedPrediction(
        name,
        parse_exactly(text[starts[0] : ends[0]].tobytes()),
        class_or_number(target, predicted),
        class_or_number(target, float(batch.y[0])),
        shown,
        list(model.columns),
        batch.X[0],
        score[0].tolist(),
        explain(learner, batch.X[0], column),
        rebuilt.origin,
        _emitted(source, wanted, appended, bars, topics.challengers if number else topics.predictions),
        confidence,
    )


class WantedPrediction(NamedTuple):
    """The prediction to look for in its topic."""

    offset: int
    learner: str
    score: NDArray[np.float64]
    """f8[k]"""
    confidence: dict[str, Any]
    target: Target


def _confidence(model: Model, number: int, score: NDArray[np.float64]) -> dict[str, Any]:
    """The confidence of a prediction, score f8[1, k], before its label is known. Do not use the model afterwards."""
    emitted, _ = model.monitors.confidence.models[number].emit(score, np.full(1, np.nan))
    probability = {} if emitted.probability is None else {"probability": int(emitted.probability[0]) / MILLION}
    if emitted.threshold is None:
        return probability
    target = model.settings.target
    return _in_words(
        probability | coverage_fields(target, model.settings.coverage, score, emitted.threshold)(0), target
    )


def _in_words(confidence: dict[str, Any], target: Target) -> dict[str, Any]:
    """The same, with the labels of classes instead of their indices."""
    if "set" not in confidence:
        return confidence
    return {**confidence, "set": [class_or_number(target, float(c)) for c in confidence["set"]]}


def _index_of(model: Model, challenger: str, offset: int) -> int:
    """Return a challenger's number among the models of the plan at an offset."""
    names = model.settings.names
    if challenger not in names[1:]:
        has = ", ".join(names[1:]) or "none"
        where = f"plan {model.plan.number} has no challenger {challenger} at offset {offset}"
        raise UsageFailure(f"{where}: its challengers are {has}, and its champion is {names[0]}")
    return names.index(challenger)


def _event(source: GroupPartition, offset: int, headers: bool) -> Records:
    settings = source.settings
    with (
        translated_errors(settings),
        MessageStream(settings, settings.input, source.partition, offset + 1, offset) as stream,
    ):
        messages = stream.peek(1)
    if not messages:
        raise Failure(
            f"there is no event at offset {offset} of {source}: the offset is a transaction marker or an aborted record"
        )
    return records_of(source.partition, messages, headers)


def column_of_class(target: Target, n_scores: int, predicted: float, about: str | None) -> tuple[int, Any]:
    """The score column to explain, and the class that a high score there predicts."""
    if target.task == REGRESSION:
        if about is not None:
            raise UsageFailure("--class belongs to classification")
        return 0, None
    words = target.class_json()
    if about is None:
        k = int(predicted) if n_scores > 1 else 1
    elif about in words or about in target.labels:
        k = words.index(about) if about in words else target.labels.index(about)
    else:
        raise UsageFailure(f"--class {about} is not one of {', '.join(words)}")
    if n_scores == 1 and k != 1:
        raise UsageFailure(f"with two classes there is only one score, that of {words[1]}: leave --class out")
    return (k if n_scores > 1 else 0), read_json(words[k].encode())


def class_or_number(target: Target, value: float) -> Any:
    """A class as on the wire, or a number; None if unknown."""
    if math.isnan(value):
        return None
    return value if target.task == REGRESSION else read_json(target.class_json()[int(value)].encode())


def _emitted(
    source: GroupPartition, wanted: WantedPrediction, appended: int, bars: ProgressFactory, topic: str
) -> WrittenPrediction:
    """Look for the event's prediction in a topic, first among the records written after the event."""
    settings = source.settings
    if source.committed is None or source.committed <= wanted.offset:
        return WrittenPrediction(AHEAD)
    counts = present_topics(settings.bootstrap, settings.passthrough)
    if source.partition >= counts.get(topic, 0):
        return WrittenPrediction(ABSENT)
    with translated_errors(settings):
        with closing(reader_of(settings)) as reader:
            low, high = watermarks(reader, topic, source.partition, Deadline(ASK_SECONDS))
            asked = TopicPartition(topic, source.partition, max(0, appended - CLOCKS_MS))
            hint = reader.offsets_for_times([asked], timeout=ASK_SECONDS)[0].offset
        begin = hint if low <= hint < high else low
        progress = bars("predictions", high - low)
        other = WrittenPrediction(ABSENT)
        for first, end in ((begin, high), (low, begin)):
            with MessageStream(settings, topic, source.partition, end, first) as stream:
                found = _search(stream, wanted, progress)
            if found is not None and found.verdict == SAME:
                return found
            other = found or other
    return other


def _search(stream: MessageStream, wanted: WantedPrediction, progress: Progress) -> WrittenPrediction | None:
    """Return the first prediction that is the wanted one, or the last one that differs from it; None: there is none."""
    found = None
    while messages := stream.peek(BATCH_MESSAGES):
        stream.drop(len(messages))
        progress(len(messages))
        for message in messages:
            found = _compared(message.value() or b"", wanted) or found
            if found is not None and found.verdict == SAME:
                return found
    return found


def _compared(value: bytes, wanted: WantedPrediction) -> WrittenPrediction | None:
    """Compare a prediction, in any format, with the wanted one; None: it is of another row or another model."""
    scores = scores_for(value, wanted.offset, wanted.learner)
    if scores is None:
        return None
    confidence = confidence_for(value, wanted.target)
    same = np.array(scores).tobytes() == wanted.score.tobytes() and same_confidence(confidence, wanted.confidence)
    return WrittenPrediction(SAME if same else DIFFERS, scores, confidence)


def same_confidence(written: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether both are the same. Not every format distinguishes an unbounded interval, or an empty set, from none."""
    one, other = ({name: v for name, v in said.items() if v is not None and v != []} for said in (written, wanted))
    return one == other


def confidence_for(value: bytes, target: Target) -> dict[str, Any]:
    """What a prediction, in any format, says of how sure it is, with labels of classes as on the wire."""
    said = confidence_of(fields(value))
    return _in_words(said, target) if is_packed(value) else said


def scores_for(value: bytes, offset: int, learner: str) -> list[float] | None:
    """The scores of a prediction, in any format, if it is for the event at `offset`; otherwise None.

    A packed prediction of a champion does not name its learner.
    """
    if is_packed(value):
        if int.from_bytes(value[8:16], "little", signed=True) != offset:
            return None
        packed = decode_predictions([value])
        found: list[float] = packed.scores[0].tolist()
        return found if packed.learners[0] in ("", learner) else None
    if is_registered(value):
        if read_prediction_id(value).offset != offset:
            return None
        record = read_fields(value)
    elif b'"offset":%d,' % offset not in value:
        return None
    else:
        record = read_json(value)
    if record["offset"] != offset or record["learner"] != learner:
        return None
    score = record["score"]
    return score if isinstance(score, list) else [score]

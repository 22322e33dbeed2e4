"""Exactly once and reproducible: the expected output, and the output that a read_committed reader sees."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway import learners
from driftway.worker.kafka.client_config import quiet
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.packed import decode_predictions, is_packed
from driftway.worker.wire.registered.framing import is_registered
from driftway.worker.wire.registered.reading import read_fields
from driftway.worker.wire.rejections import answered_offset, is_set_aside
from tests.support.kafka import await_until

UP_TO_DATE = {"topic.metadata.refresh.interval.ms": 1000}
"""Property of a client that must not keep to a replaced leader for minutes."""
Array = NDArray[np.float64]
Scores = dict[tuple[int, int], Any]
"""(partition, offset) -> score, or a list of scores for more than two classes."""


def expected_scores(learner: str, parts: dict[int, tuple[Array, Array]]) -> Scores:
    """Scores of an offline prequential run with one learner per partition over its rows (X, y) in offset order."""
    scores: Scores = {}
    for partition, (X, y) in parts.items():
        model = learners.Spec.parse(learner).create(X.shape[1], standardize=True)
        score = np.empty((len(X), 1))
        model.predict_then_update(np.ascontiguousarray(X), np.ascontiguousarray(y), score)
        scores |= {(partition, offset): s for offset, s in enumerate(score[:, 0].tolist())}
    return scores


def dealt(X: Array, y: Array, partitions: int) -> dict[int, tuple[Array, Array]]:
    """Distribute rows as `driftway replay` does: row i to partition i mod partitions."""
    return {p: (X[p::partitions], y[p::partitions]) for p in range(partitions)}


def placed_score(value: bytes) -> tuple[tuple[int, int], Any]:
    """((input partition, offset), score) of a prediction in any format."""
    if is_registered(value):
        read = read_fields(value)
        return (read["partition"], read["offset"]), read["score"]
    if is_packed(value):
        found = decode_predictions([value])
        scores = found.scores[0].tolist()
        return (int(found.partition[0]), int(found.offset[0])), scores if len(scores) > 1 else scores[0]
    prediction = read_json(value)
    return (prediction["partition"], prediction["offset"]), prediction["score"]


def bits(score: Any) -> bytes:
    """Bytes of a score, for comparisons in which -0.0 differs from 0.0 and NaN equals itself."""
    return np.asarray(score, np.float64).tobytes()


class Auditor(threading.Thread):
    """A read_committed reader of predictions and rejections, concurrent with the workers; a context manager.

    `complaints` collects reader errors, input offsets seen twice (as predictions or rejections), and predictions of a
    partition that are out of order. Missing offsets are found by `require`.

    Parameters
    ----------
    bootstrap : str
        The broker.
    prefix : str
        Common prefix of the names of the group's outputs; the topics must exist.
    """

    def __init__(self, bootstrap: str, prefix: str) -> None:
        super().__init__(name="auditor", daemon=True)
        self.bootstrap, self.prefix = bootstrap, prefix
        self.scores: Scores = {}
        self.rejected: dict[tuple[int, int], str] = {}
        self.set_aside: list[tuple[int, int, str]] = []
        """Partition, input offset and reason of each label that was set aside."""
        self.points: list[dict[str, Any]] = []
        self.complaints: list[str] = []
        self.arrivals: dict[tuple[int, int], float] = {}
        self.last: dict[int, int] = {}
        self.offsets: dict[tuple[int, int], int] = {}
        """Output offset at which each input offset was seen: reading a record twice is not a second write."""
        self._ended = threading.Event()

    def __enter__(self) -> Auditor:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    @property
    def seen(self) -> int:
        """Number of input offsets with a prediction or rejection."""
        return len(self.scores) + len(self.rejected)

    def run(self) -> None:
        """Read until the end of the `with` block."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        names = [f"{self.prefix}.predictions", f"{self.prefix}.rejected"]
        reader = Consumer(
            quiet(
                {
                    "bootstrap.servers": self.bootstrap,
                    "group.id": "nobody",
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 100,  # records are sent at once; a shorter wait only burdens the broker
                    "fetch.queue.backoff.ms": 5,
                    **UP_TO_DATE,
                }
            )
        )
        found = reader.list_topics(timeout=10).topics
        reader.assign([TopicPartition(n, p, OFFSET_BEGINNING) for n in names for p in found[n].partitions])
        while not self._ended.is_set():
            for message in reader.consume(10_000, timeout=0.05):
                self._take(message)
        reader.close()

    def _take(self, message: Any) -> None:
        if message.error() is not None:
            self.complaints.append(f"reader: {message.error()}")
            return
        if message.topic().endswith(".rejected"):
            headers = dict(message.headers())
            if is_set_aside(headers):
                self.set_aside.append((message.partition(), answered_offset(headers)[0], headers["reason"].decode()))
                return
            place = int(headers["partition"]), int(headers["offset"])
            self._note_offset(place, message)
            self.rejected[place] = headers["reason"].decode()
            return
        place, score = placed_score(message.value())
        self._note_offset(place, message)
        last = self.last.get(place[0], -1)
        if place[1] <= last:
            self.complaints.append(f"{place} comes after offset {last}")
        self.last[place[0]] = place[1]
        self.scores[place] = score
        self.arrivals[place] = time.monotonic()

    def _note_offset(self, place: tuple[int, int], message: Any) -> None:
        """Note where an input offset was seen; complain if it was seen before."""
        if place in self.offsets:
            where = f"{message.topic()} [{message.partition()}] at {self.offsets[place]} and {message.offset()}"
            self.complaints.append(f"{place} is accounted for twice: {where}")
        self.offsets[place] = message.offset()

    def await_all(self, count: int, seconds: float = 30.0) -> None:
        """Wait until `count` input offsets have a prediction or rejection."""
        await_until(lambda: self.seen >= count, seconds, f"{count} offsets accounted for")

    def require(self, expected: Scores) -> None:
        """Fail unless exactly the `expected` predictions were seen, bit for bit, each once and in order."""
        assert not self.complaints, self.complaints[:5]
        missing = sorted(expected.keys() - self.scores.keys())
        assert not missing, f"{len(missing)} predictions are missing, first {missing[:3]}"
        extra = sorted(self.scores.keys() - expected.keys())
        assert not extra, f"{len(extra)} predictions too many, first {extra[:3]}"
        different = sorted(place for place, score in expected.items() if bits(self.scores[place]) != bits(score))
        assert not different, (
            f"{len(different)} scores differ, first at {different[0]}: "
            f"{self.scores[different[0]]} instead of {expected[different[0]]}"
        )


def tampered(value: bytes) -> bytes:
    """Return a prediction, in either format, with only the last bit of its score flipped."""
    if is_packed(value):
        at = value.rindex(decode_predictions([value]).scores[0, :1].tobytes())  # behind the optional fields
        return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
    text = re.findall(rb'"score":([^,]+)', value)[0]
    other = (np.float64(text).view(np.int64) ^ 1).view(np.float64)
    return value.replace(b'"score":' + text, b'"score":%s' % repr(float(other)).encode())

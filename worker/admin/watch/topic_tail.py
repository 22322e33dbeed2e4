"""Read topics without a group, as a read_committed reader, from the start or from near the end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition

from driftway.worker.admin.audit.diff import confidence_of, fields
from driftway.worker.errors import Failure, Unreachable, shown
from driftway.worker.kafka.client_config import Properties, base_properties
from driftway.worker.kafka.error_handling import MISSING, UNREADABLE, explained
from driftway.worker.kafka.interface import NO_BROKERS
from driftway.worker.kafka.log_reader.reader import READER_TUNING, MessageReader, PartitionId, standalone_consumer
from driftway.worker.kafka.log_reader.topic_facts import MISSING_SECONDS
from driftway.worker.kafka.log_reader.visibility import VisibleEnds
from driftway.worker.kafka.topics import partition_counts
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.rejections import is_set_aside, kind_of

REQUEST_SECONDS, LATELY_SECONDS = 10.0, 1.0
"""Timeouts for end offsets: in `LogEnds.of`, which requires an answer, and in `LogEnds.lately`, which does not."""
TUNING: Properties = {
    # As in driftway.worker.kafka.client_config.CONSUMER_TUNING: with the default back-off of 1 s a reader that drains
    # its queue waits.
    "fetch.queue.backoff.ms": 5,
    "fetch.wait.max.ms": 50,
    # A watcher that jumps to the end discards what was prefetched, so little is.
    "queued.min.messages": 5_000,
    "queued.max.messages.kbytes": 16_384,
    "statistics.interval.ms": 5_000,  # how late it is noticed that the client has lost all brokers
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int) and 0 <= value < MAX_COUNTED


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _are_counts(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(map(_is_count, value.values())))


def _are_bins(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, list) and len(one) == BIN_FIGURES and all(map(_is_count, one)) for one in value
    )


OF_POINTS, OF_ALARMS = ("partition", "offset", "learner", "labels", "window"), ("partition", "offset", "detector")
"""Fields that a point, and an alarm, must have."""
MAX_COUNTED = 1 << 63
BIN_FIGURES = 4
MAX_SHOWN = 100
"""Characters of a wrong value in a message."""
Forms = Mapping[str, Callable[[Any], bool]]
FORMS: Forms = {
    **dict.fromkeys(("partition", "offset", "labels", "window", "plan"), _is_count),
    **dict.fromkeys(("learner", "detector", "group", "model_digest", "model"), _is_text),
    "drift": _are_counts,
    "reliability": _are_bins,
    **dict.fromkeys(("id", "experts", "delay_rows", "delay_ms"), lambda _: True),
}
"""Field of a point or an alarm -> whether a value is one of it; fields that are not listed are metrics."""
OF_PREDICTIONS: Forms = {
    **dict.fromkeys(("partition", "offset"), _is_count),
    **dict.fromkeys(("probability", "low", "high"), lambda value: value is None or _is_number(value)),
    "prediction": lambda value: not isinstance(value, list | dict),
    "set": lambda value: isinstance(value, list),
}
"""The same for predictions."""


class LogEnds:
    """Queries the end offsets of partitions for a read_committed reader, all in one call.

    Parameters
    ----------
    bootstrap, passthrough
        Broker address and further properties of the client.
    """

    def __init__(self, bootstrap: str, passthrough: Mapping[str, Any]) -> None:
        self._bootstrap, self._properties = bootstrap, base_properties(bootstrap, passthrough)
        self._asking = standalone_consumer(self._properties, READER_TUNING)
        self._known: dict[PartitionId, int] = {}
        self._visible: dict[str, VisibleEnds] = {}
        self._silent_since: float | None = None

    @property
    def silent_seconds(self) -> float | None:
        """Seconds since the first request of `lately` that got no answer; None if the broker answers."""
        return None if self._silent_since is None else time.monotonic() - self._silent_since

    def of(self, topics: Mapping[str, int], seconds: float = REQUEST_SECONDS) -> dict[PartitionId, int]:
        """End offset of every partition of `topics` (name -> number of partitions), with a timeout of `seconds`.

        Raises
        ------
        Unreachable
            The broker does not answer any more.
        """
        try:
            return self._ask(topics, seconds)
        except KafkaException as error:
            raise Unreachable(f"the broker at {self._bootstrap} does not answer: {error.args[0].str()}") from None

    def _ask(self, topics: Mapping[str, int], seconds: float) -> dict[PartitionId, int]:
        topic_partitions = [TopicPartition(topic, p, OFFSET_END) for topic, n in topics.items() for p in range(n)]
        try:
            found = self._asking.offsets_for_times(topic_partitions, timeout=seconds) if topic_partitions else []
            for topic_partition in found:
                if topic_partition.error is not None:
                    raise KafkaException(topic_partition.error)
        except KafkaException:
            # The old one may know no broker any more.
            self._asking = standalone_consumer(self._properties, READER_TUNING)
            raise
        self._silent_since = None
        ends = {(one.topic, one.partition): one.offset for one in found}
        self._known.update(ends)
        return ends

    def lately(self, topics: Mapping[str, int]) -> dict[PartitionId, int]:
        """As `of`; while the broker does not answer, the last known end offsets.

        Raises
        ------
        Failure
            A topic was deleted.
        """
        asked = time.monotonic()
        try:
            return self._ask(topics, LATELY_SECONDS)
        except KafkaException as error:
            self._silent_since = asked if self._silent_since is None else self._silent_since
            if error.args[0].code() in MISSING and asked - self._silent_since > MISSING_SECONDS:
                self._require(topics)
            return {one: end for one, end in self._known.items() if one[0] in topics}

    def _require(self, topics: Collection[str]) -> None:
        """Raise Failure if a broker that answers says that one of the topics does not exist."""
        with contextlib.suppress(KafkaException):
            present = partition_counts(self._asking.list_topics(timeout=LATELY_SECONDS))
            for topic in sorted(set(topics) - present.keys()):
                raise Failure(f"topic {topic} no longer exists: it was deleted")

    def visible(self, topic: str, ends: Mapping[PartitionId, int], read: Mapping[int, int]) -> dict[int, int]:
        """Return, of `ends`, those of a topic by partition, as `VisibleEnds.of` at a later question of the same."""
        own = {partition: end for (name, partition), end in ends.items() if name == topic}
        if self._silent_since is not None:
            return own
        return self._visible.setdefault(topic, VisibleEnds(topic)).of(self._asking, own, read, LATELY_SECONDS)


class TopicTail:
    """A reader of whole topics that belongs to no group and commits nothing.

    Parameters
    ----------
    bootstrap, passthrough
        Broker address and further properties of the client.
    topics : mapping
        Topic -> its number of partitions.
    starts : mapping or None
        Offsets to start at; partitions without one, or all if None, are read from the beginning.
    ends : mapping or None
        Offsets to stop at; None: never stop.

    Raises
    ------
    UsageFailure
        A client property is not valid.
    """

    def __init__(
        self,
        bootstrap: str,
        passthrough: Mapping[str, Any],
        topics: Mapping[str, int],
        starts: Mapping[PartitionId, int] | None = None,
        ends: Mapping[PartitionId, int] | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        # "earliest": if retention has deleted the start offset, read from the log's beginning.
        self._consumer = standalone_consumer(base_properties(bootstrap, passthrough), TUNING, "earliest")
        self.topics = dict(topics)
        begins = {(topic, p): OFFSET_BEGINNING for topic, n in topics.items() for p in range(n)}
        begins |= {one: first for one, first in (starts or {}).items() if one in begins}
        self._reading = MessageReader(self._consumer, begins, ends, _complain)

    @property
    def at_end(self) -> bool:
        """Whether every partition has been read to its end, and no record has arrived since."""
        return self._reading.done

    def poll(self, seconds: float) -> list[Any]:
        """Return the messages that have arrived, at most BATCH_MESSAGES, waiting up to `seconds` for the first.

        Raises
        ------
        Failure
            The broker refuses this reader.
        Unreachable
            The client knows no broker any more; another one may.
        """
        if self._consumer.problems:
            raise Unreachable(f"the broker at {self._bootstrap} does not answer: {NO_BROKERS}")
        return self._reading.poll(seconds)

    def jump(self, ends: Mapping[PartitionId, int], back: int, behind: int) -> None:
        """Skip records: in partitions with more than `behind` left, continue `back` before the end."""
        here = [TopicPartition(topic, p) for topic, n in self.topics.items() for p in range(n)]
        for at in self._consumer.position(here):
            end = ends.get((at.topic, at.partition))
            if end is None or at.offset < 0 or end - at.offset <= behind:
                continue
            with contextlib.suppress(KafkaException):  # not being fetched yet; the next refresh tries again
                self._consumer.seek(TopicPartition(at.topic, at.partition, end - back))

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()


def _complain(topic_partition: PartitionId, error: KafkaError) -> None:
    refused = KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART
    if error.fatal() or error.code() in (*refused, *UNREADABLE):
        raise Failure(f"cannot read {topic_partition[0]}/{topic_partition[1]}: {explained(error)}")


def near(ends: Mapping[PartitionId, int], back: int) -> dict[PartitionId, int]:
    """Start offsets that are `back` before the ends."""
    return {one: max(0, end - back) for one, end in ends.items()}


def readings(messages: list[Any], needed: Collection[str] = OF_POINTS) -> Iterator[tuple[dict[str, Any], float]]:
    """Decode accuracy points (or drift alarms: OF_ALARMS), each with the time at which it was written, in s since 1970.

    A later version's fields that are no numbers are left out.

    Raises
    ------
    Failure
        A record is something else, because somebody else has written it.
    """
    for message in messages:
        if message.value() is not None:
            try:
                found = _reading(message.value(), needed)
            except ValueError as error:
                what = "a drift alarm" if needed is OF_ALARMS else "an accuracy point"
                raise Failure(f"{_where(message)} is not {what}: {error}") from None
            yield found, message.timestamp()[1] / 1000


def _reading(value: bytes, needed: Collection[str]) -> dict[str, Any]:
    """Decode a point or an alarm.

    Raises
    ------
    ValueError
        It is none.
    """
    found = read_json(value)
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    for name in needed:
        if name not in found:
            raise ValueError(f"it has no {name}")
    _require_forms(found, FORMS)
    return {name: one for name, one in found.items() if name in FORMS or one is None or _is_number(one)}


def _require_forms(found: Mapping[str, Any], forms: Forms) -> None:
    """Raise ValueError if a value is not what its field has."""
    for name, one in found.items():
        if name in forms and not forms[name](one):
            raise ValueError(f"{name} is {shown(str(one)[:MAX_SHOWN])}")


def _where(message: Any) -> str:
    return f"{message.topic()}/{message.partition()} at {message.offset()}"


class Rejection(NamedTuple):
    """What the headers of a rejection, or of a label that was set aside, say."""

    partition: int
    offset: int | None
    """Input offset of the rejected event; None for a label, which is not the outcome of an event."""
    kind: str
    """Kind of the reason."""


def read_rejection(message: Any) -> Rejection:
    """Read the headers of a rejection.

    Raises
    ------
    Failure
        The record is none.
    """
    headers = dict(message.headers() or ())
    set_aside = is_set_aside(headers)
    try:
        kind = kind_of(headers["reason"].decode(errors="replace"), set_aside)
        return Rejection(int(headers["partition"]), None if set_aside else int(headers["offset"]), kind)
    except (KeyError, ValueError, TypeError, AttributeError):
        raise Failure(f"{_where(message)} is not a rejection: it does not have the headers of a rejection") from None


class NewestPrediction(NamedTuple):
    """What a prediction says."""

    partition: int
    offset: int
    """Of its event, in the input."""
    said: dict[str, Any]
    """The prediction, and how sure it is, see `driftway.worker.admin.audit.diff.confidence_of`."""
    score: Any
    """A number, or a list of one for each class."""
    label: Any
    """The label of the event, as on the wire; None or NaN if it had none."""


def read_prediction(message: Any) -> NewestPrediction:
    """Read a prediction, in any format; its headers are its event's.

    Raises
    ------
    Failure
        The prediction is in no known format.
    """
    value = message.value() or b""
    try:
        found = fields(value)
        said = {"prediction": found.get("prediction"), **confidence_of(found)}
        _require_forms({"partition": found["partition"], "offset": found["offset"], **said}, OF_PREDICTIONS)
        return NewestPrediction(found["partition"], found["offset"], said, found.get("score"), found.get("y"))
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"cannot read the prediction in {_where(message)}: {error}") from None

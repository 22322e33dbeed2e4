"""Which outputs are in the log: the keys of visible records, and those of rows that no commit record covers.

A commit is one transaction in several logs. If the log of snapshots has lost its last commit records, for example by an
unclean leader election, the outputs of these commits are still visible and must not be written again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import MessageReader, ignore_out_of_range, watermarks
from driftway.worker.kafka.log_reader.visibility import end_of_visible, first_visible
from driftway.worker.kafka.topics import Topics
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.stored_fields import LARGEST
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.packed import decode_predictions, is_packed
from driftway.worker.wire.registered.framing import is_registered
from driftway.worker.wire.registered.reading import read_prediction_id
from driftway.worker.wire.rejections import answered_offset

Key = tuple[int, bytes | None]
"""Identity of an output: its input offset and, for points, alarms, challengers' predictions and labels of the label
topic, what distinguishes those at one offset."""
TAIL_RECORDS = 64
"""Records at the end of a topic that are read first to find its outputs from an input offset on, then four times as
many."""


@dataclass(frozen=True)
class OutputKeys:
    """Reads the keys of a partition's outputs.

    Parameters
    ----------
    reader : Consumer
        A read_committed reader.
    topics : Topics
        The group's.
    partition : int
        The partition.
    deadline : Deadline
        For all calls together.

    Raises
    ------
    KafkaException, TimedOut
        By all methods: the broker did not deliver in time.
    """

    reader: Consumer
    topics: Topics
    partition: int
    deadline: Deadline

    def read(self, topic: str, first: int, end: int | None = None) -> set[Key]:
        """Return keys of the visible records from `first` to before `end`, as far as retention has left them."""
        found, topic_partition = set[Key](), (topic, self.partition)
        low, high = watermarks(self.reader, topic, self.partition, self.deadline)
        ends = {} if end is None else {topic_partition: end}
        if first >= high:
            return found
        reading = MessageReader(self.reader, {topic_partition: max(first, low)}, ends, ignore_out_of_range)
        what = f"{topic}/{self.partition} was"
        while not reading.done and (message := reading.next(self.deadline, what)) is not None:
            found.add(self._key(topic, message))
        return found

    def later(self, record: CommitRecord, suspected: bool) -> dict[str, set[Key]]:
        """Return topic -> keys of its visible outputs of rows that `record`, the last one, does not cover.

        Empty if there are none: topics of snapshots and shares are not outputs of rows.

        Parameters
        ----------
        record : CommitRecord
            The last commit record.
        suspected : bool
            Whether to search even if none follows those of that commit: the group's offset is beyond it.
        """
        topics = [one for one in self.topics.outputs() if one not in (self.topics.snapshots, self.topics.shares)]
        begins = {one: record.outputs[one].last + 1 for one in topics if one in record.outputs}
        if not suspected and not any(self._has_any(topic, first) for topic, first in begins.items()):
            return {}
        found = {topic: _from(record.offset, self.read(topic, first)) for topic, first in begins.items()}
        for topic in topics:
            if topic not in begins:
                found[topic] = self.ending(topic, record.offset)
        return found if any(found.values()) else {}

    def last_before(self, topic: str, offset: int) -> int:
        """Return the input offset of the last visible output before `offset` of a topic; 0 if there is none.

        The highest one if the topic begins there: nothing was ever before it.
        """
        low, high = watermarks(self.reader, topic, self.partition, self.deadline)
        if offset == 0:
            return LARGEST
        end = end_of_visible(self.reader, topic, self.partition, low, min(offset, high), self.deadline)
        return 0 if end == low else max(offset for offset, _ in self.read(topic, end - 1, end))

    def _has_any(self, topic: str, first: int) -> bool:
        end = watermarks(self.reader, topic, self.partition, self.deadline)[1]
        return first < end and first_visible(self.reader, topic, self.partition, first, self.deadline)[1]

    def ending(self, topic: str, least: int) -> set[Key]:
        """Return the keys from input offset `least` on with which a topic ends: outputs stand in the rows' order."""
        low, high = watermarks(self.reader, topic, self.partition, self.deadline)
        back = TAIL_RECORDS
        while True:
            first = max(low, high - back)
            keys = self.read(topic, first)
            if first == low or any(offset < least for offset, _ in keys):
                return _from(least, keys)
            back *= 4

    def _key(self, topic: str, message: Any) -> Key:
        """Return the key of an output; the headers of a prediction are its event's."""
        if topic == self.topics.rejected:
            return answered_offset(dict(message.headers() or ()))
        value, named = message.value() or b"", topic == self.topics.challengers
        if is_registered(value):
            prediction = read_prediction_id(value)
            return prediction.offset, prediction.learner.encode() if named else None
        if is_packed(value):
            found = decode_predictions([value])
            return int(found.offset[0]), found.learners[0].encode() if named else None
        fields = read_json(value)
        if named:
            return int(fields["offset"]), fields["learner"].encode()
        return int(fields["offset"]), None if "prediction" in fields else message.key()


def _from(least: int, keys: Iterable[Key]) -> set[Key]:
    return {key for key in keys if key[0] >= least}

"""Outputs of a commit that nobody sees: found at a restore, and written again before anything new.

A commit is one transaction in several logs, and each log learns of its end by a marker of its own. A transaction
coordinator that comes back with half of its memory may commit the offset, the state and the position, and abort what
lies in the predictions (docs/decisions/0018). So a restore asks for the records that the last commit says it has
written; what is not there is computed once more from the rows, and written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from confluent_kafka import Consumer

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.kafka.log_reader.reader import MessageReader, ignore_out_of_range, watermarks
from driftway.worker.kafka.log_reader.visibility import are_visible, await_stable
from driftway.worker.kafka.topics import Topics
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_scan import commit_records
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.task.last_commit import LastCommit
from driftway.worker.stream.task.restore_context import UNDECIDED_SECONDS, RestoreContext
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.headers import chosen_headers
from driftway.worker.wire.packed import decode_predictions, is_packed
from driftway.worker.wire.rejections import answered_offset

Key = tuple[int, bytes | None]
"""What an output answers: an input offset, and for points, alarms and labels out of a topic of their own what tells
those apart that stand at one offset."""


@dataclass(frozen=True)
class MissingOutputs:
    """What is to be written again.

    Parameters
    ----------
    since, until : int
        Input offsets: outputs of the rows between are missing.
    present : mapping
        Topic with missing outputs -> those of them that are there all the same. Of other topics nothing is missing.
    """

    since: int
    until: int
    present: Mapping[str, Collection[Key]] = field(default_factory=dict)

    def select(self, outputs: Outputs, topics: Topics) -> Outputs:
        """What of `outputs`, all of rows before `until`, has to be written."""
        made = Outputs(outputs.next_offset)
        if (there := self.present.get(topics.predictions)) is not None:
            kept = np.array([(offset, None) not in there for offset in outputs.offsets.tolist()], np.bool_)
            made.offsets = outputs.offsets[kept]
            made.predictions, made.keys = outputs.predictions.chosen(kept), outputs.keys.chosen(kept)
            made.headers = chosen_headers(outputs.headers, kept)
        if (there := self.present.get(topics.accuracy)) is not None:
            made.points = [(key, value) for key, value in outputs.points if (_offset(value), key) not in there]
        if (there := self.present.get(topics.alarms)) is not None:
            made.alarms = [alarm for alarm in outputs.alarms if (alarm.offset, alarm.key) not in there]
        if (there := self.present.get(topics.rejected)) is not None:
            made.rejected = [bad for bad in outputs.rejected if bad.answered_offset not in there]
        return made


class HangingTransaction(Exception):
    """Outputs of a commit are neither committed nor aborted, and nobody is going to say which.

    Parameters
    ----------
    topic : str
        Where.
    """

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic


def find_missing_outputs(context: RestoreContext, last: LastCommit) -> MissingOutputs | None:
    """Outputs of the last commits that are not visible; None: all are, or commits leave no record of them.

    Raises
    ------
    KafkaException, TimedOut
        The broker does not deliver.
    """
    if context.transactions is None or not last.in_transaction or last.record is None:
        return None
    readers = context.reader, context.uncommitted_reader
    check = OutputCheck(context.settings.topics, context.partition, readers, context.deadline)
    while True:
        try:
            return check.find_missing(last.record)
        except HangingTransaction as error:
            hanging = error.topic
        context.resolve_hanging(hanging)
        check.resolved_topics.add(hanging)


class OutputCheck:
    """Looks at the outputs of a partition's last commits.

    Parameters
    ----------
    topics : Topics
        Of the group; what is not among its outputs any more, as alarms without detectors, is not looked at.
    partition : int
        Which.
    readers : tuple
        One that is given committed records only, and one that is given all.
    deadline : Deadline
        For all of it.
    """

    def __init__(self, topics: Topics, partition: int, readers: tuple[Consumer, Consumer], deadline: Deadline) -> None:
        self._topics, self._partition, self._deadline = topics, partition, deadline
        self._reader, self._uncommitted_reader = readers
        self.resolved_topics: set[str] = set()
        """Topics in which nothing hangs any more."""

    def find_missing(self, newest: CommitRecord) -> MissingOutputs | None:
        """What is missing; None: all outputs of the last commit are there, and before it those of the ones before.

        Parameters
        ----------
        newest : CommitRecord
            The last commit.

        Raises
        ------
        HangingTransaction
            The broker does not decide.
        KafkaException, TimedOut
            It does not deliver.
        """
        since, there, looked_at = newest.offset, dict[str, set[Key]](), list[CommitRecord]()
        for position in self._commits_back(newest):
            hidden = self._hidden_topics(position)
            if not hidden:
                break
            since = position.offset if position.previous is None else position.previous
            looked_at.append(position)
            there |= {topic: set() for topic in hidden}
        for position in looked_at:  # what one of them has lost, another of them may have
            for topic in there.keys() & position.outputs.keys():
                there[topic] |= self._keys(topic, position.outputs[topic])
        return MissingOutputs(since, newest.offset, there) if there else None

    def _commits_back(self, newest: CommitRecord) -> Iterator[CommitRecord]:
        """The commits from the newest back, as long as the log holds the one directly before."""
        position, depth = newest, 1
        while True:
            yield position
            depth += 1
            found = commit_records(self._reader, self._topics.snapshots, self._partition, self._deadline, depth)
            if len(found) < depth or found[depth - 1].offset != position.previous:
                return
            position = found[depth - 1]

    def _hidden_topics(self, position: CommitRecord) -> list[str]:
        """Topics of which the first or the last output of a commit is hidden."""
        outputs = {topic: span for topic, span in position.outputs.items() if topic in self._topics.outputs()}
        for topic, span in outputs.items():
            decided = await_stable(
                self._reader, topic, self._partition, span.last + 1, self._deadline, UNDECIDED_SECONDS
            )
            if not decided and topic not in self.resolved_topics:
                raise HangingTransaction(topic)
        return [topic for topic, span in outputs.items() if self._is_hidden(topic, span)]

    def _is_hidden(self, topic: str, span: OffsetRange) -> bool:
        """Whether records are aborted, or cut off; those that retention or compaction has taken were there once."""
        low, end = watermarks(self._reader, topic, self._partition, self._deadline)
        ends = [offset for offset in (span.first, span.last) if offset >= low]
        if any(offset >= end for offset in ends):
            return True
        committed = are_visible(self._reader, topic, self._partition, ends, self._deadline)
        if all(committed):
            return False
        there = are_visible(self._uncommitted_reader, topic, self._partition, ends, self._deadline)
        return any(seen and not given for seen, given in zip(there, committed, strict=True))

    def _keys(self, topic: str, span: OffsetRange) -> set[Key]:
        """What the visible records of a span answer, as far as retention has left them."""
        found: set[Key] = set()
        place, where = (topic, self._partition), f"{topic}/{self._partition}"
        first = max(span.first, watermarks(self._reader, topic, self._partition, self._deadline)[0])
        reading = MessageReader(self._reader, {place: first}, {place: span.last + 1}, ignore_out_of_range)
        while reading.unread and (message := reading.next(self._deadline, f"{where} was")) is not None:
            found.add(_rejected(message) if topic == self._topics.rejected else _key(message))
        return found


def _rejected(message: Any) -> Key:
    """What a rejection answers."""
    return answered_offset(dict(message.headers() or ()))


def _key(message: Any) -> Key:
    """What a prediction, a point or an alarm answers; the headers of a prediction are its event's."""
    value = message.value() or b""
    if is_packed(value):
        return int(decode_predictions([value]).offset[0]), None
    told = read_json(value)
    return int(told["offset"]), None if "prediction" in told else message.key()


def _offset(point: bytes) -> int:
    return int(read_json(point)["offset"])

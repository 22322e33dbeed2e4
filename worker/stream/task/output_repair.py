"""Find the last commits' outputs that readers cannot see, at a restore, and write them again before anything new.

A commit is one transaction in several logs, each of which gets its own end marker. A transaction coordinator that comes
back with incomplete state may commit the offset, the snapshot and the commit record, and abort the predictions
(docs/decisions/0018). So a restore looks for the records that the last commit claims to have written; missing ones are
computed again from the rows, and written.
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
from driftway.worker.kafka.log_reader.visibility import are_visible
from driftway.worker.kafka.topics import Topics
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_scan import commit_records
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.task.last_commit import LastCommit
from driftway.worker.stream.task.restore_context import RestoreContext
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.headers import chosen_headers
from driftway.worker.wire.packed import decode_predictions, is_packed
from driftway.worker.wire.rejections import answered_offset

Key = tuple[int, bytes | None]
"""Identity of an output: its input offset and, for points, alarms and labels of the label topic, what distinguishes
those at one offset."""


@dataclass(frozen=True)
class MissingOutputs:
    """Outputs to write again.

    Parameters
    ----------
    since, until : int
        Input offsets; outputs of rows from `since` to before `until` are missing.
    present : mapping
        Topic with missing outputs -> keys of those that are there nevertheless. Other topics miss nothing.
    """

    since: int
    until: int
    present: Mapping[str, Collection[Key]] = field(default_factory=dict)

    def select(self, outputs: Outputs, topics: Topics) -> Outputs:
        """Return what must be written of `outputs`, all of rows before `until`."""
        selected = Outputs(outputs.next_offset)
        if (present := self.present.get(topics.predictions)) is not None:
            kept = np.array([(offset, None) not in present for offset in outputs.offsets.tolist()], np.bool_)
            selected.offsets = outputs.offsets[kept]
            selected.predictions, selected.keys = outputs.predictions.chosen(kept), outputs.keys.chosen(kept)
            selected.headers = chosen_headers(outputs.headers, kept)
        if (present := self.present.get(topics.accuracy)) is not None:
            selected.points = [(key, value) for key, value in outputs.points if (_offset(value), key) not in present]
        if (present := self.present.get(topics.alarms)) is not None:
            selected.alarms = [alarm for alarm in outputs.alarms if (alarm.offset, alarm.key) not in present]
        if (present := self.present.get(topics.rejected)) is not None:
            selected.rejected = [bad for bad in outputs.rejected if bad.answered_offset not in present]
        return selected


def find_missing_outputs(context: RestoreContext, last: LastCommit) -> MissingOutputs | None:
    """Return outputs of the last commits that are not visible; None if all are, or without a commit record.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    if context.transactions is None or not last.in_transaction or last.record is None:
        return None
    readers = context.reader, context.uncommitted_reader
    check = OutputCheck(context.settings.topics, context.partition, readers, context.deadline, context.ended)
    return check.find_missing(last.record)


class OutputCheck:
    """Checks the outputs of a partition's last commits.

    Parameters
    ----------
    topics : Topics
        The group's; topics no longer among its outputs, such as alarms without detectors, are not checked.
    partition : int
        The partition's number.
    readers : tuple
        A read_committed and a read_uncommitted reader.
    deadline : Deadline
        For all calls together.
    ended : mapping
        Topic -> first record of a hanging transaction that was aborted. The commit that wrote it may be an old one.
    """

    def __init__(
        self,
        topics: Topics,
        partition: int,
        readers: tuple[Consumer, Consumer],
        deadline: Deadline,
        ended: Mapping[str, int],
    ) -> None:
        self._topics, self._partition, self._deadline = topics, partition, deadline
        self._reader, self._uncommitted_reader = readers
        self._ended = {topic: first for topic, first in ended.items() if topic != topics.snapshots}

    def find_missing(self, newest: CommitRecord) -> MissingOutputs | None:
        """Return what is missing; None if nothing is.

        Commits are checked backwards, to a complete one and past those whose outputs may have been aborted here.

        Parameters
        ----------
        newest : CommitRecord
            The last commit.

        Raises
        ------
        KafkaException, TimedOut
            The broker did not deliver in time.
        """
        since, present = newest.offset, dict[str, set[Key]]()
        checked, repaired, unseen = list[CommitRecord](), 0, dict(self._ended)
        for record in self._commits_back(newest):
            hidden = self._hidden_topics(record)
            if not hidden and not unseen:
                break
            checked.append(record)
            for topic, span in record.outputs.items():
                if span.first <= unseen.get(topic, -1):
                    del unseen[topic]
            if hidden:
                since, repaired = record.offset if record.previous is None else record.previous, len(checked)
                present |= {topic: set() for topic in hidden}
        for record in checked[:repaired]:  # a topic that lost one commit's outputs may have another's
            for topic in present.keys() & record.outputs.keys():
                present[topic] |= self._keys(topic, record.outputs[topic])
        return MissingOutputs(since, newest.offset, present) if present else None

    def _commits_back(self, newest: CommitRecord) -> Iterator[CommitRecord]:
        """Yield commits from the newest backwards, as long as the log holds the one directly before."""
        found, depth = [newest], 0
        while depth < len(found) and (depth == 0 or found[depth].offset == found[depth - 1].previous):
            yield found[depth]
            depth += 1
            if depth == len(found):
                least = 2 * depth  # one may stand there twice, see `hanging_transactions`
                found = commit_records(self._reader, self._topics.snapshots, self._partition, self._deadline, least)
                found = [record for i, record in enumerate(found) if i == 0 or record != found[i - 1]]

    def _hidden_topics(self, position: CommitRecord) -> list[str]:
        """Return topics in which the commit's first or last output is hidden."""
        written = self._topics.outputs()
        return [topic for topic, span in position.outputs.items() if topic in written and self._is_hidden(topic, span)]

    def _is_hidden(self, topic: str, span: OffsetRange) -> bool:
        """Whether records were aborted or truncated; those removed by retention or compaction do not count."""
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
        """Return keys of the visible records of a span, as far as retention has left them."""
        found: set[Key] = set()
        place, where = (topic, self._partition), f"{topic}/{self._partition}"
        first = max(span.first, watermarks(self._reader, topic, self._partition, self._deadline)[0])
        reading = MessageReader(self._reader, {place: first}, {place: span.last + 1}, ignore_out_of_range)
        while reading.unread and (message := reading.next(self._deadline, f"{where} was")) is not None:
            found.add(_rejected(message) if topic == self._topics.rejected else _key(message))
        return found


def _rejected(message: Any) -> Key:
    """Return the key of a rejection."""
    return answered_offset(dict(message.headers() or ()))


def _key(message: Any) -> Key:
    """Return the key of a prediction, point or alarm; the headers of a prediction are its event's."""
    value = message.value() or b""
    if is_packed(value):
        return int(decode_predictions([value]).offset[0]), None
    fields = read_json(value)
    return int(fields["offset"]), None if "prediction" in fields else message.key()


def _offset(point: bytes) -> int:
    return int(read_json(point)["offset"])

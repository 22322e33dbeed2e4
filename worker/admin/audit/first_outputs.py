"""Find where an audit begins in the outputs of a partition whose input offsets were moved or belong to a new topic.

`driftway snapshot import` may move the committed offset: if it moves back, the same input offsets have outputs twice;
if it moves forward, some have none. The same happens if somebody sets the offset and a worker continues according to
--on-restore-failure. In a recreated input topic, the same offsets are other events. In each case, a record in the
snapshot topic says where the outputs ended: earlier ones belong to the history that was given up.

If --on-restore-failure or an import let a group go on with another model or other options, the offsets stay, but the
snapshots before the mark of the new history are not of the present model: the audit reads those behind it only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, watermarks
from driftway.worker.kafka.log_reader.stream import MessageStream, Readers
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.new_topic import NewTopic
from driftway.worker.state.changelog.record_keys import chunk_key, is_mark_key, is_plan_key, new_topic_key
from driftway.worker.state.changelog.snapshot_scan import read_output_ends
from driftway.worker.state.plans.model_plan import PlanAdoption
from driftway.worker.state.snapshot import SnapshotHeader, read_snapshot_header
from driftway.worker.state.stored_fields import Malformed

PIECE = 64
"""Records held in memory at a time; a chunk has up to a megabyte."""


def first_outputs(
    settings: WorkerSettings, reader: Consumer, partition: int, end: int, topic_id: str | None, readers: Readers
) -> tuple[dict[str, int], dict[int, PlanAdoption]]:
    """Return output topic -> first record of the present history, empty if offsets never began anew; and known plans.

    The plans are those that the partition adopted before that record; the workers adopt them again at the same offsets.

    Parameters
    ----------
    settings : WorkerSettings
        The workers' settings.
    reader : Consumer
        For the beginnings of the logs, which retention may have moved.
    partition, end : int
        The partition, and the end of its log of snapshots.
    topic_id : str or None
        Id of the input topic that the last commit has read.
    readers : Readers
        Lends a consumer for the snapshots.

    Raises
    ------
    Failure, KafkaException, TimedOut
        The topics cannot be read.
    """
    snapshots, history = settings.topics.snapshots, PresentHistory(settings.topics.snapshots, partition, topic_id)
    with MessageStream(settings, snapshots, partition, end, readers=readers) as stream:
        while messages := stream.peek(PIECE):
            for message in messages:
                history.add(message)
            stream.drop(len(messages))
    deadline = Deadline(ASK_SECONDS)
    begins = {
        topic: max(first, watermarks(reader, topic, partition, deadline)[0]) for topic, first in history.begins.items()
    }
    return begins, history.known_plans


class PresentHistory:
    """Finds where the present history of a partition begins, from the records of its snapshot topic in their order.

    Parameters
    ----------
    snapshots : str
        The snapshot topic.
    partition : int
        The partition.
    topic_id : str or None
        Id of the input topic that the last commit has read.
    """

    def __init__(self, snapshots: str, partition: int, topic_id: str | None) -> None:
        self.begins: dict[str, int] = {}
        """Topic -> its first record of the present history."""
        self.known_plans: dict[int, PlanAdoption] = {}
        """Number -> plan that the partition adopted before that, and where."""
        self._snapshots, self._partition, self._topic_id = snapshots, partition, topic_id
        self._plans: dict[int, PlanAdoption] = {}
        self._identity: Any = None
        """Identity of the last snapshot that was made before any plan; plans are compared elsewhere."""
        self._mark: int | None = None
        """Offset of the last mark that no such snapshot has followed yet."""

    def add(self, message: Any) -> None:
        """Read the next record."""
        key, value = message.key(), message.value()
        if is_mark_key(key, self._partition):
            self._add_mark(message.offset(), read_output_ends(value))
        elif key == chunk_key(self._partition, 0):
            self._add_snapshot(read_snapshot_header(value or b""))
        elif key == new_topic_key(self._partition):
            self._add_new_topic(NewTopic.read(value))
        elif is_plan_key(key, self._partition):
            with contextlib.suppress(Malformed):
                adoption = PlanAdoption.parse(value)
                self._plans[adoption.plan.number] = adoption

    def _add_mark(self, offset: int, ends: Mapping[str, int]) -> None:
        self._mark = offset
        if ends:
            self.begins |= {**ends, self._snapshots: offset}
        self._plans.clear()
        self.known_plans.clear()

    def _add_snapshot(self, header: SnapshotHeader | None) -> None:
        """Begin at the last mark if another model or other options follow it."""
        if header is None or header.plan is not None:
            return
        if self._mark is not None and self._identity is not None and _differ(self._identity, header.identity):
            self.begins[self._snapshots] = self._mark
        self._identity, self._mark = header.identity, None

    def _add_new_topic(self, new: NewTopic | None) -> None:
        if new is not None and new.topic == self._topic_id and new.ends:
            self.begins |= new.ends
            self.known_plans = dict(self._plans)


def _differ(before: Any, after: Any) -> bool:
    """Whether two snapshots are of different models; one from before the first row has no features, nor states."""
    (one, schema), (other, features) = before, after
    if None in (schema, features) and isinstance(one, dict) and isinstance(other, dict):
        one, other = ({key: part for key, part in model.items() if key != "states"} for model in (one, other))
        return bool(one != other)
    return bool(before != after)

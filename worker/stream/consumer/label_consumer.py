"""Read the label topic, for the partitions whose tasks need labels.

The reader is not a member of the group. How far a partition's labels were merged is committed with its events, and the
partition's owner continues from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from confluent_kafka import KafkaError

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import CONSUMER_TUNING
from driftway.worker.kafka.client_factory import make_fetcher
from driftway.worker.kafka.consumer_columns import TURN_MESSAGES
from driftway.worker.kafka.error_handling import explained, is_permanent
from driftway.worker.kafka.interface import NO_BROKERS, ClientError, Fetcher
from driftway.worker.kafka.log_reader.reader import reader_properties
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Records

MAX_WAITING_LABELS, MAX_WAITING_BYTES = 100_000, 64 * 2**20
"""Labels of a partition that may wait for events, and their bytes; beyond either it is not read until they are half of
that, unless a replay needs more. To stop reading one partition, the reader drops what it has fetched of all, so this
must be rare."""


class LabelConsumer:
    """Passes labels to tasks.

    Parameters
    ----------
    settings : WorkerSettings
        Topic and client properties.
    event_log : EventLog
        Where transient errors are logged.
    tasks : mapping
        Partition -> its task.
    """

    def __init__(self, settings: WorkerSettings, event_log: EventLog, tasks: Mapping[int, Task]) -> None:
        self._settings, self._event_log, self._tasks = settings, event_log, tasks
        self._fetcher: Fetcher | None = None
        self._mergers: dict[int, LabelMerger] = {}
        """Partition that is being read -> merger that gets its labels."""
        self._out_of_range: dict[int, str] = {}

    def poll(self, arrived: Collection[Records]) -> list[tuple[int, None]]:
        """Pass on labels without waiting; return the partitions not in `arrived` whose events wait for labels.

        Raises
        ------
        Failure
            The broker refuses this reader for good.
        """
        mergers = dict[int, LabelMerger]()
        for partition, task in self._tasks.items():
            if (one := task.merger) is not None:
                one.reading = self._has_room(partition, one)
                if one.reading:
                    mergers[partition] = one
        if mergers or self._mergers:
            self._fetch(mergers)
        others = self._tasks.keys() - {records.partition for records in arrived}
        return [(p, None) for p in sorted(others) if self._tasks[p].waiting_events]

    def take_out_of_range(self) -> dict[int, str]:
        """Return partition -> why it must be restored, each once: the label topic does not hold its next label."""
        found, self._out_of_range = self._out_of_range, {}
        return found

    def close(self) -> None:
        """Close the client."""
        if self._fetcher is not None:
            self._fetcher.close()

    def _fetch(self, wanted: dict[int, LabelMerger]) -> None:
        """Poll the client, and add what arrived to these mergers."""
        settings = self._settings
        if self._fetcher is None:
            properties = reader_properties(settings, tuning=CONSUMER_TUNING)
            self._fetcher = make_fetcher(
                settings.client, properties, settings.label_topic, settings.model.reads_headers
            )
        if wanted.keys() != self._mergers.keys() or any(self._mergers[p] is not one for p, one in wanted.items()):
            self._fetcher.assign({p: one.next_label for p, one in wanted.items()})
            self._mergers = wanted
        polled = self._fetcher.poll(TURN_MESSAGES, 0.0)
        for records in polled.records:
            if records.partition in wanted:
                wanted[records.partition].add_labels(records)
        for problem in polled.errors:  # after the records: an end of partition follows its last one
            self._handle_error(problem)

    def _has_room(self, partition: int, one: LabelMerger) -> bool:
        share = 1 if partition in self._mergers else 2
        full = one.waiting_labels * share >= MAX_WAITING_LABELS or one.waiting_label_bytes * share >= MAX_WAITING_BYTES
        return one.needs_labels or not full

    def _handle_error(self, problem: ClientError) -> None:
        """Handle an error that the client returned in place of a message."""
        error, partition, offset = problem
        where = f"{self._settings.label_topic}/{partition}"
        if error.code() == KafkaError._PARTITION_EOF:
            if partition in self._mergers:
                self._mergers[partition].end_labels(offset or 0)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._out_of_range[partition] = f"{where} does not hold the next label"
        elif is_permanent(error):
            raise Failure(f"cannot read {where}: {explained(error)}")
        else:
            self._event_log.warning("label reader error", error=error.str())
            if error.str() == NO_BROKERS:
                self.close()
                self._fetcher, self._mergers = None, {}

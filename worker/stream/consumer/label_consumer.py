"""Where labels enter that have a topic of their own: a reader of the partitions whose tasks want some.

It is no member of the group. Which labels a partition has taken is committed with its events, and whoever owns these
reads on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from confluent_kafka import KafkaError

from driftway.worker.errors import CannotRestore, Failure
from driftway.worker.kafka.client_config import CONSUMER_TUNING
from driftway.worker.kafka.client_factory import make_fetcher
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.error_handling import is_permanent
from driftway.worker.kafka.interface import ClientError, Fetcher
from driftway.worker.kafka.log_reader.reader import reader_properties
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Records

MAX_WAITING_LABELS = 10 * BATCH_MESSAGES
"""Labels of a partition that may wait for events; then it is not read on until half of them have gone. To read others
and not this one the reader throws away what it has fetched, so this has to be rare."""


class LabelConsumer:
    """Gives tasks their labels.

    Parameters
    ----------
    settings : WorkerSettings
        Topic and client properties.
    event_log : EventLog
        Where errors that pass by themselves are logged.
    tasks : mapping
        Partition -> its task.
    """

    def __init__(self, settings: WorkerSettings, event_log: EventLog, tasks: Mapping[int, Task]) -> None:
        self._settings, self._event_log, self._tasks = settings, event_log, tasks
        self._fetcher: Fetcher | None = None
        self._mergers: dict[int, LabelMerger] = {}
        """Partitions that are being read, and for whom."""

    def poll(self, arrived: Collection[Records]) -> list[tuple[int, None]]:
        """Hand over what has come, without waiting; tell partitions beside these whose events have waited for labels.

        Raises
        ------
        CannotRestore, Failure
            A log has lost labels that are needed, or the broker refuses this reader for good.
        """
        streams = ((p, task.merger) for p, task in self._tasks.items())
        wanted = {p: one for p, one in streams if one is not None and self._has_room(p, one)}
        if wanted or self._mergers:
            self._fetch(wanted)
        others = self._tasks.keys() - {records.partition for records in arrived}
        return [(p, None) for p in sorted(others) if self._tasks[p].awaits_labels]

    def close(self) -> None:
        """End the client."""
        if self._fetcher is not None:
            self._fetcher.close()

    def _fetch(self, wanted: dict[int, LabelMerger]) -> None:
        """Give these what has come for them."""
        settings = self._settings
        if self._fetcher is None:
            properties = reader_properties(settings, tuning=CONSUMER_TUNING)
            self._fetcher = make_fetcher(
                settings.client, properties, settings.label_topic, settings.model.reads_headers
            )
        if wanted.keys() != self._mergers.keys() or any(self._mergers[p] is not one for p, one in wanted.items()):
            self._fetcher.assign({p: one.next_label for p, one in wanted.items()})
            self._mergers = wanted
        taken = self._fetcher.poll(BATCH_MESSAGES, 0.0)
        for records in taken.records:
            if records.partition in wanted:
                wanted[records.partition].add_labels(records)
        for problem in taken.errors:  # after the records: an end of partition comes behind its last one
            self._handle_error(problem)

    def _has_room(self, partition: int, one: LabelMerger) -> bool:
        return one.waiting_labels < (MAX_WAITING_LABELS if partition in self._mergers else MAX_WAITING_LABELS // 2)

    def _handle_error(self, problem: ClientError) -> None:
        """Sort an error that came in a message's place."""
        error, partition, offset = problem
        where = f"{self._settings.label_topic}/{partition}"
        if error.code() == KafkaError._PARTITION_EOF:
            if partition in self._mergers:
                self._mergers[partition].end_labels(offset or 0)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise CannotRestore(f"{where}: the log no longer holds the next label")
        elif is_permanent(error):
            raise Failure(f"cannot read {where}: {error.str()}")
        else:
            self._event_log.event("label reader error", error=error.str())

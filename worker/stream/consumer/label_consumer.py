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
from driftway.worker.kafka.error_handling import hopeless
from driftway.worker.kafka.interface import Fetcher, Problem
from driftway.worker.kafka.log_reader.reader import reader_properties
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.delayed_labels.label_merger import Confluence
from driftway.worker.stream.observability.event_log import Journal
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Records

MOST_HELD = 10 * BATCH_MESSAGES
"""Labels of a partition that may wait for events; then it is not read on until half of them have gone. To read others
and not this one the reader throws away what it has fetched, so this has to be rare."""


class LabelIntake:
    """Gives tasks their labels.

    Parameters
    ----------
    settings : WorkerSettings
        Topic and client properties.
    journal : Journal
        Where errors that pass by themselves are logged.
    tasks : mapping
        Partition -> its task.
    """

    def __init__(self, settings: WorkerSettings, journal: Journal, tasks: Mapping[int, Task]) -> None:
        self._settings, self._journal, self._tasks = settings, journal, tasks
        self._fetcher: Fetcher | None = None
        self._read: dict[int, Confluence] = {}
        """Partitions that are being read, and for whom."""

    def take(self, arrived: Collection[Records]) -> list[tuple[int, None]]:
        """Hand over what has come, without waiting; tell partitions beside these whose events have waited for labels.

        Raises
        ------
        CannotRestore, Failure
            A log has lost labels that are needed, or the broker refuses this reader for good.
        """
        streams = ((p, task.confluence) for p, task in self._tasks.items())
        wanted = {p: one for p, one in streams if one is not None and self._has_room(p, one)}
        if wanted or self._read:
            self._fetch(wanted)
        others = self._tasks.keys() - {records.partition for records in arrived}
        return [(p, None) for p in sorted(others) if self._tasks[p].holding]

    def close(self) -> None:
        """End the client."""
        if self._fetcher is not None:
            self._fetcher.close()

    def _fetch(self, wanted: dict[int, Confluence]) -> None:
        """Give these what has come for them."""
        settings = self._settings
        if self._fetcher is None:
            properties = reader_properties(settings, tuning=CONSUMER_TUNING)
            self._fetcher = make_fetcher(
                settings.client, properties, settings.label_topic, settings.model.reads_headers
            )
        if wanted.keys() != self._read.keys() or any(self._read[p] is not one for p, one in wanted.items()):
            self._fetcher.send_to({p: one.next_label for p, one in wanted.items()})
            self._read = wanted
        taken = self._fetcher.take(BATCH_MESSAGES, 0.0)
        for records in taken.records:
            if records.partition in wanted:
                wanted[records.partition].add_labels(records)
        for problem in taken.problems:  # after the records: an end of partition comes behind its last one
            self._complain(problem)

    def _has_room(self, partition: int, one: Confluence) -> bool:
        return one.labels_held < (MOST_HELD if partition in self._read else MOST_HELD // 2)

    def _complain(self, problem: Problem) -> None:
        """Sort an error that came in a message's place."""
        error, partition, offset = problem
        where = f"{self._settings.label_topic}/{partition}"
        if error.code() == KafkaError._PARTITION_EOF:
            if partition in self._read:
                self._read[partition].end_labels(offset or 0)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise CannotRestore(f"{where}: the log no longer holds the next label")
        elif hopeless(error):
            raise Failure(f"cannot read {where}: {error.str()}")
        else:
            self._journal.event("label reader error", error=error.str())

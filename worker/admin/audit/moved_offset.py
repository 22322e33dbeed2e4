"""Where to begin in the outputs of a partition whose committed offset was moved by `driftway snapshot import`.

If it went back, the same input offsets have outputs twice; if it went on, some have none. The import says in its mark
where the outputs ended: what lies before belongs to the history that was given up.
"""

from __future__ import annotations

from confluent_kafka import Consumer

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, watermarks
from driftway.worker.kafka.log_reader.stream import MessageStream
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import read_output_ends
from driftway.worker.state.snapshot import is_mark_key

PIECE = 64
"""Records held in memory at a time; a chunk has up to a megabyte."""


def first_outputs(settings: WorkerSettings, reader: Consumer, partition: int, end: int) -> dict[str, int]:
    """Return output topic -> first record behind the last import that moved the offset; empty without one.

    Parameters
    ----------
    settings : WorkerSettings
        The workers' settings.
    reader : Consumer
        For the beginnings of the logs, which retention may have moved.
    partition, end : int
        The partition, and the end of its log of snapshots.

    Raises
    ------
    Failure, KafkaException, TimedOut
        The topics cannot be read.
    """
    snapshots, found = settings.topics.snapshots, dict[str, int]()
    with MessageStream(settings, snapshots, partition, end) as stream:
        while messages := stream.peek(PIECE):
            for message in messages:
                if is_mark_key(message.key(), partition) and (ends := read_output_ends(message.value())):
                    found = {**ends, snapshots: message.offset()}
            stream.drop(len(messages))
    deadline = Deadline(ASK_SECONDS)
    return {topic: max(first, watermarks(reader, topic, partition, deadline)[0]) for topic, first in found.items()}

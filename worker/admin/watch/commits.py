"""How far a group is, by its committed offsets."""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka import KafkaException, TopicPartition

from driftway.worker.kafka.log_reader.reader import ANY, open_reader

ANSWER_SECONDS = 1.0


class GroupConfig(NamedTuple):
    """A group, and where it is: a `driftway.worker.kafka.client_config.ClientConfig`."""

    bootstrap: str
    group: str
    passthrough: dict[str, Any]


class CommittedOffsets:
    """Asks for the committed offsets of a group.

    They tell more than outputs do: labels that come later, and rejected labels, have no prediction.

    Parameters
    ----------
    group : Group
        The group; its name may be empty, if it is not known: then nothing is known.
    topic : str
        Its input.
    partitions : int
        Number of partitions of the input.
    """

    def __init__(self, group: GroupConfig, topic: str, partitions: int) -> None:
        self._topic_partitions = [TopicPartition(topic, p) for p in range(partitions)]
        # read_committed would wait for commits in flight, of which there is always one
        self._reader = open_reader(group, ANY) if group.group else None

    def get(self) -> dict[int, int]:
        """Return partition -> committed offset; without those that are not known, because the broker does not say."""
        try:
            found = (
                [] if self._reader is None else self._reader.committed(self._topic_partitions, timeout=ANSWER_SECONDS)
            )
        except KafkaException:  # it is asked again, and outputs tell offsets, too
            return {}
        return {one.partition: one.offset for one in found if one.error is None and one.offset > 0}

    def close(self) -> None:
        """Close the client."""
        if self._reader is not None:
            self._reader.close()

"""The topics that a replay writes: created if they are missing, and checked for how long they keep its rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from driftway.worker.errors import UsageFailure, duration, plural
from driftway.worker.kafka.cluster import CLEANUP, RETENTION_MS, set_command, settings_of_topics
from driftway.worker.kafka.topics import create_topics, present_topics

STAMPS = "message.timestamp.type"
FOREVER = "-1"


@dataclass(frozen=True)
class NeededTopics:
    """What a replay needs of its topics.

    Parameters
    ----------
    topic : str
        Topic of the rows.
    label_topic : str or None
        Topic of delayed labels, if they have one of their own.
    partitions : int or None
        Partitions of both. None: as many as the topic has, or 1 if it is created.
    partition : int or None
        Partition that all messages go to, if it is always the same.
    earliest : int or None
        Timestamp of the first message in ms; None: the messages get the time of sending.
    """

    topic: str
    label_topic: str | None
    partitions: int | None
    partition: int | None
    earliest: int | None

    def ensure(self, bootstrap: str, properties: Mapping[str, Any], warn: Callable[[str], None]) -> int:
        """Create the missing topics, both with the same number of partitions; return that number.

        Kafka deletes records by their timestamps. A topic that is created for messages with timestamps of their own
        therefore keeps its records; of another topic, `warn` is told if it does not.

        Raises
        ------
        Unreachable
            No broker answers.
        UsageFailure
            `topic` exists with a number of partitions other than `partitions`, it has no `partition`, or `label_topic`
            exists with another number.
        """
        present = present_topics(bootstrap, properties)
        count = self._count(present)
        names = [self.topic] if self.label_topic is None else [self.topic, self.label_topic]
        if self.partitions is not None or not present.keys() >= {*names}:
            settings = {} if self.earliest is None else {RETENTION_MS: FOREVER}
            create_topics(bootstrap, properties, dict.fromkeys(names, (count, settings)), present=present)
        if self.earliest is not None:
            for name, found in settings_of_topics(bootstrap, properties, [n for n in names if n in present]).items():
                if deletes(found, self.earliest):
                    warn(_sentence(name, int(found[RETENTION_MS]), self.earliest))
        return count

    def _count(self, present: Mapping[str, int]) -> int:
        count = self.partitions or present.get(self.topic) or 1
        if self.partition is not None and self.partition >= count:
            raise UsageFailure(
                f"topic {self.topic} has no partition {self.partition}: it has {count}, counted from 0 (--partitions)"
            )
        labels = self.label_topic
        if labels is not None and present.get(self.topic, count) == count != present.get(labels, count):
            raise UsageFailure(
                f"topic {labels} has {plural(present[labels], 'partition')}, but {self.topic} has {count}: "
                "labels go to the partition of their row, so both need the same number (--partitions)"
            )
        return count


def deletes(settings: Mapping[str, str], stamp: int) -> bool:
    """Whether a topic with these settings deletes a record with this timestamp, in ms, as soon as Kafka cleans up."""
    if settings[CLEANUP] == "compact" or settings[STAMPS] == "LogAppendTime":
        return False
    return 0 <= int(settings[RETENTION_MS]) < time.time() * 1000 - stamp


def _sentence(topic: str, retention: int, stamp: int) -> str:
    day = datetime.fromtimestamp(stamp / 1000, UTC).date()
    return (
        f"Kafka may delete these rows at once: their timestamps begin at {day}, and topic {topic} keeps records for "
        f"{duration(retention)}. {set_command(topic, RETENTION_MS, FOREVER)} keeps them"
    )

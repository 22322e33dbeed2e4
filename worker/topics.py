"""The topics of an input: their names, how they are created and checked. Leaf module."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from worker.client import base_properties, quiet, require_broker
from worker.errors import Failure, UsageFailure

CREATE_SECONDS = 30.0
LARGEST_RECORD = 10_485_760
"""Bytes an output record may have. An output can be longer than its event (a rejected event travels whole, with
headers; a prediction echoes its id), and an event whose output is refused would stop the partition for good."""


PLAIN_GROUP = re.compile(r"(?!.*-[0-9a-f]{8}$)[A-Za-z0-9_-]{1,100}")
"""A group that may stand in a topic's name as it is: it has no dot, and does not look like one that could not."""


def in_topics(group: str) -> str:
    """A group as it stands in the names of topics: two groups never share a name there, whatever the inputs are called.

    With the group's own dots `a.b` of group `c` and `a` of group `b.c` would have one topic of snapshots.
    """
    if PLAIN_GROUP.fullmatch(group):
        return group
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", group)[:100]
    return f"{readable}-{hashlib.blake2b(group.encode(), digest_size=4).hexdigest()}"


@dataclasses.dataclass(frozen=True)
class Topics:
    """The topics that belong to one input (and, for snapshots, to one group)."""

    input: str
    group: str

    @property
    def predictions(self) -> str:
        """One record per predicted event."""
        return f"{self.input}.predictions"

    @property
    def accuracy(self) -> str:
        """Rolling accuracy per learner and partition."""
        return f"{self.input}.accuracy"

    @property
    def rejected(self) -> str:
        """Events that could not be used, with the reason in their headers."""
        return f"{self.input}.rejected"

    @property
    def snapshots(self) -> str:
        """Chunks of task snapshots, compacted; one per group, because state belongs to a group."""
        return f"{self.input}.{in_topics(self.group)}.snapshots"

    def outputs(self) -> tuple[str, ...]:
        """Everything a worker writes to."""
        return (self.predictions, self.accuracy, self.rejected, self.snapshots)


def partition_counts(metadata: Any) -> dict[str, int]:
    """Topic -> number of partitions, from a cluster's metadata."""
    return {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}


def create_topics(
    bootstrap: str,
    passthrough: Mapping[str, Any],
    topics: Mapping[str, tuple[int, Mapping[str, str]]],
    replication: int = -1,
) -> list[str]:
    """Create the missing ones of `topics` (name -> partitions, settings); return the created names.

    Raises
    ------
    UsageFailure
        An existing topic has another number of partitions.
    Failure
        The broker refused.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    present = partition_counts(require_broker(bootstrap, passthrough))
    for name, (partitions, _) in topics.items():
        if name in present and present[name] != partitions:
            raise UsageFailure(f"topic {name} has {present[name]} partitions, not {partitions}")
    missing = [
        NewTopic(name, partitions, replication, config=dict(config))
        for name, (partitions, config) in topics.items()
        if name not in present
    ]
    if not missing:
        return []
    admin = AdminClient(quiet(base_properties(bootstrap, passthrough)))
    for name, future in admin.create_topics(missing, operation_timeout=CREATE_SECONDS).items():
        try:
            future.result(timeout=CREATE_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise Failure(f"cannot create topic {name}: {error.args[0].str()}") from None
    return [topic.topic for topic in missing]


def output_plan(topics: Topics, partitions: int) -> dict[str, tuple[int, dict[str, str]]]:
    """What `create_topics` needs for a worker's outputs: as many partitions as the input has.

    Snapshot chunks are compacted, so that the topic holds the newest snapshots only; a short segment time
    lets the cleaner reach them, `min.cleanable.dirty.ratio` makes it start early.
    """
    compacted = {"cleanup.policy": "compact", "segment.ms": "600000", "min.cleanable.dirty.ratio": "0.1"}
    size = {"max.message.bytes": str(LARGEST_RECORD)}
    return {name: (partitions, size | compacted if name == topics.snapshots else size) for name in topics.outputs()}

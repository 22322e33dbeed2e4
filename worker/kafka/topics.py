"""The topics of an input and its groups: their names, how they are created and checked. Leaf module."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any

from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.client_config import base_properties, quiet, require_broker

CREATE_SECONDS = 30.0
LARGEST_RECORD = 10_485_760
"""Bytes an output record may have. An output can be longer than its event (a rejected event travels whole, with
headers; a prediction echoes its id), and an event whose output is refused would stop the partition for good."""


MOST_PREFIX = 230
PREFIX = re.compile(rf"(?!\.)[A-Za-z0-9._-]{{1,{MOST_PREFIX}}}(?<!\.)")
"""A topic's name has at most 249 characters."""
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
    """The topics of a group's work on an input.

    Parameters
    ----------
    input, group : str
        Whose.
    named : str
        What the outputs' names begin with, where somebody has chosen it; empty: ``INPUT.GROUP``.
    watched : bool
        Whether drift detectors watch the champion: only then there is a topic of alarms.
    labels : str
        The topic of labels; empty: they come with their events, or among them.
    shared : bool
        Whether partitions share what their learners believe: only then there is a topic of that.
    """

    input: str
    group: str
    named: str = ""
    watched: bool = False
    labels: str = ""
    shared: bool = False

    @property
    def prefix(self) -> str:
        """What the outputs' names begin with."""
        return self.named or f"{self.input}.{in_topics(self.group)}"

    @property
    def predictions(self) -> str:
        """One record per predicted event."""
        return f"{self.prefix}.predictions"

    @property
    def accuracy(self) -> str:
        """Rolling accuracy per learner and partition."""
        return f"{self.prefix}.accuracy"

    @property
    def rejected(self) -> str:
        """Events that could not be used, with the reason in their headers."""
        return f"{self.prefix}.rejected"

    @property
    def alarms(self) -> str:
        """Drifts that the champion's detectors called, at the very event."""
        return f"{self.prefix}.alarms"

    @property
    def shares(self) -> str:
        """What partitions tell each other of what their learners believe, compacted."""
        return f"{self.prefix}.shares"

    @property
    def snapshots(self) -> str:
        """Chunks of task snapshots, compacted, and in front of them whose all topics are."""
        return f"{self.prefix}.snapshots"

    def outputs(self) -> tuple[str, ...]:
        """Everything a worker writes to."""
        alarms = (self.alarms,) if self.watched else ()
        shares = (self.shares,) if self.shared else ()
        return (self.predictions, self.accuracy, self.rejected, *alarms, *shares, self.snapshots)


def require_prefix(prefix: str, input_topic: str) -> None:
    """See that outputs can be called so.

    Raises
    ------
    UsageFailure
        They cannot.
    """
    if prefix and not PREFIX.fullmatch(prefix):
        raise UsageFailure(
            f"--outputs {prefix}: topics' names have letters, digits, '.', '_' and '-', here at most {MOST_PREFIX}"
        )
    if prefix and input_topic in Topics("", "", prefix, watched=True, shared=True).outputs():
        raise UsageFailure(f"--outputs {prefix}: one of the outputs would be the input, {input_topic}")


def written_for(topics: Collection[str], input_topic: str, group: str | None = None, named: str = "") -> Topics:
    """The outputs that somebody means who names a group, or a prefix, or neither where there is one group only.

    Raises
    ------
    UsageFailure
        There are none such, or those of several groups.
    """
    if input_topic not in topics:
        raise UsageFailure(f"there is no topic {input_topic}")
    if group is not None or named:
        found = Topics(input_topic, group or "", named)
        if found.accuracy not in topics:
            who = "no worker" if group is None else f"no worker of group {group}"
            raise UsageFailure(f"there is no topic {found.accuracy}: {who} has run on {input_topic} yet")
        return found
    ours = re.compile(re.escape(input_topic) + r"\.([A-Za-z0-9_-]+)\.accuracy")
    groups = sorted(match[1] for match in map(ours.fullmatch, topics) if match)
    if not groups:
        raise UsageFailure(f"there is no topic {input_topic}.GROUP.accuracy: no worker has run on {input_topic} yet")
    if len(groups) > 1:
        raise UsageFailure(f"groups {', '.join(groups)} work on {input_topic}: say which with --group")
    return Topics(input_topic, groups[0])


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


def grow_topics(bootstrap: str, passthrough: Mapping[str, Any], names: Collection[str], partitions: int) -> None:
    """Give topics so many partitions; those that have them already stay as they are.

    Raises
    ------
    Failure
        The broker refused.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    admin = AdminClient(quiet(base_properties(bootstrap, passthrough)))
    wanted = [NewPartitions(name, partitions) for name in names]
    for name, future in admin.create_partitions(wanted, operation_timeout=CREATE_SECONDS).items():
        try:
            future.result(timeout=CREATE_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_PARTITIONS:  # somebody else was faster
                raise Failure(
                    f"topic {name} needs {partitions} partitions, as many as the input, and cannot be given them "
                    f"({error.args[0].str()}): somebody who may alter it has to"
                ) from None


def output_plan(topics: Topics, partitions: int) -> dict[str, tuple[int, dict[str, str]]]:
    """What `create_topics` needs for a worker's outputs: as many partitions as the input has.

    Snapshot chunks are compacted, so that the topic holds the newest snapshots only, and so is what partitions share;
    a short segment time lets the cleaner reach them, `min.cleanable.dirty.ratio` makes it start early.
    """
    compacted = {"cleanup.policy": "compact", "segment.ms": "600000", "min.cleanable.dirty.ratio": "0.1"}
    size = {"max.message.bytes": str(LARGEST_RECORD)}
    return {
        name: (partitions, size | (compacted if name in (topics.snapshots, topics.shares) else {}))
        for name in topics.outputs()
    }

"""The first values of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.admin.watch.topic_tail import LogEnds
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import READER, require_broker
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.topics import partition_counts


@dataclass(frozen=True)
class SampleReader:
    """A `driftway.worker.kafka.client_config.ClientConfig` of a reader outside the workers' groups.

    Parameters
    ----------
    bootstrap, passthrough
        Broker address and further properties of the client.
    """

    bootstrap: str
    passthrough: dict[str, Any]
    group: str = field(default=READER["group.id"])


def first_values(
    bootstrap: str, passthrough: Mapping[str, Any], client: str, topic: str, rows: int
) -> list[bytes | None]:
    """Read at most `rows` values, the first ones of each partition, partition after partition.

    Partitions contribute equally, as far as they hold enough records.

    Raises
    ------
    UsageFailure
        There is no such topic.
    Failure
        The broker refuses this reader.
    Unreachable
        No broker answers.
    """
    counts = partition_counts(require_broker(bootstrap, passthrough))
    if topic not in counts:
        raise UsageFailure(f"there is no topic {topic}, nor a file of that name")
    config = SampleReader(bootstrap, dict(passthrough))
    ends = LogEnds(bootstrap, passthrough).of({topic: counts[topic]})
    found: dict[int, list[bytes | None]] = {}
    # The shortest partition first: what it lacks is taken from the others.
    for left, (partition, end) in zip(
        range(len(ends), 0, -1),
        sorted(((p, end) for (_, p), end in ends.items()), key=lambda at: (at[1], at[0])),
        strict=True,
    ):
        share = -(-rows // left)
        if not share:
            break
        with RecordStream(config, client, topic, partition, end) as stream:
            found[partition] = list(stream.columns(share).values)
        rows -= len(found[partition])
    return [value for partition in sorted(found) for value in found[partition]]

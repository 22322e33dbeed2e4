"""The first records of a topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from driftway.worker.admin.watch.topic_tail import LogEnds
from driftway.worker.errors import UsageFailure, no_topic
from driftway.worker.kafka.client_config import READER
from driftway.worker.kafka.log_reader.records import RecordColumns, RecordStream
from driftway.worker.kafka.topics import present_topics
from driftway.worker.wire.headers import Headers, joined_headers


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


class Sample(NamedTuple):
    """Records of a topic, or events of a file."""

    values: Sequence[bytes | None]
    headers: Headers | None = None
    """Headers of each record; None: there are none."""
    partitions: Sequence[int] | None = None
    """Partition of each record, the records of one after those of another; None: a file has none."""


def first_records(bootstrap: str, passthrough: Mapping[str, Any], client: str, topic: str, rows: int) -> Sample:
    """Read at most `rows` records, the first ones of each partition, partition after partition.

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
    counts = present_topics(bootstrap, passthrough)
    if topic not in counts:
        raise UsageFailure(f"{no_topic(topic)}; there is no file of that name, either")
    config = SampleReader(bootstrap, dict(passthrough))
    ends = LogEnds(bootstrap, passthrough).of({topic: counts[topic]})
    found: dict[int, RecordColumns] = {}
    # The shortest partition first: what it lacks is taken from the others.
    for left, (partition, end) in zip(
        range(len(ends), 0, -1),
        sorted(((p, end) for (_, p), end in ends.items()), key=lambda at: (at[1], at[0])),
        strict=True,
    ):
        share = -(-rows // left)
        if not share:
            break
        with RecordStream(config, client, topic, partition, end, headers=True) as stream:
            found[partition] = stream.columns(share)
        rows -= len(found[partition].offsets)
    parts = [found[partition] for partition in sorted(found)]
    values = [value for part in parts for value in part.values]
    partitions = [partition for partition in sorted(found) for _ in found[partition].offsets]
    return Sample(values, joined_headers([(part.headers, len(part.offsets)) for part in parts]), partitions)

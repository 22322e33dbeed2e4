"""What is audited of a partition, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.log_reader.stream import MessageStream

Progress = Callable[[int], None]
"""Told how many records are done."""


@dataclass(frozen=True)
class AuditTarget:
    """What the group had committed when the audit began: offset (None: nothing) and its metadata text."""

    partition: int
    committed: int | None
    metadata: str | None = None


class PartitionStreams(NamedTuple):
    """What is read of a partition."""

    events: RecordStream
    predictions: RecordStream
    points: MessageStream
    rejections: MessageStream
    alarms: MessageStream | None
    """None: no detectors watch."""
    shares: MessageStream | None
    """None: partitions share nothing."""
    chunks: MessageStream


@dataclass
class AuditReport:
    """What was compared of a partition, and what could not be."""

    partition: int
    begin: int = 0
    end: int = 0
    records: int = 0
    predictions: int = 0
    rejections: int = 0
    points: int = 0
    alarms: int = 0
    shares: int = 0
    snapshots: int = 0
    orphans: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    """Kind of reason -> rejections."""

    @property
    def empty(self) -> bool:
        """Whether nothing at all was compared."""
        return not (self.predictions or self.rejections or self.snapshots)

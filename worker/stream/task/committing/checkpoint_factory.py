"""Makes the checkpoint of a partition that gives the worker's guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.worker.kafka.interface import Member
from driftway.worker.settings import EXACTLY_ONCE, WorkerSettings
from driftway.worker.stream.task.committing.at_least_once import AtLeastOnceCheckpoint
from driftway.worker.stream.task.committing.checkpoint import Checkpoint, Probe
from driftway.worker.stream.task.committing.exactly_once import ExactlyOnceCheckpoint


def make_checkpoint(
    settings: WorkerSettings, partition: int, member: Member, probe: Probe | None, callbacks: Mapping[str, Any]
) -> Checkpoint:
    """Make a partition's checkpoint; `member` is the group member, which commits at-least-once offsets."""
    if settings.guarantee == EXACTLY_ONCE:
        return ExactlyOnceCheckpoint(settings, partition, probe, callbacks)
    return AtLeastOnceCheckpoint(settings, partition, member, probe, callbacks)

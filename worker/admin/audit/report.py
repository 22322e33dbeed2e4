"""What is audited of a partition, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from driftway.worker.admin.input_records import NOT_COUNTED, CountedState
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.log_reader.stream import MessageStream
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.plans.model_plan import FIRST, PlanAdoption

Progress = Callable[[int], None]
"""Called with the number of records done since the last call."""


@dataclass(frozen=True)
class AuditTarget:
    """A partition and what was committed for it when the audit began.

    Parameters
    ----------
    partition : int
        The partition.
    committed : int or None
        The committed offset; None if there is none.
    metadata : str or None
        Its metadata.
    last : CountedState
        What the last commit had read of the input.
    set_aside_from : int
        See `driftway.worker.wire.decoder.Decoder.set_aside_from`.
    rounds : int or None
        Exchange rounds up to the last commit; None: learners are not shared, or it is not known.
    first_plan : int
        Number of the plan whose models the settings have; earlier ones are not known.
    """

    partition: int
    committed: int | None
    metadata: str | None = None
    last: CountedState = NOT_COUNTED
    set_aside_from: int = 0
    rounds: int | None = None
    first_plan: int = FIRST

    @property
    def pointer(self) -> Pointer | None:
        """The snapshot that the metadata names; None if it names none."""
        return Pointer.parse(self.metadata)


class PartitionStreams(NamedTuple):
    """The streams that are read of a partition."""

    events: RecordStream
    predictions: RecordStream
    points: MessageStream
    rejections: MessageStream
    alarms: MessageStream | None
    """None if there are no drift detectors."""
    shares: MessageStream | None
    """None if the partitions do not exchange models."""
    challengers: RecordStream | None
    """None if the group has never had such a topic."""
    chunks: MessageStream
    adoptions: Mapping[int, PlanAdoption]
    """Number of each plan that was adopted before `chunks` begin, and holds on -> its adoption."""


@dataclass
class AuditReport:
    """Counts of what was compared of a partition, and what could not be checked."""

    partition: int
    begin: int = 0
    end: int = 0
    records: int = 0
    predictions: int = 0
    rows: int = 0
    """Events whose prediction was recomputed, whether or not the topic of predictions still has it."""
    challengers: int = 0
    """Predictions of challengers."""
    schemas: list[tuple[str, int]] = field(default_factory=list)
    """Format and id of each schema of the predictions in a registry."""
    rejections: int = 0
    set_aside: int = 0
    """Labels that were set aside, which are no rejections."""
    points: int = 0
    alarms: int = 0
    shares: int = 0
    snapshots: int = 0
    orphans: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    """Kind of reason -> rejections."""

    @property
    def labels(self) -> int:
        """Records that are labels of earlier events."""
        return self.records - self.rows - sum(self.rejected.values())

    @property
    def empty(self) -> bool:
        """Whether nothing at all was compared."""
        return not (self.predictions or self.rejections or self.set_aside or self.snapshots)

"""Where a restored task continues, and with what."""

from __future__ import annotations

from dataclasses import dataclass, field

from driftway.worker.errors import CannotRestore
from driftway.worker.settings import EARLIEST, WorkerSettings
from driftway.worker.settings.option_values import CHAMPION_ONLY
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.input_read import InputRead
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import FIRST, PlanAdoption
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs


@dataclass(frozen=True)
class SharingState:
    """A partition's state of the model exchange with others.

    Parameters
    ----------
    log : list of bytes or None
        Its own records in the shares topic that are to be replayed.
    partitions : int
        Number of partitions in the exchange.
    ends : dict
        Partition -> offset after the last record received from it; for its own, the end of the log.
    """

    log: list[bytes | None]
    partitions: int
    ends: dict[int, int]


@dataclass(frozen=True)
class RestoreResult:
    """Result of a restore: where the task continues, and with what.

    Parameters
    ----------
    model : Model or None
        Model at `position`; None if the state that the task has in memory is at that offset.
    position : int
        Next input offset to learn (S, or C when there is nothing to replay).
    committed : int
        C: rows below it were emitted already and are learned without emitting.
    pointer : Pointer or None
        The newest committed snapshot; None makes the first commit write one.
    note : str or None
        What was done differently from an ordinary restore, for the log.
    history_start : int or None
        Where a new history of the partition begins; None if the old one continues.
    keeps_learned : bool
        Whether the new history starts with the model learned in the old one.
    missing_outputs : MissingOutputs or None
        Outputs from `committed` on that are to be written again; None if none are missing.
    start : int or None
        First visible input offset at or after `position`, or the log's end: where the next row must come from.
    merger : LabelMerger or None
        Merges labels of the label topic from `position` on; None without such a topic.
    sharing : SharingState or None
        State of the model exchange; None if nothing is shared.
    relearned_at : int or None
        Offset after the last visible row below `committed`; None if that is the row before it.
    decided : bool
        Whether the result follows a decision of the user, or a fallback: it is committed at once, so that it is taken
        only once.
    new_topic : bool
        Whether outputs begin anew here: the input topic was recreated, somebody has set the committed offset, or the
        label topic has lost labels.
    read : InputRead or None
        What the state at `position` has read of the input; None if that state is in memory, or not known.
    expected : InputRead or None
        What the last commit had read, to be compared once its records are read again; None if there is nothing to.
    counted_at : int
        Offset after the last visible row of that commit.
    adoptions : tuple of PlanAdoption
        Where the rows from `position` on adopted the plans after the model's.
    relearned : dict
        Number of each of these plans -> its relearned models, as they are at its adoption.
    emitted : str or None
        Whose predictions were written up to `committed`; None: that is not known.
    emptied_plan : int
        Number of the plan that the partition had adopted, if a policy lets learners begin empty; else FIRST. They are
        those of that plan from `committed` on.
    """

    model: Model | None
    position: int
    committed: int
    pointer: Pointer | None
    note: str | None = None
    history_start: int | None = None
    keeps_learned: bool = False
    missing_outputs: MissingOutputs | None = None
    start: int | None = None
    merger: LabelMerger | None = None
    sharing: SharingState | None = None
    relearned_at: int | None = None
    decided: bool = False
    new_topic: bool = False
    read: InputRead | None = None
    expected: InputRead | None = None
    counted_at: int = 0
    adoptions: tuple[PlanAdoption, ...] = ()
    relearned: dict[int, Model] = field(default_factory=dict)
    emitted: str | None = CHAMPION_ONLY
    emptied_plan: int = FIRST

    @property
    def recorded_until(self) -> int:
        """Input offset up to which the log says which plans its rows have adopted."""
        return max(self.committed, 0 if self.missing_outputs is None else self.missing_outputs.until)


def outcome(start: int, committed: int) -> str:
    """What a policy does that learns from `start` on and emits from `committed` on."""
    learned = f"learns from {start} on and " if start < committed else ""
    return f"{learned}predicts from {committed} on"


def first_offset(settings: WorkerSettings, partition: int, low: int, high: int) -> int:
    """Where a group without committed offsets starts in a log that holds low..high.

    Raises
    ------
    CannotRestore
        The log does not hold the offset to start at.
    """
    if isinstance(settings.start, str):
        return low if settings.start == EARLIEST else high
    if not low <= settings.start <= high:
        raise CannotRestore(
            f"cannot start {settings.input}/{partition} at offset {settings.start}: the log holds {low} to {high}"
        )
    return settings.start

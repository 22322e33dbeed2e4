"""Snapshots in their topic: reassembled from chunks, with a list of chunks that belong to no complete snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from driftway.worker.admin.audit.diff import Mismatch
from driftway.worker.admin.audit.report import AuditTarget
from driftway.worker.admin.input_records import CountedState
from driftway.worker.kafka.log_reader.stream import MessageStream
from driftway.worker.settings import ModelSettings
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.emission import Emission
from driftway.worker.state.changelog.record_keys import (
    CLAIM_PREFIX,
    commit_record_key,
    is_emission_key,
    is_mark_key,
    is_order_key,
    is_plan_key,
    new_topic_key,
)
from driftway.worker.state.changelog.snapshot_assembler import SnapshotAssembler
from driftway.worker.state.changelog.snapshot_scan import read_mark
from driftway.worker.state.model import Model, SavedState
from driftway.worker.state.monitoring.monitors import newest_form
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, PlanAdoption
from driftway.worker.state.snapshot import BadSnapshot
from driftway.worker.state.stored_fields import LARGEST, Malformed

NO_ADOPTIONS: Mapping[int, PlanAdoption] = {}


@dataclass(frozen=True)
class CompleteSnapshot:
    """A complete and valid snapshot.

    Parameters
    ----------
    where : str
        Location of its first chunk as named in messages.
    first, chunks : int
        Offset of its first chunk, and the number of chunks.
    offset : int
        Input offset that it stands at.
    saved : SavedState
        Its content.
    taken_over : bool
        Whether its state was not learned from the rows of its history alone: `driftway snapshot import` wrote it, or
        the learner kept what it had learned before.
    began : int or None
        Input offset at which its learners started empty, if it is the first one of its history and that is known.
    plan : ModelPlan or None
        The plan of its models; None: the first.
    """

    where: str
    first: int
    chunks: int
    offset: int
    saved: SavedState
    taken_over: bool = False
    began: int | None = None
    plan: ModelPlan | None = None

    def emptied_after(self, begin: int) -> int:
        """Return where --on-restore-failure reset emptied learners before it, behind `begin`; LARGEST: nowhere."""
        return self.began if self.began is not None and begin < self.began <= self.offset else LARGEST

    def due_at(self, begin: int) -> int:
        """Return the next offset at which an audit from `begin` on does something about it."""
        return min(self.offset, self.emptied_after(begin))


class SnapshotReader:
    """Reads the complete snapshots of a partition, one at a time.

    Parameters
    ----------
    stream : MessageStream
        The partition's records in the snapshot topic.
    settings : ModelSettings
        The model that the snapshots must belong to.
    complete : callable
        Adds the states of models that begin from a file to the adoption of a plan.
    adoptions : mapping
        Number of each plan that the partition adopted before these records -> where.
    first_plan : int
        Number of the plan whose models the settings have; snapshots of earlier ones, which are not known, are skipped.
    """

    def __init__(
        self,
        stream: MessageStream,
        settings: ModelSettings,
        complete: Callable[[PlanAdoption], PlanAdoption] = lambda adoption: adoption,
        adoptions: Mapping[int, PlanAdoption] = NO_ADOPTIONS,
        first_plan: int = FIRST,
    ) -> None:
        self.stream, self._first_plan = stream, first_plan
        self.settings, self._complete = settings, complete
        self.form = newest_form(settings.target.task)
        """What the states have; not all of it in a history that an earlier version began."""
        self.orphans: list[str] = []
        """Locations of chunks that belong to no complete snapshot; compaction and at-least-once leave such chunks."""
        self.began: int | None = None
        """Input offset at which the learners started empty according to the workers' last mark; see `snapshot_scan`."""
        self.states: list[CountedState] = []
        """What the snapshots' states have read of the input, as far as they have been taken."""
        self.adoptions = {number: complete(adoption) for number, adoption in adoptions.items()}
        """Number of each plan that the partition adopted -> where, up to the snapshot taken last, or to the end."""
        self.emissions: dict[int, str] = {}
        """Input offset -> whose predictions are written from there on, up to the snapshot taken last, or to the end."""
        self._assembler = SnapshotAssembler[Any](stream.partition, self._orphaned)
        self._taken_over = False
        self._began: int | None = None

    @property
    def why_begins_later(self) -> str:
        """Why the audit cannot begin where the group did; empty if it can."""
        if self._first_plan > FIRST:
            return f", since the models before plan {self._first_plan} are not known"
        return "" if self.stream.first is None else ", since a new history began"

    def empty_model(self, target: AuditTarget, group: str) -> Model:
        """Make a model in its initial state."""
        model = Model(self.settings, target.partition, group)
        model.decoder.set_aside_from = target.set_aside_from
        model.continue_as(self.form)
        return model

    def take(self) -> CompleteSnapshot | None:
        """Return the next complete snapshot; None at the end.

        Raises
        ------
        Mismatch
            The snapshot is damaged or of another model.
        """
        while messages := self.stream.peek(1):
            message = messages[0]
            key, partition = message.key() or b"", self.stream.partition
            self.stream.drop(1)
            if self._is_beside_snapshots(message):
                continue
            if is_mark_key(key, partition):
                self._assembler.discard()
                self.began = self._began = read_mark(message.value())
                self._taken_over = self.began is None
                self.adoptions.clear()
                self.emissions.clear()
                continue
            group = self._assembler.take(message, message.key(), message.value() or b"")
            if group is not None:
                while (following := self.stream.peek(1)) and self._is_beside_snapshots(following[0]):
                    self.stream.drop(1)  # adoptions of plans are behind the snapshot of the same commit
                if (found := self._read(group.chunks)) is not None:
                    return found
        self._assembler.discard()
        return None

    def _is_beside_snapshots(self, message: Any) -> bool:
        """Whether a record is neither part of a snapshot nor a mark; what it says about plans and predictions is kept.

        Raises
        ------
        Mismatch
            It says where a plan was adopted, or whose predictions are written, and cannot be read.
        """
        key, partition = message.key() or b"", self.stream.partition
        if is_plan_key(key, partition):
            try:
                adoption = self._complete(PlanAdoption.parse(message.value()))
            except Malformed as error:
                raise Mismatch(f"{self._at(message)}: expected where a plan was adopted, found: {error}") from None
            self.adoptions[adoption.plan.number] = adoption
            return True
        if is_emission_key(key, partition):
            try:
                change = Emission.parse(message.value())
            except Malformed as error:
                raise Mismatch(f"{self._at(message)}: expected whose predictions are written, found: {error}") from None
            self.emissions[change.offset] = change.emit
            return True
        others = commit_record_key(partition), new_topic_key(partition)
        return key in others or key.startswith(CLAIM_PREFIX) or is_order_key(key, partition)

    def _read(self, chunks: list[Any]) -> CompleteSnapshot | None:
        """Parse a snapshot; None if its models are of a plan that is not known."""
        where = self._at(chunks[0])
        blob = b"".join([chunk.value() or b"" for chunk in chunks])
        first = snapshot.read_snapshot_header(blob)
        if first is not None and first.plan_number < self._first_plan:
            return None
        try:
            model, saved, offset, header = snapshot.read_planned(
                blob, lambda plan: Model(self.settings, self.stream.partition, plan=plan)
            )
        except BadSnapshot as error:
            raise Mismatch(f"{where}: expected a snapshot of this model, found: {error}") from None
        if header is not None:
            self.states.append(CountedState(offset, header.read))
        events, read = self.settings.events, model.settings.events
        if events is not None and read is not None:  # from before units, values keep their meaning
            self.settings = replace(self.settings, events=replace(events, reading=read.reading))
        self.form = model.form
        taken_over, self._taken_over = self._taken_over, False
        began, self._began = self._began, None
        plan = None if header is None else header.plan
        return CompleteSnapshot(where, chunks[0].offset(), len(chunks), offset, saved, taken_over, began, plan)

    def _orphaned(self, chunks: list[Any]) -> None:
        self.orphans += map(self._at, chunks)

    def _at(self, message: Any) -> str:
        return f"{self.stream}@{message.offset()}"

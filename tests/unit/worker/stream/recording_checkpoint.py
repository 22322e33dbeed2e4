"""Tasks without a broker: `RecordingCheckpoint` keeps commits in memory and does not imitate Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from driftway.learners import Spec
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.stream.task.committing.commit_request import CommitRequest
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.task import Task
from tests.unit.worker.rows import model_settings

QUICK = Spec.parse("ddm:min_n=5,warn=0.2,drift=0.5")
MODEL = model_settings(
    "dfop:mu=0.01", "no_change", detectors=(QUICK, Spec.parse("hddm_w:drift_conf=0.5,warn_conf=0.6"))
)


class RecordingCheckpoint:
    """A checkpoint that records outputs and commits."""

    def __init__(self) -> None:
        self.open = False
        self.bytes_since_snapshot = 0
        self.pending: list[Outputs] = []
        self.committed: list[Outputs] = []
        self.commits: list[tuple[int, bytes | None]] = []
        self.discarded = 0
        self.step = Step.COMMITTED

    def has_lost_coordinator(self, broker_left_at: float) -> bool:
        return False

    def acquire(self, deadline: Deadline) -> None:
        """Do nothing: there is no other producer to fence."""

    def produce(self, outputs: Outputs) -> None:
        self.open = True
        self.pending.append(outputs)
        self.bytes_since_snapshot += sum(map(len, outputs.predictions))

    def commit(
        self,
        request: CommitRequest,
        group_metadata: Any,
        deadline: Deadline,
        before_last: Callable[[], None] = lambda: None,
    ) -> Pointer | None:
        before_last()
        self.committed += self.pending
        self.pending, self.open = [], False
        self.commits.append((request.record.offset, request.snapshot))
        if request.snapshot is not None:
            self.bytes_since_snapshot = 0
        own = Pointer(len(self.commits), 1, request.record.offset)
        return request.record.pointer if request.snapshot is None else own

    def close_producer(self) -> None:
        self.discarded += 1
        self.pending, self.open = [], False


def worker_settings(**more: Any) -> WorkerSettings:
    return WorkerSettings("nowhere:1", "EVENTS", "g", MODEL, **more)


def new_task(
    position: int = 0, committed: int = 0, model: Model | None = None, **more: Any
) -> tuple[Task, RecordingCheckpoint]:
    """Return a task that was just restored, by default at the beginning of the log, and its checkpoint."""
    checkpoint = RecordingCheckpoint()
    task = Task(worker_settings(**more), 3, checkpoint)
    pointer = Pointer(0, 1, position) if model is not None else None
    task.restore_from(RestoreResult(model or Model(MODEL, 3), position, committed, pointer))
    return task, checkpoint

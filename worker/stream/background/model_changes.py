"""Background work that changes a group's models: plans are read, models relearned, challengers promoted."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from driftway.worker.settings import WorkerSettings
from driftway.worker.state.plans.model_plan import ModelPlan
from driftway.worker.stream.background.plan_reader import PlanReader
from driftway.worker.stream.background.promoter import Promoter
from driftway.worker.stream.background.relearners import Relearners
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.task.task import Task
from driftway.worker.stream.warm_up import KernelPreparation


class ModelChanges:
    """The threads that change models.

    Parameters
    ----------
    settings, event_log, metrics
        The worker's.
    tasks : mapping
        Partition -> its task.
    """

    def __init__(
        self, settings: WorkerSettings, event_log: EventLog, metrics: WorkerMetrics, tasks: Mapping[int, Task]
    ) -> None:
        self._tasks = tasks
        self._plans, self._relearners = PlanReader(settings, event_log), Relearners(settings, event_log)
        self._promoter = Promoter(settings, event_log, metrics, self._plans, tasks)

    @property
    def plans(self) -> list[ModelPlan]:
        """As `PlanReader.ready`."""
        return self._plans.ready

    def prepare(self, has_plans: bool, cancelled: Callable[[], bool], kernels: KernelPreparation | None = None) -> int:
        """As `PlanReader.prepare`."""
        return self._plans.prepare(has_plans, cancelled, kernels)

    def begin(self) -> None:
        """Go on beside the loop."""
        self._plans.begin()
        self._promoter.begin()

    def follow(self) -> None:
        """Between two turns of the loop: relearn what the tasks' next plans ask for."""
        self._relearners.prepare(self._tasks.values())

    def close(self) -> None:
        """End the threads, and close their clients."""
        for one in (self._promoter, self._plans, self._relearners):
            one.close()

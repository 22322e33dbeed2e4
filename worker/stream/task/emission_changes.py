"""Which models' predictions a task writes: as the options say, or as earlier owners did for their missing outputs."""

from __future__ import annotations

from dataclasses import replace

from driftway.worker.settings import WorkerSettings
from driftway.worker.settings.option_values import EVERY_MODEL
from driftway.worker.state.changelog.emission import Emission
from driftway.worker.state.model import Model
from driftway.worker.stream.task.restoring.restore_result import RestoreResult


class EmissionChanges:
    """What a task writes, and the changes that it has still to record.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._emit, self._challengers = settings.model.emit, settings.topics.challengers
        self._before: str | None = None
        self._until = 0
        self.uncommitted: tuple[Emission, ...] = ()
        """Changes that no commit has recorded yet."""

    def restart(self, found: RestoreResult, model: Model) -> None:
        """Begin again after a restore; `model` is the one that goes on."""
        repair = found.missing_outputs
        self.uncommitted = () if repair is None else repair.unrecorded
        self._before = self.uncommitted[-1].emit if self.uncommitted else found.emitted
        self._until = 0 if repair is None else repair.until
        again = repair is not None and self._challengers in repair.present
        self._set(model, EVERY_MODEL if again else self._emit)

    def continue_at(self, offset: int, model: Model) -> None:
        """Note that outputs are written from an offset on; nothing changes before former outputs are complete."""
        if offset < self._until:
            return
        if self._before != self._emit:
            self.uncommitted += (Emission(offset, self._emit),)
        self._before = self._emit
        self._set(model, self._emit)

    def committed(self, recorded: tuple[Emission, ...]) -> None:
        """Forget what a commit has recorded."""
        self.uncommitted = tuple(change for change in self.uncommitted if change not in recorded)

    def _set(self, model: Model, emit: str) -> None:
        if model.settings.emit != emit:
            model.settings = replace(model.settings, emit=emit)

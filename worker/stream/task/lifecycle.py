"""The states of a task, and the moves between them.

                 assigned            restored            reached C
    (nothing) ───────────► CREATED ───────────► RESTORING ─────────► RUNNING
                              ▲                     │                   │
                              └──── anything failed ┴───────────────────┤
                                                                        │ revoked, lost
                                                                        ▼
                                                                     CLOSED

CREATED: the partition is paused while `driftway.worker.stream.task.restoring.restore` runs in the background.
RESTORING: rows from the snapshot to the committed offset are learned and not emitted. RUNNING: rows are predicted,
learned and emitted; if the restore found outputs of committed rows missing, these are emitted first.

A failed commit leads back to CREATED too, and the log says whether it happened. If it did not, the task continues from
the state of the previous commit, which it keeps in memory; otherwise from the snapshot.
"""

from __future__ import annotations

import enum


class State(enum.Enum):
    """A state of a task."""

    CREATED = "created"
    RESTORING = "restoring"
    RUNNING = "running"
    CLOSED = "closed"

    def followed_by(self, state: State) -> State:
        """Return the state that follows.

        Raises
        ------
        RuntimeError
            There is no such move.
        """
        if state not in NEXT[self]:
            raise RuntimeError(f"a task cannot go from {self.value} to {state.value}")
        return state


NEXT = {
    State.CREATED: {State.RESTORING, State.CLOSED},
    State.RESTORING: {State.RUNNING, State.CREATED, State.CLOSED},
    State.RUNNING: {State.CREATED, State.CLOSED},
    State.CLOSED: set[State](),
}
"""State -> those that may follow it."""

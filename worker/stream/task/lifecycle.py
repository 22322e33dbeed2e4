"""The states of a task and the arrows between them; `driftway.worker.stream.task.task` draws them."""

from __future__ import annotations

import enum


class State(enum.Enum):
    """See the diagram in `driftway.worker.stream.task.task`."""

    CREATED = "created"
    RESTORING = "restoring"
    RUNNING = "running"
    CLOSED = "closed"


NEXT = {
    State.CREATED: {State.RESTORING, State.CLOSED},
    State.RESTORING: {State.RUNNING, State.CREATED, State.CLOSED},
    State.RUNNING: {State.CREATED, State.CLOSED},
    State.CLOSED: set[State](),
}

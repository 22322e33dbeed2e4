"""Features of a model that was learned from events of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftway.library.columns import Columns
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import write_json
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records


class EventColumns(Columns):
    """The features of events as they are on a topic, read by a model file's schema.

    Missing values are filled in as they were when the file was written.

    Parameters
    ----------
    model : Model
        Of the file; its decoder and imputer are used.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model.columns, len(model.columns))
        self._model = model

    def state(self) -> tuple[tuple[str, ...] | None, int]:
        raise ValueError("this model reads events of a schema: load its file again instead of copying it")

    def row(self, x: Any) -> Any:
        """Return the numbers of an event: a dict, or JSON in bytes."""
        event = x if isinstance(x, bytes) else write_json(x)
        filled = self._model.imputer
        before = b"" if filled is None else filled.state.memory.tobytes()
        batch = self._model.decode(Records.of_values(ListColumn([event])))
        if filled is not None:
            filled.state.memory[:] = np.frombuffer(before, np.uint8)
        if batch.rejected and not batch.rejected[0].set_aside:
            raise ValueError(f"the event cannot be used: {batch.rejected[0].reason}")
        return batch.X[0]

    def table(self, X: Any) -> Any:
        """Return the rows of a list of events, or of a table of the columns that the schema makes of them."""
        if isinstance(X, list | tuple) and len(X) and isinstance(X[0], Mapping | bytes):
            return np.array([self.row(x) for x in X])
        return super().table(X)

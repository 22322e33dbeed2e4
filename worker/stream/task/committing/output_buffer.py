"""Outputs of rows that are learned while their partition's commit is in flight; they belong to the next transaction."""

from __future__ import annotations

from driftway.worker.kafka.consumer_columns import TURN_MESSAGES
from driftway.worker.state.outputs import Outputs

MAX_BUFFERED_ROWS, MAX_BUFFERED_BYTES = 2 * TURN_MESSAGES, 32 * 2**20
"""Rows that a partition may learn while its commit is in flight, and bytes of their outputs."""


class OutputBuffer:
    """One partition's buffered outputs."""

    def __init__(self) -> None:
        self._outputs: list[Outputs] = []

    @property
    def rows(self) -> int:
        """Number of rows whose outputs are buffered."""
        return sum(outputs.rows for outputs in self._outputs)

    def append(self, outputs: Outputs) -> None:
        """Add the outputs of a batch."""
        self._outputs.append(outputs)

    def take(self) -> list[Outputs]:
        """Return the outputs, in the order in which they came, and empty the buffer."""
        taken, self._outputs = self._outputs, []
        return taken

    def holds_too_much(self, most: float) -> bool:
        """Whether the partition has to wait for its commit in flight; `most`: rows that a transaction may have."""
        size = sum(outputs.nbytes for outputs in self._outputs)
        return self.rows > min(MAX_BUFFERED_ROWS, most) or size > MAX_BUFFERED_BYTES

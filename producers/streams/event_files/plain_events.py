"""A file of events in the plain form ``{"x": .., "y": ..}`` as a stream of numbers, decoded as a worker does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Stream, reblock
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import CLASSIFICATION, NOT_JSON, NOT_OBJECT, REGRESSION, Records, Target

LONGEST_SHOWN = 60
LOOKED_AT = 100
"""Events among which one must be in the plain form."""


class PlainEvents(Stream):
    """The rows of a file of events; the first good event fixes the features.

    All features of an event that a worker would reject are infinite.

    Parameters
    ----------
    file : EventFile
        The events.
    labels : sequence of str or None
        Class names in index order; None: labels are numbers.
    how_else : str
        How to read events of another form, for an error message.

    Raises
    ------
    UsageFailure
        The first events are not in the plain form.
    """

    label_name = "y"

    def __init__(self, file: EventFile, labels: Sequence[str] | None, how_else: str) -> None:
        self._file = file
        self.labels = None if labels is None else tuple(labels)
        self.task = None if labels is None else "classification"
        # Without names of classes a label may be any number, also the index of a class.
        self._target = Target(REGRESSION, 0) if labels is None else Target(CLASSIFICATION, len(labels), tuple(labels))
        self.reasons: dict[int, str] = {}
        """Row -> why its event, or only its label, cannot be used, in the events read last."""
        decoder = Decoder(self._target, lenient=True)
        first = next(file.blocks(LOOKED_AT), None)
        if first is None:
            raise UsageFailure(f"{file.name} has no rows")
        rejected = decoder.decode(Records.of_values(first)).rejected
        self._schema = decoder.schema
        if self._schema is None:
            if all(one.reason.startswith((NOT_JSON, NOT_OBJECT)) for one in rejected):
                shown = (first[0] or b"")[:LONGEST_SHOWN].decode(errors="replace")
                raise UsageFailure(f"{file.name} must have a JSON object per line; its first line is {shown!r}")
            raise UsageFailure(how_else)
        self.name, self.notes, self.source = file.name, file.notes, f"file {file.name}"
        names = self._schema.names
        self.feature_names = names or tuple(f"x{i}" for i in range(self._schema.n_features))

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        return reblock(self._decoded(), size)

    def _decoded(self) -> Iterator[Block]:
        decoder, first = Decoder(self._target, self._schema, lenient=True), 0
        for values in self._file.blocks():
            batch = decoder.decode(Records.of_values(values, first))
            self.reasons = {bad.offset: bad.reason for bad in batch.rejected}
            X, y = np.full((len(values), self.n_features), np.inf), np.full(len(values), np.nan)
            X[batch.offsets - first], y[batch.offsets - first] = batch.X, batch.y
            first += len(values)
            yield Block(X, y)

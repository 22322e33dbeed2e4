"""The interface of every file of events: JSON texts, one per row, independent of formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from driftway.producers.streams.stream import BLOCK_ROWS
from driftway.worker.wire.columns import BytesColumn, ListColumn


class EventFile(ABC):
    """A finite sequence of events, the same on each read and for any block size.

    Attributes
    ----------
    name : str
        Name given by the user.
    rows : int or None
        Length, if known without reading everything.
    columns : tuple of str or None
        Names of the fields of every event, if the file has columns.
    notes : tuple of str
        What was guessed about the file or left out, in words.
    """

    name: str = ""
    rows: int | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    @abstractmethod
    def chunks(self) -> Iterator[list[bytes]]:
        """The events from the first one on, in lists of any length.

        Raises
        ------
        UsageFailure
            The file cannot be read.
        """

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[BytesColumn]:
        """The events from the first one on, in blocks of `size`; the last one may be shorter.

        Raises
        ------
        UsageFailure
            The file cannot be read.
        """
        held: list[bytes] = []
        for chunk in self.chunks():
            held += chunk
            while len(held) >= size:
                yield ListColumn(held[:size])
                held = held[size:]
        if held:
            yield ListColumn(held)

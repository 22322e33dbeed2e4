"""What every file of events is: JSON texts, one per row. No format belongs here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from driftway.producers.streams.stream import BLOCK_ROWS
from driftway.worker.wire.columns import BytesColumn, ListColumn


class EventFile(ABC):
    """A finite sequence of events that reads the same each time and however it is cut into blocks.

    Attributes
    ----------
    name : str
        What the user called it.
    rows : int or None
        Length, where it is known without reading everything.
    columns : tuple of str or None
        Names of what every event has, where the file has columns.
    """

    name: str = ""
    rows: int | None = None
    columns: tuple[str, ...] | None = None

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

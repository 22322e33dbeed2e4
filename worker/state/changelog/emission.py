"""Which models' predictions a partition writes: a record for each input offset from which on this changes.

`--emit` is not part of the state, so a group may start with another value than before. Each partition then changes at
the offset where it continues, and records this in the transaction of the first rows that it affects. Each record has
its own key, so compaction keeps it. From these records, an audit, and a restore that writes outputs again, know what
earlier workers wrote. Without a record, only the champion's predictions are written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftway.worker.settings.option_values import CHAMPION_ONLY, EMITTED, EVERY_MODEL
from driftway.worker.state.stored_fields import Malformed, StoredFields
from driftway.worker.wire.codec import write_json
from driftway.worker.wire.columns import Integers


def emitted_of(fields: StoredFields) -> str:
    """Return whose predictions a stored object says that are written.

    Raises
    ------
    Malformed
        It says something else.
    """
    emit = fields.text("emit")
    if emit not in EMITTED:
        raise Malformed(f"emit is {emit}, not one of {', '.join(EMITTED)}")
    return emit


@dataclass(frozen=True)
class Emission:
    """The models whose predictions are written for the rows from an input offset on.

    Parameters
    ----------
    offset : int
        The input offset.
    emit : str
        CHAMPION_ONLY or EVERY_MODEL.
    """

    offset: int
    emit: str

    def write(self) -> bytes:
        """The record in the snapshot topic."""
        return write_json({"offset": self.offset, "emit": self.emit})

    @classmethod
    def parse(cls, value: bytes | None) -> Emission:
        """Parse such a record.

        Raises
        ------
        Malformed
            It is none.
        """
        fields = StoredFields.parse(value, "it")
        return cls(fields.integer("offset"), emitted_of(fields))


class Emissions:
    """The models whose predictions are written for each row of a history.

    Parameters
    ----------
    changes : mapping
        Input offset -> whose from there on.
    """

    def __init__(self, changes: Mapping[int, str]) -> None:
        self._begins = sorted(changes)
        self._emitted = [CHAMPION_ONLY, *(changes[offset] for offset in self._begins)]

    def at(self, offset: int) -> str:
        """Return whose prediction is written for the row at an offset."""
        return self._emitted[bisect_right(self._begins, offset)]

    def next_change(self, offset: int) -> int | None:
        """Return the offset of the first change behind an offset; None if there is none."""
        return next((begin for begin in self._begins if begin > offset), None)

    def every_model(self, offsets: Integers) -> NDArray[np.bool_]:
        """Return for which rows all models' predictions are written, bool[n] of offsets i8[n]."""
        every = np.array([emit == EVERY_MODEL for emit in self._emitted])
        found: NDArray[np.bool_] = every[np.searchsorted(self._begins, offsets, side="right")]
        return found

"""The pointer to a partition's newest snapshot, which a commit writes with the offset."""

from __future__ import annotations

import re
from dataclasses import dataclass

from driftway.worker.state.stored_fields import LARGEST

AT_LEAST_ONCE_SUFFIX = ":plain"
"""Ends a pointer without a commit record: at-least-once has no transaction that could hold both."""


@dataclass(frozen=True)
class Pointer:
    """Where a partition's newest snapshot is: kept in the metadata text of the committed offset.

    Parameters
    ----------
    first : int
        Offset of the first chunk in the snapshot topic.
    chunks : int
        Number of chunks, at consecutive records.
    state_offset : int
        S, the input offset of the state.
    """

    first: int
    chunks: int
    state_offset: int

    def text(self) -> str:
        """The pointer as metadata text."""
        return f"driftway1:{self.first}:{self.chunks}:{self.state_offset}"

    @classmethod
    def parse(cls, text: str | None) -> Pointer | None:
        """Parse metadata text; None if it is not a pointer (someone else committed the offset)."""
        number = "([0-9]{1,19})"
        pattern = rf"driftway1:{number}:{number}:{number}(?:{AT_LEAST_ONCE_SUFFIX}(:.*)?)?"
        found = re.fullmatch(pattern, text or "")
        numbers = [] if found is None else [int(one) for one in found.groups()[:3]]
        return cls(*numbers) if numbers and max(numbers) <= LARGEST else None

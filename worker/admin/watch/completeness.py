"""Check that every input offset has exactly one outcome: a prediction or a rejection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST = 255
"""Counts of one offset saturate here."""


@dataclass(frozen=True)
class PartitionCount:
    """Counts of one partition's outcomes.

    Parameters
    ----------
    partition, end : int
        Partition of the input, and its end offset.
    predicted, rejected : int
        Number of predictions and rejections read.
    missing, repeated : int
        Input offsets below `end` without an outcome, and with more than one.
    beyond : int
        Outcomes of offsets at or after `end`.
    """

    partition: int
    end: int
    predicted: int
    rejected: int
    missing: int
    repeated: int
    beyond: int

    @property
    def exact(self) -> bool:
        """Whether every input offset has exactly one outcome."""
        return not (self.missing or self.repeated or self.beyond)


class OutcomeCounter:
    """Counts outcomes per input offset; the input must start at offset 0 and have no gaps."""

    def __init__(self) -> None:
        self._counts: dict[int, bytearray] = {}
        self._rejected: dict[int, int] = {}
        self._total = 0

    @property
    def total(self) -> int:
        """Outcomes read so far."""
        return self._total

    def count(self, partition: int, offset: int, rejected: bool = False) -> None:
        """Count one outcome."""
        counts = self._counts.setdefault(partition, bytearray())
        if offset >= len(counts):
            counts.extend(bytes(offset + 1 - len(counts)))
        counts[offset] = min(MOST, counts[offset] + 1)
        self._rejected[partition] = self._rejected.get(partition, 0) + rejected
        self._total += 1

    def complete(self, ends: Mapping[int, int]) -> bool:
        """Whether every offset below its partition's end has an outcome."""
        return all(
            not self._counts.get(p, b"").count(0) and len(self._counts.get(p, b"")) >= n for p, n in ends.items()
        )

    def partition_counts(self, ends: Mapping[int, int]) -> list[PartitionCount]:
        """The counts of each partition of the input; `ends` maps partitions to end offsets."""
        found = []
        for partition, end in sorted(ends.items()):
            counts = self._counts.get(partition, bytearray())
            inside, outside = counts[:end], counts[end:]
            rejected = self._rejected.get(partition, 0)
            found.append(
                PartitionCount(
                    partition,
                    end,
                    sum(counts) - rejected,
                    rejected,
                    missing=inside.count(0) + max(0, end - len(counts)),
                    repeated=len(inside) - inside.count(0) - inside.count(1),
                    beyond=sum(outside),
                )
            )
        return found

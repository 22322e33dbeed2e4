"""What a kind of learner has to offer so that it can be led through rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from learners.batch.sample import Ids, Sample

RUN, LONGEST = 0, 1
"""Places in `survival`: rows that the present hypothesis got right in a row, and the most that one before it did."""


class Passes(Protocol):
    """How a kind of learner goes through rows. Ids count rows of the problem; a mistake is y != the class predicted."""

    def visit(self, sample: Sample, most: int, revisit: bool) -> tuple[int, int, int]:
        """As `Online.visit`; the end of what was kept, the place of what was not visited, and the mistakes."""

    def follow(self, draws: Ids, first: int, survival: NDArray[np.int64]) -> tuple[int, int]:
        """As `Online.follow`."""

    def errors(self) -> int:
        """Rows of the problem that the learner, as it stands, mistakes. Changes nothing."""

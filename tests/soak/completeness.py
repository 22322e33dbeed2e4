"""Check, while reading and in bounded memory, that every input offset of a partition is output once and in order."""

from __future__ import annotations

MAX_HOLES = 1_000_000
"""Most skipped offsets that are remembered; any beyond these that arrive late are counted as duplicates."""
TOLD = 5


class Completeness:
    """Tracks the input offsets of one partition's predictions and rejections.

    The two topics are read in parallel, so a rejection may be seen before or after the predictions around it. Within
    each topic the offsets must increase.
    """

    def __init__(self) -> None:
        self.predicted = 0
        self.rejected = 0
        self.duplicates = 0
        self.disordered = 0
        self.complaints: list[str] = []
        """The first TOLD complaints."""
        self._wrong: int | None = None
        self._last_predicted = -1
        self._last_rejected = -1
        self._holes: set[int] = set()
        self._early: set[int] = set()

    @property
    def accounted(self) -> int:
        """Input offsets seen, each counted once."""
        return self.predicted + self.rejected

    def predict(self, offset: int) -> None:
        """Record a visible prediction of this input offset."""
        last = self._last_predicted
        if offset <= last:
            self._predict_late(offset)
            return
        passed = range(last + 1, offset)
        if len(self._holes) + len(passed) <= MAX_HOLES:
            self._holes.update(o for o in passed if o not in self._early)
        rejected = offset in self._early
        self._early = {o for o in self._early if o > offset} if self._early else self._early
        self._last_predicted = offset
        if rejected:
            self._duplicate(offset, "predicted, and rejected before")
        else:
            self.predicted += 1

    def reject(self, offset: int) -> None:
        """Record a visible rejection of this input offset."""
        known = offset in self._early or (offset <= self._last_predicted and offset not in self._holes)
        if known:
            self._duplicate(offset, "rejected, and accounted for before")
            return
        if offset <= self._last_rejected:
            self.disordered += 1
            self._complain(offset, f"{offset} is rejected after {self._last_rejected}")
        self._last_rejected = max(offset, self._last_rejected)
        self.rejected += 1
        if offset > self._last_predicted:
            self._early.add(offset)
        else:
            self._holes.discard(offset)

    def gaps(self, end: int) -> int:
        """Return how many offsets before `end` have not been seen; negative if offsets beyond it were seen."""
        return end - self.accounted

    def first_gap(self, end: int) -> int | None:
        """Return the first offset before `end` that has not been seen, as far as that is remembered."""
        after = self._last_predicted + 1
        while after in self._early:
            after += 1
        first = min(self._holes, default=after)
        return first if first < end else None

    def first_difference(self, end: int) -> int | None:
        """Return the lower of the first missing offset before `end` and the first one found duplicate or disordered."""
        found = [offset for offset in (self.first_gap(end), self._wrong) if offset is not None]
        return min(found, default=None)

    def _predict_late(self, offset: int) -> None:
        if offset in self._holes:
            self._holes.discard(offset)
            self.predicted += 1
            self.disordered += 1
            self._complain(offset, f"{offset} is predicted after {self._last_predicted}")
        else:
            self._duplicate(offset, "predicted, and accounted for before")

    def _duplicate(self, offset: int, what: str) -> None:
        self.duplicates += 1
        self._complain(offset, f"{offset} twice: {what}")

    def _complain(self, offset: int, sentence: str) -> None:
        self._wrong = offset if self._wrong is None else self._wrong
        if len(self.complaints) < TOLD:
            self.complaints.append(sentence)

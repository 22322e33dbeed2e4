"""A partition's learners among those of the others: when they meet, what they have heard by then, what is written down.

They meet behind every `rows` labelled rows, unless what they told last is not out yet: so the broker sets the pace of a
fast stream, and nobody averages with what has not heard of him. When that is, and what had come from others, is chance.
It is written down in the transaction of the rows, so that whoever goes through the rows again repeats it to the bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.averaging.exchange import Exchange, Heard, Told
from driftway.learners.engine.state import State
from driftway.learners.learner import Learner
from driftway.worker.errors import CannotRestore
from driftway.worker.settings.option_values import GOSSIP, Share
from driftway.worker.state.model_sharing.exchange_record import Minute, chronicle

Box = dict[int, tuple[Told | None, ...]]
"""Partition -> what its learners have told."""
Witness = Callable[[Minute, int, tuple[Exchange, ...], int], None]
"""Called with a meeting that is repeated, an exchange's place, all of them before it, and rows since they told."""


def heard_by(partition: int, partitions: int, share: Share) -> set[int]:
    """Whom a partition hears: all others, or in gossip the next and the previous one on a ring of all."""
    steps = (1, partitions - 1) if share.method == GOSSIP else range(partitions)
    return {(partition + step) % partitions for step in steps} - {partition}


def neighbour_share(partition: int, partitions: int, share: Share) -> float:
    """What of each neighbour's belief is taken in (Metropolis weights of a ring, ALGORITHMS.md 15.2); 0: no gossip."""
    return 1.0 / (1 + len(heard_by(partition, partitions, share))) if share.method == GOSSIP else 0.0


def fold(box: Box, exchanges: Collection[Exchange], minute: Minute) -> None:
    """Put what a partition has told to what it told before."""
    before = box.get(minute.partition, (None,) * len(minute.told))
    pairs = zip(exchanges, before, minute.told, strict=True)
    box[minute.partition] = tuple(was if one is None else to.fold(was, one) for to, was, one in pairs)


def hear(exchange: Exchange, j: int, since: int, box: Box, neighbour: float) -> Heard | None:
    """What exchange number `j`, that told `since` rows ago, is to take in of a box; in the order of the partitions."""
    told = [parts[j] for _, parts in sorted(box.items())]
    return exchange.hear(since, [one for one in told if one is not None], neighbour)


class Meeting(NamedTuple):
    """Where learners meet."""

    row: int
    """Behind so many rows of the batch."""
    rows: int
    """Labelled rows so far."""
    since: int
    """Labelled rows since they told last."""
    minute: Minute | None
    """What is to be repeated; None: they meet for the first time."""


class Talk:
    """The talk of one partition's learners with those of the other partitions.

    Parameters
    ----------
    share : Share
        How, and how often.
    partition : int
        Whose learners these are.
    """

    def __init__(self, share: Share, partition: int) -> None:
        self._share, self._partition = share, partition
        self._exchanges: dict[int, Exchange] = {}
        """By the learner's number."""
        self.model = ""
        """Short for what the learners are: those with the same understand each other."""
        self._state = State({"talk.number": ("i8", (1,)), "talk.rows": ("i8", (1,)), "talk.told_at": ("i8", (1,))})
        self._log: list[bytes | None] = []
        self._from = 0
        self._plan: deque[Minute] | None = None
        """What is to be repeated first; None: not read yet."""
        self._partitions = 1
        self._live = self._waits = False
        """Whether learners may meet for the first time, and whether what they told last is not out yet."""
        self._box: Box = {}
        """What others have told since the last meeting."""
        self.next: dict[int, int] = {}
        """Partition -> offset in the topic of what is to be heard next of it; those not named from the beginning."""
        self._times: dict[int, int] = {}
        self.oldest: int | None = None
        """When the partition had told that had not told for longest, of those heard at the last meeting, ms."""
        self.refused = self.unlike = 0
        """Beliefs that could not be taken in, and records of other learners than these."""
        self.witness: Witness | None = None
        """Who has to see what is repeated."""
        self._meetings: list[Meeting] = []
        """Of the batch."""
        self._met: list[list[tuple[Heard | None, Told | None]]] = []
        """Of each meeting what every exchange took in, and told."""

    # What is remembered.

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Those of the learners that share."""
        return tuple(self._exchanges.values())

    @property
    def number(self) -> int:
        """Meetings so far."""
        return int(self._state["talk.number"][0])

    def figures(self) -> dict[str, int]:
        """How it goes, for the endpoint."""
        return {"meetings": self.number, "refused": self.refused, "unlike": self.unlike}

    def fresh(self) -> Talk:
        """One that has not met anybody yet."""
        made = Talk(self._share, self._partition)
        made.witness = self.witness
        return made

    def attach(self, learners: Sequence[Learner], first: int, model: str) -> None:
        """Speak for those from number `first` on that have something to share; `model` is short for what all are."""
        gossip = self._share.method == GOSSIP
        speaking = [(i, one) for i, one in enumerate(learners) if i >= first and one.sharing is not None]
        self._exchanges = {i: Exchange(one, gossip) for i, one in speaking}
        self.model = model

    def parts(self) -> list[NDArray[np.uint8]]:
        """The state: what learners believed when they told last, and how many rows ago."""
        return [self._state.memory, *(exchange.state.memory for exchange in self._exchanges.values())]

    def repeat(self, log: Sequence[bytes | None], offset: int) -> None:
        """Go through meetings once more, from an input offset on, before any new one; and no new one until `open`.

        Parameters
        ----------
        log : sequence of bytes or None
            The partition's records, in their order.
        offset : int
            Where the state stands; earlier meetings are over, or of a history that is.
        """
        self._log, self._from, self._plan = list(log), offset, None
        self._live = self._waits = False
        self._box.clear()
        self._times.clear()

    def open(self, partitions: int, ends: dict[int, int]) -> None:
        """Meet others from the end of what is repeated on.

        Parameters
        ----------
        partitions : int
            How many there are.
        ends : dict
            Partition -> offset in the topic behind what was heard of it, and behind its own last record.
        """
        self._partitions, self._live, self.next = partitions, True, dict(ends)

    def grow(self, partitions: int) -> None:
        """Hear so many partitions, if these are more than before."""
        self._partitions = max(self._partitions, partitions)

    # Others.

    @property
    def listens(self) -> bool:
        """Whether it wants to hear what others tell, and can read it."""
        return self._live and bool(self._exchanges)

    @property
    def everybody(self) -> range:
        """All partitions, its own too: there it hears that what it has told is out."""
        return range(self._partitions)

    def read(self, value: bytes) -> Minute | None:
        """A record of the topic; None if it is of learners that these do not understand. `model` decides."""
        return Minute.read(value, [exchange.like for exchange in self.exchanges])

    def listen(self, partition: int, offset: int, minute: Minute | None, time: int) -> None:
        """Take a record of the topic, as `read` gives it, at `time` ms; what has come before is ignored."""
        if offset < self.next.get(partition, 0) or not self._exchanges:
            return
        self.next[partition] = offset + 1
        if minute is None or minute.model != self.model:
            self.unlike += 1
        elif partition == self._partition:
            self._waits &= minute.number < self.number
        elif partition in heard_by(self._partition, self._partitions, self._share):
            fold(self._box, self._exchanges.values(), minute)
            self._times[partition] = time

    # Meetings.

    def begin(self, y: NDArray[np.float64], emit: bool) -> None:
        """Find where learners meet within a batch, y f8[n]; without `emit` only where they did before.

        Raises
        ------
        CannotRestore
            What was taken in there is not known any more.
        """
        self._meetings, self._met = [], []
        if not self._exchanges:
            return
        counts = np.cumsum(~np.isnan(y))
        before, told_at = int(self._state["talk.rows"][0]), int(self._state["talk.told_at"][0])
        last = before + (int(counts[-1]) if len(counts) else 0)
        found = list[Meeting]()
        plan = self._planned()
        while plan and plan[0].rows <= last:
            minute = plan.popleft()
            found.append(Meeting(self._row(counts, minute.rows - before), minute.rows, minute.rows - told_at, minute))
            told_at = minute.rows
        if emit and self._live and not self._waits and not plan:
            every = self._share.rows
            rows = (max(before, told_at) // every + 1) * every
            if rows <= last:
                found.append(Meeting(self._row(counts, rows - before), rows, rows - told_at, None))
        self._meetings, self._met = found, [[] for _ in found]
        self._state["talk.rows"][0] = last

    @staticmethod
    def _row(counts: NDArray[np.int64], labelled: int) -> int:
        return int(counts.searchsorted(labelled)) + 1

    def _planned(self) -> deque[Minute]:
        """What is to be repeated, once it is known how to read it."""
        if self._plan is None:
            written = chronicle(self._log, [exchange.like for exchange in self._exchanges.values()])
            self._plan = deque(one for one in written if one.number > self.number and one.offset >= self._from)
            self._log = []
            if self._plan and self._plan[0].number != self.number + 1:
                raise CannotRestore(
                    f"partition {self._partition}: what its learners took in of others at meeting {self.number + 1} is "
                    f"not known any more, its log begins at {self._plan[0].number}"
                )
        return self._plan

    def stretches(self, i: int, n: int) -> Iterator[tuple[int, int]]:
        """The parts of a batch of n rows between which learner `i` meets others, each to be learned before the next."""
        exchange, start = self._exchanges.get(i), 0
        if exchange is not None:
            for meeting, met in zip(self._meetings, self._met, strict=True):
                yield start, meeting.row
                self._meet(exchange, meeting, met)
                start = meeting.row
        yield start, n

    def _meet(self, exchange: Exchange, meeting: Meeting, met: list[tuple[Heard | None, Told | None]]) -> None:
        """Let a learner take in and tell; `met` are those that have done so."""
        j = len(met)
        if meeting.minute is None:
            heard = hear(
                exchange, j, meeting.since, self._box, neighbour_share(self._partition, self._partitions, self._share)
            )
        else:
            heard = meeting.minute.heard[j]
            if self.witness is not None:
                self.witness(meeting.minute, j, self.exchanges, meeting.since)
        said, taken = exchange.meet(meeting.since, heard)
        self.refused += heard is not None and not taken
        met.append((heard, said))

    def conclude(self, offsets: NDArray[np.int64]) -> list[Minute]:
        """Write the batch's meetings down, once all learners have met; offsets i8[n] of its rows."""
        made = list[Minute]()
        for meeting, met in zip(self._meetings, self._met, strict=True):
            heard, told = zip(*met, strict=True)
            took = self.next if meeting.minute is None else meeting.minute.took
            others = {p: offset for p, offset in took.items() if p != self._partition}
            number, offset = self.number + 1, int(offsets[meeting.row - 1])
            partitions = self._partitions if meeting.minute is None else meeting.minute.partitions
            told_so = self._partition, number, offset, meeting.rows, self.model
            made.append(Minute(*told_so, heard, told, others, partitions))
            self._state["talk.number"][0], self._state["talk.told_at"][0] = number, meeting.rows
            if meeting.minute is None:
                self.oldest = min(self._times.values(), default=None)
                self._box.clear()
                self._times.clear()
                self._waits = True
        return made

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

from driftway.learners.averaging.exchange import Aggregate, ModelAverager, ModelUpdate
from driftway.learners.engine.state import State
from driftway.learners.learner import Learner
from driftway.worker.errors import CannotRestore
from driftway.worker.settings.option_values import GOSSIP, SharingOption
from driftway.worker.state.model_sharing.exchange_record import ExchangeRecord, latest_history

Inbox = dict[int, tuple[ModelUpdate | None, ...]]
"""Partition -> what its learners have told."""
Observer = Callable[[ExchangeRecord, int, tuple[ModelAverager, ...], int], None]
"""Called with a round that is repeated, an exchange's place, all of them before it, and rows since they told."""


def neighbours(partition: int, partitions: int, share: SharingOption) -> set[int]:
    """Whom a partition hears: all others, or in gossip the next and the previous one on a ring of all."""
    steps = (1, partitions - 1) if share.method == GOSSIP else range(partitions)
    return {(partition + step) % partitions for step in steps} - {partition}


def neighbour_weight(partition: int, partitions: int, share: SharingOption) -> float:
    """What of each neighbour's model is taken in (Metropolis weights of a ring); 0: no gossip.

    See docs/algorithms/averaging.md#gossip.
    """
    return 1.0 / (1 + len(neighbours(partition, partitions, share))) if share.method == GOSSIP else 0.0


def accumulate(inbox: Inbox, averagers: Collection[ModelAverager], record: ExchangeRecord) -> None:
    """Put what a partition has told to what it told before."""
    before = inbox.get(record.partition, (None,) * len(record.sent))
    pairs = zip(averagers, before, record.sent, strict=True)
    inbox[record.partition] = tuple(was if one is None else to.combine(was, one) for to, was, one in pairs)


def combine(peer: ModelAverager, j: int, since: int, inbox: Inbox, neighbour: float) -> Aggregate | None:
    """What exchange number `j`, that told `since` rows ago, is to take in of a box; in the order of the partitions."""
    told = [parts[j] for _, parts in sorted(inbox.items())]
    return peer.aggregate(since, [one for one in told if one is not None], neighbour)


class Round(NamedTuple):
    """Where learners meet."""

    row: int
    """Behind so many rows of the batch."""
    rows: int
    """Labelled rows so far."""
    since: int
    """Labelled rows since they told last."""
    record: ExchangeRecord | None
    """What is to be repeated; None: they meet for the first time."""


class ModelExchange:
    """The talk of one partition's learners with those of the other partitions.

    Parameters
    ----------
    share : SharingOption
        How, and how often.
    partition : int
        Whose learners these are.
    """

    def __init__(self, share: SharingOption, partition: int) -> None:
        self._share, self._partition = share, partition
        self._peers: dict[int, ModelAverager] = {}
        """By the learner's number."""
        self.model_digest = ""
        """Short for what the learners are: those with the same understand each other."""
        self._state = State(
            {"exchange.round": ("i8", (1,)), "exchange.rows": ("i8", (1,)), "exchange.sent_at": ("i8", (1,))}
        )
        self._log: list[bytes | None] = []
        self._replay_from = 0
        self._replay: deque[ExchangeRecord] | None = None
        """What is to be repeated first; None: not read yet."""
        self._partitions = 1
        self._may_start = self._awaits_own_record = False
        """Whether learners may meet for the first time, and whether what they told last is not out yet."""
        self._inbox: Inbox = {}
        """What others have told since the last round."""
        self.next_offsets: dict[int, int] = {}
        """Partition -> offset in the topic of what is to be heard next of it; those not named from the beginning."""
        self._times: dict[int, int] = {}
        self.oldest_sent_at: int | None = None
        """When the partition had told that had not told for longest, of those heard at the last round, ms."""
        self.refused = self.incompatible = 0
        """Beliefs that could not be taken in, and records of other learners than these."""
        self.observer: Observer | None = None
        """Who has to see what is repeated."""
        self._rounds: list[Round] = []
        """Of the batch."""
        self._results: list[list[tuple[Aggregate | None, ModelUpdate | None]]] = []
        """Of each round what every learner combined, and sent."""

    # What is remembered.

    @property
    def averagers(self) -> tuple[ModelAverager, ...]:
        """Those of the learners that share."""
        return tuple(self._peers.values())

    @property
    def round_number(self) -> int:
        """Meetings so far."""
        return int(self._state["exchange.round"][0])

    def figures(self) -> dict[str, int]:
        """How it goes, for the endpoint."""
        return {"meetings": self.round_number, "refused": self.refused, "unlike": self.incompatible}

    def clone_empty(self) -> ModelExchange:
        """One that has not met anybody yet."""
        made = ModelExchange(self._share, self._partition)
        made.observer = self.observer
        return made

    def attach(self, learners: Sequence[Learner], first: int, model_digest: str) -> None:
        """Share the learners from number `first` on that can; `model_digest` is short for what all are."""
        gossip = self._share.method == GOSSIP
        speaking = [(i, one) for i, one in enumerate(learners) if i >= first and one.sharing is not None]
        self._peers = {i: ModelAverager(one, gossip) for i, one in speaking}
        self.model_digest = model_digest

    def parts(self) -> list[NDArray[np.uint8]]:
        """The state: what learners believed when they told last, and how many rows ago."""
        return [self._state.memory, *(exchange.state.memory for exchange in self._peers.values())]

    def replay(self, log: Sequence[bytes | None], offset: int) -> None:
        """Go through rounds once more, from an input offset on, before any new one; and no new one until `start`.

        Parameters
        ----------
        log : sequence of bytes or None
            The partition's records, in their order.
        offset : int
            Where the state stands; earlier rounds are over, or of a history that is.
        """
        self._log, self._replay_from, self._replay = list(log), offset, None
        self._may_start = self._awaits_own_record = False
        self._inbox.clear()
        self._times.clear()

    def start(self, partitions: int, ends: dict[int, int]) -> None:
        """Meet others from the end of what is repeated on.

        Parameters
        ----------
        partitions : int
            How many there are.
        ends : dict
            Partition -> offset in the topic behind what was heard of it, and behind its own last record.
        """
        self._partitions, self._may_start, self.next_offsets = partitions, True, dict(ends)

    def set_partition_count(self, partitions: int) -> None:
        """Hear so many partitions, if these are more than before."""
        self._partitions = max(self._partitions, partitions)

    # Others.

    @property
    def wants_records(self) -> bool:
        """Whether it wants to hear what others tell, and can read it."""
        return self._may_start and bool(self._peers)

    @property
    def all_partitions(self) -> range:
        """All partitions, its own too: there it hears that what it has told is out."""
        return range(self._partitions)

    def read(self, value: bytes) -> ExchangeRecord | None:
        """A record of the topic; None if it is of learners that these do not understand. `model_digest` decides."""
        return ExchangeRecord.read(value, [exchange.template for exchange in self.averagers])

    def receive(self, partition: int, offset: int, record: ExchangeRecord | None, time: int) -> None:
        """Take a record of the topic, as `read` gives it, at `time` ms; what has come before is ignored."""
        if offset < self.next_offsets.get(partition, 0) or not self._peers:
            return
        self.next_offsets[partition] = offset + 1
        if record is None or record.model_digest != self.model_digest:
            self.incompatible += 1
        elif partition == self._partition:
            self._awaits_own_record &= record.round_number < self.round_number
        elif partition in neighbours(self._partition, self._partitions, self._share):
            accumulate(self._inbox, self._peers.values(), record)
            self._times[partition] = time

    # Meetings.

    def plan_rounds(self, y: NDArray[np.float64], emit: bool) -> None:
        """Find where learners meet within a batch, y f8[n]; without `emit` only where they did before.

        Raises
        ------
        CannotRestore
            What was taken in there is not known any more.
        """
        self._rounds, self._results = [], []
        if not self._peers:
            return
        counts = np.cumsum(~np.isnan(y))
        before, told_at = int(self._state["exchange.rows"][0]), int(self._state["exchange.sent_at"][0])
        last = before + (int(counts[-1]) if len(counts) else 0)
        found = list[Round]()
        plan = self._read_replay()
        while plan and plan[0].rows <= last:
            record = plan.popleft()
            found.append(Round(self._row(counts, record.rows - before), record.rows, record.rows - told_at, record))
            told_at = record.rows
        if emit and self._may_start and not self._awaits_own_record and not plan:
            every = self._share.rows
            rows = (max(before, told_at) // every + 1) * every
            if rows <= last:
                found.append(Round(self._row(counts, rows - before), rows, rows - told_at, None))
        self._rounds, self._results = found, [[] for _ in found]
        self._state["exchange.rows"][0] = last

    @staticmethod
    def _row(counts: NDArray[np.int64], labelled: int) -> int:
        return int(counts.searchsorted(labelled)) + 1

    def _read_replay(self) -> deque[ExchangeRecord]:
        """What is to be repeated, once it is known how to read it."""
        if self._replay is None:
            written = latest_history(self._log, [exchange.template for exchange in self._peers.values()])
            self._replay = deque(
                one for one in written if one.round_number > self.round_number and one.offset >= self._replay_from
            )
            self._log = []
            if self._replay and self._replay[0].round_number != self.round_number + 1:
                raise CannotRestore(
                    f"partition {self._partition}: what its learners combined in round {self.round_number + 1} is not "
                    f"known any more, its log begins at {self._replay[0].round_number}"
                )
        return self._replay

    def segments(self, i: int, n: int) -> Iterator[tuple[int, int]]:
        """The parts of a batch of n rows between which learner `i` meets others, each to be learned before the next."""
        exchange, start = self._peers.get(i), 0
        if exchange is not None:
            for this_round, met in zip(self._rounds, self._results, strict=True):
                yield start, this_round.row
                self._run_round(exchange, this_round, met)
                start = this_round.row
        yield start, n

    def _run_round(
        self, peer: ModelAverager, current: Round, results: list[tuple[Aggregate | None, ModelUpdate | None]]
    ) -> None:
        """Let a learner take in and tell; `met` are those that have done so."""
        j = len(results)
        if current.record is None:
            heard = combine(
                peer, j, current.since, self._inbox, neighbour_weight(self._partition, self._partitions, self._share)
            )
        else:
            heard = current.record.received[j]
            if self.observer is not None:
                self.observer(current.record, j, self.averagers, current.since)
        said, taken = peer.exchange(current.since, heard)
        self.refused += heard is not None and not taken
        results.append((heard, said))

    def finish_rounds(self, offsets: NDArray[np.int64]) -> list[ExchangeRecord]:
        """Write the batch's rounds down, once all learners have met; offsets i8[n] of its rows."""
        made = list[ExchangeRecord]()
        for this_round, met in zip(self._rounds, self._results, strict=True):
            heard, told = zip(*met, strict=True)
            took = self.next_offsets if this_round.record is None else this_round.record.consumed
            others = {p: offset for p, offset in took.items() if p != self._partition}
            number, offset = self.round_number + 1, int(offsets[this_round.row - 1])
            partitions = self._partitions if this_round.record is None else this_round.record.partitions
            told_so = self._partition, number, offset, this_round.rows, self.model_digest
            made.append(ExchangeRecord(*told_so, heard, told, others, partitions))
            self._state["exchange.round"][0], self._state["exchange.sent_at"][0] = number, this_round.rows
            if this_round.record is None:
                self.oldest_sent_at = min(self._times.values(), default=None)
                self._inbox.clear()
                self._times.clear()
                self._awaits_own_record = True
        return made

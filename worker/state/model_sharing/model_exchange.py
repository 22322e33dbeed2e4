"""Exchanges of a partition's learners with those of other partitions: when they happen, what they merge and record.

An exchange happens after every `rows` labelled rows, unless the partition's last update is not committed yet. So the
broker paces a fast stream, and no partition averages again before the others can read its last update. When that is,
and what had arrived by then, depends on timing. It is recorded in the transaction of the rows, for exact replay.
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
from driftway.worker.state.model_sharing.exchange_record import ExchangeRecord, RecordHeader, latest_history

Inbox = dict[int, tuple[ModelUpdate | None, ...]]
"""Partition -> pending update of each of its learners."""
Observer = Callable[[ExchangeRecord, int, tuple[ModelAverager, ...], int], None]
"""Called before a learner replays a round, with its record, the learner's index, all averagers, and the labelled rows
since the learner's last update."""


def neighbours(partition: int, partitions: int, share: SharingOption) -> set[int]:
    """Partitions that a partition receives from: all others, or in gossip its two neighbours on a ring of all."""
    steps = (1, partitions - 1) if share.method == GOSSIP else range(partitions)
    return {(partition + step) % partitions for step in steps} - {partition}


def neighbour_weight(partition: int, partitions: int, share: SharingOption) -> float:
    """Weight of each neighbour's model in gossip (Metropolis weights of a ring); 0: no gossip.

    See docs/algorithms/averaging.md#gossip.
    """
    return 1.0 / (1 + len(neighbours(partition, partitions, share))) if share.method == GOSSIP else 0.0


def accumulate(inbox: Inbox, averagers: Collection[ModelAverager], record: ExchangeRecord) -> None:
    """Merge a new record of a partition into its pending updates."""
    before = inbox.get(record.partition, (None,) * len(record.sent))
    pairs = zip(averagers, before, record.sent, strict=True)
    inbox[record.partition] = tuple(old if new is None else to.combine(old, new) for to, old, new in pairs)


def combine(averager: ModelAverager, j: int, since: int, inbox: Inbox, neighbour: float) -> Aggregate | None:
    """Aggregate the pending updates for learner `j`, in partition order; `since`: rows since its last update."""
    updates = [parts[j] for _, parts in sorted(inbox.items())]
    return averager.aggregate(since, [one for one in updates if one is not None], neighbour)


class Round(NamedTuple):
    """An exchange round within a batch."""

    row: int
    """Number of the batch's rows before it."""
    rows: int
    """Labelled rows so far."""
    since: int
    """Labelled rows since the last update."""
    record: ExchangeRecord | None
    """The record to replay; None: this is a new round."""


class ModelExchange:
    """Exchanges models between one partition's learners and those of the other partitions.

    Parameters
    ----------
    share : SharingOption
        Method and frequency.
    partition : int
        The learners' partition.
    """

    def __init__(self, share: SharingOption, partition: int) -> None:
        self._share, self._partition = share, partition
        self._averagers: dict[int, ModelAverager] = {}
        """Number of a learner that shares -> its averager."""
        self.model_digest = ""
        """Digest of the learners' identities: only models with equal ones can be averaged."""
        self._state = State(
            {"exchange.round": ("i8", (1,)), "exchange.rows": ("i8", (1,)), "exchange.sent_at": ("i8", (1,))}
        )
        self._began: State | None = None
        """Labelled rows when each learner that shares began, i8[averagers]; None: all began with the history."""
        self._log: list[bytes | None] = []
        self._replay_from = 0
        self._replay: deque[tuple[RecordHeader, bytes]] | None = None
        """Rounds to replay first, each read in its turn: later ones may be of another plan. None: not known yet."""
        self._partitions = 1
        self._may_start = self._awaits_own_record = False
        """Whether new rounds are allowed, and whether its own last record has not been read back from the topic yet."""
        self._inbox: Inbox = {}
        """Updates received since the last round."""
        self.next_offsets: dict[int, int] = {}
        """Partition -> next offset to read in the topic; those not named are read from the beginning."""
        self._round_offsets: dict[int, int] = {}
        """The same at the last round."""
        self._times: dict[int, int] = {}
        self.oldest_sent_at: int | None = None
        """Timestamp, in ms, of the least recent of the latest records that others contributed to the last new round."""
        self.refused = self.incompatible = 0
        """Aggregates that could not be merged, and records of other learners than these."""
        self.observer: Observer | None = None
        """Sees each round that is replayed."""
        self._rounds: list[Round] = []
        """Rounds of the current batch."""
        self._results: list[list[tuple[Aggregate | None, ModelUpdate | None]]] = []
        """For each round, what every learner received and sent."""

    # State.

    @property
    def averagers(self) -> tuple[ModelAverager, ...]:
        """Averagers of the learners that share."""
        return tuple(self._averagers.values())

    @property
    def round_number(self) -> int:
        """Rounds so far."""
        return int(self._state["exchange.round"][0])

    def figures(self) -> dict[str, int]:
        """Counters for the endpoint."""
        return {"rounds": self.round_number, "refused": self.refused, "incompatible": self.incompatible}

    def clone_empty(self) -> ModelExchange:
        """Create an exchange with the same settings and observer but no history."""
        made = ModelExchange(self._share, self._partition)
        made.observer = self.observer
        return made

    def attach(
        self, learners: Sequence[Learner], model_digest: str, only_predicts: int | None = None, joined: bool = False
    ) -> None:
        """Share the learners that can be.

        Parameters
        ----------
        learners : sequence of Learner
            Champion and challengers.
        model_digest : str
            Digest of all.
        only_predicts : int or None
            Number of the learner that does not learn; None: all do.
        joined : bool
            Whether some may have begun later than the history, with a plan.
        """
        gossip = self._share.method == GOSSIP
        sharing = [(i, one) for i, one in enumerate(learners) if i != only_predicts and one.sharing is not None]
        self._averagers = {i: ModelAverager(one, gossip) for i, one in sharing}
        self._began = State({"exchange.began": ("i8", (len(self._averagers),))}) if joined and self._averagers else None
        self.model_digest = model_digest

    def continue_from(self, before: ModelExchange, kept: Sequence[int | None]) -> None:
        """Go on from the exchange of the plan before; the learners have their states already.

        Records of this plan that others have sent since the last round were passed over by the plan before: they are
        read again. So a round merges all records since the round before that are of its own plan.

        Parameters
        ----------
        before : ModelExchange
            It is used no more.
        kept : sequence of int or None
            For each learner the number of the learner before whose state it goes on with; None: it is new.
        """
        self._state.memory[:] = before._state.memory
        rows = int(self._state["exchange.rows"][0])
        for j, (i, averager) in enumerate(self._averagers.items()):
            number, began = kept[i], rows
            averager.begin()
            if number is not None and number in before._averagers:
                averager.state.memory[:] = before._averagers[number].state.memory
                began = before._began_at(number)
            if self._began is not None:
                self._began["exchange.began"][j] = began
        self._log, self._replay_from, self._replay = before._log, before._replay_from, before._replay
        self._partitions, self._may_start = before._partitions, before._may_start
        self._awaits_own_record, self.observer = before._awaits_own_record, before.observer
        self.refused, self.incompatible = before.refused, before.incompatible
        self._round_offsets, own = before._round_offsets, before.next_offsets.get(self._partition)
        self.next_offsets = self._round_offsets | ({} if own is None else {self._partition: own})

    def _began_at(self, i: int) -> int:
        """Labelled rows when learner `i` began."""
        return 0 if self._began is None else int(self._began["exchange.began"][[*self._averagers].index(i)])

    def parts(self) -> list[NDArray[np.uint8]]:
        """The state: round and row counts, and each sharing learner's model after its last update."""
        began = [] if self._began is None else [self._began.memory]
        return [self._state.memory, *began, *(one.state.memory for one in self.averagers)]

    def replay(self, log: Sequence[bytes | None], offset: int) -> None:
        """Replay rounds from an input offset on before any new one; new ones also wait for `start`.

        Parameters
        ----------
        log : sequence of bytes or None
            Values of the partition's records, in order.
        offset : int
            Input offset of the state; earlier rounds are done, or belong to an abandoned history.
        """
        self._log, self._replay_from, self._replay = list(log), offset, None
        self._may_start = self._awaits_own_record = False
        self._inbox.clear()
        self._times.clear()

    def start(self, partitions: int, ends: dict[int, int]) -> None:
        """Allow new rounds after the replay.

        Parameters
        ----------
        partitions : int
            Number of partitions.
        ends : dict
            Partition -> next offset to read in the topic; for its own, the offset after its last record.
        """
        self._partitions, self._may_start, self.next_offsets = partitions, True, dict(ends)
        self._round_offsets = dict(ends)

    def set_partition_count(self, partitions: int) -> None:
        """Raise the number of partitions; a smaller one is ignored."""
        self._partitions = max(self._partitions, partitions)

    # Records of other partitions.

    @property
    def wants_records(self) -> bool:
        """Whether new rounds are allowed and learners share, so that the topic must be read."""
        return self._may_start and bool(self._averagers)

    @property
    def all_partitions(self) -> range:
        """All partitions, including its own, which shows when its last record is committed."""
        return range(self._partitions)

    def read(self, value: bytes) -> ExchangeRecord | None:
        """Parse a record of the topic for learners of `model_digest`; None if it does not fit them."""
        return ExchangeRecord.read(value, [averager.template for averager in self.averagers])

    def receive(self, partition: int, offset: int, record: ExchangeRecord | None, time: int) -> None:
        """Accept a record parsed by `read`, with its timestamp in ms; one that was already seen is ignored.

        The partition may be a new one, of which nothing else is known yet: other partitions' exchanges may read more.
        """
        if offset < self.next_offsets.get(partition, 0) or not self._averagers:
            return
        self.next_offsets[partition] = offset + 1
        self.set_partition_count(partition + 1)
        if record is None or record.model_digest != self.model_digest:
            self.incompatible += 1
        elif partition == self._partition:
            self._awaits_own_record &= record.round_number < self.round_number
        elif partition in neighbours(self._partition, self._partitions, self._share):
            accumulate(self._inbox, self._averagers.values(), record)
            self._times[partition] = time

    # Rounds.

    def plan_rounds(self, y: NDArray[np.float64], emit: bool) -> None:
        """Plan the rounds within a batch, y f8[n]; without `emit` only those to replay.

        Raises
        ------
        CannotRestore
            A round to replay is missing from the log.
        """
        self._rounds, self._results = [], []
        if not self._averagers:
            return
        counts = np.cumsum(~np.isnan(y))
        before, sent_at = int(self._state["exchange.rows"][0]), int(self._state["exchange.sent_at"][0])
        last = before + (int(counts[-1]) if len(counts) else 0)
        rounds = list[Round]()
        plan = self._read_replay()
        while plan and plan[0][0].rows <= last:
            record = self._read_round(*plan.popleft())
            rounds.append(Round(self._row(counts, record.rows - before), record.rows, record.rows - sent_at, record))
            sent_at = record.rows
        if emit and self._may_start and not self._awaits_own_record and not plan:
            every = self._share.rows
            rows = (max(before, sent_at) // every + 1) * every
            if rows <= last:
                rounds.append(Round(self._row(counts, rows - before), rows, rows - sent_at, None))
        self._rounds, self._results = rounds, [[] for _ in rounds]
        self._state["exchange.rows"][0] = last

    @staticmethod
    def _row(counts: NDArray[np.int64], labelled: int) -> int:
        return int(counts.searchsorted(labelled)) + 1

    def _read_replay(self) -> deque[tuple[RecordHeader, bytes]]:
        """Rounds to replay, looked up on first use, when the state is known."""
        if self._replay is None:
            done, first = self.round_number, self._replay_from
            history = latest_history(self._log)
            self._replay = deque(one for one in history if one[0].round_number > done and one[0].offset >= first)
            self._log = []
            if self._replay and self._replay[0][0].round_number != done + 1:
                raise CannotRestore(
                    f"partition {self._partition}: the updates combined in round {done + 1} are no longer known, the "
                    f"log begins at round {self._replay[0][0].round_number}"
                )
        return self._replay

    def _read_round(self, header: RecordHeader, value: bytes) -> ExchangeRecord:
        record = self.read(value)
        if record is None:
            raise CannotRestore(
                f"partition {self._partition}: the record of round {header.round_number} is not one of these learners"
            )
        return record

    def segments(self, i: int, n: int) -> Iterator[tuple[int, int]]:
        """Yield the segments of n rows between learner `i`'s rounds, each of which runs before the next segment."""
        averager, start = self._averagers.get(i), 0
        if averager is not None:
            for this_round, results in zip(self._rounds, self._results, strict=True):
                yield start, this_round.row
                self._run_round(averager, this_round, results)
                start = this_round.row
        yield start, n

    def _run_round(
        self, averager: ModelAverager, current: Round, results: list[tuple[Aggregate | None, ModelUpdate | None]]
    ) -> None:
        """Run one learner's part of a round, and append what it received and sent to `results`."""
        j = len(results)
        since = current.since
        if self._began is not None:
            since = min(since, current.rows - int(self._began["exchange.began"][j]))
        if current.record is None:
            received = combine(
                averager, j, since, self._inbox, neighbour_weight(self._partition, self._partitions, self._share)
            )
        else:
            received = current.record.received[j]
            if self.observer is not None:
                self.observer(current.record, j, self.averagers, since)
        sent, merged = averager.exchange(since, received)
        self.refused += received is not None and not merged
        results.append((received, sent))

    def finish_rounds(self, offsets: NDArray[np.int64]) -> list[ExchangeRecord]:
        """Make the records of the batch's rounds, once all learners have run them; offsets i8[n] of its rows."""
        records = list[ExchangeRecord]()
        for this_round, results in zip(self._rounds, self._results, strict=True):
            received, sent = zip(*results, strict=True)
            consumed = self.next_offsets if this_round.record is None else this_round.record.consumed
            others = {p: offset for p, offset in consumed.items() if p != self._partition}
            number, offset = self.round_number + 1, int(offsets[this_round.row - 1])
            partitions = self._partitions if this_round.record is None else this_round.record.partitions
            head = self._partition, number, offset, this_round.rows, self.model_digest
            records.append(ExchangeRecord(*head, received, sent, others, partitions))
            self._state["exchange.round"][0], self._state["exchange.sent_at"][0] = number, this_round.rows
            if this_round.record is None:
                self.oldest_sent_at = min(self._times.values(), default=None)
                self._round_offsets = dict(self.next_offsets)
                self._inbox.clear()
                self._times.clear()
                self._awaits_own_record = True
        return records

"""Audit of model exchanges: recompute what learners sent, and check what they combined against the others' records."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import closing
from operator import itemgetter
from typing import Any

from driftway.learners.averaging.exchange import Aggregate, ModelAverager
from driftway.worker.admin.audit.diff import Mismatch
from driftway.worker.admin.audit.outputs import RecordIdentity, TopicComparison
from driftway.worker.admin.audit.report import AuditTarget
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import query
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.kafka.topics import partition_counts
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import read_partition
from driftway.worker.state.model import Model
from driftway.worker.state.model_sharing.exchange_record import (
    ExchangeRecord,
    RecordHeader,
    first_missing,
    read_record_header,
    with_current_names,
)
from driftway.worker.state.model_sharing.model_exchange import Inbox, accumulate, combine, neighbour_weight, neighbours


class ExchangeComparison(TopicComparison):
    """Compares exchange records, one per round; parameters as in `TopicComparison`."""

    noun = "record of shares"

    def identity(self, message: Any) -> RecordIdentity:
        return message.key(), with_current_names(message.value())


class ExchangeVerifier:
    """Replays a partition's exchange rounds and checks the aggregates of each.

    All records that the exchange topic still holds, of all partitions, are kept in memory.

    Parameters
    ----------
    settings : WorkerSettings
        The workers' settings.
    target : AuditTarget
        Partition whose rounds are checked, and the last committed one.
    """

    def __init__(self, settings: WorkerSettings, target: AuditTarget) -> None:
        share = settings.model.share
        assert share is not None  # noqa: S101
        self._share, self._topic = share, settings.topics.shares
        self._partition, self._last = target.partition, target.rounds
        self._logs = shares_of(settings)
        self._own = [value for _, value in self._logs[self._partition]]
        self._headers = [one for one in map(read_record_header, self._own) if one is not None]
        self._sent: dict[int, list[tuple[int, RecordHeader, bytes]]] = {}
        """Partition -> offsets, headers and values of its records."""
        self._looked_at: tuple[ExchangeRecord, Inbox | None] | None = None
        self.unknown = 0
        """Rounds that could not be checked because records of other partitions are gone."""

    def is_complete(self, model: Model, offset: int) -> bool:
        """Whether the topic still holds every round that a model at an input offset has to replay."""
        after = 0 if model.exchange is None else model.exchange.round_number
        return first_missing(self._headers, after, offset, self._last) is None

    def verify(self, model: Model, offset: int) -> None:
        """Make a model at an input offset replay its rounds, and check each of them."""
        if model.exchange is not None:
            model.exchange.replay(self._own, offset)
            model.exchange.observer = self._look

    def _look(self, record: ExchangeRecord, j: int, exchanges: tuple[ModelAverager, ...], since: int) -> None:
        if self._looked_at is None or self._looked_at[0] is not record:
            self._looked_at = record, self._inbox_at(record, exchanges)
            self.unknown += self._looked_at[1] is None
        inbox = self._looked_at[1]
        if inbox is None:
            return
        neighbour = neighbour_weight(self._partition, record.partitions, self._share)
        expected, found = combine(exchanges[j], j, since, inbox, neighbour), record.received[j]
        if not _same(expected, found):
            raise Mismatch(
                f"{self._topic}/{self._partition}: round {record.round_number} differs: expected that learner {j} "
                f"combined {_described(expected)}, found {_described(found)}"
            )

    def _inbox_at(self, record: ExchangeRecord, exchanges: tuple[ModelAverager, ...]) -> Inbox | None:
        """Updates that other partitions sent between the previous round and this one; None if some are gone."""
        index = next((i for i, one in enumerate(self._headers) if _of(one) == (record.round_number, record.offset)), 0)
        if index == 0 and record.round_number != 1:
            return None
        before = {} if index == 0 else self._headers[index - 1].consumed
        inbox: Inbox = {}
        templates = [exchange.template for exchange in exchanges]
        for p in sorted(neighbours(self._partition, record.partitions, self._share)):
            sent = self._records_of(p)
            first, end = (
                bisect_left(sent, offset, key=itemgetter(0)) for offset in (before.get(p, 0), record.consumed.get(p, 0))
            )
            last_round = sent[first - 1][1].round_number if first else 0
            for _, header, value in sent[first:end]:
                if header.round_number not in (1, last_round + 1):
                    return None
                last_round = header.round_number
                if header.model_digest == record.model_digest:
                    one = ExchangeRecord.read(value, templates)
                    if one is None:
                        return None
                    accumulate(inbox, exchanges, one)
        return inbox

    def _records_of(self, p: int) -> list[tuple[int, RecordHeader, bytes]]:
        if p not in self._sent:
            read = ((offset, read_record_header(value), value) for offset, value in self._logs.get(p, []))
            self._sent[p] = [
                (offset, header, value) for offset, header, value in read if header is not None and value is not None
            ]
        return self._sent[p]


def shares_of(settings: WorkerSettings) -> dict[int, list[tuple[int, bytes | None]]]:
    """Read the exchange topic: partition -> offsets and values of all its records."""
    topic, deadline = settings.topics.shares, Deadline(ASK_SECONDS)
    found = {}
    with closing(reader_of(settings)) as reader:
        known = query(lambda: reader.list_topics(topic, deadline.remaining()), deadline)
        for p in range(partition_counts(known)[topic]):
            found[p] = read_partition(reader, topic, p, deadline)
    return found


def _of(one: RecordHeader) -> tuple[int, int]:
    return one.round_number, one.offset


def _same(wanted: Aggregate | None, found: Aggregate | None) -> bool:
    if wanted is None or found is None:
        return wanted is found
    ours, theirs = wanted.model, found.model
    pairs = [(ours.weight, theirs.weight), *([] if ours.R is None or theirs.R is None else [(ours.R, theirs.R)])]
    return wanted.rows == found.rows and all(one.tobytes() == other.tobytes() for one, other in pairs)


def _described(aggregate: Aggregate | None) -> str:
    if aggregate is None:
        return "nothing"
    return f"{aggregate.rows} rows of others, weights from {aggregate.model.weight.ravel()[0]!r} on"

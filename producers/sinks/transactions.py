"""A replay in transactions: a read_committed consumer sees all of a transaction's rows or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from driftway.producers.messages import Messages
from driftway.producers.sinks.confluent import ConfluentSink
from driftway.producers.sinks.kafka import READY_SECONDS, STOP_SECONDS
from driftway.producers.streams.stream import Array
from driftway.worker.errors import Failure, Fenced, UsageFailure
from driftway.worker.kafka.client_config import base_properties, quiet

ROWS = 10_000
"""Default rows per transaction: a commit takes some 10 ms, in which nothing is sent."""

LONGEST_SECONDS = 10.0
"""A slow replay commits after this time, however few its rows: the broker aborts a transaction after a minute."""

CALL_SECONDS = 10.0
LONGEST_COMMIT_SECONDS = 60.0
"""Timeouts of one call of a commit, and of all its calls including retries."""
RETRY_SECONDS = 0.2


@dataclass(frozen=True)
class TransactionOption:
    """The transactional id, and the number of rows per transaction."""

    name: str
    rows: int = ROWS

    @classmethod
    def parse(cls, text: str) -> TransactionOption:
        """Read ``ID[:rows]``; an id may contain colons if what follows the last one is not a number.

        Raises
        ------
        UsageFailure
            The id is empty, or the number of rows is 0.
        """
        name, colon, rows = text.rpartition(":")
        if not colon or not rows.isdecimal():
            name, rows = text, str(ROWS)
        if not name.strip() or int(rows) < 1:
            raise UsageFailure(f"--transactional-id takes ID or ID:rows with at least 1 row, got {text!r}")
        return cls(name.strip(), int(rows))


class TransactionalSink(ConfluentSink):
    """A sink that commits every `transaction.rows` rows.

    A transaction that cannot be committed is aborted and ends the replay; its messages count as errors.

    Parameters
    ----------
    transaction : TransactionOption
        Its id fences the previous producer with this id and aborts the transaction that it left open.
    run : str or None
        The run whose position is committed with each transaction; None: no position is.
    *given, **more
        As `ConfluentSink`.
    """

    def __init__(self, transaction: TransactionOption, run: str | None, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more, own={"transactional.id": transaction.name})
        self.transaction = transaction
        self._run = run
        self._began: float | None = None
        self._rows = 0
        self._messages = 0
        self._errors_before = 0
        # The consumer joins no group: it only provides the group metadata to commit offsets in a transaction.
        self._reader = None if run is None else _reader(given[0], given[1], transaction.name)

    @property
    def max_rows(self) -> int | None:
        return self.transaction.rows - self._rows

    def open(self) -> None:
        super().open()
        initialise(self._producer, self.transaction.name)

    def send(self, messages: Messages, due: Array | None = None) -> None:
        if self._began is None:
            self._call(self._producer.begin_transaction)
            self._began = time.monotonic()
            self._errors_before = self.errors
        super().send(messages, due)
        self._rows += messages.rows
        self._messages += len(messages)

    def finish(self) -> None:
        if self._drain() and not self.fatal:
            self._commit()
        else:
            self._abort("the replay was stopped before the commit")
        if self._reader is not None:
            self._reader.close()

    def _maybe_commit(self) -> None:
        if self._began is None:
            return
        if self._rows >= self.transaction.rows or time.monotonic() > self._began + LONGEST_SECONDS:
            while self._flush(0.2):
                if self.stop.requests or self.fatal:
                    return  # `finish` decides
            self._commit()

    def _commit(self) -> None:
        """Commit the open transaction and save the position committed with it."""
        if self._began is None:
            return
        if self.errors > self._errors_before:
            self._abort(self.first_error or "a delivery failed")
            return
        if self._reader is not None and self._position is not None:
            from confluent_kafka import TopicPartition

            offset = TopicPartition(self.topic, 0, self._position, self._run)
            group = self._reader.consumer_group_metadata()
            if not self._call(lambda: self._producer.send_offsets_to_transaction([offset], group, CALL_SECONDS)):
                return
        if self._call(lambda: self._producer.commit_transaction(CALL_SECONDS)):
            self._close()
            self._save_position()

    def _call(self, step: Callable[[], None]) -> bool:
        """Run one step of a transaction, retrying if possible; return False if it had to be aborted.

        Raises
        ------
        Fenced
            Another replay uses the same transactional id.
        Failure
            The broker did not respond, so the transaction's outcome is unknown.
        """
        from confluent_kafka import KafkaException

        timeout = STOP_SECONDS if self.stop.requests else LONGEST_COMMIT_SECONDS
        deadline = time.monotonic() + timeout
        while True:
            try:
                step()
                return True
            except KafkaException as failure:
                error = failure.args[0]
            self._check_fence(error)
            if error.txn_requires_abort():
                self._abort(error.str())
                return False
            if not error.retriable() or time.monotonic() > deadline:
                raise Failure(f"the transaction's outcome is not known: {error.str()}")
            self._poll(RETRY_SECONDS)

    def _fatal_error(self, error: Any) -> None:
        self._check_fence(error)
        super()._fatal_error(error)

    def _check_fence(self, error: Any) -> None:
        """Raise `Fenced` if an error means that."""
        from confluent_kafka import KafkaError

        if error.code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH):
            raise Fenced(f"another replay has taken over the transactional id {self.transaction.name}")

    def _abort(self, reason: str) -> None:
        """Abort the open transaction; its messages count as failed, and the replay ends."""
        from confluent_kafka import KafkaException

        if self._began is None:
            return
        self.errors = self._errors_before + self._messages
        self.first_error = self.first_error or reason
        self.fatal = True
        try:
            self._producer.abort_transaction(STOP_SECONDS)
        except KafkaException as failure:  # the broker aborts it after its timeout
            self._check_fence(failure.args[0])
        self.errors = self._errors_before + self._messages  # purging queued messages counted them again
        self._close()

    def _close(self) -> None:
        self._began = None
        self._rows = self._messages = 0


def last_committed(
    bootstrap: str, properties: Mapping[str, Any], transaction: TransactionOption, topic: str, run: str
) -> int | None:
    """The position committed with the last transaction of `run`; None if there is none.

    Initialises the transactional id first, so that a commit still pending under it is either complete or aborted.

    Raises
    ------
    Failure
        The broker did not respond.
    """
    from confluent_kafka import KafkaException, Producer, TopicPartition

    initialise(
        Producer(quiet({**base_properties(bootstrap, properties), "transactional.id": transaction.name})),
        transaction.name,
    )
    reader = _reader(bootstrap, properties, transaction.name)
    try:
        found = reader.committed([TopicPartition(topic, 0)], timeout=READY_SECONDS)[0]
    except KafkaException as error:
        raise Failure(f"cannot read the position of {transaction.name}: {error.args[0].str()}") from None
    finally:
        reader.close()
    return int(found.offset) if found.offset >= 0 and found.metadata == run else None


def initialise(producer: Any, name: str) -> None:
    """Take over a transactional id.

    Raises
    ------
    Failure
        The broker did not respond, or does not allow it.
    """
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            producer.init_transactions(READY_SECONDS)
            return
        except KafkaException as failure:
            error = failure.args[0]
            if not error.retriable() or time.monotonic() > deadline:
                raise Failure(f"cannot begin transactions as {name}: {error.str()}") from None
        producer.poll(RETRY_SECONDS)


def _reader(bootstrap: str, properties: Mapping[str, Any], group: str) -> Any:
    from confluent_kafka import Consumer

    settings = {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_committed"}
    own = {key: value for key, value in properties.items() if key not in PRODUCER_ONLY}
    return Consumer(quiet({**base_properties(bootstrap, own), **settings}))


PRODUCER_ONLY = ("acks", "request.required.acks", "linger.ms", "compression.type", "compression.codec", "batch.size")
"""Properties that a consumer would warn about."""

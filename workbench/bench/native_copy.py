"""A program that copies messages with the C library: the upper limit of throughput on this machine.

Runs as a separate process, ``python -m driftway.workbench.bench.native_copy ERRAND``, like
`driftway.workbench.bench.python_copy`, with the same settings, batch size, commit interval and guarantee. librdkafka's
batch calls consume and produce messages from and to its own memory, as rows of nine words that a compiled loop reads:
no Python object is created per message.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from driftway.workbench.bench.python_copy import CALL_SECONDS, Copier, CopyJob, run
from driftway.worker.kafka.client_config import QUEUE_MESSAGES
from driftway.worker.kafka.consumer_columns import TURN_MESSAGES
from driftway.worker.kafka.librdkafka.abi_check import checked_library
from driftway.worker.kafka.librdkafka.handle import Handle, TopicPartitionList, consume_batch, partitions_of
from driftway.worker.kafka.librdkafka.library import ANY_PARTITION, ASSIGN, CONSUMER, COPY, PRODUCER, REBALANCE_CB
from driftway.worker.kafka.librdkafka.message import ERROR, OFFSET, OPAQUE, PARTITION, WORDS, destroy, read

CALL_MS = int(1000 * CALL_SECONDS)


class NativeCopier(Copier):
    """Copies by the library's batch calls."""

    def __init__(self, job: CopyJob) -> None:
        super().__init__(job)
        self._lib = lib = checked_library()
        self._callback_error: BaseException | None = None
        """Exception raised in a rebalance callback, where the library would drop it."""
        self._producer = Handle(lib, PRODUCER, self.producer_properties())
        if self.exactly_once:
            lib.check(lib.init_transactions(self._producer.address, CALL_MS))
        self._output = self._producer.known_topic(job.output, CALL_MS)
        self._consumer = Handle(lib, CONSUMER, self.consumer_properties(), rebalance=REBALANCE_CB(self._rebalance))
        lib.require(lib.poll_set_consumer(self._consumer.address))
        with TopicPartitionList(lib, job.input, [(ANY_PARTITION, 0)]) as wanted:
            lib.require(lib.subscribe(self._consumer.address, wanted))
        self._queue = lib.queue_get_consumer(self._consumer.address)
        self._pointers = np.empty(TURN_MESSAGES, np.int64)
        self._rows = np.empty((TURN_MESSAGES, WORDS), np.int64)
        self._destroy = lib.address("message_destroy")

    def copy(self, seconds: float) -> None:
        n = consume_batch(self._lib, self._queue, self._pointers, seconds)
        if self._callback_error is not None:
            raise self._callback_error
        if not n:
            return
        pointers, rows = self._pointers[:n], self._rows[:n]
        try:
            bad = rows[:0]
            if read(pointers, rows):
                good = rows[:, ERROR] == 0
                rows, bad = rows[good], rows[~good]
            rows[:, OPAQUE] = 0
            cuts = [0, *(np.flatnonzero(np.diff(rows[:, PARTITION])) + 1).tolist(), len(rows)]
            for first, end in pairwise(cuts):
                if first < end:
                    self._produce(rows[first:end])
            for row in bad:  # an end of partition follows its last row
                self._note(int(row[ERROR]), int(row[PARTITION]))
        finally:
            destroy(pointers, self._destroy)

    def begin(self) -> None:
        self._lib.check(self._lib.begin_transaction(self._producer.address))

    def deliver_and_commit(self) -> None:
        lib, producer, consumer = self._lib, self._producer.address, self._consumer.address
        lib.require(lib.flush(producer, CALL_MS))
        with TopicPartitionList(lib, self.job.input, self.positions.items()) as topic_partitions:
            if not self.exactly_once:
                lib.require(lib.commit(consumer, topic_partitions, 0))
                return
            membership = lib.consumer_group_metadata(consumer)
            try:
                lib.check(lib.send_offsets_to_transaction(producer, topic_partitions, membership, CALL_MS))
            finally:
                lib.consumer_group_metadata_destroy(membership)
        lib.check(lib.commit_transaction(producer, CALL_MS))

    def leave(self) -> None:
        self._lib.queue_destroy(self._queue)
        self._lib.require(self._lib.consumer_close(self._consumer.address))
        self._consumer.close()
        self._producer.close()

    def _produce(self, rows: Any) -> None:
        """Produce rows of one partition."""
        self.open()
        lib, producer, partition = self._lib, self._producer.address, int(rows[0, PARTITION])
        while lib.outq_len(producer) + len(rows) > QUEUE_MESSAGES:
            lib.poll(producer, 10)
        if lib.produce_batch(self._output, partition, COPY, rows.ctypes.data, len(rows)) != len(rows):
            raise RuntimeError(f"records of partition {partition} were refused")
        lib.poll(producer, 0)
        self.at_end.discard(partition)
        self.positions[partition] = int(rows[-1, OFFSET]) + 1

    def _note(self, code: int, partition: int) -> None:
        error = KafkaError(code)
        if code == KafkaError._PARTITION_EOF:
            self.at_end.add(partition)
        elif error.fatal() or not error.retriable():
            raise KafkaException(error)

    def _rebalance(self, handle: int, code: int, topic_partitions: Any, _opaque: int) -> None:
        lib, partitions = self._lib, set(partitions_of(topic_partitions))
        together = lib.rebalance_protocol(handle) != b"COOPERATIVE"
        try:
            if code == ASSIGN:
                if together:
                    lib.require(lib.assign(handle, topic_partitions))
                else:
                    lib.check(lib.incremental_assign(handle, topic_partitions))
                self.on_assign(partitions)
            else:
                self.on_revoke(partitions)
                if together:
                    lib.require(lib.assign(handle, None))
                else:
                    lib.check(lib.incremental_unassign(handle, topic_partitions))
        except BaseException as error:
            self._callback_error = error


if __name__ == "__main__":
    run(NativeCopier, sys.argv[1])

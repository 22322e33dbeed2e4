"""Member and sender over the C library, as far as they work without a broker."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from confluent_kafka import KafkaError, KafkaException
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka import client_factory
from driftway.worker.kafka.client_config import AUTO, NATIVE, PYTHON
from driftway.worker.kafka.error_handling import DeliveryFailed, UnconfirmedDelivery
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.kafka.librdkafka import library, message
from driftway.worker.kafka.librdkafka.abi_check import checked_library
from driftway.worker.kafka.librdkafka.consumer_queue import keys_of, values_of
from driftway.worker.kafka.librdkafka.library import Unsupported
from driftway.worker.kafka.librdkafka.member import LibrdkafkaMember
from driftway.worker.kafka.librdkafka.message import (
    ERROR,
    KEY,
    KEY_LENGTH,
    LENGTH,
    OFFSET,
    OPAQUE,
    PARTITION,
    PAYLOAD,
    TOPIC,
    WORDS,
    fill,
    gather,
    group,
)
from driftway.worker.kafka.librdkafka.sender import (
    CODE,
    FIRST,
    MAX_TOPICS,
    NONE_YET,
    REFUSED,
    LibrdkafkaSender,
    delivered,
)
from driftway.worker.kafka.librdkafka.warm_up import warm
from driftway.worker.wire.columns import END, SPARE, ListColumn
from driftway.worker.wire.headers import LazyHeaders
from driftway.worker.wire.writer import RowTemplate, as_text, write
from tests.support.examples import examples

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
ITEMS = st.lists(st.one_of(st.none(), st.just(b""), st.binary(max_size=20)), min_size=1, max_size=12)
REPORT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Memory:
    """Messages in the library's layout, in memory of this test."""

    def __init__(self, values: Sequence[bytes | None], keys: Sequence[bytes | None], partitions: Sequence[int]) -> None:
        self.rows = np.zeros((len(values), WORDS), np.int64)
        self.kept: list[Any] = []
        for i, (value, key) in enumerate(zip(values, keys, strict=True)):
            self.rows[i, PAYLOAD], self.rows[i, LENGTH] = self._put(value)
            self.rows[i, KEY], self.rows[i, KEY_LENGTH] = self._put(key)
            self.rows[i, PARTITION], self.rows[i, OFFSET] = partitions[i], 100 + i
        self.pointers = self.rows.ctypes.data + self.rows.strides[0] * np.arange(len(values))

    def _put(self, text: bytes | None) -> tuple[int, int]:
        if text is None:
            return 0, 0
        self.kept.append(ctypes.create_string_buffer(text + b"what is behind"))
        return ctypes.addressof(self.kept[-1]), len(text)


@examples(100)
@given(ITEMS, st.data())
def test_messages_become_columns_and_columns_become_messages(values: list[bytes | None], data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.one_of(st.none(), st.binary(max_size=9)), min_size=len(values), max_size=len(values)))
    memory = Memory(values, keys, [0] * len(values))
    every = np.arange(len(values))
    assert keys_of(memory.rows, every) == keys
    text = np.full(sum(len(value or b"") + len(END) for value in values), 7, np.uint8)
    starts, lengths = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    assert gather(memory.rows, every, PAYLOAD, len(END), text, starts, lengths) == len(text)
    assert text.tobytes() == ListColumn(values).to_terminated().tobytes()[:-SPARE]
    rows = np.zeros((len(values), WORDS), np.int64)
    fill(rows, text.ctypes.data, starts, lengths, PAYLOAD)
    found = [ctypes.string_at(int(row[PAYLOAD]), int(row[LENGTH])) if row[PAYLOAD] else None for row in rows]
    assert found == values


def test_a_batch_is_split_into_partitions_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    member = LibrdkafkaMember(checked_library(), {**NOBODY, "group.id": "g"}, "t", incremental=False)
    arrivals = member._queue
    monkeypatch.setattr(
        "driftway.worker.kafka.librdkafka.consumer_queue.stamp", lambda pointers, function, kind, stamps: None
    )
    memory = Memory([b"a", b"reason", b"b", None, b"", b"c"], [None, None, b"k", b"", None, b"l"], [3, 1, 2, 3, 2, 3])
    memory.rows[1, ERROR] = KafkaError._ALL_BROKERS_DOWN & 0xFFFFFFFF | 0x7F << 32  # the upper half is arbitrary
    memory.rows[:, PARTITION] |= 0x55 << 32
    try:
        pointers = memory.pointers[: arrivals._fitting(memory.pointers)]
        records, problems = arrivals._columns(pointers, LazyHeaders.of(lambda _message: (), len(pointers)))
        assert [(part.partition, part.offsets.tolist(), list(part.values), list(part.keys)) for part in records] == [
            (3, [100, 103, 105], [b"a", None, b"c"], [None, b"", b"l"]),
            (2, [102, 104], [b"b", b""], [b"k", None]),
        ]
        assert [part.values.to_terminated().tobytes() for part in records] == [
            b"a\0\0c\0null" + bytes(16),
            b"b\0\0null" + bytes(16),
        ]
        ((error, partition, offset),) = problems
        assert (error.code(), error.str(), partition, offset) == (KafkaError._ALL_BROKERS_DOWN, "reason", 1, 101)
        kept = [list(part.keys) for part in records], [part.offsets.copy() for part in records]
        arrivals._rows[:] = -1
        arrivals._text[:] = 255
        assert kept[0] == [list(part.keys) for part in records], "held outputs keep keys and offsets"
        assert all((one == part.offsets).all() for one, part in zip(kept[1], records, strict=True))
    finally:
        member.close()


@examples(100)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30))
def test_messages_of_a_partition_stay_in_their_order(messages: list[tuple[int, bool]]) -> None:
    """Partitions come in the order of first appearance; messages with an error belong to none."""
    n, expected = len(messages), dict[int, list[int]]()
    rows = np.zeros((n, WORDS), np.int64)
    for i, (partition, sound) in enumerate(messages):
        rows[i, PARTITION], rows[i, ERROR] = partition, 0 if sound else -1
        if sound:
            expected.setdefault(partition, []).append(i)
    order, partitions, ends, scratch = np.full((4, n), 99)
    found = group(rows, order, partitions, ends, scratch)
    shares = np.split(order, ends[:found])[:-1] if found else []
    assert dict(zip(partitions[:found].tolist(), map(list, shares), strict=True)) == expected
    assert partitions[:found].tolist() == list(expected)


def test_after_the_warm_up_no_message_waits_for_a_compiler() -> None:
    warm(checked_library())
    kernels = message.read, message.group, message.gather, message.stamp, message.fill, message.destroy
    compiled = [list(kernel.signatures) for kernel in kernels]  # type: ignore[attr-defined]
    assert [len(signatures) for signatures in compiled] == [1] * len(kernels)
    memory = Memory([b"a", None, b"b"], [None, b"k", None], [0, 1, 0])
    read_back = np.empty((3, WORDS), np.int64)
    message.read(memory.pointers, read_back)
    order, partitions, ends, scratch = np.empty((4, 3), np.int64)
    message.group(read_back, order, partitions, ends, scratch)
    last = order[1:]
    keys, (values, _) = keys_of(read_back, last), values_of(read_back, last, np.empty(99, np.uint8), 7)
    sender = LibrdkafkaSender(checked_library(), NOBODY, 0)
    zero = np.zeros(2, np.int64)
    ids = as_text(b"null" + bytes(16)), np.array([[0, 0], [4, 4]])
    written = write(RowTemplate(b"<", b"|", [b":"], [], [b"/"]), ids, zero, zero, b"[0,1]", zero, zero)
    for column in (values, written, ListColumn([b"a", None])):
        sender.send("t", column, keys)
    sender.send("t", written, ListColumn([None, b"x"]))
    assert [list(kernel.signatures) for kernel in kernels] == compiled  # type: ignore[attr-defined]


def test_reports_of_marked_records_are_recorded_by_topic() -> None:
    report = REPORT(delivered())
    notes = np.array([0, 0, *[NONE_YET] * 4], np.int64)

    def tell(code: int, topic: int, offset: int, opaque: int) -> None:
        row = np.zeros(WORDS, np.int64)
        row[[TOPIC, OFFSET, OPAQUE]] = topic, offset, opaque
        row[ERROR] = code & 0xFFFFFFFF | 0x11 << 32
        report(None, row.ctypes.data, notes.ctypes.data)

    for offset, opaque in ((5, FIRST), (6, 0), (7, FIRST), (90, FIRST + 2), (8, FIRST)):
        tell(0, 1000, offset, opaque)
    assert notes.tolist() == [0, 0, 5, 8, 90, 90]
    tell(KafkaError._MSG_TIMED_OUT, 2000, 9, 0)
    tell(KafkaError._PURGE_QUEUE, 3000, 9, FIRST)
    assert (notes[CODE], notes[REFUSED]) == (KafkaError._MSG_TIMED_OUT, 2000)
    assert notes[FIRST:].tolist() == [5, 8, 90, 90]


def test_dropped_records_are_reported_as_refused_with_their_topic() -> None:
    sender = LibrdkafkaSender(checked_library(), NOBODY, 0)
    sender.send("t", ListColumn([b"a", None, b""]), ListColumn([b"k", None, b""]))
    sender.send(
        "u", ListColumn([b"x"]), ListColumn([None]), [(("reason", b"of\0a kind"), ("empty", b""), ("none", None))]
    )
    assert len(sender) >= 4, "errors count too"
    with pytest.raises(UnconfirmedDelivery, match="3 records of t are reported at offsets None to None"):
        sender.ranges({})
    sender.drop()
    while len(sender):
        sender.poll(0.05)
    with pytest.raises(DeliveryFailed, match=r"^[tu] cannot be written: "):
        sender.ranges({})


def test_offset_ranges_are_reset_for_each_transaction() -> None:
    sender = LibrdkafkaSender(checked_library(), NOBODY, 0)
    sender._counts["t"], sender._indices["t"] = 3, FIRST
    sender._notes[FIRST : FIRST + 2] = 7, 9
    assert sender.ranges({"t": 7}) == {"t": OffsetRange(7, 9, 3)}
    sender.start_ranges()
    assert sender.ranges({}) == {}
    assert (sender._notes[FIRST:] == NONE_YET).all()


def test_a_sender_ends_with_its_last_reference() -> None:
    ended: list[int] = []
    sender = LibrdkafkaSender(checked_library(), NOBODY, 0)
    close = sender._handle.close
    sender._handle.close = lambda: (ended.append(1), close())  # type: ignore[method-assign, assignment, func-returns-value]
    del sender
    assert ended == [1]


@pytest.mark.parametrize("client", [PYTHON, NATIVE])
def test_both_clients_refuse_a_wrong_property_alike(client: str) -> None:
    properties = {"session.timeout.ms": "soon", "group.id": "g", **NOBODY}
    with pytest.raises(UsageFailure, match=r'client property refused: .*"session\.timeout\.ms"'):
        client_factory.make_member(client, properties, "t", incremental=False)
    with pytest.raises(KafkaException, match=r"no\.such"):
        client_factory.make_sender(client, {**NOBODY, "no.such": "x"}, 0, every_report=False)


@pytest.mark.parametrize("client", [PYTHON, NATIVE])
def test_callbacks_are_called(client: str) -> None:
    """Error callbacks by both clients; statistics arrive as text."""
    errors: list[KafkaError] = []
    counts: list[str] = []
    properties = {"error_cb": errors.append, "stats_cb": counts.append, "statistics.interval.ms": 50, "group.id": "g"}
    member = client_factory.make_member(client, {**NOBODY, **properties}, "t", incremental=False)
    until = time.monotonic() + 20
    while not (errors and counts) and time.monotonic() < until:
        member.poll(10, 0.1)
    member.close()
    assert {error.code() for error in errors} <= {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}
    assert counts[0].startswith("{")
    assert counts[0].endswith("}")


def test_an_exception_of_a_listener_is_raised_by_the_call() -> None:
    member = LibrdkafkaMember(checked_library(), {**NOBODY, "group.id": "g"}, "t", incremental=False)

    def fail(_partitions: list[int]) -> None:
        raise ValueError("a listener")

    member._listeners = fail, fail, fail
    topic_partitions = checked_library().topic_partition_list_new(0)
    member._rebalance(member._handle.address, library.ASSIGN, topic_partitions, 0)
    checked_library().topic_partition_list_destroy(topic_partitions)
    with pytest.raises(ValueError, match="a listener"):
        member.poll(1, 0.0)
    member.close()


def test_a_fenced_member_closes_without_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason for leaving was raised before; a second failure would hide it."""
    member, close = (
        LibrdkafkaMember(checked_library(), {**NOBODY, "group.id": "g"}, "t", incremental=False),
        checked_library().consumer_close,
    )

    def refuse(handle: int) -> int:
        close(handle)
        return KafkaError._FATAL

    monkeypatch.setattr(checked_library(), "consumer_close", refuse)
    member.close()
    assert member._handle.address == 0
    member.close()


def test_the_choice_of_the_client_has_the_reason_if_it_is_not_native(monkeypatch: pytest.MonkeyPatch) -> None:
    assert client_factory.choose_client(PYTHON) == (PYTHON, None)
    assert client_factory.choose_client(NATIVE) == client_factory.choose_client(AUTO) == (NATIVE, None)

    def missing() -> None:
        raise Unsupported("rd_kafka_x cannot be found")

    monkeypatch.setattr("driftway.worker.kafka.librdkafka.abi_check.checked_library", missing)
    assert client_factory.choose_client(AUTO) == (PYTHON, "rd_kafka_x cannot be found")
    with pytest.raises(UsageFailure, match="--client native cannot be used here: rd_kafka_x cannot be found"):
        client_factory.choose_client(NATIVE)


@pytest.mark.parametrize("client", [PYTHON, NATIVE])
def test_a_full_queue_is_an_error_of_the_client(client: str) -> None:
    """Of either one: the worker knows what to do about a KafkaException, and not about a BufferError."""
    sender = client_factory.make_sender(client, {**NOBODY, "queue.buffering.max.messages": 1}, 0, every_report=False)
    sender.send_one("t", b"value", None)
    for headers in ([()], [(("a", b"1"),)]):
        with pytest.raises(KafkaException) as refused:
            sender.send("t", ListColumn([b"value"]), ListColumn([None]), headers)
        assert refused.value.args[0].code() == KafkaError._QUEUE_FULL
    with pytest.raises(KafkaException) as refused:
        sender.send_one("t", b"value", None)
    assert refused.value.args[0].code() == KafkaError._QUEUE_FULL
    sender.drop()


def test_a_sender_refuses_more_topics_than_it_has_room_for() -> None:
    sender = client_factory.make_sender(NATIVE, NOBODY, 0, every_report=False)
    for number in range(MAX_TOPICS):
        sender.send_one(f"t{number}", b"value", None)
    with pytest.raises(RuntimeError, match=r"at most 8 topics: t8 would be one more"):
        sender.send_one("t8", b"value", None)
    sender.send_one("t0", b"value", None)
    assert sender._counts == {"t0": 2, **{f"t{number}": 1 for number in range(1, MAX_TOPICS)}}  # type: ignore[attr-defined]
    sender.drop()

"""No record stops a partition: records too large to pass on are rejected with their beginning, the others continue."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from driftway.worker.kafka.client_config import READER, base_properties, quiet
from driftway.worker.kafka.client_factory import make_fetcher
from driftway.worker.kafka.librdkafka.consumer_queue import MAX_BYTES
from driftway.worker.wire.codec import encode_events, read_json
from tests.support.kafka import Record, create_topic, produce, read_all
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

SIZED = ("-X", "receive.message.max.bytes=100000000")


def good(n: int = 200) -> list[bytes]:
    X = np.random.default_rng(4).normal(size=(n, 3))
    return encode_events(X, (X[:, 0] > 0).astype(float), 0)


def produce_compressed(
    kafka: str, topic: str, value: bytes, key: bytes | None = None, codec: str = "zstd", headers: Any = None
) -> None:
    """Write a record as a batch of its own, which compresses to far less than the broker's limit."""
    from confluent_kafka import Producer

    errors: list[object] = []
    limits = {"message.max.bytes": 200_000_000, "queue.buffering.max.kbytes": 400_000, "compression.type": codec}
    producer = Producer(quiet({"bootstrap.servers": kafka, "enable.idempotence": True, **limits}))
    producer.produce(topic, value, key, 0, headers=headers, on_delivery=lambda error, _: error and errors.append(error))
    assert producer.flush(60) == 0
    assert not errors


def fill_topic(kafka: str, topic: str, large: Sequence[tuple[bytes, bytes | None]], codec: str = "zstd") -> int:
    """Write good events with the large records among them; return the number of records."""
    create_topic(kafka, topic, 1)
    events = good()
    for number, (value, key) in enumerate(large):
        produce(kafka, topic, events[number * 20 : (number + 1) * 20])
        produce_compressed(kafka, topic, value, key, codec)
    produce(kafka, topic, events[len(large) * 20 :])
    return len(events) + len(large)


def accounted(kafka: str, topic: str, group: str, n: int) -> list[Record]:
    """Check that each of `n` events has one prediction or one rejection, and the audit; return the rejections."""
    rejected = read_all(kafka, f"{topic}.{group}.rejected")
    offsets = [int(dict(one.headers)["offset"] or b"") for one in rejected]
    offsets += [read_json(one.value or b"")["offset"] for one in read_all(kafka, f"{topic}.{group}.predictions")]
    assert sorted(offsets) == list(range(n))
    audited = driftway("audit", "--bootstrap", kafka, "--input", topic, "--group", group, "--learner", "pa1")
    assert audited.code == 0, audited
    return rejected


def worker(kafka: str, topic: str, group: str, *more: str) -> tuple[str, ...]:
    named = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1"
    return "worker", *named, "--stop-at-end", *more


def header(one: Record, name: str) -> str:
    return (dict(one.headers)[name] or b"").decode()


@pytest.mark.parametrize("client", slow_but(["native"], ["native", "python"]))
def test_large_values_ids_keys_and_headers_do_not_stop_a_partition(
    kafka: str, topic: str, group: str, client: str
) -> None:
    garbage, long = b"0" * 11_000_000, b"k" * 11_000_000
    of_id = b'{"id":"' + b"z" * 12_000_000 + b'","x":[1,2,3],"y":1}'
    whole = b'{"x":' + b" " * 5_000_000 + b"}"
    usable = b'{"x":[1,2,3],"y":1,"more":"' + b"m" * 11_000_000 + b'"}'
    n = fill_topic(kafka, topic, [(garbage, b"k"), (of_id, None), (good(1)[0], long), (whole, None), (usable, None)])
    produce_compressed(kafka, topic, good(1)[0], None, "zstd", [("trace", b"t" * 12_000_000)])
    done = driftway(*worker(kafka, topic, group, "--client", client, "--pass-headers", "*"))
    assert done.code == 0, done
    rejected = read_all(kafka, f"{topic}.{group}.rejected")
    by_offset = {int(header(one, "offset")): one for one in rejected}
    assert sorted(by_offset) == [20, 41, 62, 83], "the event whose other fields are large is predicted"
    for offset, value in ((20, garbage), (41, of_id)):
        one = by_offset[offset]
        assert one.value == value[:1024]
        assert (header(one, "truncated"), header(one, "length")) == ("true", str(len(value)))
        assert header(one, "sha256") == hashlib.sha256(value).hexdigest()
    assert by_offset[20].key == b"k"
    assert header(by_offset[41], "reason") == "id is too long: 12000002 bytes, more than 65536"
    assert header(by_offset[62], "reason") == "key is too long: 11000000 bytes, more than 65536"
    assert (by_offset[62].value, by_offset[62].key) == (good(1)[0], long[:1024])
    assert (header(by_offset[62], "key-length"), "length" in dict(by_offset[62].headers)) == ("11000000", False)
    assert header(by_offset[62], "key-sha256") == hashlib.sha256(long).hexdigest()
    assert by_offset[83].value == whole, "records that fit are passed on completely"
    assert "truncated" not in dict(by_offset[83].headers)
    last = read_all(kafka, f"{topic}.{group}.predictions")[-1]
    assert last.headers == [("driftway-headers-left-out", b"12000005")]
    assert read_json(last.value or b"")["offset"] == n
    audited = driftway(
        "audit", "--bootstrap", kafka, "--input", topic, "--group", group, "--learner", "pa1", "--pass-headers", "*"
    )
    assert audited.code == 0, audited
    again = driftway("rejected", "--bootstrap", kafka, "--input", topic, "--kind", "id", "--send-again")
    assert again.code == 1
    assert f"{topic}/0@41: the rejection does not hold the whole event: it was too large, and must" in again.stderr


@pytest.mark.parametrize("client", slow_but(["python"], ["native", "python"]))
def test_a_rejected_topic_with_a_lower_size_limit_gets_the_beginnings_of_records(
    kafka: str, topic: str, group: str, client: str
) -> None:
    """The limit is known only when the broker refuses: the transaction is aborted, and its rows are repeated once."""
    create_topic(kafka, f"{topic}.{group}.rejected", 1, max_message_bytes="1000000")
    n = fill_topic(kafka, topic, [(b"?" * 3_000_000, None), (b"?" * 500_000, None), (b"?" * 4_000_000, None)])
    done = driftway(*worker(kafka, topic, group, "--client", client))
    assert done.code == 0, done
    assert done.stderr.count("commit failed") == 1
    rejected = accounted(kafka, topic, group, n)
    assert [header(one, "length") for one in rejected] == ["3000000", "500000", "4000000"]


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_when_workers_are_killed_at_truncated_rejections(
    kafka: str, topic: str, group: str
) -> None:
    n = fill_topic(kafka, topic, [(b"?" * 11_000_000, None)] * 6)
    for _ in range(4):
        with Driftway(*worker(kafka, topic, group)[:-1], "--commit-interval", "0.2") as child:
            child.await_text("rejected kind=not-json")
            child.kill()
    assert driftway(*worker(kafka, topic, group)).code == 0
    assert [one.value for one in accounted(kafka, topic, group, n)] == [b"?" * 1024] * 6


@pytest.mark.slow
def test_a_batch_that_cannot_be_decompressed_is_named_with_the_options_to_read_or_skip_it(
    kafka: str, topic: str, group: str
) -> None:
    """zstd batches are decompressed up to receive.message.max.bytes; the rows before one are committed."""
    n = fill_topic(kafka, topic, [(b"0" * 90_000_000, None)])
    done = driftway(*worker(kafka, topic, group, "--unavailable-timeout", "3", *SIZED))
    assert done.code == 1, done
    named = f"{topic}/0 cannot be read: Decompression (codec 0x4) of message at 20 of "
    assert named in done.stderr.splitlines()[-1]
    assert "raise -X receive.message.max.bytes" in done.stderr.splitlines()[-1]
    assert len(read_all(kafka, f"{topic}.{group}.predictions")) == 20
    other = f"{group}-removed"
    assert driftway(*worker(kafka, topic, other, "--unavailable-timeout", "3", *SIZED)).code == 1
    assert driftway(*worker(kafka, topic, group)).code == 0, "the default is ten times as large"
    (one,) = accounted(kafka, topic, group, n)
    assert header(one, "length") == "90000000"
    audited = driftway("audit", "--bootstrap", kafka, "--input", topic, "--group", group, "--learner", "pa1", *SIZED)
    assert audited.code == 1
    assert named.replace(f"{topic}/0 cannot be read", f"cannot read {topic}/0") in audited.stderr

    from confluent_kafka import TopicPartition

    from tests.support.kafka import admin

    client = admin(kafka)
    for future in client.delete_records([TopicPartition(topic, 0, 21)]).values():
        future.result(20)
    assert driftway(*worker(kafka, topic, other, *SIZED)).code == 4, "rows are skipped only if the option is given"
    assert driftway(*worker(kafka, topic, other, *SIZED, "--on-offset-out-of-range", "earliest")).code == 0
    offsets = [read_json(one.value or b"")["offset"] for one in read_all(kafka, f"{topic}.{other}.predictions")]
    assert offsets == [*range(20), *range(21, n)]


def test_a_poll_copies_a_bounded_number_of_bytes_and_a_seek_drops_what_is_held(kafka: str, topic: str) -> None:
    values = [b"%02d" % i + b"v" * 8_000_000 for i in range(12)]
    create_topic(kafka, topic, 1)
    for value in values:
        produce_compressed(kafka, topic, value)
    properties = {**base_properties(kafka, {}), **READER, "auto.offset.reset": "error"}
    fetcher = make_fetcher("native", properties, topic, False)

    def read_from(first: int, until: int) -> list[int]:
        """Read from an offset until one is reached; check every poll."""
        fetcher.assign({0: first})
        found: list[int] = []
        while not found or found[-1] < until:
            for records in fetcher.poll(10_000, 1.0).records:
                assert records.values.nbytes <= max(MAX_BYTES, 8_000_002)
                assert [value == values[o] for value, o in zip(records.values, records.offsets, strict=True)]
                found += records.offsets.tolist()
        return found

    assert read_from(0, 1)[:2] == [0, 1], "the others are held"
    assert read_from(3, 11) == list(range(3, 12))
    assert read_from(0, 11) == list(range(12))
    fetcher.close()


def test_the_queue_of_the_producer_is_bounded_in_bytes(kafka: str, topic: str, group: str) -> None:
    """Some hundred MB of rejections of 8 MB each: the worker waits for their delivery and commits all."""
    n = fill_topic(kafka, topic, [(b"?" * 8_000_000, None)] * 8)
    with Driftway(*worker(kafka, topic, group)) as child:
        assert child.wait(120) == 0
        assert "commit failed" not in child.stderr
    assert [len(one.value or b"") for one in accounted(kafka, topic, group, n)] == [8_000_000] * 8

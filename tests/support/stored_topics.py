"""Topics of an earlier version, stored in a file and restored on another broker with the same offsets.

The marker at the end of a transaction has an offset. So a gap after some records means that they were a transaction,
and they are restored as one. The id of the input's topic is in commit records, committed offsets and snapshots: it is
replaced.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from driftway.worker.kafka.client_config import quiet
from driftway.worker.kafka.log_reader.topic_facts import topic_id_text
from driftway.worker.state.snapshot import DIGEST_BYTES, MAGIC
from tests.support.kafka import END_SECONDS, admin, await_until, create_topic

Row = tuple[int, int, int, str | None, str | None]
"""Partition, offset, timestamp in ms, key and value in base64."""
NO_ID = "0" * 22
"""Stands for the topic's id in a file: as long as Kafka writes one."""


def _text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _bytes(content: str | None) -> bytes | None:
    return None if content is None else base64.b64decode(content)


def topic_id(bootstrap: str, topic: str) -> str:
    """Return the id of a topic in the form that commit records have."""
    from confluent_kafka import TopicCollection

    client = admin(bootstrap)  # keep a reference: a collected client never answers
    found = client.describe_topics(TopicCollection([topic]))[topic].result(timeout=END_SECONDS)
    text = topic_id_text(found.topic_id)
    assert text is not None
    return text


def stored_records(bootstrap: str, topic: str, known_id: str) -> dict[str, Any]:
    """Return all committed records of a topic with their offsets, and the ends of its partitions."""
    client = Consumer(quiet({"bootstrap.servers": bootstrap, "group.id": "nobody", "enable.partition.eof": True}))
    try:
        partitions = sorted(client.list_topics(topic, timeout=10).topics[topic].partitions)
        client.assign([TopicPartition(topic, number, 0) for number in partitions])
        rows: list[Row] = []
        ends: dict[int, int] = {}
        deadline = time.monotonic() + END_SECONDS
        while len(ends) < len(partitions):
            assert time.monotonic() < deadline, topic
            for message in client.consume(1000, timeout=0.2):
                if (error := message.error()) is None:
                    content = [_text(_replaced(one, known_id, NO_ID)) for one in (message.key(), message.value())]
                    rows.append((message.partition(), message.offset(), message.timestamp()[1], *content))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ends[message.partition()] = message.offset()
    finally:
        client.close()
    return {"ends": [ends[number] for number in partitions], "rows": sorted(rows)}


def _replaced(content: bytes | None, old: str, new: str) -> bytes | None:
    """Replace the id of the input topic, also in snapshots (of one record each), whose digests are recomputed."""
    assert len(old) == len(new)
    if content is None or old.encode() not in content:
        return content
    if not content.startswith(MAGIC):
        return content.replace(old.encode(), new.encode())
    body, digest = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
    assert _digest(body) == digest, "a snapshot of several records is not supported"
    changed = body.replace(old.encode(), new.encode())
    return changed + _digest(changed)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest()


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file, the same bytes for the same content."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
    path.write_bytes(gzip.compress(text, mtime=0))


def read(path: Path) -> dict[str, Any]:
    """Read a file."""
    content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return content


def remove(bootstrap: str, topics: Sequence[str]) -> None:
    """Delete topics of an earlier test, and wait until they are gone."""
    client = admin(bootstrap)  # keep a reference: a collected client never answers
    if present := [name for name in topics if name in client.list_topics(timeout=10).topics]:
        for future in client.delete_topics(present).values():
            future.result(timeout=END_SECONDS)
        await_until(lambda: not set(present) & set(client.list_topics(timeout=10).topics), END_SECONDS, "topics gone")


def restore_topic(bootstrap: str, topic: str, found: Mapping[str, Any], known_id: str | None, **configs: str) -> str:
    """Create a topic with records at the offsets that they had before; return the topic's id.

    Parameters
    ----------
    bootstrap, topic : str
        Where.
    found : mapping
        What `stored_records` returned.
    known_id : str or None
        Id of the input's topic; None: this is the input.
    **configs
        Settings of the topic, with _ for a dot.
    """
    create_topic(bootstrap, topic, len(found["ends"]), retention_ms="-1", **configs)
    own = topic_id(bootstrap, topic)
    common = {"bootstrap.servers": bootstrap, "linger.ms": 0}
    alone, together = Producer(quiet(common)), Producer(quiet({**common, "transactional.id": f"restore-{topic}"}))
    together.init_transactions(END_SECONDS)
    for number, end in enumerate(found["ends"]):
        rows = [row for row in found["rows"] if row[0] == number]
        for part, ended in _transactions(rows, end):
            producer = together if ended else alone
            if ended:
                producer.begin_transaction()
            for _, _, stamp, key, value in part:
                content = [_replaced(_bytes(one), NO_ID, known_id or own) for one in (value, key)]
                producer.produce(topic, *content, partition=number, timestamp=stamp)
            assert producer.flush(END_SECONDS) == 0
            if ended:
                producer.commit_transaction(END_SECONDS)
    assert [row[:2] for row in stored_records(bootstrap, topic, own)["rows"]] == [
        tuple(row[:2]) for row in found["rows"]
    ]
    return own


def _transactions(rows: Sequence[Row], end: int) -> Iterator[tuple[list[Row], bool]]:
    """Yield runs of records without a gap between them, and whether one follows, which is a transaction's end."""
    run: list[Row] = []
    for row in rows:
        if run and row[1] != run[-1][1] + 1:
            assert row[1] == run[-1][1] + 2, "an aborted transaction cannot be restored"
            yield run, True
            run = []
        run.append(row)
    if run:
        yield run, end > run[-1][1] + 1

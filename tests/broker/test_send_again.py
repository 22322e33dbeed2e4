"""`driftway rejected --send-again` sends the original record once."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from driftway.worker.admin.rejections.send_again import AGAIN
from driftway.worker.admin.watch.topic_tail import LogEnds, TopicTail
from driftway.worker.kafka.client_config import NATIVE, PYTHON, quiet
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ANY, watermarks
from tests.support.kafka import Deliveries, await_until, create_topic, empty, unique
from tests.support.kafka_commands import apply
from tests.support.process import Driftway, Finished, driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

CLIENTS = NATIVE, PYTHON
LEARNER = ("--learner", "perceptron")
BORN = 1_795_000_000_000
GOOD = b'{"x":[1,2],"y":1}'
EXOTIC: list[tuple[bytes | None, bytes | None, list[Any]]] = [
    (b'{"x":[1,2],"y":"up"}', None, []),
    (b'{"x":[1,2],"y":"up","id":1}', b"", [("a", b"1"), ("a", None), ("a", b"1"), ("b", b"")]),
    (b'{"x":[1,2],"y":"up","id":2}', b"\0\xff\xfe", [("\N{SNOWMAN}", bytes(range(256))), ("", b"nameless")]),
    (None, b"gone", [("trace", b"tombstone")]),
    (None, None, []),
    (b"", b"k", [("empty", b"")]),
    (b"\xff\0not JSON", b"k", [(str(i), b"%d" % i) for i in range(50)]),
    # The names of our headers, with other contents.
    (b'{"x":[1,2],"y":"up","id":3}', b"k", [(name, b"junk") for name in ("reason", "topic", "partition", "offset")]),
    (b'{"x":[1,2],"y":"up","id":4}', b"k", [("input-offset", b"7"), ("before", b"8"), ("timestamp", b"9")]),
    (b'{"x":[1,2],"y":"up","id":5}', b"k", [("headers", b"5"), ("event.a", b"1"), ("event.", None), (AGAIN, b"x")]),
]  # fmt: skip

Came = tuple[bytes | None, bytes | None, int, list[Any]]
"""Value, key, timestamp and headers of a record."""


def send(kafka: str, topic: str, records: list[Came], partition: int = 0) -> None:
    producer, deliveries = Producer(quiet({"bootstrap.servers": kafka, "enable.idempotence": True})), Deliveries()
    for value, key, timestamp, headers in records:
        producer.produce(topic, value, key, partition, deliveries.report, timestamp=timestamp, headers=headers)
    deliveries.require_all(producer, topic)


def arrived(kafka: str, topic: str, partitions: int = 1, open_transactions: bool = False) -> list[Came]:
    """All records of a topic that a read_committed reader sees once its transactions have ended.

    A commit returns before its markers are written. With `open_transactions`, what can be read now.
    """
    places, found = {topic: partitions}, list[Any]()
    committed, every = LogEnds(kafka, {}), LogEnds(kafka, {"isolation.level": "read_uncommitted"})
    if not open_transactions:
        await_until(lambda: committed.of(places) == every.of(places), 40, f"the end of the transactions in {topic}")
    ends = committed.of(places)
    with closing(TopicTail(kafka, {}, {topic: partitions}, ends=ends)) as tail:
        while not tail.at_end:
            found += tail.poll(0.2)
    found.sort(key=lambda message: (message.partition(), message.offset()))
    return [(one.value(), one.key(), one.timestamp()[1], one.headers() or []) for one in found]


def without_mark(records: list[Came]) -> list[Came]:
    """The records without the last header, which must say that they were sent again."""
    assert all(headers[-1][0] == AGAIN for *_, headers in records)
    return [(*one[:3], one[3][:-1]) for one in records]


def worker(kafka: str, topic: str, group: str, *more: str) -> None:
    done = driftway(
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end", *LEARNER, *more
    )
    assert done.code == 0, done


def ask(kafka: str, topic: str, group: str, *kinds: str) -> Finished:
    chosen = [word for kind in kinds for word in ("--kind", kind)]
    return driftway("rejected", "--input", topic, "--group", group, "--bootstrap", kafka, "--send-again", *chosen)


@pytest.mark.parametrize("client", slow_but([CLIENTS[0]], CLIENTS))
def test_the_original_record_is_sent_unchanged(kafka: str, client: str) -> None:
    """Key, value, headers and timestamp: null, empty, duplicate, binary, and with the names of our headers."""
    topic, group = create_topic(kafka, unique("as-it-came")), unique("group")
    odd: list[Came] = [(value, key, BORN + i, headers) for i, (value, key, headers) in enumerate(EXOTIC)]
    send(kafka, topic, [(GOOD, b"k", BORN, []), *odd])
    worker(kafka, topic, group, "--client", client)
    rejected = arrived(kafka, f"{topic}.{group}.rejected")
    assert [one[:2] for one in rejected] == [one[:2] for one in odd]
    done = ask(kafka, topic, group, "label", "null", "not-json")
    assert (done.code, done.stderr) == (0, f"sent {len(odd)} events back to the topics they came from\n")
    back = without_mark(arrived(kafka, topic)[1 + len(odd) :])
    expected = [(*one[:3], [header for header in one[3] if header[0] != AGAIN]) for one in odd]
    assert back == expected
    audited = driftway("audit", "--input", topic, "--group", group, "--bootstrap", kafka, *LEARNER, "--client", client)
    assert audited.code == 0, audited


def test_each_rejection_is_sent_once_and_a_new_rejection_of_a_sent_event_again(kafka: str) -> None:
    topic, group = create_topic(kafka, unique("once"), 2), unique("group")
    for p in (0, 1):
        send(
            kafka,
            topic,
            [(GOOD, b"k", BORN, []), (EXOTIC[0][0], b"k", BORN + p, [("p", b"%d" % p)]), (b"?", b"k", 5, [])],
            p,
        )
    worker(kafka, topic, group)
    assert ask(kafka, topic, group, "label").stderr.startswith("sent 2 events")
    second = ask(kafka, topic, group, "label")
    assert second.stderr == "sent 0 events back to the topics they came from; 2 had been sent before\n"
    both = ask(kafka, topic, group, "not-json", "label")
    assert both.stderr == "sent 2 events back to the topics they came from; 2 had been sent before\n"
    worker(kafka, topic, group)  # it rejects all four again: these are new rejections
    third = ask(kafka, topic, group, "label")
    assert third.stderr == "sent 2 events back to the topics they came from; 2 had been sent before\n"
    assert ask(kafka, topic, group, "label").stderr.startswith("sent 0 events")
    of_labels = [one for one in arrived(kafka, topic, 2) if one[0] == EXOTIC[0][0]]
    assert Counter(tuple(one[3][:1]) for one in of_labels) == {(("p", b"0"),): 3, (("p", b"1"),): 3}
    assert max(len(one[3]) for one in of_labels) == 2, "the header of the first sending is replaced by the second"


def test_a_topic_that_refuses_the_timestamp_is_named_with_the_setting(kafka: str) -> None:
    """Nothing is sent and nothing is marked, so the command works once the setting is raised."""
    topic, group = create_topic(kafka, unique("too-old")), unique("group")
    earlier = round(1000 * time.time()) - 600_000
    send(kafka, topic, [(GOOD, b"k", earlier, []), (b"?", b"k", earlier, [])])
    setting = "message.timestamp.before.max.ms=60000"
    place = f"--bootstrap-server {kafka} --entity-type topics --entity-name {topic}"
    apply(f"kafka-configs.sh --alter {place} --add-config {setting}")
    worker(kafka, topic, group)
    done = ask(kafka, topic, group, "not-json")
    assert (done.code, "message.timestamp.before.max.ms" in done.stderr) == (1, True)


def test_a_recreated_rejections_topic_has_no_record_of_earlier_sends(kafka: str) -> None:
    topic, group = create_topic(kafka, unique("anew")), unique("group")
    send(kafka, topic, [(GOOD, b"k", BORN, []), *[(b"?", b"%d" % i, BORN, []) for i in range(5)]])
    worker(kafka, topic, group)
    assert ask(kafka, topic, group, "not-json").stderr.startswith("sent 5 events")
    empty(kafka, f"{topic}.{group}.rejected", 1)
    send(kafka, topic, [(b"?", b"new", BORN, [])])
    worker(kafka, topic, group)
    assert "before" not in ask(kafka, topic, group, "not-json").stderr
    assert b"new" in [key for _, key, _, headers in arrived(kafka, topic) if headers]


def test_each_event_is_sent_once_although_the_command_is_killed(kafka: str) -> None:
    """The process dies within a transaction, whose events are not visible, or between two."""
    topic, group, n = create_topic(kafka, unique("killed")), unique("group"), 12_000
    send(kafka, topic, [(GOOD, b"k", BORN, []), *[(b"?", b"%d" % i, BORN + i, [("i", b"%d" % i)]) for i in range(n)]])
    worker(kafka, topic, group)
    arguments = (
        "rejected", "--input", topic, "--group", group, "--bootstrap", kafka, "--send-again", "--kind", "not-json",
    )  # fmt: skip
    killed, sent = 0, 0
    with closing(Consumer(quiet({"bootstrap.servers": kafka, "group.id": "nobody", "isolation.level": ANY}))) as asking:

        def end() -> int:
            return watermarks(asking, topic, 0, Deadline(10))[1]

        for number in range(6):
            before = end()
            with Driftway(*arguments) as sending:
                await_until(
                    lambda seen=before: end() > seen or sending.process.poll() is not None, 60, "arrivals", 0.001
                )
                time.sleep(0.02 * number)
                killed += sending.process.poll() is None
                sending.kill()
            now = len(arrived(kafka, topic, open_transactions=True)) - n - 1
            assert now >= sent
            sent = now
    assert killed > 1, "too few processes were killed midway"
    assert ask(kafka, topic, group, "not-json").code == 0
    back = without_mark(arrived(kafka, topic)[n + 1 :])
    assert [(key, stamp, headers) for _, key, stamp, headers in back] == [
        (b"%d" % i, BORN + i, [("i", b"%d" % i)]) for i in range(n)
    ]


@pytest.mark.parametrize("client", slow_but([CLIENTS[0]], CLIENTS))
def test_rejected_labels_are_sent_to_the_label_topic(kafka: str, client: str) -> None:
    topic, labels, group = create_topic(kafka, unique("events")), create_topic(kafka, unique("labels")), unique("group")
    send(kafka, topic, [(b'{"x":[1,2],"id":%d}' % i, b"k", BORN + 10 * i, []) for i in range(5)])
    bad = (b'{"id":1,"y":"up"}', b"", BORN + 15, [("trace", b"t"), ("trace", None)])
    send(kafka, labels, [(b'{"id":0,"y":1}', b"k", BORN + 5, []), bad, (b'{"id":3,"y":1}', b"k", BORN + 100, [])])
    options = ("--label-topic", labels, "--label-wait", "1h", "--client", client)
    worker(kafka, topic, group, *options)
    assert ask(kafka, topic, group, "label").stderr == "sent 1 event back to the topic it came from\n"
    assert without_mark(arrived(kafka, labels)[3:]) == [bad]
    assert len(arrived(kafka, topic)) == 5


def test_rejections_of_an_earlier_version_are_sent_with_the_known_fields(kafka: str) -> None:
    topic, group = create_topic(kafka, unique("earlier")), unique("group")
    send(kafka, topic, [(GOOD, b"k", BORN, []), (b"?", b"k", BORN + 1, [("trace", b"t")])])
    worker(kafka, topic, group)
    rejections = f"{topic}.{group}.rejected"
    old = [
        (name, value)
        for name, value in arrived(kafka, rejections)[0][3]
        if name in ("reason", "topic", "partition", "offset", "timestamp")
    ]
    cut = [*old, ("headers", b"2"), ("event.a", b"1")]
    send(kafka, rejections, [(b"?", b"old", 0, old), (b"?", b"cut", 0, cut)])
    done = ask(kafka, topic, group, "not-json")
    assert done.code == 1
    assert done.stderr.splitlines() == [
        "sent 2 events back to the topics they came from; 1 were rejected by an earlier version, which did not keep "
        "headers: whether they had any is not known, and they were sent without",
        f"driftway: 1 event was not sent: {topic}/0@1: the rejection does not hold the whole event: 1 header is "
        "left of 2",
    ]
    assert [(key, headers) for _, key, _, headers in without_mark(arrived(kafka, topic)[2:])] == [
        (b"k", [("trace", b"t")]),
        (b"old", []),
    ]
    again = ask(kafka, topic, group, "not-json")
    assert again.stderr.splitlines()[0] == "sent 0 events back to the topics they came from; 2 had been sent before"

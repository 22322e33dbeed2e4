"""librdkafka commits a transaction whose messages were never written: `python aborted_sequences.py HOST:PORT`.

Needs confluent-kafka and one running broker. A small proxy before it closes the connection instead of returning one
Produce response. Prints what readers of both isolation levels see. Exit code 1: the committed messages are missing.
"""

import contextlib
import socket
import struct
import sys
import threading
import time
from collections import Counter

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

HOST, PRODUCE, METADATA, FIND_COORDINATOR, INIT_PRODUCER_ID = "127.0.0.1", 0, 3, 10, 22


class Proxy:
    """Leads to one broker; loses the next reply to Produce once `armed`, with its connection."""

    def __init__(self, broker):
        self.broker, self.armed, self.lost = broker, False, False
        self.listener = socket.create_server((HOST, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            broker, asked = socket.create_connection(self.broker), {}
            for way in ((self.ask, client, broker), (self.reply, broker, client)):
                threading.Thread(target=way[0], args=(*way[1:], asked), daemon=True).start()

    def ask(self, client, broker, asked):
        with contextlib.suppress(OSError):
            while frame := read_frame(client):
                api, _, correlation = struct.unpack_from(">hhi", frame)
                asked[correlation] = api
                broker.sendall(struct.pack(">i", len(frame)) + frame)
        close(client, broker)

    def reply(self, broker, client, asked):
        with contextlib.suppress(OSError):
            while frame := read_frame(broker):
                api = asked.pop(struct.unpack_from(">i", frame)[0], None)
                if api == PRODUCE and self.armed:
                    self.armed, self.lost = False, True
                    break
                if api in (METADATA, FIND_COORDINATOR):  # the client is to stay with the proxy
                    frame = frame.replace(address(self.broker[1]), address(self.port))
                client.sendall(struct.pack(">i", len(frame)) + frame)
        close(client, broker)


def address(port):
    return HOST.encode() + struct.pack(">i", port)


def close(*sockets):
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


def read_frame(source):
    head = exactly(source, 4)
    return exactly(source, struct.unpack(">i", head)[0]) if head else b""


def exactly(source, size):
    pieces = bytearray()
    while len(pieces) < size:
        piece = source.recv(size - len(pieces))
        if not piece:
            return b""
        pieces += piece
    return bytes(pieces)


def batch(word):
    return [{"value": f"{word}-{i}".encode()} for i in range(100)]


def seen(bootstrap, topic, level):
    """Word -> messages that a reader of this isolation level is given."""
    own = {"group.id": f"{topic}-{level}", "isolation.level": level, "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": bootstrap, **own})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found, ended = Counter(), False
    while not ended:
        for message in consumer.consume(1000, 1.0):
            ended = ended or message.error() is not None
            if message.error() is None:
                found[message.value().decode().split("-")[0]] += 1
    consumer.close()
    return dict(found)


def main():
    bootstrap = sys.argv[1]
    host, _, port = bootstrap.rpartition(":")
    topic = f"aborted-sequences-{time.time_ns()}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    time.sleep(1)
    proxy = Proxy((host, int(port)))
    producer = Producer({
        "bootstrap.servers": f"{HOST}:{proxy.port}", "transactional.id": topic, "linger.ms": 5, "log_level": 0,
        "reconnect.backoff.ms": 1500, "reconnect.backoff.max.ms": 1500, "retry.backoff.ms": 1000,
    })  # fmt: skip
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce_batch(topic, batch("first"), partition=0)
    producer.commit_transaction(20)

    producer.begin_transaction()
    proxy.armed = True
    producer.produce_batch(topic, batch("aborted"), partition=0)
    while not proxy.lost:
        producer.poll(0.01)
    time.sleep(0.3)  # the client has noticed, and holds the messages back to send them again
    producer.abort_transaction(30)

    producer.begin_transaction()
    producer.produce_batch(topic, batch("committed"), partition=0)
    producer.commit_transaction(20)
    print("commit_transaction() has returned without an error")
    committed = seen(bootstrap, topic, "read_committed")
    print("read_committed sees  ", committed)
    print("read_uncommitted sees", seen(bootstrap, topic, "read_uncommitted"))
    sys.exit(int(committed.get("committed", 0) != 100))


if __name__ == "__main__":
    main()

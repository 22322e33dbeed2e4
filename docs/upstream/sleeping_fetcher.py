"""Fetching of a resumed partition starts up to a second late: `python sleeping_fetcher.py HOST:PORT`.

Needs confluent-kafka and a broker; creates one topic. Exit code 1: a resume does not wake the broker thread.
"""

import sys
import time
import uuid

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


def resume(consumer, topic_partition):
    consumer.resume([topic_partition])


def seek_and_resume(consumer, topic_partition):
    consumer.seek(topic_partition)
    consumer.resume([topic_partition])


def resume_and_seek(consumer, topic_partition):
    consumer.resume([topic_partition])
    consumer.seek(topic_partition)


def await_message(consumer):
    if consumer.poll(10) is None:
        raise TimeoutError("no message within 10 s")


bootstrap, topic = sys.argv[1], f"fetcher-{uuid.uuid4().hex}"
admin = AdminClient({"bootstrap.servers": bootstrap})
admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
producer = Producer({"bootstrap.servers": bootstrap})
for number in range(100):
    producer.produce(topic, str(number), partition=0)
producer.flush()
settings = {"group.id": "nobody", "enable.auto.commit": False, "fetch.wait.max.ms": 100}
consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
slowest = {}
for way in (resume, seek_and_resume, resume_and_seek):
    times = []
    for offset in range(10, 13):
        topic_partition = TopicPartition(topic, 0, offset)
        consumer.assign([topic_partition])
        await_message(consumer)
        consumer.pause([topic_partition])
        while consumer.poll(0.3) is not None:  # longer than a fetch waits: the thread that fetches is idle then
            pass
        begun = time.monotonic()
        way(consumer, topic_partition)
        await_message(consumer)
        times.append(time.monotonic() - begun)
    slowest[way.__name__] = max(times)  # on a busy machine a seek wakes the thread late, after the partition is resumed
    print(f"{way.__name__:16} {1000 * max(times):5.0f} ms until the first message")
consumer.close()
sys.exit(max(slowest["resume"], slowest["seek_and_resume"]) > 0.25)

"""confluent-kafka leaks the exception that is being handled while it raises another: `python kept_exceptions.py`.

Needs confluent-kafka and no broker. Exit code 1: the exception, and every object that its frames refer to, is never
freed.
"""

import contextlib
import gc
import sys
import weakref

from confluent_kafka import KafkaException, Producer


class Held:
    """Something large, in a frame that an exception has passed."""


def fail():
    held = Held()
    seen.append(weakref.ref(held))
    raise ValueError("of the application")


def clean_up():
    with contextlib.suppress(KafkaException):
        producer.begin_transaction()  # refused: init_transactions() was not called


producer = Producer({"bootstrap.servers": "127.0.0.1:1", "transactional.id": "kept", "log_level": 0})
seen: list[weakref.ref[Held]] = []
for handler in (clean_up, lambda: None):
    with contextlib.suppress(ValueError):
        try:
            fail()
        except ValueError:
            handler()
            raise
gc.collect()
with_client, without_client = (one() is not None for one in seen)
print(f"kept where the client raised in the handler: {with_client}, where it did not: {without_client}")
sys.exit(with_client and not without_client)

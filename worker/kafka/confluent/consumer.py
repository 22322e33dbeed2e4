"""confluent-kafka's consumer: how one is created, and its messages as columns."""

from __future__ import annotations

from itertools import compress

from confluent_kafka import Consumer, KafkaError, Message

from driftway.worker.kafka.client_config import Properties, knows_brokers, quiet, refused_properties
from driftway.worker.kafka.consumer_columns import by_partition, records_of
from driftway.worker.kafka.interface import NO_BROKERS, ClientError, PollResult

KNOWS_NO_BROKER = ClientError(KafkaError(KafkaError._ALL_BROKERS_DOWN, NO_BROKERS), 0, None)


class WatchedConsumer(Consumer):
    """A consumer that notices by its statistics, if it has an interval for them, that it knows no broker any more."""

    def __init__(self, properties: Properties) -> None:
        self.problems: list[ClientError] = []
        given = properties.get("stats_cb", lambda _text: None)

        def count(statistics: str) -> None:
            if not knows_brokers(statistics):
                self.problems = [KNOWS_NO_BROKER]
            given(statistics)

        super().__init__({**properties, "stats_cb": count})


def make_consumer(properties: Properties) -> WatchedConsumer:
    """Create a consumer, for use in a group or outside any.

    Raises
    ------
    UsageFailure
        A property is not valid.
    """
    with refused_properties(properties):
        return WatchedConsumer(quiet(properties))


def poll_records(consumer: WatchedConsumer, max_messages: int, wait: float, headers: bool) -> PollResult:
    """Return up to `max_messages` messages that have arrived, after waiting up to `wait` seconds for the first."""
    # A single timed call for the batch would wait for it to fill up (docs/kafka.md#fetch-settings).
    first = consumer.poll(wait)
    if first is None:
        return PollResult([], consumer.problems)
    messages = [first, *(consumer.consume(max_messages - 1, timeout=0) if max_messages > 1 else ())]
    # map over the client's C methods, so that no bytecode runs per message.
    bad = list(compress(messages, map(Message.error, messages)))
    good = [message for message in messages if message.error() is None] if bad else messages
    records = [records_of(partition, share, headers) for partition, share in by_partition(good).items()]
    return PollResult(records, [problem for message in bad if (problem := _client_error(message)) is not None])


def _client_error(message: Message) -> ClientError | None:
    error = message.error()
    return None if error is None else ClientError(error, message.partition() or 0, message.offset())

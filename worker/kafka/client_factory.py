"""Chooses and creates Kafka clients: the C library called directly, or confluent-kafka's objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import NATIVE, PYTHON, quiet, refused_properties, require_client_threads
from driftway.worker.kafka.confluent.consumer import make_consumer
from driftway.worker.kafka.confluent.fetcher import ConfluentFetcher
from driftway.worker.kafka.confluent.member import ConfluentMember
from driftway.worker.kafka.confluent.sender import ConfluentSender
from driftway.worker.kafka.interface import Fetcher, Member, Sender

if TYPE_CHECKING:
    from driftway.worker.kafka.librdkafka.bulk_producer import BulkProducer


def choose_client(client: str) -> tuple[str, str | None]:
    """Resolve a client option to PYTHON or NATIVE; for AUTO, also return why NATIVE cannot be used, if so.

    Raises
    ------
    UsageFailure
        NATIVE was requested, and cannot be used here.
    Failure
        This process cannot start the threads of a client.
    """
    if client == PYTHON:
        return PYTHON, None
    require_client_threads()
    from driftway.worker.kafka.librdkafka.abi_check import checked_library
    from driftway.worker.kafka.librdkafka.library import Unsupported

    try:
        checked_library()
    except Unsupported as error:
        if client == NATIVE:
            raise UsageFailure(f"--client native cannot be used here: {error}") from None
        return PYTHON, str(error)
    return NATIVE, None


def require_printable(group: str, way_out: str) -> None:
    """Refuse a group in whose name the Python client commits no transaction: it would try for ever.

    Raises
    ------
    UsageFailure
        It is such a group; the message ends with `way_out`.
    """
    if not (group.isascii() and group.isprintable()):
        raise UsageFailure(
            f"group {group!r} has characters other than printable ASCII in its name, for which the Python client "
            f"commits no transactions: {way_out}"
        )


def warm_client(client: str) -> None:
    """Compile or load the kernels of a client."""
    if client == NATIVE:
        from driftway.worker.kafka.librdkafka.abi_check import checked_library
        from driftway.worker.kafka.librdkafka.warm_up import warm

        warm(checked_library())


def make_member(
    client: str, properties: Mapping[str, Any], topic: str, incremental: bool, headers: bool = False
) -> Member:
    """Create a group member that has not subscribed yet; `headers`: whether to read headers at once.

    Raises
    ------
    UsageFailure
        A property is not valid.
    """
    if client != NATIVE:
        return ConfluentMember(make_consumer(dict(properties)), topic, incremental, headers)
    from driftway.worker.kafka.librdkafka.abi_check import checked_library
    from driftway.worker.kafka.librdkafka.member import LibrdkafkaMember

    with refused_properties(properties):
        return LibrdkafkaMember(checked_library(), quiet(properties), topic, incremental, headers)


def make_fetcher(client: str, properties: Mapping[str, Any], topic: str, headers: bool = False) -> Fetcher:
    """Create a fetcher that has no partitions yet; `headers`: whether to read headers at once.

    Raises
    ------
    UsageFailure
        A property is not valid.
    """
    if client != NATIVE:
        return ConfluentFetcher(make_consumer(dict(properties)), topic, headers)
    from driftway.worker.kafka.librdkafka.abi_check import checked_library
    from driftway.worker.kafka.librdkafka.fetcher import LibrdkafkaFetcher

    with refused_properties(properties):
        return LibrdkafkaFetcher(checked_library(), quiet(properties), topic, headers)


def make_sender(client: str, properties: Mapping[str, Any], partition: int, every_report: bool) -> Sender:
    """Create a producer of a partition's outputs.

    Raises
    ------
    KafkaException
        A property is not valid.
    """
    if client != NATIVE:
        return ConfluentSender(quiet(properties), partition, every_report)
    from driftway.worker.kafka.librdkafka.abi_check import checked_library
    from driftway.worker.kafka.librdkafka.sender import LibrdkafkaSender

    return LibrdkafkaSender(checked_library(), quiet(properties), partition)


def make_bulk_producer(properties: Mapping[str, Any]) -> BulkProducer:
    """Create a producer of many messages on the C library; `properties` are used as they are.

    Raises
    ------
    UsageFailure
        A property is not valid.
    """
    from driftway.worker.kafka.librdkafka.abi_check import checked_library
    from driftway.worker.kafka.librdkafka.bulk_producer import BulkProducer

    with refused_properties(properties):
        return BulkProducer(checked_library(), properties)

"""The functions of the librdkafka that ships with confluent-kafka, with errors as confluent-kafka's own.

A symbol lookup in confluent-kafka's extension module also searches the libraries that it is linked to. So the wheel's
librdkafka can be called through its public, stable interface, whatever its file is called. Where the loader does not do
that (Windows), or an older library lacks a symbol, `load` raises Unsupported.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_void_p
from functools import cache
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

LEAST_VERSION = 0x02000000
"""0xMMmmrrxx; from this version on transactions, incremental rebalances and batch calls all exist."""

PRODUCER, CONSUMER = 0, 1
COPY = 2
"""Flag of `produce_batch`: copy payloads and keys before returning."""
OWN_PARTITIONS = 8
"""Flag of `produce_batch`: each message carries its own partition."""
ASSIGN, REVOKE = -175, -174
"""Codes passed to a rebalance callback."""
ANY_PARTITION = -1
"""For a subscription, or for messages whose partition is chosen by key."""
PURGE_QUEUED, PURGE_IN_FLIGHT = 1, 2


class Unsupported(Exception):
    """The installed library cannot be used; the message says why."""


class TopicPartitionStruct(Structure):
    """``rd_kafka_topic_partition_t``."""

    _fields_ = (
        ("topic", c_char_p),
        ("partition", c_int32),
        ("offset", c_int64),
        ("metadata", c_void_p),
        ("metadata_size", c_size_t),
        ("opaque", c_void_p),
        ("err", c_int),
        ("private", c_void_p),
    )


class TopicPartitionListStruct(Structure):
    """``rd_kafka_topic_partition_list_t``."""

    _fields_ = (("count", c_int), ("size", c_int), ("elements", POINTER(TopicPartitionStruct)))


class TopicMetadataStruct(Structure):
    """``rd_kafka_metadata_topic_t``."""

    _fields_ = (("name", c_char_p), ("partition_count", c_int), ("partitions", c_void_p), ("err", c_int))


class MetadataStruct(Structure):
    """``rd_kafka_metadata_t``."""

    _fields_ = (
        ("broker_count", c_int),
        ("brokers", c_void_p),
        ("topic_count", c_int),
        ("topics", POINTER(TopicMetadataStruct)),
        ("broker", c_int32),
        ("broker_name", c_char_p),
    )


TOPIC_PARTITION_LIST = POINTER(TopicPartitionListStruct)
REBALANCE_CB = ctypes.CFUNCTYPE(None, c_void_p, c_int, TOPIC_PARTITION_LIST, c_void_p)
"""``rebalance_cb(handle, ASSIGN or REVOKE, topic_partitions, opaque)``; must outlive its handle, and must not raise."""
ERROR_CB = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
"""``error_cb(handle, code, reason, opaque)``; the same holds."""
STATS_CB = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
"""``stats_cb(handle, JSON, its length, opaque)``; returns 0, so that the library frees the JSON."""
THROTTLE_CB = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int32, c_int, c_void_p)
"""``throttle_cb(handle, broker's name, its id, milliseconds, opaque)``."""

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "version": (c_int,),
    "version_str": (c_char_p,),
    "conf_new": (c_void_p,),
    "conf_destroy": (None, c_void_p),
    "conf_set": (c_int, c_void_p, c_char_p, c_char_p, c_char_p, c_size_t),
    "conf_set_rebalance_cb": (None, c_void_p, REBALANCE_CB),
    "conf_set_dr_msg_cb": (None, c_void_p, c_void_p),
    "conf_set_error_cb": (None, c_void_p, ERROR_CB),
    "conf_set_stats_cb": (None, c_void_p, STATS_CB),
    "conf_set_throttle_cb": (None, c_void_p, THROTTLE_CB),
    "conf_set_log_cb": (None, c_void_p, c_void_p),
    "conf_set_opaque": (None, c_void_p, c_void_p),
    "new": (c_void_p, c_int, c_void_p, c_char_p, c_size_t),
    "destroy_flags": (None, c_void_p, c_int),
    "brokers_add": (c_int, c_void_p, c_char_p),
    "poll": (c_int, c_void_p, c_int),
    "poll_set_consumer": (c_int, c_void_p),
    "subscribe": (c_int, c_void_p, TOPIC_PARTITION_LIST),
    "assign": (c_int, c_void_p, TOPIC_PARTITION_LIST),
    "incremental_assign": (c_void_p, c_void_p, TOPIC_PARTITION_LIST),
    "incremental_unassign": (c_void_p, c_void_p, TOPIC_PARTITION_LIST),
    "rebalance_protocol": (c_char_p, c_void_p),
    "assignment_lost": (c_int, c_void_p),
    "seek_partitions": (c_void_p, c_void_p, TOPIC_PARTITION_LIST, c_int),
    "pause_partitions": (c_int, c_void_p, TOPIC_PARTITION_LIST),
    "resume_partitions": (c_int, c_void_p, TOPIC_PARTITION_LIST),
    "commit": (c_int, c_void_p, TOPIC_PARTITION_LIST, c_int),
    "get_watermark_offsets": (c_int, c_void_p, c_char_p, c_int32, POINTER(c_int64), POINTER(c_int64)),
    "consumer_close": (c_int, c_void_p),
    "queue_get_consumer": (c_void_p, c_void_p),
    "queue_destroy": (None, c_void_p),
    "consume_batch_queue": (c_ssize_t, c_void_p, c_int, c_void_p, c_size_t),
    "message_destroy": (None, c_void_p),
    "message_timestamp": (c_int64, c_void_p, c_void_p),
    "message_leader_epoch": (c_int32, c_void_p),
    "message_headers": (c_int, c_void_p, c_void_p),
    "header_get_all": (c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p),
    "topic_new": (c_void_p, c_void_p, c_char_p, c_void_p),
    "topic_destroy": (None, c_void_p),
    "metadata": (c_int, c_void_p, c_int, c_void_p, POINTER(POINTER(MetadataStruct)), c_int),
    "metadata_destroy": (None, POINTER(MetadataStruct)),
    "produce_batch": (c_int, c_void_p, c_int32, c_int, c_void_p, c_int),
    "produceva": (c_void_p, c_void_p, c_void_p, c_size_t),
    "outq_len": (c_int, c_void_p),
    "flush": (c_int, c_void_p, c_int),
    "purge": (c_int, c_void_p, c_int),
    "init_transactions": (c_void_p, c_void_p, c_int),
    "begin_transaction": (c_void_p, c_void_p),
    "send_offsets_to_transaction": (c_void_p, c_void_p, TOPIC_PARTITION_LIST, c_void_p, c_int),
    "commit_transaction": (c_void_p, c_void_p, c_int),
    "abort_transaction": (c_void_p, c_void_p, c_int),
    "consumer_group_metadata": (c_void_p, c_void_p),
    "consumer_group_metadata_destroy": (None, c_void_p),
    "topic_partition_list_new": (TOPIC_PARTITION_LIST, c_int),
    "topic_partition_list_add": (POINTER(TopicPartitionStruct), TOPIC_PARTITION_LIST, c_char_p, c_int32),
    "topic_partition_list_destroy": (None, TOPIC_PARTITION_LIST),
    "mem_malloc": (c_void_p, c_void_p, c_size_t),
    "error_code": (c_int, c_void_p),
    "error_string": (c_char_p, c_void_p),
    "error_is_fatal": (c_int, c_void_p),
    "error_is_retriable": (c_int, c_void_p),
    "error_txn_requires_abort": (c_int, c_void_p),
    "error_destroy": (None, c_void_p),
}
"""Name without ``rd_kafka_`` -> type of the result, then those of the arguments. Functions that can fail return an
error code (c_int, see `Library.require`) or an error object (c_void_p, see `Library.check`)."""


class Library:
    """The functions as attributes, under their names without ``rd_kafka_``.

    Parameters
    ----------
    loaded : ctypes.CDLL
        The library that has them.

    Raises
    ------
    Unsupported
        A function is missing, or the version is too old or not that of confluent-kafka.
    """

    def __init__(self, loaded: Any) -> None:
        for name, (result, *arguments) in FUNCTIONS.items():
            try:
                function = getattr(loaded, f"rd_kafka_{name}")
            except AttributeError:
                raise Unsupported(f"rd_kafka_{name} cannot be found through confluent-kafka's module") from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        if (version := self.version()) < LEAST_VERSION:
            raise Unsupported(f"librdkafka {self.version_str().decode()} is older than 2.0")
        if version != confluent_kafka.libversion()[1]:
            raise Unsupported(f"librdkafka {self.version_str().decode()} is not the one that confluent-kafka uses")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(f"rd_kafka_{name} is not declared in this package")

    def address(self, name: str) -> int:
        """Return a function's address, for kernels that call it."""
        return int(ctypes.cast(getattr(self, name), c_void_p).value or 0)

    def check(self, error: int | None) -> None:
        """Raise an error object as confluent-kafka would, and free it; None is no error.

        Raises
        ------
        KafkaException
        """
        if not error:
            return
        raised = KafkaError(
            self.error_code(error),
            self.error_string(error).decode(errors="replace"),
            bool(self.error_is_fatal(error)),
            bool(self.error_is_retriable(error)),
            bool(self.error_txn_requires_abort(error)),
        )
        self.error_destroy(error)
        raise KafkaException(raised)

    def require(self, code: int, reason: str | None = None) -> None:
        """Raise an error code as a KafkaException; 0 is no error.

        Raises
        ------
        KafkaException
        """
        if code:
            raise KafkaException(KafkaError(code) if reason is None else KafkaError(code, reason))


@cache
def load() -> Library:
    """Load the library that ships with confluent-kafka.

    Raises
    ------
    Unsupported
        It cannot be used directly; confluent-kafka's own client still can.
    """
    try:
        return Library(ctypes.CDLL(confluent_kafka.cimpl.__file__))
    except OSError as error:
        raise Unsupported(f"confluent-kafka's module cannot be opened: {error}") from None

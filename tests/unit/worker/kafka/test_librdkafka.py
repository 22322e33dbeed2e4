"""Access to the C library: what is found is checked, and what does not fit is refused with a sentence."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import confluent_kafka
import numpy as np
import pytest
from confluent_kafka import KafkaError, KafkaException

from driftway.worker.kafka.librdkafka import abi_check, library, message
from driftway.worker.kafka.librdkafka.abi_check import checked_library
from driftway.worker.kafka.librdkafka.handle import Handle, TopicPartitionList, partitions_of
from driftway.worker.kafka.librdkafka.library import PRODUCER, Library, Unsupported, load


def test_the_library_is_that_of_the_python_client() -> None:
    assert checked_library().version() == confluent_kafka.libversion()[1]


def test_a_missing_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(library.FUNCTIONS, "of_tomorrow", (None,))
    with pytest.raises(Unsupported, match="rd_kafka_of_tomorrow cannot be found"):
        Library(ctypes.CDLL(confluent_kafka.cimpl.__file__))


def test_an_older_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LEAST_VERSION", 0x7F000000)
    with pytest.raises(Unsupported, match="is older than"):
        Library(ctypes.CDLL(confluent_kafka.cimpl.__file__))


def test_a_library_other_than_the_clients_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confluent_kafka, "libversion", lambda: ("2.0.0", 0x020000FF))
    with pytest.raises(Unsupported, match="is not the one that confluent-kafka uses"):
        Library(ctypes.CDLL(confluent_kafka.cimpl.__file__))


@pytest.mark.parametrize("word", ["PARTITION", "LENGTH", "KEY_LENGTH", "OPAQUE"])
def test_a_different_layout_of_messages_is_detected(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Wrong address fields cannot be tested here, as checking them would read anywhere in memory.
    monkeypatch.setattr(abi_check, word, message.OFFSET)
    assert "a message reads" in (abi_check._message_differs(load()) or "")


def test_a_different_layout_of_topic_partitions_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = [field for field in library.TopicPartitionStruct._fields_ if field[0] != "partition"]
    fields.insert(2, ("partition", ctypes.c_int32))
    other = type("Other", (ctypes.Structure,), {"_fields_": fields})
    topic_partitions = type(
        "Others",
        (ctypes.Structure,),
        {"_fields_": (*library.TopicPartitionListStruct._fields_[:2], ("elements", ctypes.POINTER(other)))},
    )
    functions = {**library.FUNCTIONS}
    functions["topic_partition_list_new"] = (ctypes.POINTER(topic_partitions), ctypes.c_int)
    functions["topic_partition_list_add"] = (
        ctypes.POINTER(other),
        ctypes.POINTER(topic_partitions),
        ctypes.c_char_p,
        ctypes.c_int32,
    )
    functions["topic_partition_list_destroy"] = (None, ctypes.POINTER(topic_partitions))
    monkeypatch.setattr(library, "FUNCTIONS", functions)
    assert "a topic partition reads" in (
        abi_check._partition_differs(Library(ctypes.CDLL(confluent_kafka.cimpl.__file__))) or ""
    )


def test_an_invalid_property_is_the_clients_own_error() -> None:
    with pytest.raises(KafkaException, match=r"no\.such\.property") as caught:
        Handle(load(), PRODUCER, {"no.such.property": 1})
    assert caught.value.args[0].code() == KafkaError._INVALID_ARG


def test_an_error_object_becomes_the_clients_own_error() -> None:
    properties = {**abi_check.NOBODY_LISTENS, "transactional.id": "t"}
    with Handle(load(), PRODUCER, properties) as handle, pytest.raises(KafkaException) as caught:
        load().check(load().begin_transaction(handle.address))
    error = caught.value.args[0]
    assert (error.code(), error.fatal(), error.retriable()) == (KafkaError._STATE, False, False)
    assert error.str()


def test_topic_partitions_are_written_and_read_back() -> None:
    with TopicPartitionList(load(), "topic", [(3, 7), (1, 9)]) as topic_partitions:
        assert partitions_of(topic_partitions) == [3, 1]
        assert [topic_partitions.contents.elements[i].offset for i in range(2)] == [7, 9]


def test_a_kernel_reads_negative_numbers_of_32_bits() -> None:
    fields = np.zeros(message.WORDS, np.int64)
    fields[message.ERROR] = np.uint32(-191 & 0xFFFFFFFF)
    fields[message.PARTITION] = 0x7FFF_FFFF_0000_0003
    rows = np.empty((1, message.WORDS), np.int64)
    assert message.read(np.array([fields.ctypes.data]), rows) == 1
    assert (rows[0, message.ERROR], rows[0, message.PARTITION]) == (-191, 3)


def test_a_callback_is_compiled_without_a_lock_that_stays(tmp_path: Path) -> None:
    """Where its code cannot be written, others would wait for the lock, until the process that holds it ends."""
    tmp_path.chmod(0o700)
    compiling = "from driftway.worker.kafka.librdkafka.sender import delivered; print(delivered() != 0)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", compiling], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".kernel"]

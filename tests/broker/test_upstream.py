"""Bugs of the client and the broker that the worker guards against, reproduced on the installed versions.

A test fails once its bug is fixed: docs/upstream/README.md describes what to do then.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import confluent_kafka
import pytest

from driftway.workbench.broker.distribution import KAFKA_VERSION
from tests.support import java
from tests.support.process import ROOT

UPSTREAM = ROOT / "docs" / "upstream"


def test_librdkafka_still_commits_transactions_with_missing_messages(kafka: str) -> None:
    argv = [sys.executable, str(UPSTREAM / "aborted_sequences.py"), kafka]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert "commit_transaction() has returned without an error" in done.stdout, done.stdout + done.stderr
    shown = "read_committed sees   {'first': 100}\nread_uncommitted sees {'first': 100, 'aborted': 100}\n"
    assert (done.returncode, shown in done.stdout) == (1, True), (
        f"librdkafka {confluent_kafka.libversion()[0]} seems to be fixed, see docs/upstream/README.md: {done.stdout}"
    )


def test_librdkafka_still_fetches_resumed_partitions_late(kafka: str) -> None:
    argv = [sys.executable, str(UPSTREAM / "sleeping_fetcher.py"), kafka]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (1, ""), (
        f"librdkafka {confluent_kafka.libversion()[0]} seems to be fixed, see docs/upstream/README.md: {done}"
    )


@pytest.mark.slow
def test_kafka_still_answers_from_a_partly_loaded_log(tmp_path: Path) -> None:
    output = java.run(UPSTREAM / "StaleLoad.java", tmp_path)
    fixed_message = f"Kafka {KAFKA_VERSION} seems to be fixed, see docs/upstream/README.md: {output}"
    assert "epoch 10's load done, 12's half way      : 647521 (16 minutes old)" in output, fixed_message
    assert "transaction aborted, loads over          : 883000 (never committed)" in output, fixed_message


@pytest.mark.slow
def test_kafka_still_treats_a_partition_without_a_leader_as_deleted(tmp_path: Path) -> None:
    output = java.run(UPSTREAM / "LostMarkers.java", tmp_path)
    fixed_message = f"Kafka {KAFKA_VERSION} seems to be fixed, see docs/upstream/README.md: {output}"
    assert "a partition without a leader: Optional.empty, so deleted, its marker is skipped" in output, fixed_message


def test_confluent_kafka_still_keeps_references_to_handled_exceptions() -> None:
    argv = [sys.executable, str(UPSTREAM / "kept_exceptions.py")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    shown = "kept where the client raised in the handler: True, where it did not: False\n"
    fixed_message = (
        f"confluent-kafka {confluent_kafka.__version__} seems to be fixed, see docs/upstream/README.md: {done}"
    )
    assert (done.returncode, done.stdout) == (1, shown), fixed_message

"""Ids of topics as text."""

from __future__ import annotations

from confluent_kafka import Uuid

from driftway.worker.kafka.log_reader.topic_facts import topic_id_text


def test_ids_are_written_as_kafka_writes_them() -> None:
    assert topic_id_text(Uuid(-1, -1)) == "_" * 21 + "w"
    assert topic_id_text(Uuid(62 << 4, 0)) == "AAAAAAAAA-AAAAAAAAAAAA"


def test_brokers_without_ids_give_none() -> None:
    assert topic_id_text(Uuid(0, 0)) is None
    assert topic_id_text(None) is None

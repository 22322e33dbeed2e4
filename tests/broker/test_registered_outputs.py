"""Predictions with a registered schema on a real Kafka: written once although a worker dies, audited, and readable."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.registered.framing import schema_id_of
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import read_all
from tests.support.process import Driftway, Finished, driftway
from tests.support.registry import BY_TOPIC, Stub, client
from tests.unit.worker.wire.test_registered import message_class, plain

pytestmark = pytest.mark.broker

ROWS, FIRST, SECOND = 800, 500, 650
MODELS = ("--learner", "arow", "--emit", "all", "--coverage", "0.9", "--accuracy-every", "200")


def read(stub: Stub, scenario: FaultScenario, name: str) -> list[dict[str, Any]]:
    """Return all records of an output as the registry's client reads them, by partition."""
    topic = f"{scenario.prefix}.{name}"
    where = SerializationContext(topic, MessageField.VALUE)
    message = ProtobufDeserializer(message_class("binary"), {"use.deprecated.format": False})
    readers = {
        1: AvroDeserializer(client(stub.url), conf=BY_TOPIC),
        2: lambda value, at: plain(message(value, at)),
        3: JSONDeserializer(None, schema_registry_client=client(stub.url), conf=BY_TOPIC),
    }
    records = sorted(read_all(scenario.bootstrap, topic), key=lambda one: (one.partition, one.offset))
    return [readers[schema_id_of(one.value or b"")](one.value, where) for one in records]


def test_registered_predictions_are_written_once_audited_and_read(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    place = "--input", scenario.topic, "--bootstrap", kafka
    with Stub() as stub:
        registry = "--registry", stub.url
        binary = *MODELS, "--output-format", "avro", *registry

        def audit(*more: str) -> Finished:
            return driftway("audit", *place, "--group", scenario.group, "--coverage", "0.9", *more)

        lost = driftway("worker", "--input", "NONE", "--group", "g", "--bootstrap", kafka, *binary)
        assert (lost.code, stub.versions) == (2, {}), "nothing is registered for an input that does not exist"
        with scenario.auditor() as auditor:
            with CrashingDriftway(Step.FLUSHED, 6, *scenario.worker(*binary)) as victim:
                fed = scenario.feed_until_ended(auditor, victim, 0)
            assert fed <= FIRST
            scenario.fill(fed, FIRST)
            with Driftway(*scenario.worker(*binary, "--stop-at-end")) as worker:
                assert worker.wait(60) == 0, worker.summary()
            for first, last, form in ((FIRST, SECOND, "protobuf"), (SECOND, ROWS, "json-schema")):
                scenario.fill(first, last)
                done = driftway(*scenario.worker(*MODELS, "--output-format", form, *registry, "--stop-at-end"))
                assert done.code == 0, done.stderr
            auditor.await_all(2 * ROWS)
        auditor.require(scenario.expected)
        assert {name: sorted(ids) for name, ids in stub.versions.items()} == {
            f"{scenario.prefix}.{name}-value": [1, 2, 3] for name in ("predictions", "challengers")
        }

        found = read(stub, scenario, "predictions")
        assert [one["offset"] for one in found] == 2 * list(range(ROWS))
        assert found[0].keys() ^ found[-1].keys() == {"kind", "plan"}, "JSON has no kind, and a plan only from 2 on"
        assert [str(one["id"]) for one in found] == [str(one["offset"]) for one in found]
        assert [one["score"] for one in found] == [scenario.expected[one["partition"], one["offset"]] for one in found]
        assert {one["learner"] for one in found} == {LEARNER}
        assert {one["learner"] for one in read(stub, scenario, "challengers")} == {"arow"}
        assert all(one["set"] is not None and 0 < one["probability"] < 1 for one in found[20:ROWS])

        held = audit(*registry, "--output-format", "avro", "--json")
        assert held.code == 0, held
        for account in json.loads(held.stdout)["partitions"]:
            assert account["schemas"] == [["avro", 1], ["json-schema", 3], ["protobuf", 2]]
            assert (account["predictions"], account["challengers"], account["unchecked"]) == (ROWS, ROWS, [])
        blind = audit()
        assert blind.code == 0, blind
        assert "Not checked: " in blind.stdout
        assert "that schema 1 (avro), 3 (json-schema), 2 (protobuf) of the predictions is theirs" in blind.stdout
        stub.schemas[0] = {"schema": '"string"'}
        other = audit(*registry, "--output-format", "avro")
        assert other.code == 1
        assert other.stderr.endswith(
            f"predictions in {scenario.prefix}.predictions have schema 1, which is not that of avro predictions of "
            "this target in the registry\n"
        )

        watched = driftway("watch", *place, "--once", "--json", "--metric", "precision")
        assert watched.code == 0, watched.stderr
        rows = [row for row in json.loads(watched.stdout) if row["learner"] == LEARNER]
        newest = {row["newest_prediction"]["prediction"] for row in rows}
        assert [(row["offsets"], row["lag"], newest <= {0, 1}) for row in rows] == 2 * [(ROWS, 0, True)]
        for offset in (FIRST - 1, FIRST, SECOND):
            one = "--group", scenario.group, "--partition", "1", "--offset", str(offset)
            explained = driftway("explain", *place, *one, "--json")
            assert explained.code == 0, explained.stderr
            assert json.loads(explained.stdout)["emitted"]["verdict"] == "same", explained.stdout
        stub.refusal = 409, {"error_code": 409, "message": "incompatible"}
        number = "--task", "regression", "--learner", "rls", "--group", "other", "--output-format", "avro"
        refused = driftway("worker", *place, *number, *registry, "--stop-at-end")
        assert refused.code == 2
        assert "is not compatible with that of " in refused.stderr.splitlines()[-1]

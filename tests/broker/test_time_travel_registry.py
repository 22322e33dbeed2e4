"""States and predictions of a group that learned Avro events are recomputed from the log, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from click.testing import CliRunner, Result
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import SerializationContext

from driftway import cli
from driftway.learners import Spec
from driftway.worker.admin.state_admin.description import describe
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import write_json
from driftway.worker.wire.events import Target
from driftway.worker.wire.headers import Headers
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.kafka import create_topic, produce, unique
from tests.support.process import driftway as run
from tests.support.registry import BY_TOPIC, Stub, client
from tests.support.selection import slow_but
from tests.unit.worker.rows import records

pytestmark = pytest.mark.broker

ROWS, FIRST, STRAY = 300, 200, 57
LEARNER, FEATURES = "dfop:mu=0.01", ("a", "b", "@header.n")
ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            *({"name": name, "type": "double"} for name in "ab"),
            {"name": "good", "type": "boolean"},
            {"name": "id", "type": "long"},
        ],
    }
)


@dataclass
class LearnedInput:
    """An input of one partition, learned by a group up to FIRST, with its registry and its records."""

    registry: str
    place: tuple[str, ...]
    values: list[bytes]
    headers: list[Headers]

    def call(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli.main, [*arguments, "--partition", "0", *self.place])

    def sentence(self, *arguments: str, code: int) -> str:
        found = self.call(*arguments)
        assert found.exit_code == code, (found.output, found.exception)
        return found.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def learned_input(kafka: str) -> Iterator[LearnedInput]:
    topic = create_topic(kafka, unique("orders"), 1)
    drawn = np.random.default_rng(3).normal(size=(ROWS, 3))
    with Stub() as stub:
        write, here = AvroSerializer(client(stub.url), ORDER, conf=BY_TOPIC), SerializationContext(topic, "value")
        values = [
            write({"a": a, "b": b, "good": a + b > 0, "id": k}, here) or b""
            for k, (a, b, _) in enumerate(drawn.tolist())
        ]
        values[STRAY] = b'{"a": 1.0, "b": 2.0, "good": true}'
        headers = [[("n", b"%r" % n)] for n in drawn[:, 2].tolist()]
        place = ("--bootstrap", kafka, "--input", topic, "--group", unique("group"))
        learning = ("--learner", LEARNER, "--label", "good", "--labels", "false,true", "--snapshot-rows", "1")
        reading = ("--format", "avro", "--registry", stub.url, *(word for f in FEATURES for word in ("--feature", f)))
        produce(kafka, topic, values[:FIRST], headers=headers[:FIRST])
        ended = run("worker", *place, *learning, *reading, "--stop-at-end")
        assert ended.code == 0, ended
        produce(kafka, topic, values[FIRST:], headers=headers[FIRST:])
        yield LearnedInput(stub.url, place, values, [tuple(one) for one in headers])


@pytest.mark.parametrize("offset", slow_but([FIRST - 1], [3, FIRST - 1]))
def test_a_prediction_for_an_avro_event_is_explained_bit_for_bit(learned_input: LearnedInput, offset: int) -> None:
    options = ("--offset", str(offset), "--format", "avro", "--registry", learned_input.registry)
    found = learned_input.call("explain", *options, "--json")
    assert found.exit_code == 0, (found.output, found.exception)
    explanation = json.loads(found.stdout)
    assert explanation["emitted"]["verdict"] == "same"
    assert (explanation["id"], {feature["name"] for feature in explanation["features"]}) == (offset, set(FEATURES))


@pytest.mark.parametrize("at", [FIRST - 20, 277])
def test_the_state_after_avro_events_is_recomputed_at_any_offset(learned_input: LearnedInput, at: int) -> None:
    options = (
        "--at",
        str(at),
        "--format",
        "avro",
        "--registry",
        learned_input.registry,
        "--registry-property",
        "timeout=20",
    )
    found = learned_input.call("snapshot", "show", *options, "--json")
    assert found.exit_code == 0, (found.output, found.exception)
    settings = ModelSettings(
        (Spec.parse(LEARNER),),
        Target(labels=("false", "true")),
        events=EventSchema.parse(FEATURES, label="good"),
        form="avro",
        registry=learned_input.registry,
    )
    model = Model(settings, 0)
    model.advance(records(learned_input.values[:at], 0, 0, learned_input.headers[:at]), emit=False)
    assert model.rows == at - 1, "all except the invalid one"
    expected = json.loads(write_json(describe(model, at)))
    assert json.loads(found.stdout)["learners"] == expected["learners"]


def test_another_event_format_is_refused_and_no_state_is_written(learned_input: LearnedInput) -> None:
    show, at = ("snapshot", "show"), ("--at", "277")
    registered = ("--registry", learned_input.registry)
    assert "in a format with a schema registry, not json" in learned_input.sentence(*show, *at, code=2)
    wrong = learned_input.sentence(*show, *at, "--format", "protobuf", *registered, code=2)
    assert "the events are in format avro, not protobuf: give --format avro" in wrong
    assert "which packed events do not have" in learned_input.sentence(*show, *at, "--format", "packed", code=2)
    explained = learned_input.sentence("explain", "--offset", str(FIRST), code=2)
    assert "in a format with a schema registry, not json" in explained


def test_a_registry_that_does_not_answer_is_reported(learned_input: LearnedInput) -> None:
    with Stub() as stub:
        stub.status = 503
        properties = ("--registry-property", "max.retries=0")
        options = ("--at", "277", "--format", "avro", "--registry", stub.url, *properties)
        assert "does not answer: HTTP 503" in learned_input.sentence("snapshot", "show", *options, code=5)

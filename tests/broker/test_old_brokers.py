"""Features that old brokers lack are refused at the start; `make test-versions` runs this on brokers before Kafka 4."""

from __future__ import annotations

import pytest

from driftway.workbench.broker.distribution import kafka_version
from tests.support.kafka import admin, create_topic, produce, read_all
from tests.support.process import driftway

OLD = int(kafka_version().partition(".")[0]) < 4
EVENTS = [b'{"x":[%d,1],"y":%d,"id":%d}' % (i, i % 2, i) for i in range(20)]


@pytest.mark.parametrize("client", ["native", "python"])
def test_the_newer_group_protocol_is_refused_if_the_broker_does_not_have_it(
    kafka: str, topic: str, group: str, client: str
) -> None:
    create_topic(kafka, topic, 1)
    produce(kafka, topic, EVENTS)
    options = ("--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end", "--client", client)
    newer = driftway("worker", *options, "-X", "group.protocol=consumer")
    outputs = [one for one in admin(kafka).list_topics(timeout=20).topics if one.startswith(f"{topic}.")]
    if OLD:
        assert newer.code == 1, newer
        assert newer.stderr.splitlines()[-1] == (
            f"driftway: the brokers at {kafka} are too old for group.protocol=consumer, which needs Kafka 4.0: "
            "leave it out to join by the classic protocol"
        )
        assert outputs == []
        assert driftway("worker", *options).code == 0
    else:
        assert newer.code == 0, newer
    assert len(read_all(kafka, f"{topic}.{group}.predictions")) == len(EVENTS)

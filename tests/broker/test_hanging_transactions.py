"""Records without an end marker: whatever a broker has lost, each event is predicted once, and no worker hangs.

A broker that is starting may write no marker at all (KAFKA-20734); which of a transaction's topics lack one depends on
its timing. Here records hang because they arrive after the end of their transaction, and the broker accepts that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from driftway.worker.kafka.client_config import quiet
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.record_keys import commit_record_key
from tests.broker.test_log_decides import BAD, SECONDS, Forger, outputs_of, require_audited, require_in_order
from tests.broker.test_policies import EVERY_COMMIT, last_commit, learn, learned, require_same
from tests.broker.test_snapshot_damage import snapshots
from tests.support.brokers import own_broker
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until, read_all
from tests.support.proxy import OFFSET_COMMIT, PRODUCE, Proxy
from tests.support.selection import slow_but

UNCOMMITTED = {"isolation.level": "read_uncommitted"}
MANY_REQUESTS = 1000
"""Requests to hold back: the client repeats unanswered ones."""
NOT_ENDED = "the broker had not ended the last transaction in"


@pytest.fixture(scope="module")
def lenient_broker(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker that, like those before 3.6, accepts messages of transactions that its coordinator does not know."""
    with own_broker(request.config, {"transaction.partition.verification.enable": "false"}) as kafka:
        yield kafka.bootstrap


def end_of(scenario: FaultScenario, topic: str) -> int:
    """Return the log's end, end markers and hanging records included."""
    reader = Consumer(quiet({"bootstrap.servers": scenario.bootstrap, "group.id": "nobody", **UNCOMMITTED}))
    try:
        return int(reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS)[1])
    finally:
        reader.close()


def write_open(scenario: FaultScenario, topic: str, values: Sequence[bytes], key: bytes | None = None) -> OffsetRange:
    """Write records to partition 0 that get no end marker."""
    end = end_of(scenario, topic)
    with Proxy(scenario.bootstrap) as proxy:
        late = Forger(scenario, proxy.bootstrap)
        proxy.hold(PRODUCE, requests=MANY_REQUESTS, about=topic.encode())
        late.producer.produce_batch(topic, [{"value": value, "key": key} for value in values], partition=0)
        await_until(lambda: proxy.held[PRODUCE], SECONDS, "the records are on their way")
        late.abort()
        await_until(lambda: end_of(scenario, topic) == end + 1, SECONDS, "the end marker is written")
        proxy.release()
        await_until(lambda: end_of(scenario, topic) == end + 1 + len(values), SECONDS, "the records are written")
    return OffsetRange(end + 1, end + len(values), len(values))


def predictions(scenario: FaultScenario, first: int, last: int) -> list[bytes]:
    return list(outputs_of(scenario, first, last).predictions)


def visible(scenario: FaultScenario, first: int, last: int) -> dict[str, OffsetRange]:
    """Commit predictions alone, without a record of the commit."""
    seen = Forger(scenario)
    seen.write(f"{scenario.prefix}.predictions", predictions(scenario, first, last))
    spans = seen.flush()
    seen.producer.commit_transaction(SECONDS)
    return spans


def test_outputs_without_a_commit_record_are_not_repeated(lenient_broker: str) -> None:
    """The next transaction would commit them, and the rows after the last commit are predicted again."""
    scenario = learned(lenient_broker)
    scenario.fill(500, 800)
    write_open(scenario, f"{scenario.prefix}.predictions", predictions(scenario, 500, 600))
    log = learn(scenario, 800, 1000)
    assert f"{NOT_ENDED} {scenario.prefix}.predictions" in log
    require_same(scenario, once=range(1000))
    require_in_order(scenario)
    require_audited(scenario)


@pytest.mark.parametrize("hidden", slow_but([False], [False, True]), ids=["visible", "hanging"])
def test_a_commit_whose_commit_record_hangs_is_valid(lenient_broker: str, hidden: bool) -> None:
    """Its outputs may have got their marker; if not, they are written again."""
    scenario = learned(lenient_broker)
    scenario.fill(500, 800)
    topic = f"{scenario.prefix}.predictions"
    outputs = (
        {topic: write_open(scenario, topic, predictions(scenario, 500, 600))} if hidden else visible(scenario, 500, 600)
    )
    record = CommitRecord(600, 500, last_commit(scenario)[1], outputs)
    write_open(scenario, snapshots(scenario), [record.write()], commit_record_key(0))
    log = learn(scenario, 800, 1000)
    assert NOT_ENDED in log
    assert ("writing the missing outputs again" in log) is hidden
    require_same(scenario, once=range(1000))
    require_in_order(scenario)
    require_audited(scenario)


@pytest.mark.slow
def test_outputs_that_have_hung_for_many_commits_are_written_again(lenient_broker: str) -> None:
    """A topic that is rarely written to can hang while commits have no output for it."""
    scenario = FaultScenario(lenient_broker, partitions=1, rows=1000)
    learn(scenario, 0, 500, *EVERY_COMMIT)
    scenario.write(BAD)
    scenario.fill(500, 800)
    rejection = outputs_of(scenario, 500, 501).rejected[0]
    topic = f"{scenario.prefix}.rejected"
    outputs = {topic: write_open(scenario, topic, [rejection.value or b""])}
    for first, last in [(500, 520), *((at, at + 10) for at in range(520, 560, 10))]:
        forger = Forger(scenario)
        forger.write(f"{scenario.prefix}.predictions", predictions(scenario, first, last))
        forger.commit(CommitRecord(last, first, last_commit(scenario)[1], outputs | forger.flush()))
        outputs = {}
    log = learn(scenario, 800, 1000)
    assert "writing the missing outputs again" in log
    found = read_all(lenient_broker, f"{scenario.prefix}.rejected")
    assert [dict(record.headers)["offset"] for record in found] == [b"500"]
    assert len(read_all(lenient_broker, f"{scenario.prefix}.predictions")) == 1000
    require_in_order(scenario)


@pytest.mark.slow
def test_a_worker_does_not_wait_for_an_offset_whose_transaction_never_ends(lenient_broker: str) -> None:
    scenario = learned(lenient_broker)
    scenario.fill(500, 800)
    with Proxy(lenient_broker) as proxy:
        late = Forger(scenario, proxy.bootstrap)
        member = Consumer(quiet({"bootstrap.servers": lenient_broker, "group.id": scenario.group}))
        proxy.hold(OFFSET_COMMIT, requests=MANY_REQUESTS)
        place = TopicPartition(scenario.topic, 0, 600)
        with pytest.raises(KafkaException):
            late.producer.send_offsets_to_transaction([place], member.consumer_group_metadata(), 1.0)
        assert proxy.held[OFFSET_COMMIT]
        late.abort()
        late.producer.begin_transaction()  # it cannot have records before all markers of the last one
        late.write(f"{scenario.prefix}.predictions", [b""])
        late.flush()
        late.abort()
        proxy.release()
        member.close()
    log = learn(scenario, 800, 1000)
    assert f"{NOT_ENDED} the offsets" in log
    require_same(scenario, once=range(1000))

"""An input topic that is deleted and recreated: reported as such, and predicted from its start if the user says so."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import TopicPartition

from driftway.worker.admin.schema.topic import SampleReader
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TopicMissing
from driftway.worker.kafka.log_reader.topic_facts import TopicIdReader
from driftway.worker.wire.codec import read_json
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import admin, await_until, create_topic, empty, produce, read_all, unique
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

CANNOT_RESTORE = 4
EARLIEST = ("--on-offset-out-of-range", "earliest")
OTHERS = (
    (), ("--on-offset-out-of-range", "latest"), ("--on-restore-failure", "replay"), ("--on-restore-failure", "reset"),
    ("--on-restore-failure", "reset", "--on-offset-out-of-range", "latest"),
)  # fmt: skip
OLD = 400
"""Rows of the old topic."""


def learned(kafka: str, *more: str) -> FaultScenario:
    """A scenario whose first rows a worker has learned before it exited."""
    scenario = FaultScenario(kafka, partitions=1, rows=2 * OLD)
    scenario.fill(0, OLD)
    ended = driftway(*scenario.worker("--stop-at-end", *more))
    assert ended.code == 0, ended
    return scenario


def recreate(scenario: FaultScenario, rows: int) -> None:
    """Delete the input, create it again, and write the next rows to it."""
    empty(scenario.bootstrap, scenario.topic, scenario.partitions)
    produce(scenario.bootstrap, scenario.topic, scenario.events[0][OLD : OLD + rows])


@contextmanager
def frozen(worker: Driftway) -> Iterator[None]:
    """Freeze a worker while its topic is recreated: it ends if it asks for the topic while there is none."""
    worker.freeze()
    yield
    worker.thaw()


def offsets(scenario: FaultScenario) -> list[int]:
    """Input offsets of all predictions, in log order."""
    return [
        read_json(one.value or b"")["offset"] for one in read_all(scenario.bootstrap, f"{scenario.prefix}.predictions")
    ]


def scores(scenario: FaultScenario) -> list[float]:
    return [
        read_json(one.value or b"")["score"] for one in read_all(scenario.bootstrap, f"{scenario.prefix}.predictions")
    ]


def expected(scenario: FaultScenario, rows: Iterable[int]) -> list[float]:
    return [scenario.expected[0, row] for row in rows]


def audited(scenario: FaultScenario) -> tuple[int, str]:
    ended = driftway(
        "audit", *scenario.options, "--learner",
        "dfop:mu=0.01",
    )  # fmt: skip
    return ended.code, ended.stderr + ended.stdout


@pytest.mark.parametrize("rows", slow_but([50], [50, 399]))
@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
def test_an_input_recreated_while_the_worker_is_down_is_read_from_its_start(
    kafka: str, rows: int, guarantee: str
) -> None:
    scenario = learned(kafka, "--guarantee", guarantee)
    recreate(scenario, rows)
    for more in OTHERS:
        ended = driftway(*scenario.worker("--stop-at-end", "--guarantee", guarantee, *more))
        assert ended.code == CANNOT_RESTORE, ended
        assert "was deleted and recreated" in ended.stderr
        assert "only --on-offset-out-of-range earliest goes on" in ended.stderr
    assert len(offsets(scenario)) == OLD
    assert audited(scenario)[0] == (CANNOT_RESTORE if guarantee == "exactly-once" else 1)
    for more in (EARLIEST, ()):  # the option is needed only once
        ended = driftway(*scenario.worker("--stop-at-end", "--guarantee", guarantee, *more))
        assert ended.code == 0, ended
        assert offsets(scenario) == [*range(OLD), *range(rows)]
    # The learner is kept: the clean stop wrote a snapshot at the end of the old topic.
    assert scores(scenario) == expected(scenario, range(OLD + rows))
    assert audited(scenario)[0] == 0, audited(scenario)


@pytest.mark.parametrize("client", slow_but(["native"], ["native", "python"]))
@pytest.mark.parametrize("rows", slow_but([5], [5, 400]))
def test_an_input_recreated_under_a_running_worker_is_read_from_its_start(kafka: str, client: str, rows: int) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=2 * OLD)
    with Driftway(*scenario.worker("--client", client, *EARLIEST)) as worker:
        worker.await_text("running")
        scenario.fill(0, OLD)
        await_until(lambda: len(offsets(scenario)) == OLD, 60, "the old rows are predicted")
        with frozen(worker):
            recreate(scenario, rows)
        await_until(lambda: len(offsets(scenario)) >= OLD + rows, 90, "the new rows are predicted")
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    assert offsets(scenario) == [*range(OLD), *range(rows)]
    assert scores(scenario) == expected(scenario, range(OLD + rows))
    assert audited(scenario)[0] == 0, audited(scenario)


def test_predictions_deleted_after_a_clean_stop_are_written_again(kafka: str) -> None:
    """The stop made the last commit: it has a snapshot but no outputs, so it says nothing about lost outputs."""
    scenario = learned(kafka, "--snapshot-rows", "100000")
    empty(kafka, f"{scenario.prefix}.predictions", scenario.partitions)
    produce(kafka, scenario.topic, scenario.events[0][OLD : OLD + 50])
    ended = driftway(*scenario.worker("--stop-at-end"))
    assert ended.code == 0, ended
    assert "writing the missing outputs again" in ended.stderr
    assert offsets(scenario) == [*range(OLD + 50)]
    assert scores(scenario) == expected(scenario, range(OLD + 50))
    assert audited(scenario)[0] == 0, audited(scenario)


def test_a_running_worker_without_the_option_stops_with_the_reason(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=2 * OLD)
    with Driftway(*scenario.worker()) as worker:
        worker.await_text("running")
        scenario.fill(0, OLD)
        await_until(lambda: len(offsets(scenario)) == OLD, 60, "the old rows are predicted")
        with frozen(worker):
            recreate(scenario, OLD)
        assert worker.wait(90) == CANNOT_RESTORE, worker.summary()
        assert "was deleted and recreated" in worker.stderr
    assert len(offsets(scenario)) == OLD


@pytest.mark.slow
def test_each_partition_of_a_recreated_input_is_predicted_from_its_start(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=3, rows=200)
    with Driftway(*scenario.worker(*EARLIEST)) as worker:
        worker.await_text("running")
        scenario.fill(0, 100)
        await_until(lambda: len(offsets(scenario)) == 300, 60, "the old rows are predicted")
        with frozen(worker):
            empty(kafka, scenario.topic, 3)
        for partition, count in enumerate((100, 0, 30)):
            produce(kafka, scenario.topic, scenario.events[partition][100 : 100 + count], partition)
        await_until(lambda: len(offsets(scenario)) >= 430, 90, "the new rows are predicted")
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    assert len(offsets(scenario)) == 430


def labelled(kafka: str) -> tuple[FaultScenario, str, tuple[str, ...]]:
    """A scenario with a label topic of which half has been read."""
    scenario = FaultScenario(kafka, partitions=1, rows=200)
    labels = create_topic(kafka, f"{scenario.topic}.labels")
    options = ("--label-topic", labels, "--label-wait", "1000")
    events = [b'{"x":[%d,1],"id":"e%d"}' % (i % 7, i) for i in range(100)]
    produce(kafka, scenario.topic, events)
    produce(kafka, labels, [b'{"id":"e%d","y":%d}' % (i, i % 2) for i in range(100)])
    produce(kafka, scenario.topic, [b'{"x":[%d,1],"id":"f%d"}' % (i % 7, i) for i in range(50)])
    ended = driftway(*scenario.worker("--stop-at-end", *options))
    assert ended.code == 0, ended
    return scenario, labels, options


def test_a_recreated_label_topic_is_reported_and_read_from_its_start(kafka: str) -> None:
    scenario, labels, options = labelled(kafka)
    empty(kafka, labels, 1)
    produce(kafka, labels, [b'{"id":"f%d","y":1}' % i for i in range(50)])
    produce(kafka, scenario.topic, [b'{"x":[3,1],"id":"g%d"}' % i for i in range(50)])
    ended = driftway(*scenario.worker("--stop-at-end", *options))
    assert ended.code == CANNOT_RESTORE, ended
    assert f"label topic {labels} was deleted and recreated" in ended.stderr
    ended = driftway(*scenario.worker("--stop-at-end", *options, *EARLIEST))
    assert ended.code == 0, ended
    assert offsets(scenario) == list(range(200))


def test_labels_deleted_before_they_are_read_are_reported_and_skipped_with_the_option(kafka: str) -> None:
    scenario, labels, options = labelled(kafka)
    produce(kafka, labels, [b'{"id":"f%d","y":1}' % i for i in range(50)])
    client = admin(kafka)  # a collected client never answers
    for future in client.delete_records([TopicPartition(labels, 0, 130)]).values():
        future.result(timeout=20)
    produce(kafka, scenario.topic, [b'{"x":[3,1],"id":"g%d"}' % i for i in range(50)])
    for more in OTHERS:
        ended = driftway(*scenario.worker("--stop-at-end", *options, *more))
        assert ended.code == CANNOT_RESTORE, ended
        assert f"labels of {labels} are needed from offset 100 on, its log begins at 130; only --on-off" in ended.stderr
    for more in (EARLIEST, ()):
        ended = driftway(*scenario.worker("--stop-at-end", *options, *more))
        assert ended.code == 0, ended
        assert offsets(scenario) == list(range(200))
    assert "labels_set_aside" not in ended.stderr, "the remaining labels match their events"
    audit = driftway("audit", *scenario.options)
    assert audit.code == 0, audit


def test_labels_deleted_after_they_were_merged_are_needed_by_a_replay(kafka: str) -> None:
    """No snapshot has them, and the record of their order is dropped with them: an audit begins after both."""
    scenario = FaultScenario(kafka, partitions=1, rows=200)
    labels = create_topic(kafka, f"{scenario.topic}.labels")
    options = ("--label-topic", labels, "--label-wait", "1000", "--snapshot-interval", "600")
    produce(kafka, scenario.topic, [b'{"x":[%d,1],"id":"e%d"}' % (i % 7, i) for i in range(50)])
    assert driftway(*scenario.worker("--stop-at-end", *options)).code == 0
    produce(kafka, labels, [b'{"id":"e%d","y":%d}' % (i, i % 2) for i in range(50)])
    produce(kafka, scenario.topic, [b'{"x":[%d,1],"id":"f%d"}' % (i % 7, i) for i in range(50)])
    with Driftway(*scenario.worker(*options)) as worker:
        await_until(lambda: len(offsets(scenario)) == 100, 60, "all rows are predicted")
        worker.kill()
    client = admin(kafka)  # a collected client never answers
    for future in client.delete_records([TopicPartition(labels, 0, 25)]).values():
        future.result(timeout=20)
    ended = driftway(*scenario.worker("--stop-at-end", *options))
    assert ended.code == CANNOT_RESTORE, ended
    for more, rows in ((EARLIEST, 50), ((), 50)):
        produce(kafka, scenario.topic, [b'{"x":[3,1],"id":"g%d"}' % i for i in range(rows)])
        ended = driftway(*scenario.worker("--stop-at-end", *options, *more))
        assert ended.code == 0, ended
    assert offsets(scenario) == list(range(200))
    audit = driftway("audit", *scenario.options)
    assert audit.code == 0, audit


@pytest.mark.slow
def test_a_recreated_input_continues_at_the_same_position_of_the_labels(kafka: str) -> None:
    scenario, labels, options = labelled(kafka)
    empty(kafka, scenario.topic, 1)
    produce(kafka, scenario.topic, [b'{"x":[3,1],"id":"g%d"}' % i for i in range(60)])
    produce(kafka, labels, [b'{"id":"f%d","y":1}' % i for i in range(50)])
    produce(kafka, scenario.topic, [b'{"x":[3,1],"id":"h%d"}' % i for i in range(40)])
    ended = driftway(*scenario.worker("--stop-at-end", *options))
    assert ended.code == CANNOT_RESTORE, ended
    for more in (EARLIEST, ()):
        ended = driftway(*scenario.worker("--stop-at-end", *options, *more))
        assert ended.code == 0, ended
        assert offsets(scenario) == [*range(150), *range(100)]


def test_a_metadata_request_sent_too_early_is_sent_again(kafka: str) -> None:
    topic = create_topic(kafka, unique("events"))
    ids = TopicIdReader(SampleReader(kafka, {}), topic)
    old = ids.ask(Deadline(10))
    began = time.monotonic()
    ids.begin(began)
    asking = time.monotonic()
    assert ids.ask(Deadline(10), since=began) == old
    assert began <= ids.asked_at <= asking, "the reply to another request was used"
    ids.begin(began)  # has already been answered
    assert ids.ask(Deadline(10), since=began) == old
    assert ids.asked_at <= asking
    ids.begin(time.monotonic())
    empty(kafka, topic, 1)
    assert ids.ask(Deadline(10)).input not in (None, old.input)


def test_the_missing_one_of_two_topics_is_named(kafka: str) -> None:
    topic, labels = create_topic(kafka, unique("events")), unique("labels")
    for names, missing in (((topic, labels), labels), ((labels, topic), labels)):
        with pytest.raises(TopicMissing, match=f"^topic {missing} no longer exists$"):
            TopicIdReader(SampleReader(kafka, {}), *names).ask(Deadline(10))

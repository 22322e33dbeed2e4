"""An unclean election cuts a group's log below the committed offset: it is repaired exactly, or reported and refused.

The log of one topic has two replicas. One of them falls behind, the other is killed, and the one behind becomes the
leader by a real unclean election; only the offsets of a group are cut by hand. All other topics have three replicas and
lose nothing.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from driftway.workbench.broker import LocalCluster
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import standalone_consumer, watermarks
from tests.broker.test_log_decides import require_audited
from tests.broker.test_policies import learn, predicted, refused, require_same
from tests.support.audit import bits
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import admin, await_until, committed_offset, java_hash, produce
from tests.support.process import Driftway, driftway
from tests.support.unclean_election import UNCLEAN, UncleanElection, all_running, cut_log

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(300)]

BEFORE, CUT_OFF, AFTER = 500, 900, 1200
"""Rows that both replicas have, rows of which the newest are cut off, and rows in the end."""
LEADER, STALE = 1, 2
OFFSETS = "__consumer_offsets"
POINTS = "--accuracy-every", "50"
RUNNING, STOPPED = "running", "stopped"


def follower_behind(cluster: LocalCluster, name: str) -> tuple[FaultScenario, UncleanElection]:
    """A scenario with a topic whose follower has only the first rows, or only the outputs for them."""
    all_running(cluster)
    own = UNCLEAN | ({"cleanup_policy": "compact"} if name == "snapshots" else {})
    scenario = FaultScenario(
        cluster.bootstrap, partitions=1, rows=2000, configs={name: own}, replicas={name: (LEADER, STALE)}
    )
    if name == "snapshots":
        scenario.create_output(name)
    topic = scenario.topic if name == "input" else f"{scenario.prefix}.{name}"
    learn(scenario, 0, BEFORE, *POINTS)
    election = UncleanElection(cluster, topic, LEADER, STALE)
    election.fall_behind()
    return scenario, election


def await_committed(scenario: FaultScenario, worker: Driftway, offset: int) -> None:
    """Wait until the group has committed an offset."""
    worker.await_condition(
        lambda: committed_offset(scenario.bootstrap, scenario.group, scenario.topic)[0] == offset, f"{offset} committed"
    )


def cut_committed(scenario: FaultScenario, worker: Driftway, election: UncleanElection, moment: str) -> None:
    """Cut off the end of the topic's log, which the worker has committed, while it runs or after it has stopped."""
    await_committed(scenario, worker, CUT_OFF)
    if moment == STOPPED:
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    election.elect()
    election.come_back()


@pytest.mark.parametrize("moment", [RUNNING, STOPPED])
@pytest.mark.parametrize("name", ["predictions", "accuracy", "snapshots"])
def test_records_cut_off_an_output_or_the_snapshots_are_repaired(cluster: LocalCluster, name: str, moment: str) -> None:
    scenario, election = follower_behind(cluster, name)
    scenario.fill(BEFORE, CUT_OFF)
    with Driftway(*scenario.worker(*POINTS)) as worker:
        cut_committed(scenario, worker, election, moment)
        scenario.fill(CUT_OFF, AFTER)
        if moment == RUNNING:
            await_committed(scenario, worker, AFTER)
            worker.terminate()
            assert worker.wait() == 0, worker.summary()
            worker_log = worker.stderr
    if moment == STOPPED:
        worker_log = learn(scenario, 0, 0, *POINTS)
    print(worker_log)
    require_same(scenario, range(AFTER))
    require_audited(scenario, *POINTS)
    lost = "has lost the commits" if name == "snapshots" else f"wrote to {scenario.prefix}.{name} is missing"
    assert lost in worker_log, worker_log


@pytest.mark.parametrize("moment", [RUNNING, STOPPED])
def test_a_cut_input_is_refused_and_the_option_named_continues_at_its_end(cluster: LocalCluster, moment: str) -> None:
    scenario, election = follower_behind(cluster, "input")
    produce(scenario.bootstrap, scenario.topic, scenario.events[0][BEFORE:CUT_OFF])
    with Driftway(*scenario.worker(*POINTS)) as worker:
        cut_committed(scenario, worker, election, moment)
        if moment == RUNNING:
            assert worker.wait() == 4, worker.summary()
            print(worker.stderr)
    require_message(refused(scenario, *POINTS), scenario, BEFORE)
    continue_at_cut(scenario, range(CUT_OFF, AFTER))


def test_other_rows_written_after_a_cut_are_distinguished_from_those_that_were_read(cluster: LocalCluster) -> None:
    """The log reaches the committed offset again: only the leader epoch shows that its records are different ones."""
    scenario, election = follower_behind(cluster, "input")
    produce(scenario.bootstrap, scenario.topic, scenario.events[0][BEFORE:CUT_OFF])
    learn(scenario, 0, 0, *POINTS)
    election.elect()
    election.come_back()
    produce(scenario.bootstrap, scenario.topic, scenario.events[0][CUT_OFF : CUT_OFF + AFTER - BEFORE])
    sentence = refused(scenario, *POINTS)
    require_message(sentence, scenario, AFTER)
    audit = driftway("audit", *scenario.worker()[1:9], *POINTS)
    assert audit.code == 4, audit
    assert (
        f"of {scenario.topic}/0 that the workers learned from are gone: the log was cut at offset {BEFORE}"
        in audit.stderr
    )
    continue_at_cut(scenario, range(0))


def require_message(sentence: str, scenario: FaultScenario, end: int) -> None:
    print(sentence)
    assert f"cannot restore {scenario.topic}/0: its log was cut at offset {BEFORE}" in sentence
    assert f"rows {BEFORE} to {CUT_OFF - 1} were predicted and are gone, it ends at {end} now" in sentence
    assert f"--on-offset-out-of-range earliest keeps what was learned and predicts from {BEFORE} on" in sentence
    assert f"latest keeps what was learned and predicts from {end} on" in sentence


def continue_at_cut(scenario: FaultScenario, rows: range) -> None:
    """Continue at the cut: rows that were cut off stay learned, and rows that are there now are predicted once."""
    produce(scenario.bootstrap, scenario.topic, [scenario.events[0][row] for row in rows])
    print(learn(scenario, 0, 0, *POINTS, "--on-offset-out-of-range", "earliest"))
    learn(scenario, 0, 0, *POINTS)  # the option was for one decision
    found, others = predicted(scenario), AFTER - BEFORE
    twice = {offset for (_, offset), scores in found.items() if len(scores) == 2}
    assert sorted(offset for _, offset in found) == list(range(max(CUT_OFF, BEFORE + (len(rows) or others))))
    assert twice == set(range(BEFORE, BEFORE + (len(rows) or others))) & set(range(CUT_OFF))
    for offset in range(len(rows) or others):  # the state is that of one run over all rows that were ever read
        (*_, score), wanted = found[0, BEFORE + offset], scenario.expected[0, CUT_OFF + offset]
        assert bits(score) == bits(wanted), offset
    require_audited(scenario, *POINTS)


def test_a_group_whose_committed_offsets_were_lost_continues_exactly(cluster: LocalCluster) -> None:
    """The offsets are cut by hand in all three replicas, while no broker runs."""
    all_running(cluster)
    scenario = FaultScenario(cluster.bootstrap, partitions=1, rows=2000)
    learn(scenario, 0, BEFORE, *POINTS)
    topic_partition = OFFSETS, java_hash(scenario.group) % len(partitions_of(cluster, OFFSETS))
    with closing(standalone_consumer({"bootstrap.servers": cluster.bootstrap}, {})) as reader:
        end = watermarks(reader, *topic_partition, Deadline(10))[1]
    learn(scenario, BEFORE, CUT_OFF, *POINTS)
    assert committed_offset(scenario.bootstrap, scenario.group, scenario.topic)[0] == CUT_OFF
    for node in cluster.nodes:
        node.terminate()
    for node in cluster.nodes:
        cut_log(node, *topic_partition, end)
        node.launch()
    await_until(
        lambda: all(len(one.isrs) == len(cluster.nodes) for one in partitions_of(cluster, scenario.topic).values()),
        60,
        "all brokers are back",
    )
    assert committed_offset(scenario.bootstrap, scenario.group, scenario.topic)[0] == BEFORE
    worker_log = learn(scenario, CUT_OFF, AFTER, *POINTS)
    print(worker_log)
    assert f"the broker says offset {BEFORE}, the log of the last commit {CUT_OFF}, which is used" in worker_log
    require_same(scenario, range(AFTER))
    require_audited(scenario, *POINTS)


def partitions_of(cluster: LocalCluster, topic: str) -> Any:
    client = admin(cluster.bootstrap)  # keep a reference: a collected client never answers
    return client.list_topics(topic, timeout=30).topics[topic].partitions

"""An unclean election: a replica that has fallen behind becomes the leader, and the log loses what it lacks."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from driftway.workbench.broker import LocalCluster, LocalKafka
from tests.support.kafka import admin, await_until

ELECTED_SECONDS = 90.0
"""The dead leader's session ends after 9 s, and the stale replica's broker must have started."""
BATCH_OVERHEAD = 12
"""Bytes of a batch before those that its length counts: its first offset, and the length."""
UNCLEAN: Mapping[str, str] = {"unclean_leader_election_enable": "true", "min_insync_replicas": "1"}
"""Settings of a topic whose leader accepts records alone, and whose leader may be any replica."""


class UncleanElection:
    """Partition 0 of a topic with two replicas, with the settings `UNCLEAN`.

    Parameters
    ----------
    cluster : LocalCluster
        The brokers.
    topic : str
        The topic.
    leader, stale : int
        Ids of the brokers that have a replica: the leader, which will die, and the one that will fall behind.
    """

    def __init__(self, cluster: LocalCluster, topic: str, leader: int, stale: int) -> None:
        self._topic, self._bootstrap, self._ids = topic, cluster.bootstrap, (leader, stale)
        self.leader, self.stale = cluster.nodes[leader - 1], cluster.nodes[stale - 1]

    def fall_behind(self) -> None:
        """Stop the follower: from now on only the leader has new records."""
        self.stale.terminate()
        self._await(lambda found: found.isrs == [self._ids[0]], "the leader alone is in sync")

    def elect(self) -> None:
        """Kill the leader, and start the stale replica, which becomes the leader."""
        self.leader.kill()
        self.stale.launch()
        self._await(lambda found: found.leader == self._ids[1], "the stale replica leads")

    def come_back(self) -> None:
        """Start the old leader, which truncates its log to the new leader's."""
        self.leader.launch()
        self._await(lambda found: set(found.isrs) == set(self._ids), "both replicas are in sync")

    def _await(self, condition: Callable[[Any], bool], what: str) -> None:
        client = admin(self._bootstrap)  # keep a reference: a collected client never answers

        def met() -> bool:
            return condition(client.list_topics(self._topic, timeout=10).topics[self._topic].partitions[0])

        await_until(met, ELECTED_SECONDS, f"{self._topic}: {what}", poll=0.2)


def cut_log(node: LocalKafka, topic: str, partition: int, end: int) -> None:
    """Cut the log of a stopped broker's replica at `end`, which must begin a batch, as if it had fallen behind there.

    The replica has one segment. Its indexes are deleted, so that the broker makes them again.
    """
    folder = node.log.parent.parent / "data" / f"{topic}-{partition}"
    (log,) = folder.glob("*.log")
    data, place = log.read_bytes(), 0
    while place < len(data) and struct.unpack_from(">q", data, place)[0] < end:
        place += BATCH_OVERHEAD + struct.unpack_from(">i", data, place + 8)[0]
    assert place < len(data), f"{log} has nothing from offset {end} on"
    log.write_bytes(data[:place])
    for made_again in (*folder.glob("*index"), *folder.glob("*.snapshot")):
        made_again.unlink()


def all_running(cluster: LocalCluster) -> None:
    """Start the brokers that are still down after a failed test."""
    for node in cluster.nodes:
        if node.exit_code() is not None:
            node.restart()

"""Broker, cluster and network faults of a soak; every broker comes back on the same port and data."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import ElectionType, KafkaException

from driftway.workbench.broker import LocalCluster, LocalKafka
from driftway.worker.errors import Failure
from tests.soak import schedule
from tests.support.cluster_faults import stopped
from tests.support.kafka import admin, await_until
from tests.support.proxy import ADD_OFFSETS, END_TXN, OFFSET_COMMIT, PRODUCE, Proxy

ATTEMPTS = 3
LOADED_SECONDS = 60.0
PAUSE_SECONDS = 5.0
"""Between the restarts of brokers in turn."""
TAKEN_OVER_SECONDS = 12.0
"""After which the others lead what a dead broker led: its session of 9 s, and an election."""
LOSABLE = (PRODUCE, END_TXN, OFFSET_COMMIT, ADD_OFFSETS)
"""Requests whose replies get lost, along with their connection."""


class NetworkFaults:
    """Faults between the members and the broker: lost replies and late requests.

    Parameters
    ----------
    proxy : Proxy
        Proxy that the members connect through.
    """

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._release_at: float | None = None

    def lose(self, choice: float) -> None:
        """Lose the next reply to one kind of request."""
        self._proxy.lose(LOSABLE[int(choice * len(LOSABLE))], cut=True)

    def delay(self, seconds: float) -> None:
        """Hold back the next Produce request for `seconds`; by then the client has resent it or given up."""
        self._proxy.hold(PRODUCE)
        self._release_at = time.monotonic() + seconds

    def release_due(self) -> None:
        """Deliver the requests that have been held long enough."""
        if self._release_at is not None and time.monotonic() >= self._release_at:
            self._release_at = None
            self._proxy.release()

    def settle(self) -> None:
        """Drop all pending faults and deliver everything held back."""
        self._proxy.forget()
        self._proxy.release()


class BrokerFaults:
    """Kills and restarts the broker in a background thread, one fault at a time.

    Parameters
    ----------
    kafka : LocalKafka
        A running broker.
    answers : callable
        Whether it is fully usable: a broker that accepts connections may still be loading its coordinators.
    """

    def __init__(self, kafka: LocalKafka, answers: Callable[[], bool]) -> None:
        self.kafka, self._answers, self._bootstrap = kafka, answers, kafka.bootstrap
        self.away: list[tuple[float, float]] = []
        """Start and end of each outage, by `time.monotonic`; the end is infinite while it lasts."""
        self.failure: Failure | None = None
        """Why it did not come back."""
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None

    def inject(self, fault: schedule.Fault) -> bool:
        """Begin a fault; return False if the last one is not over yet."""
        if self._thread is not None and self._thread.is_alive():
            return False
        self._thread = threading.Thread(target=self._run, args=(fault,), name="broker faults", daemon=True)
        self.away.append((time.monotonic(), float("inf")))
        self._thread.start()
        return True

    def settle(self) -> None:
        """End the current outage now, and wait for the broker.

        Raises
        ------
        Failure
            The broker does not come back.
        """
        self._hurry.set()
        if self._thread is not None:
            self._thread.join()
        self.require_running()

    def require_running(self) -> None:
        """Raise the failure of a broker that did not come back."""
        if self.failure is not None:
            raise self.failure

    def outage_between(self, begin: float, end: float) -> float:
        """Return the seconds of outage between two moments."""
        return sum(max(0.0, min(end, until) - max(begin, since)) for since, until in self.away)

    def outage_within(self, seconds: float) -> bool:
        """Return whether there was an outage at any moment of the last `seconds`."""
        return bool(self.away) and self.away[-1][1] > time.monotonic() - seconds

    def _run(self, fault: schedule.Fault) -> None:
        try:
            self._happen(fault)
        except Failure as failure:
            self.failure = failure
        else:
            since = self.away[-1][0]
            self.away[-1] = since, min(time.monotonic(), since + self._outage_seconds(fault))

    def _happen(self, fault: schedule.Fault) -> None:
        self.kafka.kill()
        self._hurry.wait(fault.seconds)
        self._start(self.kafka)

    def _outage_seconds(self, fault: schedule.Fault) -> float:
        """How much of a fault counts as an outage, in which no member can work."""
        return float("inf")

    def _start(self, *nodes: LocalKafka) -> None:
        for node in nodes:
            if node.log.exists():  # the next start writes a new one
                node.log.replace(node.log.with_name(f"server-{len(self.away)}.log"))
        all_answer = partial(self._all_answer, admin(self._bootstrap))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for node in nodes:
                    node.launch()  # start all before waiting for one: alone it may not be a majority
                await_until(all_answer, LOADED_SECONDS, "all brokers and the group's coordinator answer", poll=0.1)
                return
            except AssertionError as error:
                if attempt == ATTEMPTS:
                    raise Failure(str(error)) from None

    def _all_answer(self, client: Any) -> bool:
        try:
            present = client.list_topics(timeout=1).brokers
        except KafkaException:
            return False
        return len(present) == len(self._bootstrap.split(",")) and self._answers()


class ClusterFaults(BrokerFaults):
    """Faults of three brokers, of which one may be away without an outage.

    Parameters
    ----------
    cluster : LocalCluster
        A running cluster.
    answers : callable
        As of `BrokerFaults`.
    """

    def __init__(self, cluster: LocalCluster, answers: Callable[[], bool]) -> None:
        super().__init__(cluster.nodes[0], answers)
        self._nodes, self._bootstrap = cluster.nodes, cluster.bootstrap

    def _happen(self, fault: schedule.Fault) -> None:
        nodes = self._nodes
        first = int(fault.choice * len(nodes))
        one, other = nodes[first], nodes[first - 1]
        if fault.action == schedule.ONE_FROZEN:
            with stopped(one):
                self._hurry.wait(fault.seconds)
        elif fault.action == schedule.ROLLING:
            for node in nodes:
                node.terminate()
                self._start(node)
                self._hurry.wait(PAUSE_SECONDS)
        elif fault.action == schedule.MOVED:
            client = admin(self._bootstrap)
            with contextlib.suppress(KafkaException):  # where each partition's first replica is already the leader
                client.elect_leaders(ElectionType.PREFERRED, None).result(timeout=LOADED_SECONDS)
        elif fault.action == schedule.ONE_RESTARTED:
            one.terminate()
            self._start(one)
        else:
            dead = (one, other) if fault.action == schedule.MAJORITY else (one,)
            for node in dead:
                node.kill()
            self._hurry.wait(fault.seconds)
            self._start(*dead)

    def _outage_seconds(self, fault: schedule.Fault) -> float:
        if fault.action in (schedule.ONE_KILLED, schedule.ONE_FROZEN):
            return TAKEN_OVER_SECONDS
        return float("inf") if fault.action == schedule.MAJORITY else 0.0

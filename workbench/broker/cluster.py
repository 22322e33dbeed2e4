"""A cluster of real Kafka brokers on loopback, each a child process that can be killed and started again alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from driftway.workbench.broker import settings
from driftway.workbench.broker.local import ATTEMPTS, LocalBrokers, LocalKafka, cluster_of, draw_port
from driftway.worker.errors import UsageFailure

REPLICAS = 3
"""Fewest brokers of which one may die while the others go on accepting records."""
LAST_PORT = 65_535


class LocalCluster(LocalBrokers):
    """Brokers that live no longer than this process; topics have three replicas, of which two must be in sync.

    Parameters
    ----------
    brokers : int
        Number of brokers, >= 3.
    data_dir : str or Path, optional
        Where topics are kept, in a folder for each broker; existing data is reused. Without it, temporary directories.
    port : int
        Port of the first broker, those of the others follow it; 0 draws free ones.
    heap : str
        Java's heap of each broker.
    controllers : int, optional
        How many of the brokers, from the first one on, are controllers too; by default all.
    route : callable, optional
        Then the brokers reach one another on ports of their own, not on those for clients. Called with a node's id
        and such a port, it returns the port at which the others look for it, of a proxy for instance.

    Examples
    --------
    ::

        with LocalCluster() as cluster:
            producer = Producer({"bootstrap.servers": cluster.bootstrap})
            cluster.nodes[0].kill()
            cluster.nodes[0].restart()
    """

    def __init__(
        self,
        brokers: int = REPLICAS,
        data_dir: str | Path | None = None,
        port: int = 0,
        heap: str = "400m",
        controllers: int | None = None,
        route: Callable[[int, int], int] | None = None,
    ) -> None:
        if brokers < REPLICAS:
            raise UsageFailure(f"a cluster has at least {REPLICAS} brokers")
        if port + brokers - 1 > LAST_PORT:
            raise UsageFailure(f"the ports of {brokers} brokers follow port {port}, and the last port is {LAST_PORT}")
        self._brokers, self._wanted_port, self._heap = brokers, port, heap
        self._data_dir = None if data_dir is None else Path(data_dir).absolute()
        self._controllers = controllers or brokers
        self._route = route
        self.nodes: list[LocalKafka] = []
        """The brokers; node i has the id i + 1."""

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, for clients."""
        return ",".join(node.bootstrap for node in self.nodes)

    def start(self) -> None:
        """Start all brokers and return when the cluster can be used.

        Raises
        ------
        Failure
            As `LocalKafka.start`.
        """
        for attempt in range(1, ATTEMPTS + 1):
            self.nodes = self._draw_nodes()
            try:
                self._all(LocalKafka.start)
                return
            except BaseException as error:
                self.stop()
                if attempt == ATTEMPTS or self._wanted_port or "Address already in use" not in str(error):
                    raise

    def stop(self) -> None:
        """End all brokers and remove temporary directories. Does nothing when they are not running."""
        self._all(LocalKafka.stop)

    def _draw_nodes(self) -> list[LocalKafka]:
        """Return brokers with free ports, not started."""
        taken = list(range(self._wanted_port, self._wanted_port + self._brokers)) if self._wanted_port else []
        kinds = 2 if self._route is None else 3
        while len(taken) < kinds * self._brokers:
            taken.append(draw_port(taken))
        ports, behind, internal = (taken[kind * self._brokers : (kind + 1) * self._brokers] for kind in range(3))
        controllers = tuple(behind[: self._controllers])
        advertised = {} if self._route is None else self._routed(self._route, controllers, internal)
        cluster = self._known_cluster() or settings.kafka_uuid()
        return [
            LocalKafka(
                data_dir=None if self._data_dir is None else self._data_dir / str(node),
                port=port,
                heap=self._heap,
                properties=settings.REPLICATED,
                member=settings.Membership(node, controllers, internal[node - 1] if internal else None, advertised),
                cluster=cluster,
            )
            for node, port in enumerate(ports, 1)
        ]

    @staticmethod
    def _routed(route: Callable[[int, int], int], *ports: Sequence[int]) -> dict[int, int]:
        """Port -> port at which other nodes look for it, of several kinds of ports of nodes 1, 2, .."""
        return {port: route(node, port) for kind in ports for node, port in enumerate(kind, 1)}

    def _known_cluster(self) -> str | None:
        """The cluster whose data is in the given directory."""
        homes = [] if self._data_dir is None else sorted(self._data_dir.glob("*/data"))
        return next((cluster_of(home) for home in homes if (home / "meta.properties").exists()), None)

    def _all(self, call: Callable[[LocalKafka], None]) -> None:
        """Call for all brokers at once, since none is ready before a majority runs; raise the first error."""
        with ThreadPoolExecutor(len(self.nodes) or 1) as threads:
            for done in [threads.submit(call, node) for node in self.nodes]:
                done.result()

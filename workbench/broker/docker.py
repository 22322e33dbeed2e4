"""The same Kafka from Docker through testcontainers, where there is a Docker engine."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from driftway.workbench.broker.distribution import kafka_version
from driftway.workbench.broker.health import await_ready
from driftway.workbench.broker.settings import DEVELOPMENT, HOST
from driftway.worker.errors import Failure

IMAGE = "apache/kafka"
"""Tagged with the version; the image exists from 3.7.0 on."""
READY_SECONDS = 120.0
INSIDE = 9092


@contextlib.contextmanager
def docker_kafka(port: int = 0, properties: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run the official image; yield its bootstrap address.

    testcontainers' own KafkaContainer starts Confluent's image through that image's scripts, so the plain
    container is used. The host's port is chosen before the start, because the broker must advertise it.

    Raises
    ------
    Failure
        testcontainers is not installed, or there is no Docker engine.
    """
    try:
        from testcontainers.core.container import DockerContainer
    except ImportError:
        raise Failure("--broker docker needs testcontainers: pip install 'driftway[docker]'") from None
    outside = port or _free_port()
    image = f"{IMAGE}:{kafka_version()}"
    try:
        container: Any = DockerContainer(image)
        container.ports[INSIDE] = (HOST, outside)  # with_bind_ports would open it on every interface
        for key, value in _environment(outside, properties or {}).items():
            container = container.with_env(key, value)
        container.start()
    except Exception as error:  # docker-py's, requests' and testcontainers' own; all mean the same to the caller
        reason = " ".join(str(error).split())[:200]
        raise Failure(f"Docker cannot start {image}: {reason}; --broker local needs no Docker") from None
    try:
        bootstrap = f"{HOST}:{outside}"
        await_ready(bootstrap, READY_SECONDS, lambda: _check_alive(container, image))
        yield bootstrap
    finally:
        container.stop()


def _environment(outside: int, own: Mapping[str, str]) -> dict[str, str]:
    """The image's configuration: a property's name in capitals, dots as underscores, after ``KAFKA_``."""
    node = {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.quorum.voters": "1@localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL",
        "listeners": f"PLAINTEXT://:{INSIDE},INTERNAL://:19092,CONTROLLER://:9093",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{outside},INTERNAL://localhost:19092",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    properties = {**DEVELOPMENT, **own, **node}
    return {"KAFKA_" + key.replace(".", "_").upper(): value for key, value in properties.items()}


def _check_alive(container: Any, image: str) -> None:
    wrapped = container.get_wrapped_container()
    wrapped.reload()
    if wrapped.status in {"exited", "dead"}:
        lines = wrapped.logs(tail=20).decode(errors="replace").splitlines()
        message = next((line for line in reversed(lines) if " ERROR " in line), lines[-1] if lines else "no output")
        raise Failure(f"{image} ended before it was ready: {message}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port

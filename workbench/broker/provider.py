"""Which Kafka is used: the one that the environment names, a local one, or one in Docker."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Literal

from driftway.workbench.broker.docker import docker_kafka
from driftway.workbench.broker.local import LocalKafka
from driftway.workbench.broker.settings import HEAP
from driftway.worker.kafka.client_config import require_broker

Kind = Literal["local", "docker"]


@contextlib.contextmanager
def provide(
    kind: Kind = "local",
    properties: Mapping[str, str] | None = None,
    steady: bool = False,
    heap: str = HEAP,
) -> Iterator[str]:
    """Yield the bootstrap address of a broker, and stop afterwards what had to be started for it.

    Parameters
    ----------
    kind : {"local", "docker"}
        What to start unless DRIFTWAY_BOOTSTRAP names a running cluster, which always wins.
    properties : mapping, optional
        Broker properties, for a broker that is started here.
    steady : bool
        For long and heavy loads; see `LocalKafka`.
    heap : str
        Java's heap of a local broker.

    Raises
    ------
    Unreachable
        DRIFTWAY_BOOTSTRAP is set and nothing answers there.
    Failure
        A broker cannot be started.
    """
    named = os.environ.get("DRIFTWAY_BOOTSTRAP")
    if named:
        require_broker(named, {})
        yield named
    elif kind == "docker":
        with docker_kafka(properties=properties) as bootstrap:
            yield bootstrap
    else:
        with LocalKafka(heap=heap, properties=properties, steady=steady) as kafka:
            yield kafka.bootstrap

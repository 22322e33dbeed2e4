"""Commands that fix what was found, to be copied into a shell: Kafka's own tools, and Driftway's. Leaf module."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from driftway.worker.wire.codec import write_json

UNKNOWN_USER = "NAME"
"""Stands for a principal that only the broker knows, as that of a certificate."""


@dataclass(frozen=True)
class Commands:
    """Writes commands for a cluster.

    Parameters
    ----------
    bootstrap : str
        The brokers' address.
    input, group : str
        The worker's input and group.
    user : str
        Name of the worker's principal.
    options : tuple of str
        Further options that were typed for the worker, but those about the client.
    client : tuple of str
        Those about the client, without secrets.
    before : tuple of str
        Options in front of the command, as ``--config FILE``.
    """

    bootstrap: str
    input: str = "EVENTS"
    group: str = "GROUP"
    user: str = UNKNOWN_USER
    options: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    def _tool(self, script: str, *words: str) -> str:
        return shlex.join([script, "--bootstrap-server", self.bootstrap, *words])

    def _ours(self, *words: str) -> str:
        return shlex.join(["driftway", *self.before, *words, *self._where])

    @property
    def _where(self) -> tuple[str, ...]:
        return ("--bootstrap", self.bootstrap, *self.client)

    def set_topic(self, topic: str, changes: Mapping[str, str]) -> str:
        """Change settings of a topic."""
        pairs = ",".join(f"{key}={value}" for key, value in changes.items())
        return self._tool(
            "kafka-configs.sh", "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", pairs
        )

    def worker(self, *more: str) -> str:
        """Start the worker with other options, instead of those of the same name; -X, of the same property."""
        given = [*self._where, *self.options]
        names = {word.partition("=")[0] for word in more if "=" in word or word.startswith("--")}
        for place in reversed(range(len(given) - 1)):
            is_property = given[place] == "-X"
            name = "".join(given[place + 1 : place + 2]).partition("=")[0] if is_property else given[place]
            if name in names:
                del given[place : place + 2]
        words = ("worker", "--input", self.input, "--group", self.group, *given, *more)
        return shlex.join(["driftway", *self.before, *words])

    @staticmethod
    def configure_brokers(key: str, value: str) -> str:
        """Change a setting that brokers read at their start only."""
        line = shlex.quote(f"{key}={value}")
        return f"echo {line} >> config/server.properties  # of each broker, then start it again"

    @staticmethod
    def set_partitioner() -> str:
        """Let producers on librdkafka choose partitions as those in Java do."""
        return (
            "echo partitioner=murmur2_random >> producer.properties  # on librdkafka; and labels need the events' keys"
        )

    @staticmethod
    def note(what: str) -> str:
        """Say what must change in the producer of the labels, for which there is no command."""
        return f"# in the producer of the labels: {what}"

    def create_topics(self, input_topic: str, partitions: int, *more: str) -> str:
        """Create a topic of events or labels, and with ``--group`` among `more` a group's outputs."""
        return self._ours("topics", "create", "--input", input_topic, "--partitions", str(partitions), *more)

    def add_partitions(self, topic: str, partitions: int) -> str:
        """Give a topic more partitions."""
        return self._tool("kafka-topics.sh", "--alter", "--topic", topic, "--partitions", str(partitions))

    def add_replicas(self, topic: str, replicas: Sequence[Sequence[int]], brokers: Sequence[int], wanted: int) -> str:
        """Give each partition of a topic `wanted` replicas; `replicas` are the brokers that each has now."""
        ordered = sorted(brokers)
        moved = [
            {"topic": topic, "partition": p, "replicas": _more(own, [*ordered[p % len(ordered) :], *ordered], wanted)}
            for p, own in enumerate(replicas)
        ]
        plan = write_json({"version": 1, "partitions": moved}).decode()
        run = self._tool("kafka-reassign-partitions.sh", "--reassignment-json-file", "replicas.json", "--execute")
        return f"echo {shlex.quote(plan)} > replicas.json && {run}"

    def grant(self, kind: str, name: str, operations: Sequence[str]) -> str:
        """Grant rights on a resource: ``topic``, ``group`` or ``transactional-id``; a trailing * is a prefix."""
        pattern = ("--resource-pattern-type", "prefixed") if name.endswith("*") else ()
        asked = [word for operation in operations for word in ("--operation", operation)]
        return self._tool(
            "kafka-acls.sh", "--add", "--allow-principal", f"User:{self.user}", *asked,
            f"--{kind}", name.removesuffix("*"), *pattern,
        )  # fmt: skip

    def describe_unavailable(self) -> str:
        """List the partitions without a leader, or with too few replicas in sync."""
        return self._tool("kafka-topics.sh", "--describe", "--under-min-isr-partitions")

    def describe_behind(self) -> str:
        """List the partitions that have fewer replicas in sync than they should."""
        return self._tool("kafka-topics.sh", "--describe", "--under-replicated-partitions")

    def infer_schema(self, topic: str) -> str:
        """Propose a schema of events."""
        return self._ours("schema", "infer", topic)

    def warm(self) -> str:
        """Compile the kernels of a worker with these options."""
        return shlex.join(["driftway", *self.before, "warm", *self.options])


def _more(own: Sequence[int], brokers: Sequence[int], wanted: int) -> list[int]:
    """Return `wanted` different brokers: those that a partition has, then others."""
    return list(dict.fromkeys([*own, *brokers]))[:wanted]

"""Kafka's own command line tools, as in its distribution's bin/, for commands that the documents show."""

from __future__ import annotations

import shlex
from pathlib import Path

from driftway.workbench.broker import distribution
from driftway.workbench.broker.maven import maven, with_dependencies

TOOLS = "org.apache.kafka.tools"
CLASSES = {
    "kafka-console-consumer.sh": f"{TOOLS}.consumer.ConsoleConsumer",
    "kafka-consumer-groups.sh": f"{TOOLS}.consumer.group.ConsumerGroupCommand",
    "kafka-topics.sh": f"{TOOLS}.TopicCommand",
}
"""Script -> the Java class that it runs."""


def install(folder: Path) -> None:
    """Write the scripts into a folder."""
    jars = ":".join(map(str, [*distribution.classpath(lambda _line: None), *tools_jars()]))
    for script, name in CLASSES.items():
        argv = [str(distribution.java()), "-Xmx256m", "-cp", jars, name]
        (folder / script).write_text(f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n')
        (folder / script).chmod(0o755)


def tools_jars() -> list[Path]:
    """The jars of the tools, downloaded on first use and kept beside Kafka's jars, which do not include them."""
    tools = f"{TOOLS.rpartition('.')[0]}:kafka-tools:{distribution.kafka_version()}"
    with maven(distribution.cache_home().parent / "tests", "Kafka's tools") as context:
        return [Path(artifact.resolve()) for artifact in with_dependencies(context, tools)]

"""Every command line of `driftway` that files in deploy/ and the image run, with the file that it stands in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import yaml

from tests.support.process import ROOT

IMAGE = "driftway:local"
COMPOSE = "docker-compose.yml", "deploy/compose/cluster.yml"
UNIT = "deploy/systemd/driftway@.service"
STATEFULSET = "deploy/kubernetes/statefulset.yaml"


def compose(path: str) -> dict[str, Any]:
    """Return a compose file's content."""
    content: dict[str, Any] = yaml.safe_load((ROOT / path).read_text())
    return content


def unit() -> list[tuple[str, str]]:
    """Return the settings of the systemd unit as pairs, since some are given more than once."""
    lines = (ROOT / UNIT).read_text().splitlines()
    return [
        (name, value) for name, found, value in (line.partition("=") for line in lines if line[:1].isalpha()) if found
    ]


def container() -> dict[str, Any]:
    """Return the container of the StatefulSet."""
    found: dict[str, Any] = yaml.safe_load((ROOT / STATEFULSET).read_text())["spec"]["template"]["spec"]["containers"][
        0
    ]
    return found


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Yield files and the words after `driftway`."""
    for path in COMPOSE:
        for service in compose(path)["services"].values():
            # The second file says only what it changes.
            if service.get("image", IMAGE) == IMAGE and "command" in service:
                command = service["command"]
                yield path, shlex.split(command) if isinstance(command, str) else command
    (line,) = [value for name, value in unit() if name == "ExecStart"]
    yield UNIT, shlex.split(line)[1:]
    yield STATEFULSET, container()["args"]
    image = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    for found in re.findall(r"driftway (warm .*?)(?:&&|\n)", image):
        words = re.search(r'ARG WARM="(.*)"', image)
        assert words is not None
        yield "Dockerfile", shlex.split(found.replace("${WARM}", words[1]))

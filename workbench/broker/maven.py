"""Artifacts from Maven repositories, through `jgo`."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import logging
import os
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from driftway.worker.errors import DISK_FULL, Failure

INSTALL = "pip install 'driftway[local]'"

SECONDS = 30
"""For the answer with a digest."""
BUNDLES = "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"
"""Environment variables that set the certificates trusted by `requests`, which jgo uses."""


@contextlib.contextmanager
def maven(kept: Path, what: str) -> Iterator[Any]:
    """Yield a jgo context that keeps its downloads in a folder.

    Use only jgo's first layer: its `build` would fetch a whole JDK to classify the jars.

    Parameters
    ----------
    kept : Path
        A local Maven repository; made if absent.
    what : str
        What is downloaded, for the error message.

    Raises
    ------
    Failure
        The extra is not installed, or anything went wrong inside.
    OSError
        The disk is full.
    """
    try:
        from jgo.config import GlobalSettings
        from jgo.maven import MavenContext
    except ImportError:
        raise Failure(f"the local Kafka needs the package jgo: {INSTALL}") from None
    try:
        with _quiet(), _trusting_the_system():
            remote = GlobalSettings.load().repositories or None  # the user's own mirrors
            yield MavenContext(repo_cache=kept, remote_repos=remote)
    except Failure:
        raise
    except Exception as error:  # jgo lets exceptions of requests, XML and its own resolver through
        cause = _root_cause(error)
        if isinstance(cause, OSError) and cause.errno in DISK_FULL:
            raise cause from None
        said = " ".join(str(cause).split())[:200] or type(cause).__name__
        raise Failure(f"cannot download {what} from the Maven repository (needed once): {said}") from None


def with_dependencies(context: Any, artifact: str) -> list[Any]:
    """Return a Maven artifact, as ``group:name:version``, and all that it needs to run."""
    from jgo.parse import Endpoint

    coordinates = Endpoint.parse(artifact).coordinates
    direct = [context.create_dependency(dataclasses.replace(one, scope="compile")) for one in coordinates]
    inputs, transitive = context.resolver.resolve(direct)
    return [one.artifact for one in (*inputs, *(dep for dep in transitive if dep.scope in {"compile", "runtime"}))]


def download(context: Any, artifact: Any) -> Path:
    """Download an artifact, and compare it with the digest that its repository publishes beside it; jgo only warns.

    Raises
    ------
    Failure
        They differ.
    """
    import requests

    jar = Path(artifact.resolve())
    for url in context.remote_repos.values():
        answer = requests.get(f"{url}/{artifact.component.path_prefix.as_posix()}/{jar.name}.sha1", timeout=SECONDS)
        if answer.status_code == HTTPStatus.OK:
            found = hashlib.sha1(jar.read_bytes(), usedforsecurity=False).hexdigest()
            if answer.text.split()[:1] != [found]:
                raise Failure(f"{jar.name} is not the file whose digest {url} publishes: its SHA-1 is {found}")
            break
    return jar


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("jgo")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _trusting_the_system() -> Iterator[None]:
    """Trust the system's certificates, as Python and pip do: a proxy's are in them, not in certifi's."""
    paths = ssl.get_default_verify_paths()
    bundle = paths.cafile or paths.capath
    if bundle is None or any(os.environ.get(name) for name in BUNDLES):
        yield
        return
    os.environ[BUNDLES[0]] = bundle
    try:
        yield
    finally:
        del os.environ[BUNDLES[0]]


def _root_cause(error: BaseException) -> BaseException:
    """The innermost reason: the outer layers repeat it at length with addresses and object ids."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return error

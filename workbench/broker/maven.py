"""Artifacts from Maven repositories, through `jgo`."""

from __future__ import annotations

import contextlib
import logging
import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from driftway.worker.errors import Failure

INSTALL = "pip install 'driftway[local]'"

BUNDLES = "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"
"""Variables by which a user says which certificates `requests`, which jgo asks, trusts."""


@contextlib.contextmanager
def maven(kept: Path, what: str) -> Iterator[Any]:
    """A context of jgo that keeps what it downloads in a folder.

    Only jgo's first layer is for use: its `build` would fetch a whole JDK to classify the jars.

    Parameters
    ----------
    kept : Path
        A local Maven repository; made if absent.
    what : str
        For the sentence that it cannot be downloaded.

    Raises
    ------
    Failure
        The extra is not installed; or whatever goes wrong inside, in a sentence.
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
        raise Failure(f"cannot download {what} from the Maven repository, needed once: {_root_cause(error)}") from None


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
    """Trust the certificates that Python and pip trust here: a proxy's are in the system's store, not in certifi's."""
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


def _root_cause(error: BaseException) -> str:
    """The innermost reason: the outer layers repeat it at length with addresses and object ids."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return " ".join(str(error).split())[:200] or type(error).__name__

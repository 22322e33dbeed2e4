"""A schema registry, and clients of it that are made quickly."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from functools import cache
from typing import Any

import certifi
import pytest

from tests.support.registry import Stub


@pytest.fixture(scope="package", autouse=True)
def certificates_once() -> Iterator[None]:
    """Let clients share the machine's certificate authorities, which each client otherwise reads again, in 0.1 s.

    Only a test with authorities of its own reads any; the other registries of these tests do without encryption.
    """
    usual = {certifi.where(), os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")}
    read = ssl.create_default_context
    shared = cache(read)

    def create(**given: Any) -> ssl.SSLContext:
        return shared(**given) if usual & set(given.values()) else read(**given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", create)
        yield


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as made:
        yield made

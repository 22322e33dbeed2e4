"""Downloads from Maven repositories: which certificates are trusted, and what is reported on failure."""

from __future__ import annotations

import contextlib
import hashlib
import os
import ssl
import threading
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from driftway.workbench.broker.maven import BUNDLES, download, maven
from driftway.worker.errors import Failure
from tests.support.secured_kafka import HOST, make_certificates


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def repository(folder: Path) -> Iterator[str]:
    """Serve `folder` with a certificate that is unknown to clients which trust certifi's alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    server = HTTPServer((HOST, 0), partial(QuietHandler, directory=folder))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"https://{HOST}:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("trusted_by", ["system", "variable", "nobody"])
def test_a_proxys_certificate_is_trusted_if_the_system_or_the_user_trusts_it(
    trusted_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests

    make_certificates(tmp_path, "server")
    authority = str(tmp_path / "ca.pem")
    for name in (*BUNDLES, "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    if trusted_by == "system":
        monkeypatch.setenv("SSL_CERT_FILE", authority)
    elif trusted_by == "variable":
        monkeypatch.setenv(BUNDLES[0], authority)
    before = dict(os.environ)
    with repository(tmp_path) as url:
        if trusted_by == "nobody":
            with pytest.raises(Failure, match=r"cannot download a jar from the Maven repository .needed once.: .*CERT"):
                ask(url, tmp_path)
        else:
            ask(url, tmp_path)
        if trusted_by != "variable":
            with pytest.raises(requests.exceptions.SSLError):
                requests.get(url, timeout=5)
    assert dict(os.environ) == before


def ask(url: str, folder: Path) -> None:
    """Download as jgo does internally."""
    import requests

    with maven(folder / "kept", "a jar"):
        assert requests.get(url, timeout=5).status_code == 200


def test_a_jar_that_differs_from_its_published_digest_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_certificates(tmp_path, "server")
    monkeypatch.setenv(BUNDLES[0], str(tmp_path / "ca.pem"))
    jar = tmp_path / "org" / "one" / "1" / "one-1.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"jar")
    published = jar.with_name("one-1.jar.sha1")
    with repository(tmp_path) as url:

        def downloaded(kept: str) -> Path:
            with maven(tmp_path / kept, "a jar") as context:
                context.remote_repos = {"own": url}
                return download(context, context.project("org", "one").at_version("1").artifact())

        assert downloaded("unpublished").read_bytes() == b"jar"
        published.write_text(f"{hashlib.sha1(b'jar').hexdigest()}  one-1.jar\n")
        assert downloaded("published").read_bytes() == b"jar"
        published.write_text(hashlib.sha1(b"another").hexdigest())
        with pytest.raises(Failure, match=r"^one-1.jar is not the file whose digest https://.* publishes"):
            downloaded("another")

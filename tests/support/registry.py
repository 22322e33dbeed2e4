"""Schema registries for tests: a real one, Apicurio, and a stub of Confluent's HTTP calls that can fail.

Confluent's registry is in no package registry that tests may use. Apicurio implements its interface
(``/apis/ccompat/v7``) except for serialized Protobuf schemas. These, and error responses, come from the `Stub`.
"""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
import weakref
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy

from driftway.workbench.broker import distribution
from driftway.workbench.broker.maven import maven
from driftway.worker.errors import Failure
from tests.support.secured_kafka import free_port

APICURIO = "io.apicurio", "apicurio-registry-app", "3.3.3"
START_SECONDS = 240
BY_TOPIC = {"subject.name.strategy": topic_subject_name_strategy}
"""Setting of serialisers: the default strategy needs an endpoint that only Confluent's cloud has."""


def client(url: str) -> SchemaRegistryClient:
    """A client for serialisers, which closes its connections when it is garbage-collected."""
    made = SchemaRegistryClient({"url": url, "timeout": 20.0})
    weakref.finalize(made, made._rest_client.session.close)
    return made


def apicurio_home() -> Path:
    """Apicurio's folder, downloaded on first use (158 MB) and kept beside Kafka's jars."""
    kept = distribution.cache_home().parent / "tests"
    home = kept / "-".join(APICURIO[1:])
    if home.is_dir():
        return home
    group, name, version = APICURIO
    with maven(kept, "Apicurio") as context:
        component = context.project(group, name).at_version(version)
        packed = Path(component.artifact(classifier="all", packaging="tar.gz").resolve())
    with tempfile.TemporaryDirectory(dir=kept) as staging:
        with tarfile.open(packed) as archive:
            archive.extractall(Path(staging) / "home", filter="data")
        with contextlib.suppress(OSError):  # another process has extracted it
            os.replace(Path(staging) / "home", home)
    return home


@contextlib.contextmanager
def apicurio() -> Iterator[str]:
    """Run a real registry, empty and in memory; yield its URL."""
    home, port = apicurio_home(), free_port()
    settings = {
        "QUARKUS_HTTP_HOST": "127.0.0.1",
        "QUARKUS_HTTP_PORT": str(port),
        "QUARKUS_MANAGEMENT_HOST": "127.0.0.1",
        "QUARKUS_MANAGEMENT_PORT": str(free_port()),
    }
    url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    with tempfile.TemporaryFile() as log:
        argv = [str(distribution.java()), "-Xmx384m", "-jar", str(home / "quarkus-run.jar")]
        process = subprocess.Popen(argv, env={**os.environ, **settings}, cwd=home, stdout=log, stderr=log)
        try:
            _wait(url, process)
            yield url
        finally:
            process.terminate()
            process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/subjects", timeout=5):
            return
        time.sleep(0.2)
    raise Failure("Apicurio does not start")


class Stub:
    """An in-process stub of the Confluent registry calls that serialisers and readers make.

    Schemas are returned as they were registered, also serialized ones, as the Python client registers them.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.schemas: list[dict[str, Any]] = []
        self.versions: dict[str, list[int]] = {}
        self.asked: list[str] = []
        self.authorizations: set[str | None] = set()
        self.status = 0
        """Status of all responses, if not 0."""
        self.body: Any = {"error_code": 50001, "message": "out of order"}
        self.hidden = 0
        """How many more lookups of a schema by id return 404."""
        self.refusal: tuple[int, Any] | None = None
        """Status and body of the response to a registration; None: it succeeds."""

    def __enter__(self) -> Self:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(None)

            def do_POST(self) -> None:
                self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def answer(self, given: Any) -> None:
                stub.asked.append(self.path)
                stub.authorizations.add(self.headers["Authorization"])
                status, body = (stub.status, stub.body) if stub.status else stub.respond(self.path, given)
                text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """Ignore clients that do not trust the certificate and drop the connection."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if self._tls is not None:
            self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._server.server_port}"

    def respond(self, path: str, given: Any) -> tuple[int, Any]:
        """Status and body of the response to a request."""
        steps = path.partition("?")[0].strip("/").split("/")
        if steps[:2] == ["schemas", "ids"]:
            number = int(steps[2])
            if self.hidden or not 0 < number <= len(self.schemas):
                self.hidden = max(self.hidden - 1, 0)
                return 404, {"error_code": 40403, "message": f"Schema {number} not found"}
            return 200, self.schemas[number - 1]
        if steps[0] == "compatibility":
            there = urllib.request.unquote(steps[2]) in self.versions
            return (200, {"is_compatible": self.refusal is None}) if there else (404, {"error_code": 40401})
        known = self.versions.setdefault(urllib.request.unquote(steps[1]), [])
        if given is None:
            version = int(steps[3])
            if version > len(known):
                return 404, {"error_code": 40402, "message": "Version not found"}
            return 200, self._registered(steps[1], known, version)
        schema = {key: value for key, value in given.items() if value and value != "AVRO"}
        if len(steps) == 2:  # whether it is registered
            if not known:
                del self.versions[urllib.request.unquote(steps[1])]
            if schema not in self.schemas or (number := self.schemas.index(schema) + 1) not in known:
                return 404, {"error_code": 40403 if known else 40401, "message": "not found"}
            return 200, self._registered(steps[1], known, known.index(number) + 1)
        if self.refusal is not None:
            return self.refusal
        if schema not in self.schemas:
            self.schemas.append(schema)
        number = self.schemas.index(schema) + 1
        if number not in known:
            known.append(number)
        return 200, self._registered(steps[1], known, known.index(number) + 1)

    def _registered(self, subject: str, known: list[int], version: int) -> dict[str, Any]:
        number = known[version - 1]
        return {"subject": subject, "id": number, "version": version, **self.schemas[number - 1]}

    def add(self, **schema: Any) -> int:
        """Register a schema in the registry's own form and return its id."""
        self.schemas.append(schema)
        return len(self.schemas)

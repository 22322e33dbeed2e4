"""What the image adds to the package: its health check, and the script that tells exit codes apart for Docker."""

from __future__ import annotations

import http.server
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.kafka import await_until
from tests.support.process import ROOT

FOLDER = ROOT / "deploy" / "image"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
FAKE = """#!/bin/sh
# Ends with the code in its last argument, or waits for SIGTERM.
for last; do :; done
trap 'kill $!; exit 0' TERM
if [ "$last" = wait ]; then sleep 60 & echo started; wait; fi
exit "$last"
"""


def health() -> ModuleType:
    """Return the health check as a module."""
    spec = importlib.util.spec_from_file_location("health_of_image", FOLDER / "health.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def process(folder: Path, number: int, command: str, **variables: str) -> None:
    """Write what /proc says of a process."""
    place = folder / str(number)
    place.mkdir()
    (place / "cmdline").write_bytes("\0".join([*command.split(), ""]).encode())
    (place / "environ").write_bytes("\0".join(f"{key}={value}" for key, value in variables.items()).encode())


@pytest.mark.parametrize(
    ("command", "variables", "port"),
    [
        ("/usr/bin/python /usr/local/bin/driftway worker --input A --http-port=8001", {}, 8001),
        ("/usr/bin/python /usr/local/bin/driftway worker --http-port 8001 --input A", {}, 8001),
        ("driftway --config /etc/driftway.toml worker", {"DRIFTWAY_HTTP_PORT": "8002"}, 8002),
        ("/sbin/docker-init -- /usr/local/libexec/driftway/run-worker worker --http-port=8001", {}, 8001),
        ("/bin/sh /usr/local/libexec/driftway/run-worker worker --http-port=8001", {}, 8001),
        ("driftway worker --input A", {}, None),
        ("driftway replay sea --to A", {"DRIFTWAY_HTTP_PORT": "8002"}, None),
        ("driftway topics create --input worker --http-port 8001", {}, None),
        ("python worker --http-port 8001", {}, None),
    ],
)
def test_the_port_is_that_of_a_worker_with_an_http_port(
    tmp_path: Path, command: str, variables: dict[str, str], port: int | None
) -> None:
    process(tmp_path, 1, "sleep 3")
    process(tmp_path, 7, command, **variables)
    (tmp_path / "9").mkdir()  # has ended meanwhile
    assert health().worker_port(tmp_path) == port


@pytest.mark.parametrize(("status", "alive"), [(200, True), (503, False)])
def test_the_check_follows_the_answer_of_the_worker(status: int, alive: bool) -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert health().alive(server.server_port) is alive
        thread.join()
    assert health().alive(server.server_port) is False


@pytest.mark.parametrize(("command", "code"), [("replay sea --to A", 0), ("worker --http-port={}", 1)])
def test_only_a_worker_that_does_not_answer_is_unhealthy(tmp_path: Path, command: str, code: int) -> None:
    with socket.socket() as place:  # bound, and not listening
        place.bind(("127.0.0.1", 0))
        process(tmp_path, 7, f"driftway {command}".format(place.getsockname()[1]))
        run = [sys.executable, FOLDER / "health.py", tmp_path]
        assert subprocess.run(run, check=False, timeout=20).returncode == code


def test_the_base_is_pinned_by_its_digest() -> None:
    assert re.search(r"^ARG PYTHON=python:[\d.]+-slim-\w+@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"${PYTHON}", "warm"}


@pytest.fixture
def fake(tmp_path: Path) -> dict[str, str]:
    """An environment in which `driftway` is a script that ends as it is told."""
    place = tmp_path / "driftway"
    place.write_text(FAKE)
    place.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.parametrize("code", [0, 5, 137])
def test_exit_codes_that_docker_handles_correctly_are_passed_on(fake: dict[str, str], code: int) -> None:
    run = [FOLDER / "run-worker", "worker", "--input=A", str(code)]
    assert subprocess.run(run, env=fake, check=False, timeout=20).returncode == code


@pytest.mark.parametrize("code", [1, 2, 3, 4])
def test_the_container_stays_up_after_exit_codes_for_which_a_restart_does_not_help(
    fake: dict[str, str], code: int, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with log.open("wb") as err:
        script = subprocess.Popen([FOLDER / "run-worker", "worker", str(code)], env=fake, stderr=err)
    try:
        await_until(lambda: "unhealthy" in log.read_text(), 20, "the script says that it waits")
        assert script.poll() is None
        assert f"exit code {code}" in log.read_text()
        script.send_signal(signal.SIGTERM)
        assert script.wait(20) == code
    finally:
        script.kill()
        script.wait()


def test_a_stop_signal_reaches_the_worker(fake: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as stdout:
        script = subprocess.Popen([FOLDER / "run-worker", "worker", "wait"], env=fake, stdout=stdout)
    try:
        await_until(lambda: "started" in out.read_text(), 20, "the worker runs")
        script.send_signal(signal.SIGTERM)
        assert script.wait(20) == 0
    finally:
        script.kill()
        script.wait()

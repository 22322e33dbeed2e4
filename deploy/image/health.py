"""Health check of the image: whether the worker of this container is alive, if it runs one.

Exit code 0: /healthz answers 200, or the container runs another command, or a worker without an HTTP port. 1: a worker
does not answer, has ended (see `run-worker`), or says that it hangs. An argument names another folder than /proc.
"""

from __future__ import annotations

import http.client
import sys
from pathlib import Path

PORT = "--http-port"
VARIABLE = "DRIFTWAY_HTTP_PORT"
WORKER, WRAPPER = "worker", "run-worker"
SECONDS = 4.0


def worker_port(processes: Path = Path("/proc")) -> int | None:
    """Return the HTTP port of the worker that runs here; None if there is none.

    Only options and variables are looked at, not the file of ``--config``.
    """
    for folder in sorted(processes.glob("[0-9]*")):
        try:
            words = folder.joinpath("cmdline").read_bytes().decode(errors="replace").split("\0")
            variables = folder.joinpath("environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has just ended, or is another user's
        if runs_worker(words):
            return port_of(words, dict(line.partition("=")[::2] for line in variables))
    return None


def runs_worker(words: list[str]) -> bool:
    """Whether a command line is that of a worker, or of what starts one."""
    names = [Path(word).name for word in words]
    if WRAPPER in names:
        return True
    if "driftway" not in names:
        return False
    following = words[names.index("driftway") + 1 :]
    if following[:1] == ["--config"]:
        following = following[2:]
    return next((word for word in following if not word.startswith("--config=")), "") == WORKER


def port_of(words: list[str], variables: dict[str, str]) -> int | None:
    """Return the port that a command line or a variable names; None if neither does."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, _, value = word.partition("=")
        if name == PORT:
            found = value or following
            return int(found) if found.isdecimal() else None
    found = variables.get(VARIABLE, "")
    return int(found) if found.isdecimal() else None


def alive(port: int) -> bool:
    """Whether the worker at a port of this container says that it is alive."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    port = worker_port(*map(Path, sys.argv[1:2]))
    sys.exit(0 if port is None or alive(port) else 1)
